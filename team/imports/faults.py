"""The faults of the lines of an import, and errors as they are stored."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import models
from django.utils import translation
from django.utils.translation import gettext

from accounts.account.models import Account
from core.errors import FieldError, FieldErrors
from team.import_lines.lines import Line
from team.spreadsheets.errors import SpreadsheetError


class ImportFault(models.Model):
    """The faults of a line."""

    pk = models.CompositePrimaryKey("account_id", "import_id", "number")
    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False)
    import_id = models.BigIntegerField()
    # The number of the row in the file.
    number = models.IntegerField()
    # Objects with the heading of the column and the error (`stored_error`).
    faults = models.JSONField()

    @property
    def shown(self) -> list[dict[str, str]]:
        """The faults with the column, the field, the code and the message, in the active language."""
        return [
            {
                **{name: fault[name] for name in ("column", "field", "code")},
                "message": f"{fault['column']}: {text_of(fault)}" if fault["column"] else text_of(fault),
            }
            for fault in self.faults
        ]


def record_faults(account_id: int, import_id: int, lines: Sequence[Line]) -> None:
    """Store the faults of lines."""
    if not lines:
        return
    ImportFault.objects.bulk_create(
        ImportFault(
            account_id=account_id,
            import_id=import_id,
            number=line.number,
            faults=[{"column": fault.column, **stored_error(fault.error)} for fault in line.faults],
        )
        for line in lines
    )


def stored_error(error: FieldError) -> dict[str, Any]:
    """Return an error as it is stored. Its message is translated when it is shown (`text_of`)."""
    params = error.params or {}
    with translation.override(None):
        if any(isinstance(value, FieldErrors) for value in params.values()):
            # The message has the text of another error.
            return {"field": error.field, "code": error.code, "message": "{text}", "params": {"text": error.text}}
        plain = {name: value if isinstance(value, int) else str(value) for name, value in params.items()}
        return {"field": error.field, "code": error.code, "message": str(error.message), "params": plain}


def text_of(stored: Mapping[str, Any]) -> str:
    """Return the text of a stored error in the active language."""
    return SpreadsheetError("", gettext(stored["message"]), stored["code"], stored["params"]).text
