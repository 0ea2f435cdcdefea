from django.db import migrations

from core.search.spelling import add_words


class Migration(migrations.Migration):
    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("accounts", "0011_words")]

    operations = [add_words(table) for table in ("accounts_user", "accounts_status")]
