"""The relations of clients, contacts and deals whose fields are filters of a list, such as the client of a deal."""

from dataclasses import dataclass

from django.db.models import Exists, Model, OuterRef, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.fields.catalogue import Field
from accounts.statuses.models import Status
from accounts.users.models import User
from core.rows.declared import FieldType
from team.conditions.values import OUTCOME, PIPELINE

# The filters of deals that no column has. Both are conditions on the status.
DEAL_FILTERS = (
    Field(OUTCOME, _("Outcome"), FieldType.CHOICE, "deal", read_only=True, only_filter=True),
    Field(PIPELINE, _("Pipeline"), FieldType.CHOICE, "deal", read_only=True, only_filter=True),
)


@dataclass(frozen=True)
class Relation:
    """Rows that are related to a row of a list."""

    # The prefix of a parameter.
    name: str
    label: str | Promise
    # The resource of the related rows.
    resource: str
    # The column with the id of the related row, or the column of the related rows with the id of the row.
    column: str = ""
    related_column: str = ""
    # True for the deals whose outcome is open.
    are_open: bool = False

    def rows(self, account: Account, user: User) -> QuerySet[Model]:
        """Return the related rows of all rows, as far as the user may access them."""
        rows: QuerySet[Model] = getattr(account, f"{self.resource}s").live().accessible_to(user)
        if self.are_open:
            statuses = account.deal_statuses()
            rows = rows.in_statuses([row.id for row in statuses if row.outcome == Status.Outcome.OPEN])  # type: ignore[attr-defined]
        return rows

    def exists(self, related: QuerySet[Model]) -> Exists:
        """Return the condition that a row has one of the related rows."""
        if self.column:
            return Exists(related.filter(id=OuterRef(self.column)))
        return Exists(related.filter(**{self.related_column: OuterRef("id")}))


CLIENT = Relation("client", _("Client"), "client", column="client_id")
CONTACT = Relation("contact", _("Contact"), "contact", column="contact_id")
OPEN_DEALS = Relation("open_deals", _("Open deals"), "deal", related_column="client_id", are_open=True)
# The relations of the rows of a resource.
RELATIONS: dict[str, tuple[Relation, ...]] = {
    "client": (OPEN_DEALS,),
    "contact": (CLIENT,),
    "deal": (CLIENT, CONTACT),
    "task": (CLIENT,),
}
