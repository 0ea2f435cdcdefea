"""The users of the forums behind a client or a contact: the panel on their pages, and the link on the page of a user."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Case, F, IntegerField, Model, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, NullIf
from django.http import Http404, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.account.models import Account
from accounts.hosts.requests import PageRequest
from accounts.layout.settings import parse_id
from accounts.users.models import User
from core.db.prepared import prepared
from core.db.tenancy import account_of, fold
from core.http import throttling
from core.pages.base import redirect
from core.pages.templates import render_part
from core.rows.access import prepared_access
from core.rows.values import ValuesRow
from core.search.queries import search, search_transaction
from crm.user_links.models import UserLink, UserLinkQuerySet, active_members
from team.menu.pages import TeamRequest, search_text
from team.notes.forms import Composer

# The limits of the links that a panel shows, of the users that a search compares, and of those that it shows.
MAX_LINKS, MAX_CANDIDATES, MAX_FOUND = 50, 50, 8

State = UserLink.State
# Proposals come first, because they wait for the team.
ORDER = {State.PROPOSED: 0, State.CONFIRMED: 1, State.REJECTED: 2}


@dataclass(frozen=True)
class LinkedUsers:
    """The users of a client or a contact."""

    shown: list[ValuesRow]
    rejected: list[dict[str, object]]
    has_more: bool

    @property
    def confirmed_ids(self) -> list[int]:
        """The ids of the users whose votes and suggestions count for the customer."""
        return [link["user_id"] for link in self.shown if link["state"] == State.CONFIRMED]


def linked_users_of(request: TeamRequest, link: str, id: int) -> LinkedUsers:
    """Return the users of a client or contact, and those of the client's contacts. `link` is "client_id" or "contact_id"."""
    # Only the contacts of a client depend on the access.
    access = request.user.access.arguments if link == "client_id" else {}
    rows = _linked_users(account_id=request.account.id, id=id, link=link, **access)
    shown = [row for row in rows[:MAX_LINKS] if row["state"] != State.REJECTED]
    return LinkedUsers(
        shown, [row for row in rows[:MAX_LINKS] if row["state"] == State.REJECTED], len(rows) > MAX_LINKS
    )


@prepared(account_id=int, id=int, responsible_ids=list)
def _linked_users(
    account_id: int, id: int, link: str, responsible_ids: Collection[int] | None = None
) -> QuerySet[Model, object]:
    account: Account = account_of(account_id)
    links: UserLinkQuerySet = account.user_links.all()
    queries = [_first(links.filter(**{link: id}), Value(None, output_field=IntegerField()))]
    if link == "client_id":
        contacts = account.contacts.live().limited_to(prepared_access(responsible_ids)).filter(client_id=id)
        name = contacts.filter(id=OuterRef("contact_id")).values("name")[:1]
        queries.append(_first(links.filter(contact_id__in=contacts.values("id")), F("contact_id"), Subquery(name)))
    found = queries[0].union(*queries[1:], all=True).order_by("order", "id") if len(queries) > 1 else queries[0]
    return found[: MAX_LINKS + 1]


def _first(links: QuerySet[Model], contact_id: Combinable, contact_name: Combinable | None = None) -> QuerySet[Model]:
    order = Case(*(When(state=state, then=Value(number)) for state, number in ORDER.items()), default=Value(0))
    rows = links.annotate(
        order=order,
        user_name=Coalesce(NullIf("user__name", Value("")), F("user__login")),
        of_contact=contact_id,
        contact_name=contact_name or Value(None, output_field=User._meta.get_field("name")),
    )
    columns = ("id", "state", "creator_id", "user_id", "user_name", "of_contact", "contact_name", "order")
    found: QuerySet[Model] = rows.order_by("order", "id").values(*columns)[: MAX_LINKS + 1]
    return found


