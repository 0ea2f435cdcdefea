from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

from core.db.backfill import fill_column


def index(name: str, *fields: str, **conditions: Any) -> AddIndexConcurrently:
    condition = Q(trashed_at=None, status_id=None, **conditions)
    return AddIndexConcurrently("deal", models.Index(fields=["account", *fields], name=name, condition=condition))


class Migration(migrations.Migration):
    # Other transactions can write while the indexes are built. If this migration is interrupted, drop its indexes before the next run.
    atomic = False
    dependencies = [("crm", "0023_deals_without_status")]

    operations = [
        fill_column(
            "crm_deal",
            "board_position",
            "-(extract(epoch FROM created_at) * 1000000)::bigint",
            condition="board_position IS NULL",
        ),
        index("deal_without_status", "board_position", "id"),
        index("deal_of_user_without_status", "responsible_id", "board_position", "id", responsible_id__isnull=False),
    ]
