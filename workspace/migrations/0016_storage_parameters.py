from django.db import migrations

from workspace.storage import set_storage_parameters


class Migration(migrations.Migration):
    """Set when autovacuum processes each table."""

    # So that each table is locked only for a moment.
    atomic = False
    dependencies = [
        ("accounts", "0034_parts_by_account"),
        ("core", "0006_numbered_changes"),
        ("crm", "0028_last_changes"),
        ("forum", "0031_no_order_by_title"),
        ("workspace", "0015_pending_lists"),
    ]

    operations = set_storage_parameters()
