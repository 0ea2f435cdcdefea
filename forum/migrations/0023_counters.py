from django.db import migrations

from forum import deep_paging, facets

# The names of these triggers in databases of older versions.
DROP_FORMER_TRIGGERS = """
DROP TRIGGER IF EXISTS note_moved_post ON forum_post;
DROP TRIGGER IF EXISTS note_post ON forum_post;
DROP FUNCTION IF EXISTS note_post();
DROP TRIGGER IF EXISTS count_changed_facets ON forum_post;
DROP TRIGGER IF EXISTS count_facets ON forum_post;
DROP FUNCTION IF EXISTS forum_count_facets();
"""


class Migration(migrations.Migration):
    """Give the triggers that count posts to `core.db.counters`. A new database has them already."""

    dependencies = [("forum", "0022_reminders")]

    operations = [
        migrations.RunSQL(DROP_FORMER_TRIGGERS, migrations.RunSQL.noop),
        *(
            migrations.RunSQL(counter.create_triggers, migrations.RunSQL.noop)
            for counter in (deep_paging.COUNTER, facets.COUNTER)
        ),
    ]
