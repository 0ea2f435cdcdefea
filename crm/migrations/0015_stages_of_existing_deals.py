from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

from core.db.backfill import fill_column
from core.db.tenancy import online_foreign_key

IS_CLOSED = """EXISTS (
    SELECT FROM accounts_status AS status
    WHERE status.account_id = crm_deal.account_id AND status.id = crm_deal.status_id AND status.outcome <> 'open'
)"""

# The earlier stages of these deals are not known.
ADD_STAGES = """
INSERT INTO crm_dealstage (account_id, deal_id, number, status_id, entered_at, user_id)
SELECT account_id, id, nextval('crm_dealstage_numbers'), status_id, stage_entered_at, updater_id FROM crm_deal
WHERE status_id IS NOT NULL AND stage_entered_at IS NOT NULL AND NOT EXISTS (
    SELECT FROM crm_dealstage WHERE account_id = crm_deal.account_id AND deal_id = crm_deal.id
);
"""


def index(name: str, *fields: str) -> AddIndexConcurrently:
    conditions: dict[str, Any] = {f"{field}__isnull": False for field in fields if field in NULLABLE}
    if not name.endswith("contact"):
        conditions["trashed_at"] = None
    return AddIndexConcurrently("deal", models.Index(fields=["account", *fields], name=name, condition=Q(**conditions)))


NULLABLE = {"contact_id", "trashed_contact_id", "status_id", "responsible_id", "closed_at", "expected_close_date"}


class Migration(migrations.Migration):
    # Other transactions can write while the indexes are built. If this migration is interrupted, drop its indexes before the next run.
    atomic = False
    dependencies = [("crm", "0014_stages")]

    operations = [
        *online_foreign_key("crm_deal", "contact_id", "crm_contact", on_delete="SET NULL"),
        *online_foreign_key("crm_deal", "trashed_contact_id", "crm_contact", on_delete="SET NULL"),
        fill_column(
            "crm_deal",
            "closed_at",
            "updated_at",
            condition=f"closed_at IS NULL AND status_id IS NOT NULL AND {IS_CLOSED}",
        ),
        fill_column(
            "crm_deal",
            "board_position",
            "-(extract(epoch FROM created_at) * 1000000)::bigint",
            condition="board_position IS NULL AND status_id IS NOT NULL",
        ),
        fill_column(
            "crm_deal",
            "stage_entered_at",
            "updated_at",
            condition="stage_entered_at IS NULL AND status_id IS NOT NULL",
        ),
        migrations.RunSQL(ADD_STAGES, migrations.RunSQL.noop),
        index("deal_of_contact", "contact_id", "id"),
        index("deal_of_trashed_contact", "trashed_contact_id"),
        index("deal_by_position", "status_id", "board_position", "id"),
        index("deal_of_user_by_position", "responsible_id", "status_id", "board_position", "id"),
        index("deal_by_closing", "closed_at", "id"),
        index("deal_by_expected_close", "expected_close_date", "id"),
    ]
