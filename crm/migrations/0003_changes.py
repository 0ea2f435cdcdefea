from django.db import migrations

from core.changes.models import change_triggers


class Migration(migrations.Migration):
    dependencies = [("crm", "0002_tenancy"), ("accounts", "0004_changes")]

    operations = [
        change_triggers("crm_client", "client"),
        change_triggers("crm_contact", "contact"),
        change_triggers("crm_contactlist", "contact_list"),
        change_triggers("crm_deal", "deal"),
    ]
