from django.db import migrations

from core.changes.models import change_triggers


class Migration(migrations.Migration):
    """Add the groups of users to the change feed."""

    dependencies = [("accounts", "0030_confirms_user_links")]

    operations = [change_triggers("accounts_group", "group", trash=False)]
