from django.db import migrations

from core.changes.models import change_triggers


class Migration(migrations.Migration):
    dependencies = [("forum", "0002_tenancy"), ("accounts", "0004_changes")]

    operations = [change_triggers("forum_post", "post")]
