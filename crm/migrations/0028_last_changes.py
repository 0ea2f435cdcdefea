from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations, models

from core.db.last_changes import create_last_changes
from core.db.tenancy import plan_for_large_accounts

KINDS = ("client", "contact", "deal")


def operations_of(kind: str) -> list[Any]:
    table, entries = f"crm_{kind}", f"crm_{kind}lastchange"
    row = models.ForeignObject(
        from_fields=["account_id", "id"],
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name="last_change",
        to=f"crm.{kind}",
        to_fields=["account_id", "id"],
    )
    account = models.ForeignKey(
        db_constraint=False,
        db_index=False,
        on_delete=django.db.models.deletion.CASCADE,
        to=settings.ACCOUNT_MODEL,
    )
    return [
        migrations.CreateModel(
            f"{kind.title()}LastChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField()),
                ("updated_at", models.DateTimeField()),
                ("row", row),
                ("account", account),
            ],
            options={
                "default_related_name": f"{kind}_last_changes",
                "indexes": [
                    models.Index(fields=["account", "updated_at", "id"], name=f"{kind}_by_last_change"),
                ],
            },
        ),
        *create_last_changes(table),
        *plan_for_large_accounts(entries),
        RemoveIndexConcurrently(kind, f"{kind}_by_change"),
    ]


class Migration(migrations.Migration):
    """Store the times of the last change of clients, contacts and deals in tables of their own.

    Until the new version of the service runs, lists in this order are slow.
    """

    # So that rows can be written while the tables are filled.
    atomic = False
    dependencies = [("accounts", "0034_parts_by_account"), ("crm", "0027_fewer_index_entries")]

    operations = [operation for kind in KINDS for operation in operations_of(kind)]
