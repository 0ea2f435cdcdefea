"""Segments of clients that may enter a forum (`forum.membership`): the views of the list of clients that are shared with the team.

A segment has the clients of the view and their contacts. It is evaluated with access to all clients, and *mine* are the clients of the owner
of the view. A view with a search is no segment, because a search finds a limited number of clients.
"""

from collections.abc import Collection

from django.db.models import Exists, Q, QuerySet
from django.db.models.expressions import Combinable
from django.http import QueryDict

from accounts.models import Account, User
from forum.membership import SegmentSource, register_segment_source
from workspace.lists.declarations import LISTS
from workspace.lists.queries import ListQuery
from workspace.views import SavedView

# Errors of these parameters do not change which clients a view has.
HARMLESS_ERRORS = ("columns", "sort")


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


def register_segments() -> None:
    register_segment_source(SegmentSource(choices_of, conditions_of))
