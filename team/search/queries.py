"""The search over all that the team works with: clients, contacts, deals, suggestions, tasks and notes.

The groups are searched side by side (`search_several`), and one statement reads the rows of all groups. So the number of statements
does not depend on the number of groups or on the text, except that a text which finds too little is searched less strictly as well.
"""

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
from forum.texts.slugs import post_path

# The number of results of each group: on the page and in JSON, and while the user types.
MAX_FOUND, MAX_SUGGESTED = 8, 5


@dataclass(frozen=True)
class SearchGroup:
    # The key in JSON and the name of the group on pages.
    name: str
    label: str | Promise
    icon: str
    # The route of the page of one row, and that of the list, which takes the parameter `q`. The latter is empty if the list has no search.
    route: str
    list_route: str
    # The column with the name.
    title: str = "name"


@dataclass(frozen=True)
class FoundRow:
    group: SearchGroup
    id: int
    name: str
    detail: str | None

    @property
    def path(self) -> str:
        if self.group.name == "suggestions":
            return post_path(self.id, self.name)
        return reverse(self.group.route, args=[self.id])


GROUPS = (
    SearchGroup("clients", _("Clients"), "building-2", "team-client", "team-clients"),
    SearchGroup("contacts", _("Contacts"), "user", "team-contact", "team-contacts"),
    SearchGroup("deals", _("Deals"), "handshake", "team-deal", "team-deals"),
    SearchGroup("suggestions", _("Suggestions"), "lightbulb", "forum-post", "forum-suggestions", "title"),
    SearchGroup("tasks", _("Tasks"), "square-check", "team-task", "", "title"),
    SearchGroup("notes", _("Notes and calls"), "sticky-note", "team-note", "", "excerpt"),
)


def text(column: str) -> NullIf:
    return NullIf(Cast(column, CharField()), Value(""))


def searched_rows(account: Account, user: User) -> dict[str, tuple[QuerySet[Model], Combinable]]:
    """Return the rows of each group that the user may access, and the expression for a short text beside their name."""
    client = Subquery(account.clients.accessible_to(user).filter(id=OuterRef("client_id")).values("name"))
    contact, deal = (
        Subquery(getattr(account, f"{link}s").accessible_to(user).filter(id=OuterRef(f"{link}_id")).values("name"))
        for link in ("contact", "deal")
    )
    status = Subquery(account.statuses.filter(id=OuterRef("status_id")).values("name"))
    return {
        "clients": (account.clients.live().accessible_to(user), Coalesce(text("email"), text("city"), text("phone"))),
        "contacts": (account.contacts.live().accessible_to(user), Coalesce(client, text("email"), text("phone"))),
        "deals": (account.deals.live().accessible_to(user), client),
        "suggestions": (account.posts.listed_for(user), status),
        "tasks": (account.posts.live().tasks().accessible_to(user), client),
        "notes": (account.notes.live().accessible_to(user), Coalesce(client, contact, deal)),
    }


def find(account: Account, user: User, q: str, *, enough: int = MAX_FOUND) -> list[tuple[SearchGroup, list[FoundRow]]]:
    """Return the groups, each with at most `enough` rows that match the text and that the user may access, the best matches first."""
    if not q.strip() or not is_xml_text(q):
        return [(group, []) for group in GROUPS]
    searched = searched_rows(account, user)
    with search_transaction(account.id, q) as query:
        ids = search_several({name: rows for name, (rows, _detail) in searched.items()}, query, enough=enough)
        queries = []
        for group in GROUPS:
            if ids[group.name]:
                rows, detail = searched[group.name]
                rows = rows.filter(id__in=ids[group.name]).order_by()
                queries.append(rows.values_list(Value(group.name), "id", group.title, detail))
        values = queries[0].union(*queries[1:], all=True) if queries else []
        found = {(name, id): (title, detail) for name, id, title, detail in values}
    return [
        (group, [FoundRow(group, id, *found[key]) for id in ids[group.name] if (key := (group.name, id)) in found])
        for group in GROUPS
    ]
