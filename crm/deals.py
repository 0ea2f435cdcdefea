"""Deals: sales, expected or closed."""

from collections.abc import Collection
from typing import Any, Self

from django.db import models, transaction
from django.db.models import OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce

from accounts.access import AccessQuerySet
from accounts.models import Status, User
from accounts.tags import Tagged
from core.db.additional_fields import NOT_SEARCHED, additional_fields
from core.db.trash import link_indexes, trash_index
from core.db.triggers import TriggerBigIntegerField, TriggerDateTimeField
from core.db.trimmed import CurrencyCodeField, TrimmedCharField
from core.search.declaration import Search
from crm.base import Resource, additional_fields_index, list_indexes, optional_long_text, optional_text
from crm.clients import Client, LinkedToClient
from crm.external_ids import ExternalIdHolder, ExternallyIdentified
from crm.stages import stage_indexes


class DealExternalId(ExternalIdHolder):
    class Meta:
        indexes = [models.Index(fields=["account", "holder_id"], name="deal_external_ids")]


# The column of the board: the id of the status, or `Status.NONE_ID`.
COLUMN_ID = Coalesce("status_id", Value(Status.NONE_ID))


class DealQuerySet(AccessQuerySet):
    def in_statuses(self, ids: Collection[int]) -> Self:
        """Return the deals in one of the statuses. `Status.NONE_ID` stands for no status."""
        condition = Q(status_id__in=[id for id in ids if id != Status.NONE_ID])
        return self.filter(condition | Q(status_id=None) if Status.NONE_ID in ids else condition)

    def with_outcome(self) -> Self:
        """Annotate the deals with the `outcome` of their status."""
        statuses = Status.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("status_id"))
        return self.annotate(outcome=Coalesce(Subquery(statuses.values("outcome")), Value(Status.for_none().outcome)))


class Deal(ExternallyIdentified, LinkedToClient, Tagged, Resource):
    """A sale, expected or closed."""

    HOLDER_MODEL = DealExternalId
    REFERRERS = ("notes", "posts")

    name = TrimmedCharField(max_length=255)
    description = optional_long_text()
    price = models.DecimalField(null=True, max_digits=20, decimal_places=6)
    currency = CurrencyCodeField(max_length=255)
    status_id = models.BigIntegerField(null=True)
    responsible_id = models.BigIntegerField(null=True)
    url = optional_text()
    origin = optional_text()
    expected_close_date = models.DateField(null=True)
    contact_id = models.BigIntegerField(null=True)
    # The contact while it is in the trash. Restoring the contact moves the id back to `contact_id`.
    trashed_contact_id = models.BigIntegerField(null=True, editable=False)
    won_reason = optional_text()
    lost_reason = optional_text()
    # Triggers set these columns when the status changes (`crm.stages`). They are null for a deal without a status.
    closed_at = TriggerDateTimeField(null=True)
    stage_entered_at = TriggerDateTimeField(null=True)
    # The order of the deals in a status. A deal that gets a status comes first, unless the write also sets its position.
    board_position = TriggerBigIntegerField(null=True)
    additional_fields = additional_fields()

    # A client from the input of the deal that is not written yet.
    nested_client: Client | None = None

    search = Search(
        json_values=("external_ids",),
        long=("description",),
        filters=("status_id", "responsible_id", "creator_id", "updater_id", "tags"),
        not_searched={
            "currency": "a code that most deals share",
            "url": "the address of the deal in another system",
            "origin": "the name of another system, shared by many deals",
            "won_reason": "mostly one of a few texts",
            "lost_reason": "mostly one of a few texts",
            "additional_fields": NOT_SEARCHED,
        },
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
        super().assign(values, by=by)

    @classmethod
    @transaction.atomic(savepoint=False)
    def flush(cls, rows: list[Self], *, single_statement: bool = False) -> None:
        """Write the clients from the input of the deals, then the deals."""
        linked = [(row, row.nested_client) for row in rows if row.nested_client]
        if clients := {id(client): client for _, client in linked}:
            Client.flush(list(clients.values()))
        for row, client in linked:
            row.client_id, row.trashed_client_id, row.nested_client = client.id, None, None
            row.unsaved_fields |= {"client_id", "trashed_client_id"}
        super().flush(rows, single_statement=single_statement and not linked)
