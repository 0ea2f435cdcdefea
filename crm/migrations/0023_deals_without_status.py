from django.db import migrations

from crm.stages import include_deals_without_status


class Migration(migrations.Migration):
    """Count the deals without a status, and give them a place on the board. Those of existing deals follow in 0024."""

    dependencies = [("crm", "0022_activity_indexes")]

    operations = [include_deals_without_status()]
