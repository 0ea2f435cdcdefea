from django.db import migrations

from workspace.timeline_triggers import FILL_STAGES, MIRRORS, fill_mirrored


class Migration(migrations.Migration):
    """The entries of rows that were written before the triggers existed. Earlier changes of fields are not known."""

    # Each batch is a transaction, so that other transactions can write meanwhile.
    atomic = False
    dependencies = [("workspace", "0002_timeline")]

    operations = [
        *(fill_mirrored(mirror) for mirror in MIRRORS),
        migrations.RunSQL(FILL_STAGES, migrations.RunSQL.noop),
        migrations.RunSQL("ANALYZE workspace_timelineentry", migrations.RunSQL.noop),
    ]
