"""Segments: saved views of the list of clients.

They filter suggestions by the clients behind them, as do their number and their revenue. A segment selects the suggestions behind which at
least one client of the view stands. Users with limited access count only the clients that they may access. They have no filters by number
and revenue, because the stored figures are those of all clients and deals (`team.backers.models`).

The views that are shared with the team are also the segments that may enter a forum (`forum.forums.membership`), with the contacts of their clients.
Such a segment is evaluated with access to all clients, and *mine* are the clients of the owner of the view. A view with a search is none of
them, because a search finds a limited number of clients.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.db.models.expressions import Combinable
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.errors import FieldError
from core.search.queries import search_transaction
from team.conditions.values import read_number
from team.list_queries.declarations import LISTS
from team.list_queries.queries import ListQuery
from team.lists.saved_views import VIEW_GONE, SavedView, find_view, move_into_query, open_view

SEGMENT, MIN_REVENUE, MIN_CLIENTS = "segment", "min_revenue", "min_clients"
PARAMETERS = (SEGMENT, MIN_REVENUE, MIN_CLIENTS)
# Errors of these parameters do not change which clients a view has.
HARMLESS_ERRORS = ("columns", "sort")
LIMITED = _("can't be used, because you see only some of the clients and deals")


@dataclass(frozen=True)
class SuggestionFilter:
    """The clients that must stand behind a suggestion. `revenue` is the sum of their open and won deals in the account's currency."""

    account: Account
    user: User
    view: SavedView | None = None
    segment: ListQuery | None = None
    min_revenue: Decimal | None = None
    min_clients: int | None = None
    errors: tuple[FieldError, ...] = ()

    @classmethod
    def read(
        cls,
        parameters: Mapping[str, str],
        *,
        account: Account,
        user: User,
        views: list[SavedView] | None = None,
        language: str | None = None,
    ) -> "SuggestionFilter":
        """Return the filters in the parameters of a URL. Those with errors are left out, and `errors` has their errors.

        `views` are the views of the list of clients that the user sees, if they have been read already. `language` is the language in
        which a person typed the numbers, or None for those of a program.
        """
        found, errors = cls(account, user), list[FieldError]()
        readers: dict[str, Callable[[str], dict[str, Any]]] = {
            SEGMENT: lambda text: read_segment(text, account, user, views),
            MIN_REVENUE: lambda text: {
                MIN_REVENUE: read_number(MIN_REVENUE, text, language, is_money=True, currency=account.currency)
            },
            MIN_CLIENTS: lambda text: read_clients(text, language),
        }
        for name, read in readers.items():
            text = parameters.get(name, "").strip()
            try:
                if text and name != SEGMENT and user.access.is_limited:
                    raise FieldError(name, LIMITED, "access")
                found = replace(found, **read(text)) if text else found
            except FieldError as error:
                errors.append(error)
        return replace(found, errors=tuple(errors))

    @property
    def numbers(self) -> dict[str, Decimal | int | None]:
        return {MIN_REVENUE: self.min_revenue, MIN_CLIENTS: self.min_clients}

    def select(self, posts: QuerySet[Model]) -> QuerySet[Model]:
        """Return those of the posts that pass the filters. A segment with a search executes the search."""
        if self.segment is not None:
            backers = self.account.post_backers.filter(post_id=OuterRef("id"), client_id__in=self.clients_of_segment())
            posts = posts.filter(Exists(backers))
        figures = {"total__gte": self.min_revenue, "clients__gte": self.min_clients}
        if chosen := {name: value for name, value in figures.items() if value is not None}:
            revenues = self.account.post_revenues.filter(currency=self.account.currency, **chosen)
            posts = posts.filter(Exists(revenues.filter(post_id=OuterRef("id"))))
        return posts

    def clients_of_segment(self) -> QuerySet[Any, Any] | list[int]:
        segment = self.segment
        if segment is None:
            return []
        if not segment.q:
            return segment.rows.order_by().values("id")
        # A search finds at most `MAX_RESULTS` rows.
        with search_transaction(self.account.id, segment.q, is_limited=True) as text:
            return segment.matching_ids(text, ranked=False)


def read_segment(text: str, account: Account, user: User, views: list[SavedView] | None) -> dict[str, object]:
    view = find_view(text, SavedView.Target.CLIENT, account=account, user=user, views=views)
    if view is None:
        raise FieldError(SEGMENT, VIEW_GONE, "missing")
    segment = open_view(view, user)
    # Without a filter that is gone, the segment would have more clients than its name says.
    if errors := [error for error in segment.errors if error.field not in HARMLESS_ERRORS]:
        raise move_into_query(errors[0], SEGMENT)
    return {"view": view, "segment": segment}


def read_clients(text: str, language: str | None) -> dict[str, object]:
    if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        return {"min_clients": int(text)}
    try:
        number = read_number(MIN_CLIENTS, text, language, is_money=False) if language else Decimal(-1)
    except FieldError as error:
        if error.code == "ambiguous":
            raise
        number = Decimal(-1)
    if not 0 <= number < 10**9 or number != int(number):
        raise FieldError(MIN_CLIENTS, _("is not a whole number"), "number")
    return {"min_clients": int(number)}


# The segments that may enter a forum


def segments_of(account: Account) -> "QuerySet[SavedView]":
    return account.saved_views.filter(resource=SavedView.Target.CLIENT, shared=True)


def choices_of(account: Account) -> list[tuple[int, str]]:
    """Return the ids and the names of the segments that the forums of an account can have. The number of shared views is limited."""
    views = segments_of(account).order_by("position", "id").values_list("id", "name", "query")
    return [(id, name) for id, name, query in views if not QueryDict(query).get("q")]


def conditions_of(account: Account, ids: Collection[int], email_key: Combinable) -> dict[int, Q]:
    """Return the conditions that a client of a segment, or a contact of such a client, has the e-mail, by the ids of the segments.

    It takes at most two statements, and one for each filter by a tag. A view that was deleted or is no longer shared, or one of whose
    fields was deleted, has no condition: without that filter, it would have more clients than its name says.
    """
    declaration = LISTS[SavedView.Target.CLIENT]
    views = list(segments_of(account).filter(id__in=ids))
    fields = declaration.fields(account) if views else []
    found: dict[int, Q] = {}
    for view in views:
        reader = User(account=account, id=view.owner_id, role=User.Role.ADMIN)
        query = ListQuery.read(declaration, QueryDict(view.query), account=account, user=reader, fields_of_list=fields)
        if query.q or any(error.field not in HARMLESS_ERRORS for error in query.errors):
            continue
        clients = query.rows.order_by()
        contacts = account.contacts.live().filter(email_key=email_key, client_id__in=clients.values("id"))
        found[view.id] = Q(Exists(clients.filter(email_key=email_key))) | Q(Exists(contacts.order_by()))
    return found
