"""Links from users of the forums to clients and contacts: which customer a member is, or works for.

The votes and suggestions of a user with a confirmed link count for the client. A link is proposed if the verified e-mail of a member is the
e-mail of a client or a contact. The team confirms or rejects it, unless the account confirms such links itself
(`Account.confirms_user_links`). The team also links users whose e-mails differ. A rejected link stays, so that it is not proposed again.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.access.models import AccessQuerySet
from accounts.account.models import Account
from accounts.users.models import User
from core.changes.followers import ChangeFollower
from core.changes.models import Change
from core.db import locks
from core.db.tenancy import TenantModel, foreign_object
from core.errors import FieldError
from core.registry import Resource
from core.rows.access import Access
from core.rows.trash import assign_links, link_indexes
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.resources.models import exactly_one, links_to_accessible

# A link has exactly one of these targets.
TARGETS = ("client", "contact")
TARGET_COLUMNS = [name for target in TARGETS for name in (f"{target}_id", f"trashed_{target}_id")]


class UserLinkQuerySet(AccessQuerySet[Any]):
    def limited_to(self, access: Access) -> Self:
        """Return the links to clients and contacts that are accessible."""
        return self.filter(links_to_accessible(access, Client, Contact)) if access.is_limited else self

    def confirmed(self) -> Self:
        return self.filter(state=UserLink.State.CONFIRMED)


class UserLink(TenantModel):
    """A link from a user to a client or a contact. A user has at most one confirmed link, and one link to each client and contact.

    It stays when the client or contact is moved to the trash, and is erased with it.
    """

    api_resource = Resource("user_link", _("Link of a user"), _("Links of users"), icon="link")

    class State(models.TextChoices):
        PROPOSED = "proposed", _("Proposed")
        CONFIRMED = "confirmed", _("Confirmed")
        REJECTED = "rejected", _("Rejected")

    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    client_id = models.BigIntegerField(null=True)
    contact_id = models.BigIntegerField(null=True)
    # The target while it is in the trash. Restoring the target moves the id back.
    trashed_client_id = models.BigIntegerField(null=True, editable=False)
    trashed_contact_id = models.BigIntegerField(null=True, editable=False)
    state = models.CharField(max_length=255, choices=State.choices, default=State.CONFIRMED)
    # Null if the service found the link by the e-mail, and if it has not been changed since.
    creator_id = models.BigIntegerField(null=True, editable=False)
    updater_id = models.BigIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = UserLinkQuerySet.as_manager()

    class Meta:
        db_table = "crm_userlink"
        default_related_name = "user_links"
        constraints = [
            exactly_one(TARGET_COLUMNS, "userlink_to_one_row"),
            models.UniqueConstraint(
                fields=["account", "user_id"], condition=Q(state="confirmed"), name="userlink_confirmed_unique"
            ),
            *(
                models.UniqueConstraint(fields=["account", "user_id", f"{target}_id"], name=f"userlink_{target}_unique")
                for target in TARGETS
            ),
        ]
        indexes = [
            *(index for target in TARGETS for index in link_indexes("userlink", target, "id")),
            models.Index(fields=["account", "state", "id"], name="userlink_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} to {self.client_id or self.contact_id}"

    @property
    def target(self) -> tuple[int | None, ...]:
        """The client and the contact, whether in the trash or not. One of them is None."""
        return self.client_id or self.trashed_client_id, self.contact_id or self.trashed_contact_id

    @property
    def is_to_trashed(self) -> bool:
        return self.client_id is None and self.contact_id is None

    @transaction.atomic(savepoint=False)
    def write(self, values: Mapping[str, object], *, by: User) -> None:
        """Insert the link, or update the fields that `values` names. To update, the caller must have locked the row.

        A confirmed link replaces the proposals of the user, and a confirmed link to a row in the trash: they become rejected. Raise
        FieldError if the user is in the team, has this link already, or has another confirmed link.
        """
        values, now = dict(values), timezone.now()
        assign_links(values, "client_id", "contact_id")
        for name, value in values.items():
            setattr(self, name, value)
        self.updater_id, self.updated_at = by.id, now
        if sum(id is not None for id in self.target) != 1:
            raise FieldError("client_id", _("must be given, or else a contact_id, but not both"))
        locks.acquire(("links of a user", self.account_id, self.user_id))
        others = list(self.account.user_links.filter(user_id=self.user_id).exclude(id=self.id or 0).order_by("id"))
        if self._state.adding:
            self.creator_id, self.created_at = by.id, now
            self._check_new(others)
        if self.state == self.State.CONFIRMED:
            self._replace(others, by=by)
        self.save(force_insert=self._state.adding)

    def _check_new(self, others: "Sequence[UserLink]") -> None:
        if not self.account.users.filter(id=self.user_id, role=User.Role.MEMBER).exists():
            raise FieldError("user_id", _("belongs to the team, and only members can be linked"), "team")
        if same := next((other for other in others if other.target == self.target), None):
            raise FieldError("user_id", _("has this link already: change link {id} instead"), "taken", {"id": same.id})

    def _replace(self, others: "Sequence[UserLink]", *, by: User) -> None:
        """Reject the other proposals of the user, and a confirmed link to a row in the trash."""
        replaced: list[int] = []
        for other in others:
            if other.state == self.State.CONFIRMED and not other.is_to_trashed:
                if other.client_id:
                    message = _("is linked to client {id} already: remove that link first")
                else:
                    message = _("is linked to contact {id} already: remove that link first")
                raise FieldError("user_id", message, "linked", {"id": other.client_id or other.contact_id})
            if other.state != self.State.REJECTED:
                replaced.append(other.id)
        if replaced:
            rows = self.account.user_links.filter(id__in=replaced)
            rows.update(state=self.State.REJECTED, updater_id=by.id, updated_at=self.updated_at)

    def erase(self) -> None:
        """Delete the link. It may be proposed again."""
        # `Model.delete` would empty the primary key, and with it the account.
        self.account.user_links.filter(id=self.id).delete()


# Proposals by e-mail


def active_members(account: Account) -> QuerySet[User]:
    return account.users.filter(role=User.Role.MEMBER, is_active=True)


@transaction.atomic(savepoint=False)
def propose_links(account: Account, user_ids: Mapping[str, int]) -> int:
    """Link members to the customers with their e-mail, and return the number of new links.

    `user_ids` are the ids of members by `email_key`. The e-mail of a user is always verified. A member gets one link at most, and
    none if they have a proposed or confirmed link, or if the team has rejected this one. Of several rows with the e-mail, the oldest
    contact is linked, or the oldest client if there is no contact that belongs to a client.
    """
    found = _find_customers(account, list(user_ids)) if user_ids else {}
    if not found:
        return 0
    links = list(account.user_links.filter(user_id__in=[user_ids[key] for key in found]))
    linked_ids = {link.user_id for link in links if link.state != UserLink.State.REJECTED}
    rejected = {(link.user_id, *link.target) for link in links}
    state = UserLink.State.CONFIRMED if account.confirms_user_links else UserLink.State.PROPOSED
    new = [
        UserLink(account=account, user_id=user_ids[key], client_id=client_id, contact_id=contact_id, state=state)
        for key, (client_id, contact_id) in found.items()
        if user_ids[key] not in linked_ids and (user_ids[key], client_id, contact_id) not in rejected
    ]
    live = {
        target: _lock_live(account, target, [id for link in new if (id := getattr(link, f"{target}_id"))])
        for target in TARGETS
    }
    new = [link for link in new if link.client_id in live["client"] or link.contact_id in live["contact"]]
    # Another transaction may have linked a user meanwhile.
    UserLink.objects.bulk_create(new, ignore_conflicts=True)
    return len(new)


def _find_customers(account: Account, keys: list[str]) -> dict[str, tuple[int | None, int | None]]:
    """Return the client or the contact of each e-mail: a pair in which one id is None."""
    queries = [
        rows.live()
        .filter(email_key__in=keys)
        .order_by("email_key", "id")
        .distinct("email_key")
        .values_list("email_key", Value(target), "id", client_column)
        for target, rows, client_column in (
            ("contact", account.contacts, "client_id"),
            ("client", account.clients, "id"),
        )
    ]
    found: dict[str, tuple[bool, str, int]] = {}
    for key, target, id, client_id in queries[0].union(queries[1], all=True):
        # The highest rank counts: a row that leads to a client, then a contact.
        found[key] = max(found.get(key, (False, "", 0)), (client_id is not None, target, id))
    return {key: (id, None) if target == "client" else (None, id) for key, (_, target, id) in found.items()}


def _lock_live(account: Account, target: str, ids: list[int]) -> set[int]:
    """Lock those of the rows that are not in the trash until the transaction ends, and return their ids."""
    if not ids:
        return set()
    rows = getattr(account, f"{target}s")
    return set(rows.live().locked().filter(id__in=ids).order_by("id").values_list("id", flat=True))


class UserLinkFollower(ChangeFollower):
    """The follower of the change feed that proposes links to new clients and contacts, and to those with a new e-mail."""

    name = "user_links"

    def handle(self, account_id: int, changes: Sequence[Change]) -> None:
        ids = {
            target: {
                change.id for change in changes if change.resource == target and change.change != Change.Kind.DELETED
            }
            for target in TARGETS
        }
        queries = [
            model.objects.live()
            .filter(account_id=account_id, id__in=ids[target], email_key__isnull=False)
            .values_list("email_key", flat=True)
            for target, model in (("client", Client), ("contact", Contact))
            if ids[target]
        ]
        keys = {key for query in queries for key in query}
        if not keys:
            return
        account = Account.objects.get(id=account_id)
        propose_links(account, dict(active_members(account).filter(email_key__in=keys).values_list("email_key", "id")))


def unlinked_members(account: Account) -> QuerySet[User]:
    """Return the members without a link to a client or contact, whatever its state."""
    links = account.user_links.filter(user_id=OuterRef("id"))
    return account.users.filter(~Exists(links), role=User.Role.MEMBER, is_active=True)
