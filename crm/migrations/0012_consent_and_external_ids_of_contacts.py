import django.db.models.deletion
from django.db import migrations, models

from core.db.tenancy import composite_foreign_key


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0027_resources_with_fields"),
        ("crm", "0011_field_definitions"),
    ]

    operations = [
        migrations.CreateModel(
            name="ContactExternalId",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "key", "value", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("value", models.CharField(max_length=255)),
                ("holder_id", models.BigIntegerField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="client",
            name="consent",
            field=models.BooleanField(null=True),
        ),
        migrations.AddField(
            model_name="client",
            name="consent_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="client",
            name="consent_by_id",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="client",
            name="do_not_contact",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="client",
            name="do_not_contact_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="client",
            name="do_not_contact_by_id",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="contact",
            name="consent",
            field=models.BooleanField(null=True),
        ),
        migrations.AddField(
            model_name="contact",
            name="consent_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="contact",
            name="consent_by_id",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="contact",
            name="do_not_contact",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="contact",
            name="do_not_contact_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="contact",
            name="do_not_contact_by_id",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="contact",
            name="external_ids",
            field=models.JSONField(default=dict),
        ),
        migrations.AddIndex(
            model_name="contactexternalid",
            index=models.Index(fields=["account", "holder_id"], name="contact_external_ids"),
        ),
        # The database default serves processes of the old version, which insert rows without the column during an upgrade.
        migrations.RunSQL("ALTER TABLE crm_contact ALTER external_ids SET DEFAULT '{}'", migrations.RunSQL.noop),
        composite_foreign_key("crm_contactexternalid", "holder_id", "crm_contact", on_delete="CASCADE"),
    ]
