from django.db import migrations

from core.changes.models import note_changes


class Migration(migrations.Migration):
    dependencies = [("crm", "0002_tenancy"), ("accounts", "0004_changes")]

    operations = [
        note_changes("crm_client", "client"),
        note_changes("crm_contact", "contact"),
        note_changes("crm_contactlist", "contact_list"),
        note_changes("crm_deal", "deal"),
    ]
