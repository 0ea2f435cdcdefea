from django.db import migrations

from core.db.tenancy import CREATE_IDS, DROP_IDS, composite_foreign_key, id_triggers


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.RunSQL(CREATE_IDS, DROP_IDS),
        *id_triggers("accounts_user", "accounts_apitoken", "accounts_status", "accounts_tag"),
        composite_foreign_key("accounts_apitoken", "user_id", "accounts_user", on_delete="CASCADE"),
        composite_foreign_key("accounts_tagcount", "tag_id", "accounts_tag", on_delete="CASCADE"),
    ]
