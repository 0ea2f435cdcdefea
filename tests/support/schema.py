"""The definitions of all tables, functions, triggers and indexes, as pg_dump writes them."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from config.local.postgres import find_program

PATH = Path(__file__).resolve().parent.parent.parent / "docs" / "schema.sql"
# Lines without definitions, some of which differ from dump to dump.
OMITTED = re.compile(r"(?m)^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*)\n")


def dump_schema(database: Mapping[str, Any]) -> str:
    """Return the definitions in the database with these Django settings."""
    command = [find_program("pg_dump"), "--schema-only", "--no-owner", "--no-privileges", "--no-comments"]
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    environment = os.environ | {variable: str(database[name]) for variable, name in names.items()}
    dump = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return re.sub(r"\n{3,}", "\n\n", OMITTED.sub("", dump)).strip() + "\n"
