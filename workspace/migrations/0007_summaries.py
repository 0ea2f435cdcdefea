import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from core.db.tenancy import plan_for_large_accounts
from workspace.summary_triggers import create_summary_triggers

ACCOUNT = {
    "db_constraint": False,
    "db_index": False,
    "on_delete": django.db.models.deletion.CASCADE,
    "to": "accounts.account",
}
SUM = {"decimal_places": 6, "max_digits": 30}


def key(*columns: str) -> models.CompositePrimaryKey:
    return models.CompositePrimaryKey(*columns, blank=True, editable=False, primary_key=True, serialize=False)


def summary(kind: str, *columns: tuple[str, models.Field], indexes: list[models.Index]) -> migrations.CreateModel:
    return migrations.CreateModel(
        name=f"{kind.capitalize()}Summary",
        fields=[
            ("last_activity_at", models.DateTimeField(null=True)),
            ("next_task_at", models.DateTimeField(null=True)),
            ("pk", key("account_id", f"{kind}_id")),
            (f"{kind}_id", models.BigIntegerField()),
            ("account", models.ForeignKey(**ACCOUNT)),
            (
                kind,
                models.ForeignObject(
                    from_fields=["account_id", f"{kind}_id"],
                    on_delete=django.db.models.deletion.DO_NOTHING,
                    related_name="stored_summary",
                    to=f"crm.{kind}",
                    to_fields=["account_id", "id"],
                ),
            ),
            *columns,
        ],
        options={"default_related_name": f"{kind}_summaries", "indexes": indexes},
    )


def orders(kind: str, *columns: str) -> list[models.Index]:
    condition = Q(last_activity_at__isnull=False)
    return [
        models.Index(fields=["account", column, f"{kind}_id"], name=f"{kind}_by_{column}", condition=condition)
        for column in columns
    ]


def links(kind: str, target: str) -> list[models.Index]:
    return [
        models.Index(
            fields=["account", f"{target}_id", column],
            name=f"{kind}_of_{target}_by_{name}",
            condition=Q(**{f"{target}_id__isnull": False, f"{column}__isnull": False}),
        )
        for name, column in (("activity", "last_activity_at"), ("task", "next_task_at"))
    ]


class Migration(migrations.Migration):
    """The summaries of clients, contacts and deals, and the triggers that update them. Those of existing rows follow in 0008."""

    dependencies = [
        ("accounts", "0029_pipelines"),
        ("crm", "0022_activity_indexes"),
        ("forum", "0026_activity_indexes"),
        ("workspace", "0006_merges"),
    ]

    operations = [
        summary(
            "client",
            ("open_sum", models.DecimalField(**SUM, default=0)),
            ("won_sum", models.DecimalField(**SUM, default=0)),
            indexes=orders("client", "last_activity_at", "next_task_at", "open_sum", "won_sum"),
        ),
        summary(
            "contact",
            ("client_id", models.BigIntegerField(null=True)),
            indexes=[*orders("contact", "last_activity_at", "next_task_at"), *links("contact", "client")],
        ),
        summary(
            "deal",
            ("client_id", models.BigIntegerField(null=True)),
            ("contact_id", models.BigIntegerField(null=True)),
            ("outcome", models.TextField(null=True)),
            ("currency", models.TextField(null=True)),
            ("price", models.DecimalField(decimal_places=6, max_digits=20, null=True)),
            indexes=[
                *orders("deal", "last_activity_at", "next_task_at"),
                *links("deal", "client"),
                *links("deal", "contact"),
            ],
        ),
        migrations.CreateModel(
            name="ClientRevenue",
            fields=[
                ("pk", key("account_id", "client_id", "currency")),
                ("account", models.ForeignKey(**ACCOUNT)),
                ("client_id", models.BigIntegerField()),
                ("currency", models.TextField()),
                ("open_deals", models.IntegerField()),
                ("open_sum", models.DecimalField(**SUM)),
                ("won_deals", models.IntegerField()),
                ("won_sum", models.DecimalField(**SUM)),
            ],
            options={"default_related_name": "client_revenues"},
        ),
        create_summary_triggers(),
        *plan_for_large_accounts(
            "workspace_clientsummary",
            "workspace_contactsummary",
            "workspace_dealsummary",
            "workspace_clientrevenue",
        ),
    ]
