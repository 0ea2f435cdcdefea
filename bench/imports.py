"""The time and the memory of an import of clients, of an import that changes them, and of its undo."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.data import PASSWORD, ROOT

COMMAND = [sys.executable, "manage.py"]
ACCOUNT = "imports"
UNDO = """
from team.batches import models as batches
from team.batches.models import process_part
from core.db.transactions import in_transaction
from team.imports.models import Import
row = Import.objects.filter(account__prefix="imports").select_related("account").order_by("id").last()
user = row.account.users.get(role="owner")
user.account = row.account
batches.MAX_IN_REQUEST = 0
in_transaction(lambda: Import.objects.locked().get(account_id=row.account_id, id=row.id).undo(by=user))
while process_part("Import", row.account_id, row.id):
    pass
"""


def clients(number: int, city: str) -> Iterator[str]:
    yield "Name,E-mail,Telephone,City,Street,Postal code,Tax number,Discount\n"
    for n in range(number):
        yield (
            f"Client {n} Sp. z o.o.,client{n}@example.com,+48 601 {n % 1000:03} {n // 1000 % 1000:03},{city},"
            f"Długa {n % 200},80-{n % 1000:03},{5_000_000_000 + n},{n % 40}.5\n"
        )


def execute(arguments: list[str], environment: dict[str, str]) -> tuple[float, int]:
    """Execute a management command. Return the seconds that it took, and its peak memory in MiB."""
    began = time.monotonic()
    process = subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"manage.py {arguments[0]} failed")
    return time.monotonic() - began, usage.ru_maxrss // 1024


def measure_imports(number: int, directory: Path, environment: dict[str, str]) -> list[dict[str, object]]:
    """Return the results: the name of what was done, the seconds, the rows per second, and the peak memory in MiB."""
    owner = ["--login", "bench", "--email", "bench@example.com", "--password", PASSWORD]
    execute(["create_account", ACCOUNT, *owner], environment)
    results = []
    file = directory / "clients.csv"
    for name, city, arguments in (
        ("create", "Gdańsk", ["import", ACCOUNT, str(file), "--kind", "client"]),
        ("change", "Gdynia", ["import", ACCOUNT, str(file), "--kind", "client"]),
        ("undo the changes", "", ["shell", "--no-imports", "-c", UNDO]),
    ):
        if city:
            with file.open("w", encoding="utf-8") as lines:
                lines.writelines(clients(number, city))
        seconds, memory = execute(arguments, environment)
        results.append(
            {
                "name": name,
                "rows": number,
                "seconds": round(seconds, 1),
                "per second": round(number / seconds),
                "MiB": memory,
            }
        )
    return results
