from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):
    """Remove the indexes by which the last activity was computed from notes. It is computed from the timeline."""

    atomic = False
    dependencies = [("crm", "0003_name_keys")]

    operations = [
        RemoveIndexConcurrently("note", f"note_of_{link}_by_change") for link in ("client", "contact", "deal")
    ]
