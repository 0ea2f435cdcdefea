"""Deals: sales, expected or closed, their stages, and the numbers and sums of the deals in each status.

A stage is a status that a deal has had. `Deal.flush` writes the stages with the deal. The time of a change is `updated_at` of the deal, and
for a new deal `created_at`.

- `stage_entered_at` is the time at which the deal got its status.
- `closed_at` is the time at which the outcome of the status became won or lost. It stays if the deal moves from one closed status to
  another one with the same outcome, and it is null while the outcome is open.
- `board_position` orders the deals of a status, and those without one. A deal that gets another status, or loses its status, comes first,
  unless the same write sets its position.

If an admin changes the outcome of a status, a job sets `closed_at` of its deals: to `stage_entered_at` if the outcome is won or lost now,
else to null (`crm.deals.jobs`).
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Self

from django.db import connection, models, transaction
from django.db.models import F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.access.models import AccessQuerySet
from accounts.account.models import Account
from accounts.roles.models import ASSIGNABLE
from accounts.statuses.models import Status
from accounts.tags.models import Tagged
from accounts.users.models import User
from core.changes.events import insert_events
from core.db.derived import Act, Derivation, Key
from core.db.prepared import prepared
from core.db.tenancy import foreign_object
from core.registry import Resource
from core.rows.additional_fields import NOT_SEARCHED, additional_fields
from core.rows.counters import Counter, CountModel
from core.rows.declared import CurrencyCode, Day, FieldType, LongText, Moment, Number, RowId, Text, TrimmedText
from core.rows.last_changes import LastChange, last_change_index
from core.rows.trash import link_indexes
from core.search.declaration import Search
from crm.clients.models import Client
from crm.resources.models import CRMResource, ExternalIdHolder, ExternallyIdentified, record_indexes


class DealExternalId(ExternalIdHolder):
    class Meta:
        indexes = [models.Index(fields=["account", "holder_id"], name="deal_external_ids")]


# A status is compacted if it has more deltas than this.
MAX_DELTAS = 500
# The column of the board: the id of the status, or `Status.NONE_ID`.
COLUMN_ID = Coalesce("status_id", Value(Status.NONE_ID))


# The orders of lists with an index: deals without an amount come where 0 is, those without a day after all days.
ORDERS = {
    "price": Coalesce("price", Value(Decimal(0))),
    "expected_close_date": Coalesce("expected_close_date", Value(date.max)),
}


def stage_indexes() -> list[models.Index]:
    """Return the indexes of deals for the columns of the board, and for the filters by time."""
    has_status, has_user = {"status_id__isnull": False}, {"responsible_id__isnull": False}
    # PostgreSQL does not use the order of an index after `status_id IS NULL`, so deals without a status have indexes of their own.
    indexes: dict[str, tuple[list[str], dict[str, Any]]] = {
        "deal_by_position": (["status_id", "board_position"], has_status),
        "deal_of_user_by_position": (["responsible_id", "status_id", "board_position"], has_status | has_user),
        "deal_without_status": (["board_position"], {"status_id": None}),
        "deal_of_user_without_status": (["responsible_id", "board_position"], {"status_id": None} | has_user),
        "deal_by_closing": (["closed_at"], {"closed_at__isnull": False}),
        "deal_by_expected_close": (["expected_close_date"], {"expected_close_date__isnull": False}),
    }
    orders = {"deal_by_price": ORDERS["price"], "deal_by_closing_day": ORDERS["expected_close_date"]}
    return [
        *(
            models.Index(fields=["account", *fields, "id"], name=name, condition=Q(trashed_at=None, **conditions))
            for name, (fields, conditions) in indexes.items()
        ),
        *(
            models.Index("account", order, "id", name=name, condition=Q(trashed_at=None))
            for name, order in orders.items()
        ),
    ]


# The events of new deals that are won or lost already, and of moved deals.
NEW_OUTCOMES = insert_events("""
    SELECT row.account_id, 'deal', row.id, status.outcome, row.updater_id,
        jsonb_build_object('before', NULL, 'after', jsonb_build_object('status_id', status.id, 'status', status.name))
    FROM row JOIN accounts_status AS status ON status.account_id = row.account_id AND status.id = row.status_id
    WHERE status.outcome IN ('won', 'lost')
