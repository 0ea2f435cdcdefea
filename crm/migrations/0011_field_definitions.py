import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.ordering
import core.db.tenancy
import core.search.declaration
from core.changes.models import change_triggers
from core.db.tenancy import id_triggers, plan_for_large_accounts


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0027_resources_with_fields"),
        ("crm", "0010_declare_search"),
    ]

    operations = [
        migrations.CreateModel(
            name="FieldDefinition",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "db_table": "crm_fielddefinition",
                "default_related_name": "field_definitions",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "resource", "key"), name="field_key_unique"),
                    models.UniqueConstraint(fields=("account", "resource", "label"), name="field_label_unique"),
                    core.search.declaration.Search(
                        by_account=False,
                        condition=models.Q(),
                        name="fielddefinition_search",
                        name_field="label",
                        short=("key",),
                    ),
                ],
            },
            bases=(core.db.ordering.Ordered, models.Model),
        ),
        *id_triggers("crm_fielddefinition"),
        change_triggers("crm_fielddefinition", "field_definition", trash=False),
        *plan_for_large_accounts("crm_fielddefinition"),
    ]
