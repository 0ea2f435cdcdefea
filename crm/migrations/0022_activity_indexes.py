from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """The indexes for the time of the last change of the notes of a client, a contact or a deal.

    Other transactions can write while the indexes are built. If this migration is interrupted, drop its indexes before the next run.
    """

    atomic = False
    dependencies = [("crm", "0021_further_external_ids")]

    operations = [
        AddIndexConcurrently(
            "note",
            models.Index(
                fields=["account", f"{target}_id", "updated_at"],
                name=f"note_of_{target}_by_change",
                condition=Q(**{"trashed_at": None, f"{target}_id__isnull": False}),
            ),
        )
        for target in ("client", "contact", "deal")
    ]
