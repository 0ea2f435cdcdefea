"""Notes: what the team writes about a client, a contact or a deal, and the calls, meetings and e-mails with them."""

from datetime import timedelta
from typing import Any, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.access.models import AccessQuerySet
from accounts.attachments.models import Attachment
from accounts.mentions.parsing import mentioned_team
from accounts.users.models import User
from core.db.tenancy import FoldedField
from core.errors import FieldError
from core.registry import Resource
from core.rows.access import Access
from core.rows.trash import link_indexes, trash_index
from core.search.declaration import Search
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from crm.resources.models import CRMResource, change_index, exactly_one, links_to_accessible, list_indexes

MAX_EXCERPT_LENGTH = 100
MAX_DURATION = 100_000
# The clock of an application that sends a note may be ahead of this one.
CLOCK_TOLERANCE = timedelta(minutes=5)

# A null for one of these fields changes nothing.
NEVER_NULL = ("kind", "noted_at")

# A note has exactly one of these links.
LINKS = ("client", "contact", "deal")
LINK_COLUMNS = [name for link in LINKS for name in (f"{link}_id", f"trashed_{link}_id")]


class ExcerptField(FoldedField):
    """The beginning of another field, in one line. It is the name of the row in lists and in the trash."""

    @staticmethod
    def derive(text: str) -> str:
        line = " ".join(text.split())
        return line if len(line) <= MAX_EXCERPT_LENGTH else f"{line[: MAX_EXCERPT_LENGTH - 1].rstrip()}…"


class NoteQuerySet(AccessQuerySet["Note"]):
    def limited_to(self, access: Access) -> Self:
        """Return the notes of clients, contacts and deals that are accessible."""
        return self.filter(links_to_accessible(access, Client, Contact, Deal)) if access.is_limited else self


class Note(CRMResource):
    """A note about a client, a contact or a deal.

    It stays when the row that it is about is moved to the trash, and is erased with that row.
    """

    api_resource = Resource("note", _("Note"), _("Notes"), icon="sticky-note")

    class Kind(models.TextChoices):
        NOTE = "note", _("Note")
        CALL = "call", _("Call")
        MEETING = "meeting", _("Meeting")
        EMAIL = "email", _("E-mail")

    class Outcome(models.TextChoices):
        """How a call ended."""

        REACHED = "reached", _("Reached")
        NO_ANSWER = "no_answer", _("No answer")
        MESSAGE = "message", _("Left a message")
        BUSY = "busy", _("Busy")
        WRONG_NUMBER = "wrong_number", _("Wrong number")

    DISPLAY_NAME_FIELD = "excerpt"

    client_id = models.BigIntegerField(null=True)
    contact_id = models.BigIntegerField(null=True)
    deal_id = models.BigIntegerField(null=True)
    # The linked row while it is in the trash. Restoring the row moves the id back.
    trashed_client_id = models.BigIntegerField(null=True, editable=False)
    trashed_contact_id = models.BigIntegerField(null=True, editable=False)
    trashed_deal_id = models.BigIntegerField(null=True, editable=False)
    kind = models.CharField(max_length=255, choices=Kind.choices, default=Kind.NOTE)
    content = models.CharField(max_length=65_536)
    excerpt = ExcerptField(source="content")
    # When the call, meeting or e-mail was, and how many minutes it took.
    noted_at = models.DateTimeField(default=timezone.now)
    duration = models.IntegerField(null=True)
    # Of a call.
    outcome = models.CharField(max_length=255, choices=Outcome.choices, null=True)
    # The users of the team whom the content mentions.
    mentioned_user_ids = ArrayField(models.BigIntegerField(), default=list, editable=False)

    # The text before a change that `assign` has made and `flush` has not written yet.
    content_before: str | None = None

    search = Search(
        name_field="excerpt", long=("content",), filters=("creator_id", "updater_id", "kind"), is_ordered_by_name=False
    )
    objects = NoteQuerySet.as_manager()

    class Meta:
        default_related_name = "notes"
        constraints = [exactly_one(LINK_COLUMNS, "note_of_one_row")]
        indexes = [
            *(index for link in LINKS for index in link_indexes("note", link, "id")),
            trash_index("note"),
            *list_indexes("note"),
            change_index("note"),
        ]

    def __str__(self) -> str:
        result: str = self.excerpt
        return result

    def may_be_changed_by(self, user: User) -> bool:
        """Return whether the user may change the note or move it to the trash: its author and admins may."""
        return user.is_admin or user.id == self.creator_id

    @classmethod
    def flush(cls, rows: list[Self]) -> None:
        super().flush(rows)
        for row in rows:
            if row.content_before is not None:
                by_id, before = row.updater_id, row.content_before
                Attachment.objects.follow_text(row, "note", row.content, before=before, by_id=by_id)
                row.content_before = None

    def assign(self, values: dict[str, Any], *, by: User) -> None:
        """Set attributes from the validated values. Raise FieldError for a time in the future, and unless one link is set."""
        values = {name: value for name, value in values.items() if value is not None or name not in NEVER_NULL}
        if "noted_at" in values and values["noted_at"] > timezone.now() + CLOCK_TOLERANCE:
            raise FieldError("noted_at", _("can't be in the future"), "future")
        if values.get("outcome") and values.get("kind", self.kind) != self.Kind.CALL:
            raise FieldError("outcome", _("can only be given for a call"), "call")
        if values.get("kind", self.kind) != self.Kind.CALL and self.outcome:
            values["outcome"] = None
        if any(values.get(f"{link}_id") for link in LINKS):
            # A new link replaces a pending one, which responses show as null.
            values |= {f"trashed_{link}_id": None for link in LINKS}
        if "content" in values:
            self.content_before = self.content
            values["mentioned_user_ids"] = mentioned_team(self.account, values["content"])
            values["excerpt"] = ExcerptField.derive(values["content"])
        super().assign(values, by=by)
        if sum(getattr(self, name) is not None for name in LINK_COLUMNS) != 1:
            raise FieldError("client_id", _("must be given, or else a contact_id or a deal_id, but only one of them"))
