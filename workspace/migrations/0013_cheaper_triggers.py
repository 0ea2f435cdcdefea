from django.db import migrations

from workspace.post_revenue_triggers import replace_functions
from workspace.summary_triggers import replace_summary_triggers
from workspace.timeline_triggers import replace_mirrors


class Migration(migrations.Migration):
    """Triggers that cost a create less. A new database has them already, from the migrations that create the tables."""

    dependencies = [("workspace", "0012_drafts_of_messages")]

    operations = [replace_summary_triggers(), replace_mirrors(), replace_functions()]
