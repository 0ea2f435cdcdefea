from django.db import migrations

from workspace.storage import set_storage_parameters


class Migration(migrations.Migration):
    """Set when autovacuum processes each table, and the free space in the pages of clients, contacts and deals."""

    # So that each table is locked only for a moment.
    atomic = False
    dependencies = [
        ("core", "0005_numbered_changes"),
        ("crm", "0027_last_changes"),
        ("workspace", "0014_pending_lists"),
    ]

    operations = set_storage_parameters()
