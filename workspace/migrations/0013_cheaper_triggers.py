from django.db import migrations

from workspace.summary_triggers import replace_summary_triggers


class Migration(migrations.Migration):
    """Summaries that cost a create less. A database that gets the triggers by 0007 of this version has them already."""

    dependencies = [("workspace", "0012_drafts_of_messages")]

    operations = [replace_summary_triggers()]