""")
MOVES = insert_events("""
    SELECT %(account_id)s::bigint, 'deal', moved.id, event.name, moved.updater_id, jsonb_build_object(
        'before', jsonb_build_object('status_id', moved.former_id, 'status', former.name),
        'after', jsonb_build_object('status_id', moved.status_id, 'status', status.name)
    )
    FROM moved
    LEFT JOIN accounts_status AS former ON former.account_id = %(account_id)s AND former.id = moved.former_id
    LEFT JOIN accounts_status AS status ON status.account_id = %(account_id)s AND status.id = moved.status_id
    CROSS JOIN LATERAL (
        VALUES ('stage_changed', true),
            ('won', status.outcome = 'won' AND former.outcome IS DISTINCT FROM 'won'),
            ('lost', status.outcome = 'lost' AND former.outcome IS DISTINCT FROM 'lost'),
            ('reopened', coalesce(status.outcome, 'open') = 'open' AND former.outcome IN ('won', 'lost'))
    ) AS event (name, has_happened)
    WHERE event.has_happened ORDER BY moved.id
""")
# A new deal with a status has a stage. `row` is the CTE with the new deals.
NEW_STAGES = f""", event AS ({NEW_OUTCOMES}), stage AS (
    INSERT INTO crm_dealstage (account_id, deal_id, number, status_id, entered_at, user_id)
    SELECT account_id, id, nextval('crm_dealstage_numbers'), status_id, stage_entered_at, updater_id FROM row WHERE status_id IS NOT NULL
) """  # noqa: S608


# The deals are locked, because the transaction has updated them. Their latest stage has the status before.
RECORD_STAGES = f"""
WITH moved AS (
    SELECT deal.id, deal.status_id, latest.status_id AS former_id, deal.updater_id, coalesce(deal.stage_entered_at, deal.updated_at) AS moment
    FROM crm_deal AS deal LEFT JOIN LATERAL (
        SELECT status_id FROM crm_dealstage WHERE account_id = deal.account_id AND deal_id = deal.id ORDER BY number DESC LIMIT 1
    ) AS latest ON true
    WHERE deal.account_id = %(account_id)s AND deal.id = ANY (%(ids)s) AND deal.status_id IS DISTINCT FROM latest.status_id
), former AS (
    UPDATE crm_dealstage AS stage SET left_at = moved.moment FROM moved
    WHERE stage.account_id = %(account_id)s AND stage.deal_id = moved.id AND stage.left_at IS NULL
), event AS ({MOVES})
INSERT INTO crm_dealstage (account_id, deal_id, number, status_id, entered_at, user_id)
SELECT %(account_id)s, id, nextval('crm_dealstage_numbers'), status_id, moment, updater_id FROM moved ORDER BY id
"""  # noqa: S608


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


class DealQuerySet(AccessQuerySet["Deal"]):
    def update(self, **values: Any) -> int:
        if "status_id" in values:
            raise TypeError("Write the status of a deal with Deal.flush, which sets the columns that follow it.")
        return super().update(**values)

    update.alters_data = True  # type: ignore[attr-defined]

    def in_statuses(self, ids: Collection[int]) -> Self:
        """Return the deals in one of the statuses. `Status.NONE_ID` stands for no status."""
        condition = Q(status_id__in=[id for id in ids if id != Status.NONE_ID])
        return self.filter(condition | Q(status_id=None) if Status.NONE_ID in ids else condition)

    def with_outcome(self) -> Self:
        """Annotate the deals with the `outcome` of their status."""
        statuses = Status.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("status_id"))
        return self.annotate(
            outcome=Coalesce(Subquery(statuses.values("outcome")), Value(Status.make_placeholder().outcome))
        )


class Deal(ExternallyIdentified, Tagged, CRMResource):
    """A sale, expected or closed."""

    api_resource = Resource("deal", _("Deal"), _("Deals"), icon="handshake")

    HOLDER_MODEL = DealExternalId
    REFERRERS = ("notes", "posts")

    name = TrimmedText(_("Name"), group="deal", is_required=True, in_lists=True)
    description = LongText(_("Description"), group="description", searched="long")
    price = Number(_("Amount"), type=FieldType.MONEY, group="deal", in_lists=True)
    client_id = RowId(_("Client"), "clients", type=FieldType.CLIENT, group="deal", in_lists=True)
    currency = CurrencyCode(
        _("Currency"), group="deal", null=False, max_length=255, not_searched="a code that most deals share"
    )
    status_id = RowId(
        _("Status"), "statuses", type=FieldType.STATUS, filters={"kind": "deal"}, group="deal", in_lists=True
    )
    responsible_id = RowId(
        _("Responsible"), "users", type=FieldType.USER, filters=ASSIGNABLE, group="deal", in_lists=True
    )
    url = Text(
        _("Address in another system"), type=FieldType.LINK, not_searched="the address of the deal in another system"
    )
    origin = Text(_("Origin"), not_searched="the name of another system, shared by many deals")
    expected_close_date = Day(_("Expected close"), group="deal", in_lists=True)
    contact_id = RowId(_("Contact"), "contacts", type=FieldType.CONTACT, group="deal")
    # The client and the contact while they are in the trash. Restoring them moves the ids back.
    trashed_client_id = models.BigIntegerField(null=True, editable=False)
    trashed_contact_id = models.BigIntegerField(null=True, editable=False)
    won_reason = Text(_("Reason for winning"), group="deal", not_searched="mostly one of a few texts")
    lost_reason = Text(_("Reason for losing"), group="deal", not_searched="mostly one of a few texts")
    # `flush` sets these columns when the status changes. They are null for a deal without a status.
    closed_at = Moment(pgettext_lazy("of a deal", "Closed"), group="deal", null=True, editable=False)
    stage_entered_at = Moment(_("In this status since"), group="deal", null=True, editable=False)
    # The order of the deals in a status. A deal that gets a status comes first, unless the write also sets its position.
    board_position = models.BigIntegerField(null=True, editable=False)
    additional_fields = additional_fields()

    # A client from the input of the deal that is not written yet.
    nested_client: Client | None = None
    # The stored status of a deal whose new status is not written yet.
    former_status_id: int | None = None

    search = Search(
        json_values=("external_ids",),
        filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
        not_searched={"additional_fields": NOT_SEARCHED},
    )
    objects = DealQuerySet.as_manager()

    class Meta:
        default_related_name = "deals"
        indexes = [
            *link_indexes("deal", "client", "id"),
            *link_indexes("deal", "contact", "id"),
            *stage_indexes(),
            *record_indexes("deal"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def column(self) -> int:
        """`COLUMN_ID` of this deal."""
        return Status.NONE_ID if self.status_id is None else self.status_id

    def assign(self, values: dict[str, Any], *, by: User) -> None:
        """Set attributes from the validated values. `client` is a pair: a client and the values for it.

        An existing client without values is linked, and otherwise not changed.
        """
        values = dict(values)
        if pair := values.pop("client", None):
            client, client_values = pair
            if client_values or client._state.adding:
                self.nested_client = client
                client.assign(client_values, by=by)
            else:
                values["client_id"] = client.id
        if self._state.adding:
            values.setdefault("currency", self.account.currency)
        elif "status_id" in values:
            if values["status_id"] == self.status_id:
                del values["status_id"]
            elif "status_id" not in self.unsaved_fields:
                self.former_status_id = self.status_id
        super().assign(values, by=by)

    @classmethod
    @transaction.atomic(savepoint=False)
    def flush(cls, rows: list[Self]) -> None:
        """Write the clients from the input of the deals, then the deals."""
        linked = [(row, row.nested_client) for row in rows if row.nested_client]
        if clients := {id(client): client for _, client in linked}:
            Client.flush(list(clients.values()))
        for row, client in linked:
            row.client_id, row.trashed_client_id, row.nested_client = client.id, None, None
            row.unsaved_fields |= {"client_id", "trashed_client_id"}
        cls._enter_stages([row for row in rows if row._state.adding or row._changes_status()])
        super().flush(rows)

    @classmethod
    def _enter_stages(cls, rows: list[Self]) -> None:
        """Set the columns that follow the status."""
        ids = {id for row in rows for id in (row.status_id, row.former_status_id) if id is not None}
        outcomes = dict(outcomes_of(account_id=rows[0].account_id, ids=sorted(ids))) if ids else {}
        for row in rows:
            row._enter_stage(outcomes)

    def _changes_status(self) -> bool:
        return "status_id" in self.unsaved_fields and self.status_id != self.former_status_id

    def _enter_stage(self, outcomes: dict[int | None, str]) -> None:
        moment = self.created_at if self._state.adding else self.updated_at
        outcome = outcomes.get(self.status_id, Status.Outcome.OPEN)
        self.stage_entered_at = None if self.status_id is None else moment
        if outcome == Status.Outcome.OPEN:
            self.closed_at = None
        elif self.closed_at is None or outcome != outcomes.get(self.former_status_id):
            self.closed_at = moment
        has_position = (
            self.board_position is not None if self._state.adding else "board_position" in self.unsaved_fields
        )
        if not has_position:
            self.board_position = -round(moment.timestamp() * 1_000_000)
        self.former_status_id = None
        self.unsaved_fields |= {"stage_entered_at", "closed_at", "board_position"}


class DealLastChange(LastChange):
    row = foreign_object(Deal, "id", related_name="last_change")

    class Meta:
        default_related_name = "deal_last_changes"
        indexes = [last_change_index("deal")]


STAGES = Derivation(
    model=Deal,
    columns=frozenset({"status_id"}),
    keys_of=keys_of_deals,
    keys_of_row=lambda deal: [("deal", deal.id)],
    key_columns=frozenset(),
    update=record_stages,
    # `NEW_STAGES` writes the stages of new deals.
    concerns_new=lambda _deal: False,
)


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
