from django.db import migrations

from core.search.operations import add_words


class Migration(migrations.Migration):
    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("accounts", "0011_words")]

    operations = [
        add_words("accounts_user", condition="({row}role IN ('owner', 'admin', 'agent') OR {row}role = 'member')"),
        add_words("accounts_status", condition="true"),
    ]
