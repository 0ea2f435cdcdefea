"""Imports of a text as the file."""

from team.import_lines.settings import ImportSettings
from team.imports.faults import ImportFault
from team.imports.models import Import


def upload(acme, text, *, kinds=("client",), by=None, **settings) -> Import:
    """Return the import of a file whose columns are guessed from their headings. `settings` replace guessed ones."""
    row = Import.upload(acme.account, by=by or acme.alice, name="rows.csv", chunks=[text.encode()], kinds=kinds)
    assert row.error is None
    row.set_settings(ImportSettings.from_json({**row.parsed_settings.as_json(), **settings}))
    return row


def imported(acme, text, *, by=None, **options) -> Import:
    row = upload(acme, text, by=by, **options)
    row.start(by=by or acme.alice)
    assert row.state == "done", row.failure
    return row


def counts(row) -> dict[str, int]:
    names = ("created", "changed", "unchanged", "faults", "restored", "kept")
    return {name: getattr(row, name) for name in names if getattr(row, name)}


def faults(row) -> dict[int, list[str]]:
    found = ImportFault.objects.filter(import_id=row.id).order_by("number")
    return {line.number: [fault["message"] for fault in line.shown] for line in found}
