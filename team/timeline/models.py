"""The timeline: what happened with a client, a contact or a deal, in one table, so that a page of it takes one indexed query.

There are two sorts of entries:

- *Mirrored* entries repeat the time and the links of a row: a note, a task, a suggestion, a vote of the team, a deal. The transaction that
  writes the row writes them (`team.timeline.mirrored_entries`). They hold no texts: a page reads those from the row, so an entry is as current as
  its row.
- *Logged* entries stay as they are written. The statement that updates a client, a contact or a deal logs the changed fields and the stages
  of deals (`team.timeline.derivations`). Other modules log events with `append`.

An entry is on the timelines of all rows that it links to. What belongs to a contact or a deal is also on the timelines of their client.
If a contact or deal moves to another client, its entries move too. A link to a row in the trash stays, so that moving a row to the trash
and restoring it write no entries. Entries about a row in the trash, or about a row that the user may not access, are not shown.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from json import JSONDecoder
from typing import Any, Self

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Case, Func, Model, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import JSONObject, Left
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.api.paging import ListPage
from core.db.derived import add_keys
from core.db.fields import JSONField
from core.db.prepared import prepared
from core.db.tenancy import account_of
from core.rows.access import Access, prepared_access
from crm.resources.models import CRMResource
from team.fields.names import name_of_row, name_of_user
from team.summaries.models import write_summaries

# The number of characters of a note that a timeline shows.
MAX_TEXT_LENGTH = 1000

# The resources that have a timeline. An entry has a link to at least one row of them.
LINKS = ("client", "contact", "deal")
# The kinds of entries of which a row has at most one.
NOTE_KINDS = ("note", "call", "meeting", "email")
MIRRORED_KINDS = (*NOTE_KINDS, "task", "task_done", "deal", "suggestion", "vote")
# The kinds of entries that are contact with a customer (`team.summaries.models`).
ACTIVITY_KINDS = (*NOTE_KINDS, "task_done", "suggestion", "vote", "message")


@dataclass(frozen=True)
class EntryKind:
    """A kind of entries, as pages show it."""

    key: str
    label: str | Promise
    icon: str
    # The filter of the page that selects the kind (`GROUPS`).
    group: str


# The filters of the page, in order.
GROUPS: dict[str, str | Promise] = {
    "notes": _("Notes"),
    "tasks": _("Tasks"),
    "deals": _("Deals"),
    "suggestions": _("Suggestions"),
    "changes": _("Changes"),
}
KINDS: dict[str, EntryKind] = {}


def register_kind(key: str, label: str | Promise, icon: str, group: str) -> None:
    """Register a kind of entries. `icon` is the name of an icon of Lucide."""
    KINDS[key] = EntryKind(key, label, icon, group)


register_kind("note", _("Note"), "sticky-note", "notes")
register_kind("call", _("Call"), "phone", "notes")
register_kind("meeting", _("Meeting"), "users", "notes")
register_kind("email", _("E-mail"), "mail", "notes")
register_kind("task", _("Task added"), "square", "tasks")
register_kind("task_done", _("Task completed"), "square-check", "tasks")
register_kind("deal", _("Deal added"), "handshake", "deals")
register_kind("stage", _("Deal moved"), "arrow-right", "deals")
register_kind("suggestion", _("Suggestion added"), "lightbulb", "suggestions")
register_kind("vote", _("Vote cast"), "thumbs-up", "suggestions")
register_kind("change", _("Fields changed"), "pencil", "changes")
register_kind("merge", _("Merged"), "merge", "changes")
register_kind("merge_undone", _("Merge undone"), "split", "changes")


class ExactDecoder(JSONDecoder):
    """A decoder that reads numbers with a decimal point without rounding."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs, parse_float=Decimal)


class TimelineEntryQuerySet(QuerySet["TimelineEntry"]):
    def newest_first(self) -> Self:
        return self.order_by("-at", "-number")

    def with_subjects(self, account: Account, access: Access) -> Self:
        """Annotate each entry with the row that it is about, as the object `subject`. Omit entries about rows outside of the access.

        The annotation is a subquery for each entry. PostgreSQL could evaluate EXISTS for all rows of a table instead.
        """
        subjects = {resource: first(rows) for resource, rows in subject_rows(account, access).items()}
        whens = [When(resource=resource, then=subject) for resource, subject in subjects.items()]
        subject = Case(*whens, output_field=models.JSONField(decoder=ExactDecoder))
        return self.annotate(subject=subject).filter(subject__isnull=False)

    def with_names(self, account: Account, access: Access) -> Self:
        """Annotate each entry with the names of its user, and of the linked rows of the access."""
        linked = {
            f"{link}_name": name_of_row(getattr(account, f"{link}s").live().limited_to(access), f"{link}_id")
            for link in LINKS
        }
        return self.annotate(user_name=name_of_user("user_id"), **linked)

    def append(
        self, kind: str, rows: Iterable[CRMResource], *, by: User | None, data: dict[str, object] | None = None
    ) -> None:
        """Log an event on the timelines of clients, contacts or deals of one account, in one statement.

        `kind` must be registered (`register_kind`). `data` is stored as JSON, and the template of the kind shows it.
        """
        if kind not in KINDS or kind in MIRRORED_KINDS:
            raise ValueError(f"{kind} is not a registered kind of logged entries")
        event: dict[str, Any] = {
            "kind": kind,
            "at": timezone.now(),
            "user_id": by.id if by else None,
            "data": data or {},
        }
        entries: list[Any] = [TimelineEntry(**event, **keys_of(row)) for row in rows]
        self.bulk_create(entries)
        if kind in ACTIVITY_KINDS:
            for entry in entries:
                add_keys(entry.account_id, write_summaries, [(entry.resource, entry.resource_id)])


