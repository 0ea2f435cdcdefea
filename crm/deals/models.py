"""Deals: sales, expected or closed."""

from collections.abc import Collection
from typing import Any, Self

from django.db import models, transaction
from django.db.models import OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.access.models import AccessQuerySet
from accounts.roles.models import ASSIGNABLE
from accounts.statuses.models import Status
from accounts.tags.models import Tagged
from accounts.users.models import User
from core.db.derived import Derivation, insert_with, register
from core.db.tenancy import foreign_object
from core.registry import Resource
from core.rows.additional_fields import NOT_SEARCHED, additional_fields
from core.rows.declared import CurrencyCode, Day, FieldType, LongText, Moment, Number, RowId, Text, TrimmedText
from core.rows.last_changes import LastChange, last_change_index
from core.rows.trash import link_indexes, trash_index
from core.search.declaration import Search
from crm.clients.models import Client, LinkedToClient
from crm.deals.stages import NEW_STAGES, keys_of_deals, outcomes_of, record_stages, stage_indexes
from crm.resources.external_ids import ExternalIdHolder, ExternallyIdentified
from crm.resources.models import CRMResource, additional_fields_index, list_indexes


class DealExternalId(ExternalIdHolder):
    class Meta:
        indexes = [models.Index(fields=["account", "holder_id"], name="deal_external_ids")]


# The column of the board: the id of the status, or `Status.NONE_ID`.
COLUMN_ID = Coalesce("status_id", Value(Status.NONE_ID))


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


class Deal(ExternallyIdentified, LinkedToClient, Tagged, CRMResource):
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
    # The contact while it is in the trash. Restoring the contact moves the id back to `contact_id`.
    trashed_contact_id = models.BigIntegerField(null=True, editable=False)
    won_reason = Text(_("Reason for winning"), group="deal", not_searched="mostly one of a few texts")
    lost_reason = Text(_("Reason for losing"), group="deal", not_searched="mostly one of a few texts")
    # `flush` sets these columns when the status changes (`crm.deals.stages`). They are null for a deal without a status.
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
            trash_index("deal"),
            *list_indexes("deal"),
            additional_fields_index("deal"),
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


def register_derivations() -> None:
    insert_with(Deal, NEW_STAGES)
    register(STAGES)
