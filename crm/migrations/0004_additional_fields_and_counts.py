import django.db.models.deletion
from django.db import migrations, models

import core.db.additional_fields
from core.db.tenancy import composite_foreign_key

COUNT = """
INSERT INTO crm_contactlistcount (account_id, contact_list_id, shard, uses)
SELECT place.account_id, place.contact_list_id, 0, count(*)
FROM crm_contactlistmembership AS place
JOIN crm_contact AS contact ON contact.account_id = place.account_id AND contact.id = place.contact_id
WHERE contact.trashed_at IS NULL
GROUP BY place.account_id, place.contact_list_id;
"""


class Migration(migrations.Migration):
    dependencies = [("crm", "0003_changes")]

    operations = [
        migrations.AddField("client", "additional_fields", core.db.additional_fields.additional_fields()),
        migrations.CreateModel(
            name="ContactListCount",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "contact_list_id",
                        "shard",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("contact_list_id", models.BigIntegerField()),
                ("shard", models.SmallIntegerField()),
                ("uses", models.BigIntegerField()),
            ],
        ),
        composite_foreign_key("crm_contactlistcount", "contact_list_id", "crm_contactlist", on_delete="CASCADE"),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    ]
