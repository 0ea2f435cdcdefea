"""The webhooks in archives of accounts: `team` and `webhooks` do not know each other."""

from collections.abc import Sequence

from team.archives.importing import INSERTS, ArchiveImport
from team.archives.reading import ArchivedFile, ArchivedLine
from team.archives.tables import LEFT_OUT, LOG, SECRET, TABLES, ArchivedTable
from webhooks.models import Endpoint


def add_webhooks(running: ArchiveImport, _archived: ArchivedFile, batch: Sequence[ArchivedLine]) -> None:
    """Add disabled webhooks in the same way as a form, which checks their addresses."""
    endpoints = Endpoint.objects.all()
    for line in batch:
        endpoint, _secret = endpoints.add(running.account, **line.row, enabled=False)
        endpoints.filter(pk=endpoint.pk).update(updated_at=line.row["updated_at"])


def register() -> None:
    TABLES["webhooks"] = ArchivedTable(
        "webhooks.Endpoint",
        {
            SECRET: "secret previous_secret previous_secret_expires_at",
            "an import disables them": "enabled disabled_reason failing_since rejected_since delivered_at",
        },
    )
    INSERTS["webhooks.Endpoint"] = add_webhooks
    LEFT_OUT[LOG] += " webhooks_delivery"
