from django.db import migrations

from core.db.additional_fields import add_additional_fields


class Migration(migrations.Migration):
    dependencies = [("forum", "0011_large_accounts")]

    operations = add_additional_fields("post", "forum_post")
