from django.db import migrations, models

import core.search.declaration
from core.db.tenancy import online_foreign_key, plan_for_large_accounts


class Migration(migrations.Migration):
    # So that no table is held while others wait to write.
    atomic = False
    dependencies = [("crm", "0012_consent_and_external_ids_of_contacts")]

    operations = [
        *(
            operation
            for table in ("crm_client", "crm_contact")
            for column in ("consent_by_id", "do_not_contact_by_id")
            for operation in online_foreign_key(table, column, "accounts_user")
        ),
        # Creating the search replaces the columns of the former one in one statement.
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveConstraint(model_name="contact", name="contact_search")]
        ),
        migrations.AddConstraint(
            model_name="contact",
            constraint=core.search.declaration.Search(
                by_account=False,
                condition=models.Q(("trashed_at", None)),
                filters=("responsible_id", "creator_id", "updater_id", "tags"),
                json_values=("external_ids",),
                long=("note", "description"),
                name="contact_search",
                name_field="name",
                numbers=("phone", "mobile_phone"),
                short=("first_name", "last_name", "email", "position"),
            ),
        ),
        *plan_for_large_accounts("crm_contactexternalid"),
    ]
