from django.db import migrations


class Migration(migrations.Migration):
    """Refer from forums to the saved views that are their segments. A forum whose view is deleted has no segment."""

    dependencies = [("forum", "0004_existing_members"), ("workspace", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE forum_forum ADD CONSTRAINT forum_forum_segment_id_fk FOREIGN KEY (account_id, segment_id)"
            " REFERENCES workspace_savedview (account_id, id) ON DELETE SET NULL (segment_id)",
            "ALTER TABLE forum_forum DROP CONSTRAINT forum_forum_segment_id_fk",
        ),
    ]
