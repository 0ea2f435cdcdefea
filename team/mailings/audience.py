"""The recipients of a message about a suggestion: the clients and contacts behind it, as far as they may be contacted."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.statuses.models import Status
from accounts.users.models import User
from core.errors import FieldError
from core.rows.trimmed import trim
from core.rows.values import ValuesRow
from crm.resources.models import blocked_addresses
from team.backers.models import backers_of, backing_contacts_of

# The maximum number of recipients of a message.
MAX_RECIPIENTS = 5000
# The maximum numbers of clients and of contacts behind a suggestion that are considered for a message.
MAX_CANDIDATES = 10_000


class Among(models.TextChoices):
    """Which of the customers behind a suggestion get a message."""

    ALL = "all", _("All customers behind it")
    OPEN = "open", _("Those with open deals")
    WON = "won", _("Those with won deals")


class LeftOut(models.TextChoices):
    """Why a client or contact does not get a message."""

    NO_EMAIL = "no_email", _("No valid e-mail address")
    DO_NOT_CONTACT = "do_not_contact", _("Asked not to be contacted")
    REFUSED = "refused", _("Did not agree to be contacted")
    NOT_ASKED = "not_asked", _("Was not asked for consent")
    SAME_ADDRESS = "same_address", _("Has the e-mail address of another recipient")


@dataclass(frozen=True)
class MailingRecipient:
    """A client or contact that gets a message, at most one for each e-mail address."""

    resource: str
    id: int
    name: str
    # The name in the greeting.
    greeting: str
    email: str
    email_key: str


@dataclass
class Audience:
    people: list[MailingRecipient] = field(default_factory=list)
    # The numbers of clients and contacts that are left out, by `LeftOut`.
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def reasons(self) -> list[tuple[str | Promise, int]]:
        """The reasons for leaving out clients and contacts, as pages show them, with their numbers."""
        return [(reason.label, self.left_out[reason]) for reason in LeftOut if self.left_out[reason]]

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers of clients and contacts that are left out, for each reason."""
        return {reason.value: self.left_out[reason] for reason in LeftOut}

    def check_size(self) -> None:
        """Raise FieldError if a message would have no recipients or too many."""
        if not self.people:
            raise FieldError("among", _("leaves nobody who may get the message"), "empty")
        if len(self.people) > MAX_RECIPIENTS:
            values = {"most": MAX_RECIPIENTS}
            raise FieldError("among", _("has too many recipients (maximum is {most})"), "too_many", values)


COLUMNS = ("id", "name", "first_name", "email", "email_key", "consent", "do_not_contact", "client_id", "client_blocked")


def customers_behind(account: Account, user: User, post_id: int) -> list[ValuesRow]:
    """Return the contacts and then the clients behind a suggestion that the user may access. Raise FieldError if there are too many.

    Contacts come first: if a client has the e-mail address of its contact, the message greets the person.
    """
    owner_blocked = account.clients.filter(id=OuterRef("client_id")).values("do_not_contact")[:1]
    contacts = backing_contacts_of(account, user, post_id).annotate(client_blocked=Subquery(owner_blocked))
    clients = backers_of(account, user, post_id)
    found: list[ValuesRow] = []
    for resource, rows, columns in (("contact", contacts, COLUMNS), ("client", clients, COLUMNS[:-2])):
        some = list(rows.order_by("id").values(*columns)[: MAX_CANDIDATES + 1])
        if len(some) > MAX_CANDIDATES:
            values = {"most": MAX_CANDIDATES}
            raise FieldError("among", _("has too many customers (maximum is {most})"), "too_many", values)
        found += [{"resource": resource, "client_id": row["id"], "client_blocked": False} | row for row in some]
    return found


def filter_by_deals(account: Account, user: User, rows: list[ValuesRow], outcome: Status.Outcome) -> list[ValuesRow]:
    """Return the rows that have a deal with the outcome. A contact also has the deals of its client."""
    contact_ids = [row["id"] for row in rows if row["resource"] == "contact"]
    client_ids = {row["client_id"] for row in rows} - {None}
    of_rows = Q(client_id__in=client_ids) | Q(contact_id__in=contact_ids)
    deals: Any = account.deals.live().accessible_to(user).with_outcome()
    deals = deals.filter(of_rows, outcome=outcome).order_by()
    pairs = set(deals.values_list("client_id", "contact_id").distinct())
    clients, contacts = {client for client, _ in pairs}, {contact for _, contact in pairs}
    clients.discard(None)
    ids = {"contact": contacts, "client": clients}
    return [row for row in rows if row["client_id"] in clients or row["id"] in ids[row["resource"]]]


def is_email(text: str | None) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


@dataclass(frozen=True)
class Candidates:
    """The customers who may get a message, with the e-mails that must not get one."""

    rows: list[ValuesRow]
    blocked: set[str]

    def audience(self, *, include_not_asked: bool) -> Audience:
        """Return who gets the message.

        A client or contact that refused consent or asked not to be contacted is left out, as is every other one with the same e-mail.
        A contact is also left out if its client asked not to be contacted. Those whose consent is not recorded are left out unless
        `include_not_asked` is true.
        """
        found = Audience()
        keys: set[str] = set()
        for row in self.rows:
            key = row["email_key"]
            if row["do_not_contact"] or row["client_blocked"]:
                found.left_out[LeftOut.DO_NOT_CONTACT] += 1
            elif row["consent"] is False:
                found.left_out[LeftOut.REFUSED] += 1
            elif not key or not is_email(trim(row["email"])):
                found.left_out[LeftOut.NO_EMAIL] += 1
            elif key in self.blocked:
                found.left_out[LeftOut.DO_NOT_CONTACT] += 1
            elif row["consent"] is None and not include_not_asked:
                found.left_out[LeftOut.NOT_ASKED] += 1
            elif key in keys:
                found.left_out[LeftOut.SAME_ADDRESS] += 1
            else:
                keys.add(key)
                greeting = row["first_name"] or row["name"]
                person = (row["resource"], row["id"], row["name"], greeting, trim(row["email"]), key)
                found.people.append(MailingRecipient(*person))
        return found


def candidates_of(account: Account, user: User, post_id: int, *, among: str = Among.ALL) -> Candidates:
    """Return the customers behind a suggestion that the user may access, with three statements, and another one to read deals.

    Raise FieldError if there are too many.
    """
    rows = customers_behind(account, user, post_id)
    if among != Among.ALL and rows:
        rows = filter_by_deals(account, user, rows, Status.Outcome(among))
    return Candidates(rows, blocked_addresses(account, {row["email_key"] for row in rows if row["email_key"]}))


def audience_of(account: Account, user: User, post_id: int, *, among: str, include_not_asked: bool) -> Audience:
    """Return who gets a message about a suggestion from the user. Raise FieldError if there are too many customers."""
    return candidates_of(account, user, post_id, among=among).audience(include_not_asked=include_not_asked)
