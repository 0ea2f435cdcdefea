"""The data of a PostgreSQL cluster with all migrations, from which each test run starts.

Migrations take seconds, and copying their result takes a fraction of one. The data are created again when a migration or Django has
changed.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from config.local.postgres import Cluster, find_program

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / ".cache" / "postgres"


def copy_migrated_data(directory: Path) -> None:
    """Copy the data of a migrated cluster to `directory`, and create them first if they are missing."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        data = CACHE / cache_key()
        if not data.exists():
            create(data)
        shutil.copytree(data, directory / "data")


def cache_key() -> str:
    """Return a digest of what decides the contents of a migrated database."""
    digest = hashlib.sha256()
    for path in sorted(ROOT.glob("*/migrations/*.*")):
        if path.suffix in {".py", ".sql"}:
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    digest.update(f"django {version('django')}\0".encode())
    digest.update(str(find_program("postgres")).encode())
    return digest.hexdigest()[:20]


def create(data: Path) -> None:
    """Migrate a new cluster, and move its data to `data`. Remove the data of other migrations."""
    for other in CACHE.iterdir():
        if other.is_dir():
            shutil.rmtree(other)
    new = CACHE / "new"
    with Cluster(new, durable=False) as cluster:
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity=0"],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": cluster.url},
            check=True,
        )
    (new / "data").rename(data)
    shutil.rmtree(new)
