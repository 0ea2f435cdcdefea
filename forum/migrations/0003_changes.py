from django.db import migrations

from core.changes.models import note_changes


class Migration(migrations.Migration):
    dependencies = [("forum", "0002_tenancy"), ("accounts", "0004_changes")]

    operations = [note_changes("forum_post", "post")]
