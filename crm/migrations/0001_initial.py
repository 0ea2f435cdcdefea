from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.lookups
import django.utils.timezone
from django.db import migrations, models


def run_sql(name):
    # PostgreSQL would check the functions before their tables exist.
    sql = "SET LOCAL check_function_bodies = off;\n" + Path(__file__).with_name(name).read_text()
    return migrations.RunSQL(sql)


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("core", "0002_tables"),
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("creator_id", models.BigIntegerField(editable=False)),
                ("updater_id", models.BigIntegerField(editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("consent", models.BooleanField(null=True)),
                ("consent_at", models.DateTimeField(editable=False, null=True)),
                ("consent_by_id", models.BigIntegerField(editable=False, null=True)),
                ("do_not_contact", models.BooleanField(db_default=False, default=False)),
                ("do_not_contact_at", models.DateTimeField(editable=False, null=True)),
                ("do_not_contact_by_id", models.BigIntegerField(editable=False, null=True)),
                ("external_ids", models.JSONField(default=dict)),
                ("further_external_ids", models.JSONField(editable=False, null=True)),
                ("name", models.CharField(max_length=255)),
                ("email", models.CharField(blank=True, max_length=255, null=True)),
                ("email_key", models.TextField(editable=False, null=True)),
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
                ("additional_fields", models.JSONField(default=dict)),
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
                    models.Index(
                        condition=models.Q(("trashed_at", None)), fields=["account", "id"], name="client_by_id"
                    ),
                    models.Index(
                        condition=models.Q(("trashed_at", None)),
                        fields=["account", "created_at", "id"],
                        name="client_by_creation",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        condition=models.Q(("trashed_at", None), models.Q(("additional_fields", {}), _negated=True)),
                        fields=["account", "additional_fields"],
                        gin_pending_list_limit=1024,
                        name="client_by_additional_fields",
                        opclasses=["int8_ops", "jsonb_path_ops"],
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("value", models.CharField(max_length=255)),
                ("holder_id", models.BigIntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["account", "holder_id"], name="client_external_ids")],
            },
        ),
        migrations.CreateModel(
            name="ClientLastChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
                ("id", models.BigIntegerField()),
                ("updated_at", models.DateTimeField()),
                (
                    "row",
                    models.ForeignObject(
                        from_fields=["account_id", "id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="last_change",
                        to="crm.client",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "client_last_changes",
                "indexes": [models.Index(fields=["account", "updated_at", "id"], name="client_by_last_change")],
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("creator_id", models.BigIntegerField(editable=False)),
                ("updater_id", models.BigIntegerField(editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("consent", models.BooleanField(null=True)),
                ("consent_at", models.DateTimeField(editable=False, null=True)),
                ("consent_by_id", models.BigIntegerField(editable=False, null=True)),
                ("do_not_contact", models.BooleanField(db_default=False, default=False)),
                ("do_not_contact_at", models.DateTimeField(editable=False, null=True)),
                ("do_not_contact_by_id", models.BigIntegerField(editable=False, null=True)),
                ("external_ids", models.JSONField(default=dict)),
                ("further_external_ids", models.JSONField(editable=False, null=True)),
                ("client_id", models.BigIntegerField(null=True)),
                ("trashed_client_id", models.BigIntegerField(editable=False, null=True)),
                ("name", models.CharField(max_length=255)),
                ("email", models.CharField(blank=True, max_length=255, null=True)),
                ("email_key", models.TextField(editable=False, null=True)),
                ("note", models.CharField(blank=True, max_length=65536, null=True)),
                ("first_name", models.CharField(blank=True, max_length=255, null=True)),
                ("last_name", models.CharField(blank=True, max_length=255, null=True)),
                ("phone", models.CharField(blank=True, max_length=255, null=True)),
                ("mobile_phone", models.CharField(blank=True, max_length=255, null=True)),
                ("position", models.CharField(blank=True, max_length=255, null=True)),
                ("description", models.CharField(blank=True, max_length=65536, null=True)),
                ("responsible_id", models.BigIntegerField(null=True)),
                ("additional_fields", models.JSONField(default=dict)),
            ],
            options={
                "default_related_name": "contacts",
                "indexes": [
                    models.Index(
                        condition=models.Q(("email_key__isnull", False), ("trashed_at", None)),
                        fields=["account", "email_key", "id"],
                        name="contact_by_email",
                    ),
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
                    models.Index(
                        condition=models.Q(("trashed_at", None)), fields=["account", "id"], name="contact_by_id"
                    ),
                    models.Index(
                        condition=models.Q(("trashed_at", None)),
                        fields=["account", "created_at", "id"],
                        name="contact_by_creation",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        condition=models.Q(("trashed_at", None), models.Q(("additional_fields", {}), _negated=True)),
                        fields=["account", "additional_fields"],
                        gin_pending_list_limit=1024,
                        name="contact_by_additional_fields",
                        opclasses=["int8_ops", "jsonb_path_ops"],
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ContactExternalId",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "key", "value", blank=True, editable=False, primary_key=True, serialize=False
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
                ("key", models.CharField(max_length=64)),
                ("value", models.CharField(max_length=255)),
                ("holder_id", models.BigIntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["account", "holder_id"], name="contact_external_ids")],
            },
        ),
        migrations.CreateModel(
            name="ContactLastChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
                ("id", models.BigIntegerField()),
                ("updated_at", models.DateTimeField()),
                (
                    "row",
                    models.ForeignObject(
                        from_fields=["account_id", "id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="last_change",
                        to="crm.contact",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "contact_last_changes",
                "indexes": [models.Index(fields=["account", "updated_at", "id"], name="contact_by_last_change")],
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                ("creator_id", models.BigIntegerField(editable=False)),
                ("updater_id", models.BigIntegerField(editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=255)),
                ("name_key", models.TextField(editable=False, null=True)),
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
                        fields=("account", "name_key"),
                        name="contact_list_name_key_unique",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ContactListCount",
            fields=[
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("shard", models.SmallIntegerField()),
                ("uses", models.BigIntegerField()),
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
                ("contact_list_id", models.BigIntegerField()),
            ],
            options={
                "abstract": False,
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("contact_id", models.BigIntegerField()),
                ("contact_list_id", models.BigIntegerField()),
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("creator_id", models.BigIntegerField(editable=False)),
                ("updater_id", models.BigIntegerField(editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("external_ids", models.JSONField(default=dict)),
                ("further_external_ids", models.JSONField(editable=False, null=True)),
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
                ("contact_id", models.BigIntegerField(null=True)),
                ("trashed_contact_id", models.BigIntegerField(editable=False, null=True)),
                ("won_reason", models.CharField(blank=True, max_length=255, null=True)),
                ("lost_reason", models.CharField(blank=True, max_length=255, null=True)),
                ("closed_at", models.DateTimeField(editable=False, null=True)),
                ("stage_entered_at", models.DateTimeField(editable=False, null=True)),
                ("board_position", models.BigIntegerField(editable=False, null=True)),
                ("additional_fields", models.JSONField(default=dict)),
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
                        condition=models.Q(("contact_id__isnull", False)),
                        fields=["account", "contact_id", "id"],
                        name="deal_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_contact_id__isnull", False)),
                        fields=["account", "trashed_contact_id"],
                        name="deal_of_trashed_contact",
                    ),
                    models.Index(
                        condition=models.Q(("status_id__isnull", False), ("trashed_at", None)),
                        fields=["account", "status_id", "board_position", "id"],
                        name="deal_by_position",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("responsible_id__isnull", False), ("status_id__isnull", False), ("trashed_at", None)
                        ),
                        fields=["account", "responsible_id", "status_id", "board_position", "id"],
                        name="deal_of_user_by_position",
                    ),
                    models.Index(
                        condition=models.Q(("status_id", None), ("trashed_at", None)),
                        fields=["account", "board_position", "id"],
                        name="deal_without_status",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("responsible_id__isnull", False), ("status_id", None), ("trashed_at", None)
                        ),
                        fields=["account", "responsible_id", "board_position", "id"],
                        name="deal_of_user_without_status",
                    ),
                    models.Index(
                        condition=models.Q(("closed_at__isnull", False), ("trashed_at", None)),
                        fields=["account", "closed_at", "id"],
                        name="deal_by_closing",
                    ),
                    models.Index(
                        condition=models.Q(("expected_close_date__isnull", False), ("trashed_at", None)),
                        fields=["account", "expected_close_date", "id"],
                        name="deal_by_expected_close",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_at__isnull", False)),
                        fields=["account", "trashed_at", "id"],
                        name="deal_trash",
                    ),
                    models.Index(condition=models.Q(("trashed_at", None)), fields=["account", "id"], name="deal_by_id"),
                    models.Index(
                        condition=models.Q(("trashed_at", None)),
                        fields=["account", "created_at", "id"],
                        name="deal_by_creation",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        condition=models.Q(("trashed_at", None), models.Q(("additional_fields", {}), _negated=True)),
                        fields=["account", "additional_fields"],
                        gin_pending_list_limit=1024,
                        name="deal_by_additional_fields",
                        opclasses=["int8_ops", "jsonb_path_ops"],
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DealCount",
            fields=[
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("number", models.BigIntegerField()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "status_id",
                        "currency",
                        "responsible_id",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("status_id", models.BigIntegerField()),
                ("currency", models.TextField()),
                ("responsible_id", models.BigIntegerField()),
                ("deals", models.IntegerField()),
                ("price", models.DecimalField(decimal_places=6, max_digits=30)),
            ],
            options={
                "abstract": False,
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("value", models.CharField(max_length=255)),
                ("holder_id", models.BigIntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["account", "holder_id"], name="deal_external_ids")],
            },
        ),
        migrations.CreateModel(
            name="DealLastChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
                ("id", models.BigIntegerField()),
                ("updated_at", models.DateTimeField()),
                (
                    "row",
                    models.ForeignObject(
                        from_fields=["account_id", "id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="last_change",
                        to="crm.deal",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "deal_last_changes",
                "indexes": [models.Index(fields=["account", "updated_at", "id"], name="deal_by_last_change")],
            },
        ),
        migrations.CreateModel(
            name="DealStage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "deal_id", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
                ("deal_id", models.BigIntegerField()),
                ("number", models.BigIntegerField()),
                ("status_id", models.BigIntegerField(null=True)),
                ("entered_at", models.DateTimeField()),
                ("left_at", models.DateTimeField(null=True)),
                ("user_id", models.BigIntegerField()),
            ],
            options={
                "default_related_name": "deal_stages",
                "indexes": [models.Index(fields=["account", "entered_at"], name="deal_stage_by_time")],
            },
        ),
        migrations.CreateModel(
            name="FieldDefinition",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                (
                    "resource",
                    models.CharField(
                        choices=[("client", "Clients"), ("contact", "Contacts"), ("deal", "Deals")], max_length=255
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("label", models.CharField(max_length=255)),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("text", "Text"),
                            ("number", "Number"),
                            ("money", "Amount of money"),
                            ("date", "Date"),
                            ("boolean", "Yes or no"),
                            ("choice", "One of several choices"),
                            ("choices", "Any of several choices"),
                            ("link", "Link"),
                        ],
                        default="text",
                        max_length=255,
                    ),
                ),
                (
                    "choices",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                ("required", models.BooleanField(default=False)),
                ("in_lists", models.BooleanField(default=False)),
                ("position", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "db_table": "crm_fielddefinition",
                "default_related_name": "field_definitions",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "resource", "key"), name="field_key_unique"),
                    models.UniqueConstraint(fields=("account", "resource", "label"), name="field_label_unique"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Note",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                ("creator_id", models.BigIntegerField(editable=False)),
                ("updater_id", models.BigIntegerField(editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("client_id", models.BigIntegerField(null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("deal_id", models.BigIntegerField(null=True)),
                ("trashed_client_id", models.BigIntegerField(editable=False, null=True)),
                ("trashed_contact_id", models.BigIntegerField(editable=False, null=True)),
                ("trashed_deal_id", models.BigIntegerField(editable=False, null=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[("note", "Note"), ("call", "Call"), ("meeting", "Meeting"), ("email", "E-mail")],
                        default="note",
                        max_length=255,
                    ),
                ),
                ("content", models.CharField(max_length=65536)),
                ("excerpt", models.TextField(editable=False)),
                ("noted_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("duration", models.IntegerField(null=True)),
                (
                    "mentioned_user_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, editable=False, size=None
                    ),
                ),
            ],
            options={
                "default_related_name": "notes",
                "indexes": [
                    models.Index(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=["account", "client_id", "id"],
                        name="note_of_client",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_client_id__isnull", False)),
                        fields=["account", "trashed_client_id"],
                        name="note_of_trashed_client",
                    ),
                    models.Index(
                        condition=models.Q(("contact_id__isnull", False)),
                        fields=["account", "contact_id", "id"],
                        name="note_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_contact_id__isnull", False)),
                        fields=["account", "trashed_contact_id"],
                        name="note_of_trashed_contact",
                    ),
                    models.Index(
                        condition=models.Q(("deal_id__isnull", False)),
                        fields=["account", "deal_id", "id"],
                        name="note_of_deal",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_deal_id__isnull", False)),
                        fields=["account", "trashed_deal_id"],
                        name="note_of_trashed_deal",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_at__isnull", False)),
                        fields=["account", "trashed_at", "id"],
                        name="note_trash",
                    ),
                    models.Index(condition=models.Q(("trashed_at", None)), fields=["account", "id"], name="note_by_id"),
                    models.Index(
                        condition=models.Q(("trashed_at", None)),
                        fields=["account", "created_at", "id"],
                        name="note_by_creation",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_at", None)),
                        fields=["account", "updated_at", "id"],
                        name="note_by_change",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            models.Func(
                                models.F("client_id"),
                                models.F("trashed_client_id"),
                                models.F("contact_id"),
                                models.F("trashed_contact_id"),
                                models.F("deal_id"),
                                models.F("trashed_deal_id"),
                                function="num_nonnulls",
                                output_field=models.IntegerField(),
                            ),
                            1,
                        ),
                        name="note_of_one_row",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UserLink",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("user_id", models.BigIntegerField()),
                (
                    "user",
                    models.ForeignObject(
                        from_fields=["account_id", "user_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("client_id", models.BigIntegerField(null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("trashed_client_id", models.BigIntegerField(editable=False, null=True)),
                ("trashed_contact_id", models.BigIntegerField(editable=False, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("proposed", "Proposed"), ("confirmed", "Confirmed"), ("rejected", "Rejected")],
                        default="confirmed",
                        max_length=255,
                    ),
                ),
                ("creator_id", models.BigIntegerField(editable=False, null=True)),
                ("updater_id", models.BigIntegerField(editable=False, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "db_table": "crm_userlink",
                "default_related_name": "user_links",
                "indexes": [
                    models.Index(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=["account", "client_id", "id"],
                        name="userlink_of_client",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_client_id__isnull", False)),
                        fields=["account", "trashed_client_id"],
                        name="userlink_of_trashed_client",
                    ),
                    models.Index(
                        condition=models.Q(("contact_id__isnull", False)),
                        fields=["account", "contact_id", "id"],
                        name="userlink_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_contact_id__isnull", False)),
                        fields=["account", "trashed_contact_id"],
                        name="userlink_of_trashed_contact",
                    ),
                    models.Index(fields=["account", "state", "id"], name="userlink_by_state"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            models.Func(
                                models.F("client_id"),
                                models.F("trashed_client_id"),
                                models.F("contact_id"),
                                models.F("trashed_contact_id"),
                                function="num_nonnulls",
                                output_field=models.IntegerField(),
                            ),
                            1,
                        ),
                        name="userlink_to_one_row",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "confirmed")),
                        fields=("account", "user_id"),
                        name="userlink_confirmed_unique",
                    ),
                    models.UniqueConstraint(fields=("account", "user_id", "client_id"), name="userlink_client_unique"),
                    models.UniqueConstraint(
                        fields=("account", "user_id", "contact_id"), name="userlink_contact_unique"
                    ),
                ],
            },
        ),
        run_sql("0001_initial.sql"),
    ]
