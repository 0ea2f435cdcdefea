"""The stages of deals: the statuses that a deal has had, and the numbers and sums of the deals in each status.

`Deal.flush` writes them with the deal. The time of a change is `updated_at` of the deal, and for a new deal `created_at`.

- `stage_entered_at` is the time at which the deal got its status.
- `closed_at` is the time at which the outcome of the status became won or lost. It stays if the deal moves from one closed status to
  another one with the same outcome, and it is null while the outcome is open.
- `board_position` orders the deals of a status, and those without one. A deal that gets another status, or loses its status, comes first,
  unless the same write sets its position.

If an admin changes the outcome of a status, a job sets `closed_at` of its deals: to `stage_entered_at` if the outcome is won or lost now,
else to null (`crm.deals.jobs`).
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from django.db import connection, models
from django.db.models import F, Q

from accounts.access.models import AccessQuerySet
from accounts.account.models import Account
from accounts.statuses.models import Status
from core.db.derived import Act, Key
from core.db.prepared import prepared
from core.rows.counters import Counter, CountModel

# A status is compacted if it has more deltas than this.
MAX_DELTAS = 500


def stage_indexes() -> list[models.Index]:
    """Return the indexes of deals for the columns of the board, and for the filters by time."""
    return [
        models.Index(
            fields=["account", "status_id", "board_position", "id"],
            name="deal_by_position",
            condition=Q(trashed_at=None, status_id__isnull=False),
        ),
        models.Index(
            fields=["account", "responsible_id", "status_id", "board_position", "id"],
            name="deal_of_user_by_position",
            condition=Q(trashed_at=None, status_id__isnull=False, responsible_id__isnull=False),
        ),
        # PostgreSQL does not use the order of an index after `status_id IS NULL`, so deals without a status have indexes of their own.
        models.Index(
            fields=["account", "board_position", "id"],
            name="deal_without_status",
            condition=Q(trashed_at=None, status_id=None),
        ),
        models.Index(
            fields=["account", "responsible_id", "board_position", "id"],
            name="deal_of_user_without_status",
            condition=Q(trashed_at=None, status_id=None, responsible_id__isnull=False),
        ),
        models.Index(
            fields=["account", "closed_at", "id"],
            name="deal_by_closing",
            condition=Q(trashed_at=None, closed_at__isnull=False),
        ),
        models.Index(
            fields=["account", "expected_close_date", "id"],
            name="deal_by_expected_close",
            condition=Q(trashed_at=None, expected_close_date__isnull=False),
        ),
    ]


class DealStage(models.Model):
    """A status that a deal has or had. The status may be deleted later."""

    pk = models.CompositePrimaryKey("account_id", "deal_id", "number")
    account = models.ForeignKey(Account, models.CASCADE, db_index=False, db_constraint=False)
    deal_id = models.BigIntegerField()
    # A number that orders the stages of a deal.
    number = models.BigIntegerField()
    # Null if the status was taken from the deal.
    status_id = models.BigIntegerField(null=True)
    entered_at = models.DateTimeField()
    # Null for the current stage.
    left_at = models.DateTimeField(null=True)
    # The user who moved the deal to the stage.
    user_id = models.BigIntegerField()

    class Meta:
        default_related_name = "deal_stages"
        indexes = [models.Index(fields=["account", "entered_at"], name="deal_stage_by_time")]

    def __str__(self) -> str:
        return f"Status {self.status_id} of deal {self.deal_id} since {self.entered_at}"


# A new deal with a status has a stage. `row` is the CTE with the new deals.
NEW_STAGES = """, stage AS (
    INSERT INTO crm_dealstage (account_id, deal_id, number, status_id, entered_at, user_id)
    SELECT account_id, id, nextval('crm_dealstage_numbers'), status_id, stage_entered_at, updater_id FROM row WHERE status_id IS NOT NULL
) """
# The deals are locked, because the transaction has updated them. Their latest stage has the status before.
RECORD_STAGES = """
WITH moved AS (
    SELECT deal.id, deal.status_id, deal.updater_id, coalesce(deal.stage_entered_at, deal.updated_at) AS moment
    FROM crm_deal AS deal LEFT JOIN LATERAL (
        SELECT status_id FROM crm_dealstage WHERE account_id = deal.account_id AND deal_id = deal.id ORDER BY number DESC LIMIT 1
    ) AS latest ON true
    WHERE deal.account_id = %(account_id)s AND deal.id = ANY (%(ids)s) AND deal.status_id IS DISTINCT FROM latest.status_id
), former AS (
    UPDATE crm_dealstage AS stage SET left_at = moved.moment FROM moved
    WHERE stage.account_id = %(account_id)s AND stage.deal_id = moved.id AND stage.left_at IS NULL
)
INSERT INTO crm_dealstage (account_id, deal_id, number, status_id, entered_at, user_id)
SELECT %(account_id)s, id, nextval('crm_dealstage_numbers'), status_id, moment, updater_id FROM moved ORDER BY id
"""


def record_stages(account_id: int, keys: list[Key]) -> None:
    """Add the current status of the deals to their stages, if it has changed."""
    with connection.cursor() as cursor:
        cursor.execute(RECORD_STAGES, {"account_id": account_id, "ids": [id for _kind, id in keys]})


def keys_of_deals(_account_id: int, ids: Sequence[int], act: Act) -> Iterable[Key]:
    # A foreign key deletes the stages of a deleted deal.
    return [] if act == "delete" else [("deal", id) for id in ids]


@prepared(account_id=int, ids=list)
def outcomes_of(account_id: int, ids: Sequence[int]) -> models.QuerySet[models.Model, object]:
    """Return the ids and the outcomes of statuses."""
    return Status.objects.filter(account_id=account_id, id__any=ids).values_list("id", "outcome")


class DealCountQuerySet(AccessQuerySet[Any]):
    def clean_up(self) -> None:
        """Compact the statuses that have collected many deltas."""
        for account_id, status_id in COUNTER.groups_to_compact(MAX_DELTAS):
            COUNTER.compact(account_id, status_id)

    def totals(self) -> models.QuerySet[models.Model, tuple[int, str, int, Decimal]]:
        """Return (status_id, currency, number of deals, sum of their prices) for each status and currency."""
        found: models.QuerySet[models.Model, tuple[int, str, int, Decimal]] = (
            self.order_by()
            .values("status_id", "currency")
            .annotate(number_of_deals=models.Sum("deals"), total=models.Sum("price"))
            .filter(number_of_deals__gt=0)
            .order_by("status_id", F("number_of_deals").desc(), "currency")
            .values_list("status_id", "currency", "number_of_deals", "total")
        )
        return found


class DealCount(CountModel):
    """A number of deals with the same status, currency and responsible user, and the sum of their prices."""

    pk = models.CompositePrimaryKey("account_id", "status_id", "currency", "responsible_id", "number")
    # `Status.NONE_ID` for deals without a status.
    status_id = models.BigIntegerField()
    currency = models.TextField()
    # 0 for deals for which nobody is responsible.
    responsible_id = models.BigIntegerField()
    deals = models.IntegerField()
    price = models.DecimalField(max_digits=30, decimal_places=6)

    objects = DealCountQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.deals:+} with status {self.status_id}, {self.price:+} {self.currency}"


COUNTER = Counter(
    table="crm_dealcount",
    count="deals",
    columns=("status_id", "currency", "responsible_id"),
    group="status_id",
    source="crm_deal",
    values=(
        (
            # A row that does not exist, such as OLD of an insert, has no id.
            "{row}.id IS NOT NULL AND {row}.trashed_at IS NULL",
            "SELECT coalesce({row}.status_id, 0), {row}.currency, coalesce({row}.responsible_id, 0)",
        ),
    ),
    amount=("price", "coalesce({row}.price, 0)"),
)
