from django.db import migrations

from core.db.additional_fields import add_additional_fields


class Migration(migrations.Migration):
    dependencies = [("crm", "0007_large_accounts")]

    operations = [
        *add_additional_fields("contact", "crm_contact"),
        *add_additional_fields("deal", "crm_deal"),
    ]
