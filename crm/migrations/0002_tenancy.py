from django.db import migrations

from core.db.tenancy import composite_foreign_key, id_triggers


class Migration(migrations.Migration):
    dependencies = [("crm", "0001_initial"), ("accounts", "0002_tenancy")]

    operations = [
        *id_triggers("crm_client", "crm_contact", "crm_contactlist", "crm_deal"),
        composite_foreign_key("crm_client", "contact_id", "crm_contact", on_delete="SET NULL"),
        composite_foreign_key("crm_client", "trashed_contact_id", "crm_contact", on_delete="SET NULL"),
        *(
            composite_foreign_key(table, column, "crm_client", on_delete="SET NULL")
            for table in ("crm_contact", "crm_deal")
            for column in ("client_id", "trashed_client_id")
        ),
        *(composite_foreign_key(table, "status_id", "accounts_status") for table in ("crm_client", "crm_deal")),
        *(
            composite_foreign_key(table, column, "accounts_user")
            for table in ("crm_client", "crm_contact", "crm_contactlist", "crm_deal")
            for column in ("creator_id", "updater_id", "trashed_by_id")
        ),
        *(
            composite_foreign_key(table, "responsible_id", "accounts_user")
            for table in ("crm_client", "crm_contact", "crm_deal")
        ),
        composite_foreign_key("crm_clientexternalid", "holder_id", "crm_client", on_delete="CASCADE"),
        composite_foreign_key("crm_dealexternalid", "holder_id", "crm_deal", on_delete="CASCADE"),
        composite_foreign_key("crm_contactlistmembership", "contact_id", "crm_contact", on_delete="CASCADE"),
        composite_foreign_key("crm_contactlistmembership", "contact_list_id", "crm_contactlist", on_delete="CASCADE"),
    ]
