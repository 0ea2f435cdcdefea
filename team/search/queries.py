"""The search over all that the team works with: clients, contacts, deals, suggestions and tasks.

The groups are searched side by side (`search_several`), and one statement reads the rows of all groups. So the number of statements
does not depend on the number of groups or on the text, except that a text which finds too little is searched less strictly as well.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import CharField, Model, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, NullIf
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.db.text import is_xml_text
from core.search.queries import search_several, search_transaction

# The number of results of each group: on the page and in JSON, and while the user types.
MAX_FOUND, MAX_SUGGESTED = 8, 5


@dataclass(frozen=True)
class SearchGroup:
    """A kind of rows that are found."""

    # The key in JSON and the name of the group on pages.
    name: str
    label: str | Promise
    icon: str
    # The route of the page of one row, and that of the list, which takes the parameter `q`. The latter is empty if the list has no search.
    route: str
    list_route: str
    rows: Callable[[Account, User], QuerySet[Model]]
    # The column with the name, and an expression for a short text beside it.
    title: str
    detail: Callable[[Account, User], Combinable]


@dataclass(frozen=True)
class FoundRow:
    """A row that was found."""

    group: SearchGroup
    id: int
    name: str
    detail: str | None

    @property
    def path(self) -> str:
        """The path of the page of the row."""
        return reverse(self.group.route, args=[self.id])


def client_name(account: Account, user: User) -> Subquery:
    clients = account.clients.accessible_to(user)
    return Subquery(clients.filter(id=OuterRef("client_id")).values("name"))


def text(column: str) -> NullIf:
    return NullIf(Cast(column, CharField()), Value(""))


GROUPS = (
    SearchGroup(
        "clients",
        _("Clients"),
        "building-2",
        "team-client",
        "team-clients",
        lambda account, user: account.clients.live().accessible_to(user),
        "name",
        lambda account, _user: Coalesce(text("email"), text("city"), text("phone")),
    ),
    SearchGroup(
        "contacts",
        _("Contacts"),
        "user",
        "team-contact",
        "team-contacts",
        lambda account, user: account.contacts.live().accessible_to(user),
        "name",
        lambda account, user: Coalesce(client_name(account, user), text("email"), text("phone")),
    ),
    SearchGroup(
        "deals",
        _("Deals"),
        "handshake",
        "team-deal",
        "team-deals",
        lambda account, user: account.deals.live().accessible_to(user),
        "name",
        client_name,
    ),
    SearchGroup(
        "suggestions",
        _("Suggestions"),
        "lightbulb",
        "forum-post",
        "forum-suggestions",
        lambda account, user: account.posts.listed_for(user),
        "title",
        lambda account, _user: Subquery(account.statuses.filter(id=OuterRef("status_id")).values("name")),
    ),
    SearchGroup(
        "tasks",
        _("Tasks"),
        "square-check",
        "team-task",
        "",
        lambda account, user: account.posts.live().tasks().accessible_to(user),
        "title",
        client_name,
    ),
)


def find(account: Account, user: User, q: str, *, enough: int = MAX_FOUND) -> list[tuple[SearchGroup, list[FoundRow]]]:
    """Return the groups, each with at most `enough` rows that match the text and that the user may access, the best matches first."""
    if not q.strip() or not is_xml_text(q):
        return [(group, []) for group in GROUPS]
    groups = {group.name: group.rows(account, user) for group in GROUPS}
    with search_transaction(account.id, q) as query:
        ids = search_several(groups, query, enough=enough)
        queries = [
            groups[group.name]
            .filter(id__in=ids[group.name])
            .order_by()
            .values_list(Value(group.name), "id", group.title, group.detail(account, user))
            for group in GROUPS
            if ids[group.name]
        ]
        rows = queries[0].union(*queries[1:], all=True) if queries else []
        found = {(name, id): (title, detail) for name, id, title, detail in rows}
    return [
        (group, [FoundRow(group, id, *found[key]) for id in ids[group.name] if (key := (group.name, id)) in found])
        for group in GROUPS
    ]
