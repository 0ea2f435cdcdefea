from django.db import migrations

from core.search.operations import add_words


class Migration(migrations.Migration):
    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("crm", "0005_lists"), ("accounts", "0011_words")]

    operations = [add_words(table) for table in ("crm_client", "crm_contact", "crm_contactlist", "crm_deal")]
