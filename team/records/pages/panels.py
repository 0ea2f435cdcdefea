"""The summary in the header of a record's page, the panels with the rows that belong to it, the stages of a deal, and the linked users.

Each panel takes one statement, and reads one row more than it shows, which tells whether there are more.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Exists, F, IntegerField, Model, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, NullIf
from django.http import Http404, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.account.models import Account
from accounts.fields.catalogue import Field
from accounts.hosts.requests import PageRequest
from accounts.layout.settings import parse_id
from accounts.statuses.models import Status
from accounts.users.models import User
from core.db.arrays import equals_any_of
from core.db.prepared import prepared
from core.db.tenancy import account_of, fold
from core.errors import Conflict
from core.http import throttling
from core.pages.base import redirect
from core.pages.templates import render_part
from core.rows.access import prepared_access
from core.rows.declared import FieldType
from core.rows.values import ValuesRow
from core.search.queries import search, search_transaction
from crm.contacts.models import ContactListMembership
from crm.deals.models import Deal
from crm.resources.models import ExternallyIdentified
from crm.user_links.models import UserLink, UserLinkQuerySet, active_members
from forum.posts.tasks import IS_OPEN_TASK
from team.board.columns import days_since, is_rotting
from team.fields.cells import as_status, status_of_row
from team.fields.names import href_of, name_of_row, name_of_user
from team.menu.pages import TeamRequest, search_text
from team.notes.pages import Composer
from team.summaries.models import revenue_of

# The number of rows that a panel shows, before a link to the list.
PANEL_SIZE = 5
# The maximum number of contact lists to choose from.
MAX_LISTS = 500
# The number of stages that the history of a deal shows, the newest first.
MAX_STAGES = 20
# The links of the rows that belong to a record, by its resource.
OWNED_LINKS = {"client": ("contact_id", "deal_id"), "contact": ("deal_id",), "deal": ()}


@dataclass(frozen=True)
class Panel:
    """The first rows of a list, and whether there are more."""

    rows: list[ValuesRow]
    has_more: bool

    def __bool__(self) -> bool:
        return bool(self.rows)


def panel(rows: list[ValuesRow]) -> Panel:
    """Return the panel of rows, of which the query reads `PANEL_SIZE` + 1."""
    return Panel(rows[:PANEL_SIZE], len(rows) > PANEL_SIZE)


def summary_of(row: Any) -> dict[str, object]:
    """Return the values of a row of `with_stored_values` for the template of the header."""
    revenue = revenue_of(getattr(row, "revenue", []), row.account)
    return {
        "open": [total for total in revenue if total.open_deals],
        "won": [total for total in revenue if total.won_deals],
        "last_activity_at": row.last_activity_at,
        "next_task_at": row.next_task_at,
        # Of a deal.
        "price": getattr(row, "price", None),
        "expected_close_date": getattr(row, "expected_close_date", None),
    }


def deals_of(request: TeamRequest, **filters: int) -> Panel:
    """Return the newest deals."""
    found = panel(_deals(account_id=request.account.id, **request.user.access.arguments, **filters))
    return Panel([{**deal, "status": as_status(deal["status_data"])} for deal in found.rows], found.has_more)


@prepared(account_id=int, client_id=int, contact_id=int, responsible_ids=list)
def _deals(account_id: int, responsible_ids: Collection[int] | None = None, **filters: int) -> QuerySet[Model, object]:
    account: Account = account_of(account_id)
    deals = account.deals.live().limited_to(prepared_access(responsible_ids)).filter(**filters)
    columns = ("id", "name", "price", "currency", "status_data")
    deals = deals.annotate(status_data=status_of_row()).order_by("-id")
    found: QuerySet[Model, object] = deals.values(*columns)[: PANEL_SIZE + 1]
    return found


def contacts_of(request: TeamRequest, client_id: int) -> Panel:
    return panel(_contacts(account_id=request.account.id, client_id=client_id, **request.user.access.arguments))


@prepared(account_id=int, client_id=int, responsible_ids=list)
def _contacts(
    account_id: int, client_id: int, responsible_ids: Collection[int] | None = None
) -> QuerySet[Model, object]:
    account: Account = account_of(account_id)
    contacts = account.contacts.live().limited_to(prepared_access(responsible_ids)).filter(client_id=client_id)
    return contacts.order_by("id").values("id", "name", "position", "email", "phone")[: PANEL_SIZE + 1]


def contact_lists_of(request: TeamRequest, contact_id: int) -> dict[str, list[tuple[int, str]]]:
    """Return the ids and names of the contact lists that a contact is on, and of those that it can be added to."""
    keys = {"account_id": request.account.id, "contact_id": contact_id, "contact_list_id": OuterRef("id")}
    memberships = ContactListMembership.objects.filter(**keys)
    lists = request.account.contact_lists.live().annotate(is_joined=Exists(memberships))
    found = list(lists.order_by("-is_joined", "name_key", "id").values_list("id", "name", "is_joined")[:MAX_LISTS])
    return {
        "joined": [(id, name) for id, name, is_joined in found if is_joined],
        "others": [(id, name) for id, name, is_joined in found if not is_joined],
    }


def tasks_of(request: TeamRequest, resource: str, id: int) -> Panel:
    """Return the open tasks of a record, and those of its contacts and deals, which `next_task_at` counts too. Those due first are first."""
    return panel(_tasks(account_id=request.account.id, id=id, resource=resource, **request.user.access.arguments))


@prepared(account_id=int, id=int, responsible_ids=list)
def _tasks(
    account_id: int, id: int, resource: str, responsible_ids: Collection[int] | None = None
) -> QuerySet[Model, object]:
    account: Account = account_of(account_id)
    access, link = prepared_access(responsible_ids), f"{resource}_id"
    rows: dict[str, QuerySet[Model]] = {"contact_id": account.contacts.live(), "deal_id": account.deals.live()}
    condition = Q(**{link: id})
    for column in OWNED_LINKS[resource]:
        # PostgreSQL uses the index of each link.
        condition |= Q(equals_any_of(column, rows[column].filter(**{link: id}).values("id")))
    tasks = account.posts.live().filter(condition, category_id=None, closed=False).limited_to(access)
    tasks = tasks.annotate(responsible=name_of_user("responsible_id"))
    columns = ("id", "title", "scheduled_at", "responsible", "task_kind")
    tasks = tasks.order_by(F("scheduled_at").asc(nulls_last=True), "id")
    found: QuerySet[Model, object] = tasks.values(*columns)[: PANEL_SIZE + 1]
    return found


def feedback_of(request: TeamRequest, link: dict[str, int], *, user_ids: list[int]) -> Panel:
    """Return the suggestions of the customer, and those that the customer voted for, newest first.

    They are those that the team wrote or voted for in the customer's place, and those of the linked users.
    """
    users = {"user_ids": user_ids} if user_ids else {}
    found = _feedback(account_id=request.account.id, **link, **users)
    # Of a suggestion that the customer both wrote and voted for, the first row says that they wrote it.
    unique = {row["id"]: {**row, "status": as_status(row["status_data"])} for row in reversed(found)}
    return panel(sorted(unique.values(), key=lambda row: -row["id"]))


@prepared(account_id=int, client_id=int, contact_id=int, user_ids=list)
def _feedback(account_id: int, user_ids: list[int] | None = None, **link: int) -> QuerySet[Model, object]:
    """Build the query for the feedback of a customer. All of the team see the same suggestions."""
    account: Account = account_of(account_id)
    posts, limit = account.posts.listed_for(User(role=User.Role.AGENT)), PANEL_SIZE + 1
    columns = ("id", "title", "votes_cache", "status_data", "created_at", "is_vote")
    written = [posts.filter(**link)]
    votes: list[QuerySet[Model]] = [account.proxy_votes.filter(**link).order_by("-id")]
    if user_ids:
        written.append(posts.filter(user_id__any=user_ids))
        votes.append(account.votes.filter(user_id__any=user_ids).order_by("-created_at", "-post_id"))
    voted = [posts.filter(id__in=rows.values("post_id")[:limit]) for rows in votes]
    queries = [
        rows.annotate(status_data=status_of_row(), is_vote=Value(is_vote)).order_by("-id").values(*columns)[:limit]
        for is_vote, querysets in ((False, written), (True, voted))
        for rows in querysets
    ]
    found: QuerySet[Model, object] = queries[0].union(*queries[1:], all=True).order_by("-id", "is_vote")
    return found


def find_suggestions(request: TeamRequest, q: str) -> list[tuple[int, str]]:
    """Return the ids and titles of the suggestions that match a text."""
    posts = request.account.posts.listed_for(request.user)
    with search_transaction(request.account.id, q) as query:
        ids = search(posts, query, enough=PANEL_SIZE)[:PANEL_SIZE]
        titles = dict(posts.filter(id__in=ids).values_list("id", "title"))
    return [(id, titles[id]) for id in ids if id in titles]


def external_ids_of(row: ExternallyIdentified) -> list[tuple[str, str, str]]:
    """Return the external ids: key, value, and the address to which it links.

    A value that is a URL links to itself. The address of the row in the other system (`url`) belongs to the first external id.
    """
    found = []
    url = href_of(Field("url", "", FieldType.LINK), getattr(row, "url", None))
    for key, value in sorted(row.external_ids.items()):
        own = value if value.lower().startswith(("http://", "https://")) else ""
        found.append((key, value, own or url))
        url = url if own else ""
    return found


# The stages of a deal: the path of its pipeline, the time in the present status, and the history


@dataclass(frozen=True)
class Stage:
    """A status that the deal has or had."""

    # None if the status was deleted meanwhile.
    status: Status | None
    entered_at: datetime
    left_at: datetime | None
    user_name: str | None

    @property
    def days(self) -> int:
        """The number of whole days in the status."""
        return max(0, ((self.left_at or timezone.now()) - self.entered_at).days)


def stages_of(request: TeamRequest, deal: Deal) -> dict[str, object]:
    """Return what the templates show of the stages, in three statements."""
    account = request.account
    none, *statuses = account.deal_statuses()
    by_id = {status.id: status for status in (none, *statuses)}
    rows = _stages(account_id=account.id, deal_id=deal.id)
    history = [Stage(by_id.get(status_id or Status.NONE_ID), *others) for status_id, *others in rows]
    # A status that was created since the statuses were read is not shown.
    current = by_id.get(deal.column, none)
    path = [status for status in statuses if status.pipeline_id == current.pipeline_id]
    position = path.index(current) if current in path else -1
    days = days_since(deal.stage_entered_at)
    is_open = current.outcome == Status.Outcome.OPEN
    is_planned = is_open and account.posts.filter(IS_OPEN_TASK, deal_id=deal.id).exists()
    in_stage = {} if current is none else {"stage_days": days}
    return in_stage | {
        # Buttons of their own mark the deal as won or lost, which asks for a reason.
        "stages": [
            (status, n < position, n == position)
            for n, status in enumerate(path)
            if status.outcome == Status.Outcome.OPEN or n == position
        ],
        "stage": current,
        "is_rotting": is_open and is_rotting(days, current.rot_days, is_planned=is_planned),
        "won": first_with(path, Status.Outcome.WON) if is_open else None,
        "lost": first_with(path, Status.Outcome.LOST) if is_open else None,
        "reopened": None if is_open else reopened(path, history),
        "stage_history": history,
    }


@prepared(account_id=int, deal_id=int)
def _stages(account_id: int, deal_id: int) -> QuerySet[Model, object]:
    account: Account = account_of(account_id)
    rows = account.deal_stages.filter(deal_id=deal_id).annotate(user_name=name_of_user("user_id"))
    return rows.order_by("-number").values_list("status_id", "entered_at", "left_at", "user_name")[:MAX_STAGES]


def first_with(path: list[Status], outcome: str) -> Status | None:
    return next((status for status in path if status.outcome == outcome), None)


def reopened(path: list[Status], history: list[Stage]) -> Status | None:
    """Return the status for a deal that is opened again: the last open one that it had, or else the first of the pipeline."""
    former = (stage.status for stage in history)
    is_open = (status for status in former if status in path and status and status.outcome == Status.Outcome.OPEN)
    return next(is_open, None) or first_with(path, Status.Outcome.OPEN)


# The users of the forums behind a client or a contact

# The limits of the links that a panel shows, of the users that a search compares, and of those that it shows.
MAX_LINKS, MAX_CANDIDATES, MAX_FOUND = 50, 50, 8

State = UserLink.State
# Proposals come first, because they wait for the team.
ORDER = {State.PROPOSED: 0, State.CONFIRMED: 1, State.REJECTED: 2}


@dataclass(frozen=True)
class LinkedUsers:
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
    rejected = [row for row in rows[:MAX_LINKS] if row["state"] == State.REJECTED]
    return LinkedUsers(shown, rejected, len(rows) > MAX_LINKS)


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
    found = [users[id] for id in ids if id in users]
    return [user for user in found if all(word in fold(f"{user.name} {user.login}") for word in words)][:MAX_FOUND]


class UserLinksMixin(Composer):
    """The actions of the panel "Forum users" on the pages of clients and contacts."""

    link_actions = {"link_user": "link_user", "confirm_link": "confirm_link", "reject_link": "reject_link"}

    def user_links_context(self, link: str, id: int) -> dict[str, Any]:
        user_q = search_text(self.request.GET, "user_q")
        linked = linked_users_of(self.request, link, id)
        members = find_members(self.request, user_q) if user_q else []
        found = [(user, user.id in linked.confirmed_ids) for user in members]
        return {"linked_users": linked, "user_q": user_q, "found_users": found}

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

        def act() -> None:
            links: UserLinkQuerySet = request.account.user_links.limited_to(request.user.access)
            link: UserLink | None = links.locked().filter(id=link_id or 0).first()
            if link is None:
                raise Conflict(_("This link is gone: somebody deleted it in the meantime."))
            if link.state != state:
                link.write({"state": state}, by=request.user)

        self.perform(act, success_message=message)
        return redirect(self.declaration.row_route, id)


def render_user_panel(request: PageRequest, user: User) -> SafeString | str:
    """Return the panel with the clients and contacts of a user, for the page of the user."""
    if user.is_team or request.account is None or request.user is None:
        return ""
    account, reader = request.account, request.user
    clients, contacts = (rows.live().accessible_to(reader) for rows in (account.clients, account.contacts))
    names = {"client_name": name_of_row(clients, "client_id"), "contact_name": name_of_row(contacts, "contact_id")}
    found = account.user_links.limited_to(reader.access).filter(user_id=user.id).exclude(state=State.REJECTED)
    rows = found.order_by("state", "id").values("client_id", "contact_id", "state", **names)[:MAX_LINKS]
    links = [row for row in rows if row["client_name"] or row["contact_name"]]
    return render_part("team/records/user_panel.html", {"links": links}, request) if links else ""
