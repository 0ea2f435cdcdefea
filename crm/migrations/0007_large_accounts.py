from django.db import migrations

from core.db.tenancy import plan_for_large_accounts

TABLES = (
    "crm_client",
    "crm_clientexternalid",
    "crm_contact",
    "crm_contactlist",
    "crm_contactlistcount",
    "crm_contactlistmembership",
    "crm_deal",
    "crm_dealexternalid",
)


class Migration(migrations.Migration):
    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("crm", "0006_learn_words")]

    operations = plan_for_large_accounts(*TABLES)