def keys_of(row: CRMResource) -> dict[str, Any]:
    """Return the columns of the entries about a client, a contact or a deal that name the row, and its links."""
    own = str(row._meta.model_name)
    keys = {"account_id": row.account_id, "resource": own, "resource_id": row.id, f"{own}_id": row.id}
    for link in LINKS[: LINKS.index(own)]:
        keys[f"{link}_id"] = getattr(row, f"{link}_id", None) or getattr(row, f"trashed_{link}_id", None)
    return keys


def first(rows: QuerySet[Model]) -> Subquery:
    return Subquery(rows.values("found")[:1])


def subject_rows(account: Account, access: Access) -> dict[str, QuerySet[Model]]:
    """Return, by resource, the rows of the access that belong to an entry, with their values as the object `found`."""

    def live(rows: QuerySet[Model], **values: str | Combinable) -> QuerySet[Model]:
        found: QuerySet[Model] = rows.filter(id=OuterRef("resource_id")).annotate(found=JSONObject(**values))
        return found

    text = Left("content", MAX_TEXT_LENGTH + 1)
    posts = account.posts.live().filter(id=OuterRef("post_id"))
    votes = account.proxy_votes.limited_to(access).filter(id=OuterRef("resource_id"))
    return {
        "client": live(account.clients.live().limited_to(access), title="name"),
        "contact": live(account.contacts.live().limited_to(access), title="name"),
        "deal": live(account.deals.live().limited_to(access), title="name", price="price", currency="currency"),
        # One character more than is shown tells whether the text is longer.
        "note": live(
            account.notes.live().limited_to(access), title="excerpt", text=text, duration="duration", outcome="outcome"
        ),
        "post": live(account.posts.live().limited_to(access), title="title"),
        "vote": votes.annotate(found=first(posts.annotate(found=JSONObject(title="title", post_id="id")))),
    }


def timeline_of(
    account: Account, resource: str, id: int, *, access: Access, page: ListPage, kinds: Collection[str] = ()
) -> list["TimelineEntry"]:
    """Return a page of the entries of a client, a contact or a deal that the access allows, newest first, in one statement.

    No kinds mean all kinds. If another page follows, the list has one entry more than the page. Each entry has the annotations `subject`,
    `user_name`, and the names of the linked rows of the access: `client_name`, `contact_name`, `deal_name`.
    """
    entries: list[TimelineEntry] = _timeline(
        account_id=account.id,
        id=id,
        start=page.start,
        size=page.size + 1,
        resource=resource,
        kinds=tuple(sorted(kinds)),
        **access.arguments,
    )
    return entries


@prepared(account_id=int, id=int, start=int, size=int, responsible_ids=list)
def _timeline(
    account_id: int,
    id: int,
    start: int,
    size: int,
    resource: str,
    kinds: tuple[str, ...],
    responsible_ids: Collection[int] | None = None,
) -> QuerySet["TimelineEntry"]:
    account: Account = account_of(account_id)
    access = prepared_access(responsible_ids)
    entries = TimelineEntry.objects.filter(account_id=account_id, **{f"{resource}_id": id})
    if kinds:
        entries = entries.filter(kind__in=kinds)
    return entries.with_subjects(account, access).with_names(account, access).newest_first()[start : start + size]


def cut_text(text: str) -> str:
    """Return a text of at most `MAX_TEXT_LENGTH` characters."""
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1].rstrip()}…"


def link_index(name: str, link: str, *columns: str, **condition: object) -> models.Index:
    """Return the index of the entries that link to a row and fulfil a condition."""
    is_linked = Q(**{f"{link}_id__isnull": False}, **condition)
    return models.Index(fields=["account", f"{link}_id", *columns], name=f"{name}_of_{link}", condition=is_linked)


class TimelineEntry(models.Model):
    """An event on the timelines of a client, a contact and a deal.

    The write paths of other rows write most entries (`team.timeline.derivations`), and delete those of erased rows. The ids are copies from other
    rows, whose foreign keys check them. An entry has at least one link.
    """

    pk = models.CompositePrimaryKey("account_id", "number")
    account = models.ForeignKey(Account, models.CASCADE, db_index=False, db_constraint=False)
    # A number of the whole service, which is never shown. It orders the entries of the same time.
    number = models.BigIntegerField(
        editable=False, db_default=Func(Value("team_timelineentry_numbers"), function="nextval")
    )
    client_id = models.BigIntegerField(null=True)
    contact_id = models.BigIntegerField(null=True)
    deal_id = models.BigIntegerField(null=True)
    at = models.DateTimeField()
    kind = models.TextField()
    # The row that the entry is about: a client, a contact, a deal, a note, a post or a vote.
    resource = models.TextField()
    resource_id = models.BigIntegerField()
    # The user who acted, if this is known.
    user_id = models.BigIntegerField(null=True)
    data = JSONField(default=dict, encoder=DjangoJSONEncoder, decoder=ExactDecoder)

    # The annotations of `timeline_of`. `subject` has the title and further values of the row that the entry is about.
    subject: dict[str, Any]
    user_name: str | None
    client_name: str | None
    contact_name: str | None
    deal_name: str | None

    objects = TimelineEntryQuerySet.as_manager()

    class Meta:
        default_related_name = "timeline_entries"
        # Those of the timeline, and of the last activity of a row.
        indexes = [
            *(link_index("timeline", link, "at", "number") for link in LINKS),
            *(link_index("activity", link, "at", kind__in=ACTIVITY_KINDS) for link in LINKS),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "resource", "resource_id", "kind"],
                name="timeline_of_row",
                condition=Q(kind__in=MIRRORED_KINDS),
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.resource} {self.resource_id}"
