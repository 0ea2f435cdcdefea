from django.db import migrations

from core.search.operations import add_search


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_idempotentanswer")]

    operations = [add_search("accounts_status", short=("code",), condition="true")]
