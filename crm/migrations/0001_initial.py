import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.tenancy


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Client",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                ("external_ids", models.JSONField(default=dict)),
                ("creator_id", models.BigIntegerField(editable=False)),
                ("updater_id", models.BigIntegerField(editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=255)),
                ("email", models.CharField(blank=True, max_length=255, null=True)),
                ("email_key", core.db.tenancy.FoldedField(null=True, source="email")),
                ("note", models.CharField(blank=True, max_length=65536, null=True)),
                ("first_name", models.CharField(blank=True, max_length=255, null=True)),
                ("last_name", models.CharField(blank=True, max_length=255, null=True)),
                ("shortcut", models.CharField(blank=True, max_length=255, null=True)),
                ("kind", models.CharField(blank=True, max_length=255, null=True)),
                ("company", models.BooleanField(null=True)),
                ("tax_no", models.CharField(blank=True, max_length=255, null=True)),
                ("register_number", models.CharField(blank=True, max_length=255, null=True)),
                ("phone", models.CharField(blank=True, max_length=255, null=True)),
                ("mobile_phone", models.CharField(blank=True, max_length=255, null=True)),
                ("fax", models.CharField(blank=True, max_length=255, null=True)),
                ("www", models.CharField(blank=True, max_length=255, null=True)),
                ("street", models.CharField(blank=True, max_length=255, null=True)),
                ("street_no", models.CharField(blank=True, max_length=255, null=True)),
                ("post_code", models.CharField(blank=True, max_length=255, null=True)),
                ("city", models.CharField(blank=True, max_length=255, null=True)),
                ("province", models.CharField(blank=True, max_length=255, null=True)),
                ("country", models.CharField(blank=True, max_length=255, null=True)),
                ("delivery_address", models.CharField(blank=True, max_length=65536, null=True)),
                ("use_delivery_address", models.BooleanField(null=True)),
                ("bank", models.CharField(blank=True, max_length=255, null=True)),
                ("bank_account", models.CharField(blank=True, max_length=255, null=True)),
                ("discount", models.DecimalField(decimal_places=6, max_digits=20, null=True)),
                ("description", models.CharField(blank=True, max_length=65536, null=True)),
                ("status_id", models.BigIntegerField(null=True)),
                ("responsible_id", models.BigIntegerField(null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("trashed_contact_id", models.BigIntegerField(editable=False, null=True)),
                ("url", models.CharField(blank=True, max_length=255, null=True)),
                ("origin", models.CharField(blank=True, max_length=255, null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "default_related_name": "clients",
                "indexes": [
                    models.Index(
                        condition=models.Q(("email_key__isnull", False), ("trashed_at", None)),
                        fields=["account", "email_key", "id"],
                        name="client_by_email",
                    ),
                    models.Index(
                        condition=models.Q(("contact_id__isnull", False)),
                        fields=["account", "contact_id"],
                        name="client_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_contact_id__isnull", False)),
                        fields=["account", "trashed_contact_id"],
                        name="client_of_trashed_contact",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_at__isnull", False)),
                        fields=["account", "trashed_at", "id"],
                        name="client_trash",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ClientExternalId",
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
            options={
                "indexes": [models.Index(fields=["account", "holder_id"], name="client_external_ids")],
            },
        ),
        migrations.CreateModel(
            name="Contact",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                ("creator_id", models.BigIntegerField(editable=False)),
                ("updater_id", models.BigIntegerField(editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("client_id", models.BigIntegerField(null=True)),
                ("trashed_client_id", models.BigIntegerField(editable=False, null=True)),
                ("name", models.CharField(max_length=255)),
                ("email", models.CharField(blank=True, max_length=255, null=True)),
                ("email_key", core.db.tenancy.FoldedField(null=True, source="email")),
                ("note", models.CharField(blank=True, max_length=65536, null=True)),
                ("first_name", models.CharField(blank=True, max_length=255, null=True)),
                ("last_name", models.CharField(blank=True, max_length=255, null=True)),
                ("phone", models.CharField(blank=True, max_length=255, null=True)),
                ("mobile_phone", models.CharField(blank=True, max_length=255, null=True)),
                ("position", models.CharField(blank=True, max_length=255, null=True)),
                ("description", models.CharField(blank=True, max_length=65536, null=True)),
                ("responsible_id", models.BigIntegerField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "default_related_name": "contacts",
                "indexes": [
                    models.Index(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=["account", "client_id", "id"],
                        name="contact_of_client",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_client_id__isnull", False)),
                        fields=["account", "trashed_client_id"],
                        name="contact_of_trashed_client",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_at__isnull", False)),
                        fields=["account", "trashed_at", "id"],
                        name="contact_trash",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ContactList",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                ("creator_id", models.BigIntegerField(editable=False)),
                ("updater_id", models.BigIntegerField(editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=255)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "default_related_name": "contact_lists",
                "indexes": [
                    models.Index(
                        condition=models.Q(("trashed_at__isnull", False)),
                        fields=["account", "trashed_at", "id"],
                        name="contact_list_trash",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("trashed_at", None)),
                        fields=("account", "name"),
                        name="contact_list_name_unique",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ContactListMembership",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "contact_id",
                        "contact_list_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("contact_id", models.BigIntegerField()),
                ("contact_list_id", models.BigIntegerField()),
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
            options={
                "indexes": [models.Index(fields=["account", "contact_list_id", "contact_id"], name="contacts_of_list")],
            },
        ),
        migrations.CreateModel(
            name="Deal",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                ("external_ids", models.JSONField(default=dict)),
                ("creator_id", models.BigIntegerField(editable=False)),
                ("updater_id", models.BigIntegerField(editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("client_id", models.BigIntegerField(null=True)),
                ("trashed_client_id", models.BigIntegerField(editable=False, null=True)),
                ("name", models.CharField(max_length=255)),
                ("description", models.CharField(blank=True, max_length=65536, null=True)),
                ("price", models.DecimalField(decimal_places=6, max_digits=20, null=True)),
                ("currency", models.CharField(max_length=255)),
                ("status_id", models.BigIntegerField(null=True)),
                ("responsible_id", models.BigIntegerField(null=True)),
                ("url", models.CharField(blank=True, max_length=255, null=True)),
                ("origin", models.CharField(blank=True, max_length=255, null=True)),
                ("expected_close_date", models.DateField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "default_related_name": "deals",
                "indexes": [
                    models.Index(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=["account", "client_id", "id"],
                        name="deal_of_client",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_client_id__isnull", False)),
                        fields=["account", "trashed_client_id"],
                        name="deal_of_trashed_client",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_at__isnull", False)),
                        fields=["account", "trashed_at", "id"],
                        name="deal_trash",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DealExternalId",
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
            options={
                "indexes": [models.Index(fields=["account", "holder_id"], name="deal_external_ids")],
            },
        ),
    ]
