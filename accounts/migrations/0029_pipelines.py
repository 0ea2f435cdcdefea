from typing import Any

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.models import Q

import accounts.account
import core.db.ordering
import core.db.tenancy
import core.search.declaration
from core.changes.models import change_triggers
from core.db.tenancy import composite_foreign_key, plan_for_large_accounts

ADD_PIPELINES = """
INSERT INTO accounts_pipeline (account_id, id, name, position, created_at, updated_at)
SELECT id, 1, 'Sales', 1, now(), now() FROM accounts_account;
"""

# Open statuses get probabilities between 0 and 100 by their order, unless they are default statuses. Without its triggers, the table is
# free for the following changes of its schema, and the change feed does not report all statuses.
SET_OUTCOMES = """
ALTER TABLE accounts_status DISABLE TRIGGER USER;
UPDATE accounts_status SET
    pipeline_id = 1,
    outcome = CASE WHEN NOT closed THEN 'open' WHEN code = 'won' THEN 'won' ELSE 'lost' END,
    probability = CASE
        WHEN closed THEN CASE code WHEN 'won' THEN 100 ELSE 0 END
        WHEN code = 'new' THEN 10
        WHEN code = 'qualified' THEN 30
        WHEN code = 'proposal' THEN 60
        ELSE round(100.0 * place.number / (place.total + 1))
    END,
    rot_days = CASE WHEN closed THEN NULL WHEN code = 'new' THEN 7 ELSE 14 END
FROM (
    SELECT account_id, id, row_number() OVER (PARTITION BY account_id, closed ORDER BY position, id) AS number,
        count(*) OVER (PARTITION BY account_id, closed) AS total
    FROM accounts_status WHERE kind = 'deal'
) AS place
WHERE accounts_status.account_id = place.account_id AND accounts_status.id = place.id;
ALTER TABLE accounts_status ENABLE TRIGGER USER;
"""

# The version before this migration, which may still be serving, creates statuses without these columns.
ALLOW_FORMER_WRITES = """
CREATE FUNCTION accounts_complete_deal_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.outcome := CASE WHEN NOT NEW.closed THEN 'open' WHEN NEW.outcome = 'won' THEN 'won' ELSE 'lost' END;
    NEW.probability := CASE NEW.outcome WHEN 'won' THEN 100 WHEN 'lost' THEN 0 ELSE coalesce(NEW.probability, 50) END;
    IF NEW.pipeline_id IS NULL THEN
        INSERT INTO accounts_pipeline (account_id, id, name, position, created_at, updated_at)
        VALUES (NEW.account_id, 1, 'Sales', 1, now(), now()) ON CONFLICT DO NOTHING;
        NEW.pipeline_id := (
            SELECT id FROM accounts_pipeline WHERE account_id = NEW.account_id ORDER BY position, id LIMIT 1
        );
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER complete_deal_status BEFORE INSERT OR UPDATE ON accounts_status FOR EACH ROW
    WHEN (NEW.kind = 'deal' AND (
        NEW.outcome IS NULL OR NEW.probability IS NULL OR NEW.pipeline_id IS NULL OR NEW.closed = (NEW.outcome = 'open')
    ))
    EXECUTE FUNCTION accounts_complete_deal_status();
"""

REFUSE_FORMER_WRITES = """
DROP TRIGGER complete_deal_status ON accounts_status;
DROP FUNCTION accounts_complete_deal_status();
"""


def set_reasons(apps: Any, schema_editor: Any) -> None:
    apps.get_model("accounts", "Account").objects.update(
        won_reasons=accounts.account.default_won_reasons(), lost_reasons=accounts.account.default_lost_reasons()
    )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0028_access")]

    operations = [
        migrations.CreateModel(
            name="Pipeline",
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
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("name", models.CharField(max_length=255)),
                ("position", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "default_related_name": "pipelines",
                "constraints": [models.UniqueConstraint(fields=("account", "name"), name="pipeline_name_unique")],
            },
            bases=(core.db.ordering.Ordered, models.Model),
        ),
        *core.db.tenancy.id_triggers("accounts_pipeline"),
        # Search indexes the existing rows, and sees their triggers: insert the rows first.
        migrations.RunSQL(ADD_PIPELINES, migrations.RunSQL.noop),
        migrations.AddConstraint(
            "pipeline",
            core.search.declaration.Search(by_account=False, condition=Q(), name="pipeline_search", name_field="name"),
        ),
        change_triggers("accounts_pipeline", "pipeline", trash=False),
        *plan_for_large_accounts("accounts_pipeline"),
        *(
            migrations.AddField(
                "account",
                f"{outcome}_reasons",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.CharField(max_length=255),
                    db_default=[],
                    default=getattr(accounts.account, f"default_{outcome}_reasons"),
                    size=None,
                ),
            )
            for outcome in ("won", "lost")
        ),
        migrations.RunPython(set_reasons, migrations.RunPython.noop),
        migrations.AddField(
            "status",
            "outcome",
            models.CharField(choices=[("open", "Open"), ("won", "Won"), ("lost", "Lost")], max_length=255, null=True),
        ),
        migrations.AddField("status", "probability", models.SmallIntegerField(null=True)),
        migrations.AddField("status", "pipeline_id", models.BigIntegerField(null=True)),
        migrations.AddField("status", "rot_days", models.SmallIntegerField(null=True)),
        migrations.RunSQL(SET_OUTCOMES, migrations.RunSQL.noop),
        migrations.RunSQL(ALLOW_FORMER_WRITES, REFUSE_FORMER_WRITES),
        composite_foreign_key("accounts_status", "pipeline_id", "accounts_pipeline"),
        migrations.RemoveConstraint("status", "status_name_unique"),
        migrations.AddConstraint(
            "status",
            models.UniqueConstraint(
                fields=["account", "kind", "name"], name="status_name_unique", condition=~Q(kind="deal")
            ),
        ),
        migrations.AddConstraint(
            "status",
            models.UniqueConstraint(
                fields=["account", "pipeline_id", "name"], name="deal_status_name_unique", condition=Q(kind="deal")
            ),
        ),
        migrations.AddConstraint(
            "status",
            models.CheckConstraint(
                name="status_of_deal",
                condition=(
                    Q(kind="deal", outcome__isnull=False, probability__isnull=False, pipeline_id__isnull=False)
                    & Q(probability__range=(0, 100))
                    & (Q(outcome="open", closed=False) | Q(outcome__in=("won", "lost"), closed=True))
                )
                | (~Q(kind="deal") & Q(outcome=None, probability=None, pipeline_id=None, rot_days=None)),
            ),
        ),
    ]
