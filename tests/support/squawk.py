"""The statements of a migration that lock a table for long, as squawk finds them with the rules in `.squawk.toml`."""

import json
import subprocess
import sys
from pathlib import Path

from django.conf import settings

PROGRAM = Path(sys.executable).with_name("squawk")


def find_long_locks(sql: str) -> list[str]:
    """Return the names of the rules that the SQL breaks, in its order."""
    command = [PROGRAM, "--reporter", "json"]
    found = subprocess.run(command, input=sql, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False)
    assert found.returncode in (0, 1), found.stderr
    return [problem["rule_name"] for problem in json.loads(found.stdout)]