def find_members(request: TeamRequest, q: str) -> list[User]:
    """Return the members whose name or login has all words of a text.

    The search also compares e-mails, which not all of the team may see. So a member whose e-mail alone has the words is left out.
    """
    throttling.count_search(request)
    members = active_members(request.account).order_by()
    with search_transaction(request.account.id, q) as query:
        ids = search(members, query, list_rows=members, enough=MAX_CANDIDATES, fuzzy=False)[:MAX_CANDIDATES]
        users = {user.id: user for user in members.filter(id__in=ids).only("id", "account_id", "name", "login")}
    words = fold(q).split()
    found = [
        users[id]
        for id in ids
        if id in users and all(word in fold(f"{users[id].name} {users[id].login}") for word in words)
    ]
    return found[:MAX_FOUND]


class UserLinksMixin(Composer):
    """The actions of the panel "Forum users" on the pages of clients and contacts."""

    link_actions = {"link_user": "link_user", "confirm_link": "confirm_link", "reject_link": "reject_link"}

    def user_links_context(self, link: str, id: int) -> dict[str, Any]:
        user_q = search_text(self.request.GET, "user_q")
        linked = linked_users_of(self.request, link, id)
        found = find_members(self.request, user_q) if user_q else []
        return {
            "linked_users": linked,
            "user_q": user_q,
            "found_users": [(user, user.id in linked.confirmed_ids) for user in found],
        }

    def link_user(self, id: int) -> HttpResponse:
        """Link the user in the form value `user` to the client or contact, or confirm the link that exists."""
        request, user_id = self.request, parse_id(self.request.POST.get("user"))
        target = {f"{self.declaration.resource}_id": id}

        def act() -> None:
            self.lock_live(id)
            if not active_members(request.account).filter(id=user_id or 0).exists():
                raise Http404
            link = request.account.user_links.filter(user_id=user_id or 0, **target).locked().first()
            if link is None:
                UserLink(account=request.account).write({"user_id": user_id, **target}, by=request.user)
            else:
                link.write({"state": State.CONFIRMED}, by=request.user)

        self.perform(act, success_message=_("The user is linked. Their votes and suggestions count here."))
        return redirect(self.declaration.row_route, id)

    def confirm_link(self, id: int) -> HttpResponse:
        message = _("The link is confirmed. The user's votes and suggestions count here.")
        return self.change_link(id, State.CONFIRMED, message)

    def reject_link(self, id: int) -> HttpResponse:
        return self.change_link(id, State.REJECTED, _("The user is not linked any more."))

    def change_link(self, id: int, state: str, message: str) -> HttpResponse:
        """Change the state of the link whose id is the form value `link`."""
        request, link_id = self.request, parse_id(self.request.POST.get("link"))

        def act() -> bool:
            links: UserLinkQuerySet = request.account.user_links.limited_to(request.user.access)
            link: UserLink | None = links.locked().filter(id=link_id or 0).first()
            if link is not None and link.state != state:
                link.write({"state": state}, by=request.user)
            return link is not None

        found: list[bool] = []
        if self.perform(lambda: found.append(act())):
            if found[-1]:
                messages.success(request, message)
            else:
                messages.error(request, _("This link is gone: somebody deleted it in the meantime."))
        return redirect(self.declaration.row_route, id)


def render_user_panel(request: PageRequest, user: User) -> SafeString | str:
    """Return the panel with the clients and contacts of a user, for the page of the user."""
    if user.is_team or request.account is None or request.user is None:
        return ""
    account, reader = request.account, request.user
    clients, contacts = (rows.live().accessible_to(reader) for rows in (account.clients, account.contacts))
    rows = (
        account.user_links.limited_to(reader.access)
        .filter(user_id=user.id)
        .exclude(state=State.REJECTED)
        .annotate(
            client_name=Subquery(clients.filter(id=OuterRef("client_id")).values("name")[:1]),
            contact_name=Subquery(contacts.filter(id=OuterRef("contact_id")).values("name")[:1]),
        )
        .order_by("state", "id")
        .values("client_id", "client_name", "contact_id", "contact_name", "state")[:MAX_LINKS]
    )
    links = [row for row in rows if row["client_name"] or row["contact_name"]]
    return render_part("team/records/user_panel.html", {"links": links}, request) if links else ""
