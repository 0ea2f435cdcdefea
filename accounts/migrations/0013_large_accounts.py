from django.db import migrations

from core.db.tenancy import plan_for_large_accounts

TABLES = (
    "accounts_apitoken",
    "accounts_change",
    "accounts_host",
    "accounts_idempotentanswer",
    "accounts_invitation",
    "accounts_session",
    "accounts_staleword",
    "accounts_status",
    "accounts_tag",
    "accounts_tagcount",
    "accounts_user",
    "accounts_word",
)


class Migration(migrations.Migration):
    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("accounts", "0012_learn_words")]

    operations = plan_for_large_accounts(*TABLES)
