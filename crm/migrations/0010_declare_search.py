from django.db import migrations, models

import core.search.declaration


class Migration(migrations.Migration):
    """Declare the search that earlier migrations built: the database does not change."""

    dependencies = [
        ("accounts", "0017_declare_search"),
        ("crm", "0009_contact_by_email"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddConstraint(
                    model_name="client",
                    constraint=core.search.declaration.Search(
                        by_account=False,
                        condition=models.Q(("trashed_at", None)),
                        filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
                        json_values=("external_ids",),
                        long=("note", "description"),
                        name="client_search",
                        name_field="name",
                        numbers=("phone", "mobile_phone", "fax", "tax_no", "register_number"),
                        short=("first_name", "last_name", "email", "shortcut", "city", "www"),
                        words=("street", "street_no", "post_code"),
                    ),
                ),
                migrations.AddConstraint(
                    model_name="contact",
                    constraint=core.search.declaration.Search(
                        by_account=False,
                        condition=models.Q(("trashed_at", None)),
                        filters=("responsible_id", "creator_id", "updater_id", "tags"),
                        long=("note", "description"),
                        name="contact_search",
                        name_field="name",
                        numbers=("phone", "mobile_phone"),
                        short=("first_name", "last_name", "email", "position"),
                    ),
                ),
                migrations.AddConstraint(
                    model_name="contactlist",
                    constraint=core.search.declaration.Search(
                        by_account=False,
                        condition=models.Q(("trashed_at", None)),
                        name="contactlist_search",
                        name_field="name",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="deal",
                    constraint=core.search.declaration.Search(
                        by_account=False,
                        condition=models.Q(("trashed_at", None)),
                        filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
                        json_values=("external_ids",),
                        long=("description",),
                        name="deal_search",
                        name_field="name",
                    ),
                ),
            ]
        )
    ]
