"""Notes: the form on the page of a record, the page of a note, the completion of mentions, and their titles in notifications.

With the form on the page of a record, the team writes a note, records a call, a meeting or an e-mail, or plans a task.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import PermissionDenied
from django.db.models import CharField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, JSONObject, Left
from django.forms.boundfield import BoundWidget
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.attachments.models import attached_files
from accounts.attachments.uploading import MAX_FORM_BYTES, take_files
from accounts.layout.forms import Form
from accounts.mentions.parsing import names_in
from accounts.users.models import User
from core.db.arrays import EqualsAny
from core.db.tenancy import fold
from core.errors import Conflict
from core.http import throttling
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.number_fields import WholeNumberField
from core.rows.values import ValuesRow
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from crm.notes.models import MAX_DURATION, Note, NoteQuerySet
from crm.resources.models import CRMResource
from forum.comments.pages import MAX_CANDIDATES, MAX_NAME_LENGTH, MAX_SHOWN, has_word
from forum.posts.models import Post
from forum.texts.markdown import render
from team.fields.forms import NO_CHOICE
from team.fields.names import people_of
from team.lists.pages.base import RecordsPage
from team.menu.pages import ActionsPage, TeamPage, TeamRequest
from team.tasks.pages.list import KINDS as TASK_KINDS
from team.tasks.queries import time_on

# The number of characters of a note that a notification may quote.
MAX_TEXT_LENGTH = 2000
# For each link of a note: its model, and the route of the page of a record, which exists for records in the trash as well.
RECORDS = {"client": (Client, "team-client"), "contact": (Contact, "team-contact"), "deal": (Deal, "team-deal")}
# The kind of the form for which a task is created instead of a note.
TASK = "task"


@dataclass(frozen=True)
class ComposedKind:
    title: str | Promise
    icon: str
    # The fields of the form, the first of which must not be blank. The style sheet hides the others, and their values are ignored.
    fields: tuple[str, ...]
    # The message after it is saved.
    saved: str | Promise


TALK_FIELDS = ("content", "noted_at", "duration")
# The most people to whom the form on the page of a record gives a task. The form of the task has all.
MAX_PEOPLE = 100
# The fields of the task that follows a note.
FOLLOW_UP_FIELDS = ("follow_up", "follow_up_day", "follow_up_kind", "follow_up_user")
KINDS: dict[str, ComposedKind] = {
    kind: ComposedKind(title, icon, fields, saved)
    for kind, title, icon, fields, saved in (
        (Note.Kind.NOTE, gettext_lazy("Note"), "sticky-note", ("content",), gettext_lazy("The note is saved.")),
        (Note.Kind.CALL, gettext_lazy("Call"), "phone", (*TALK_FIELDS, "outcome"), gettext_lazy("The call is saved.")),
        (Note.Kind.MEETING, gettext_lazy("Meeting"), "users", TALK_FIELDS, gettext_lazy("The meeting is saved.")),
        (
            Note.Kind.EMAIL,
            gettext_lazy("Log an e-mail"),
            "mail",
            ("content", "noted_at"),
            gettext_lazy("The e-mail is saved."),
        ),
        (TASK, gettext_lazy("Task"), "square-check", ("title", "day"), gettext_lazy("The task is added.")),
    )
}


def kind_field(choices: list[tuple[str, Any]]) -> forms.ChoiceField:
    return forms.ChoiceField(label=gettext_lazy("Kind"), choices=choices, widget=forms.RadioSelect)


class NoteForm(Form):
    """The fields of a note. Fields that do not belong to the kind keep neither values nor errors."""

    id_format = "note-%s"
    kind = kind_field(Note.Kind.choices)
    content = forms.CharField(
        label=gettext_lazy("Text"), required=False, max_length=65_536, widget=forms.Textarea(attrs={"rows": 3})
    )
    noted_at = forms.DateTimeField(
        label=gettext_lazy("When"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    duration = WholeNumberField(label=gettext_lazy("Minutes"), required=False, min_value=0, max_value=MAX_DURATION)
    outcome = forms.ChoiceField(
        label=gettext_lazy("Outcome"), required=False, choices=[("", NO_CHOICE), *Note.Outcome.choices]
    )

    def tabs(self) -> Iterator[tuple[BoundWidget, str]]:
        """Return the radio button of each kind with the name of its icon."""
        for radio in self["kind"]:
            yield radio, KINDS[radio.data["value"]].icon

    def clean(self) -> dict[str, object]:
        values = super().clean()
        kind = values.get("kind")
        if kind is None:
            return values
        for name in {name for other in KINDS.values() for name in other.fields} - {*KINDS[kind].fields}:
            self.errors.pop(name, None)
            values.pop(name, None)
        required = KINDS[kind].fields[0]
        if not values.get(required) and required not in self.errors:
            self.add_error(required, _("Can't be blank"))
        for name in ("day", "noted_at", "follow_up_day"):
            if (value := values.get(name)) and not 2000 <= value.year < 2100:
                self.add_error(name, _("Is too far from today"))
        return values

    def note_values(self) -> dict[str, object]:
        """Return the values for `Note.write`. A blank time is left out: a new note gets the current time, another one keeps its time."""
        values = self.cleaned_data
        content = values["content"].replace("\r\n", "\n")
        times = {"noted_at": values["noted_at"]} if values.get("noted_at") else {}
        details = {"duration": values.get("duration"), "outcome": values.get("outcome") or None}
        return {"kind": values["kind"], "content": content, **details, **times}


class ComposerForm(NoteForm):
    """The form for a new note or a new task of the user."""

    kind = kind_field([(name, kind.title) for name, kind in KINDS.items()])
    title = forms.CharField(label=gettext_lazy("New task"), required=False, max_length=255)
    day = forms.DateField(
        label=gettext_lazy("Due"), required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    follow_up = forms.CharField(label=gettext_lazy("Title"), required=False, max_length=255)
    follow_up_day = forms.DateField(
        label=gettext_lazy("Due"), required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    follow_up_kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), required=False, choices=[(kind, TASK_KINDS[kind][0]) for kind in TASK_KINDS]
    )
    follow_up_user = forms.ChoiceField(label=gettext_lazy("Responsible"), required=False)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.set_choices("follow_up_user", people_of(user.account, MAX_PEOPLE))
        self.initial.setdefault("follow_up_user", user.id)

    def follow_up_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in FOLLOW_UP_FIELDS]

    @property
    def has_follow_up(self) -> bool:
        """Return whether the valid form plans a task after the note, or the invalid one has values for it."""
        values = self.cleaned_data if self.is_bound and self.is_valid() else self.data
        is_task = values.get("kind") == TASK
        return not is_task and any(values.get(name) for name in ("follow_up", "follow_up_day"))

    def task_values(self) -> dict[str, object]:
        day = self.cleaned_data["day"]
        at = time_on(day) if day else None
        return {"title": self.cleaned_data["title"], "scheduled_at": at, "due_day": day}

    def follow_up_values(self) -> dict[str, object]:
        values = self.cleaned_data
        day, user_id = values["follow_up_day"], values["follow_up_user"]
        return {
            "title": values["follow_up"] or _("Follow up"),
            "scheduled_at": time_on(day) if day else None,
            "due_day": day,
            "task_kind": values["follow_up_kind"] or Post.TaskKind.TASK,
            "responsible_id": int(user_id) if user_id else None,
        }


class Composer(CreatingPage, RecordsPage):
    """The part of the page of a record that creates notes and tasks."""

    max_body_bytes = MAX_FORM_BYTES

    if TYPE_CHECKING:

        def find(self, id: int) -> CRMResource: ...
        def lock(self, id: int) -> CRMResource: ...
        def back_to(self, id: int) -> HttpResponse: ...
        def show(self, row: CRMResource, *, http_status: int = 200, **context: Any) -> HttpResponse: ...

    @property
    def link(self) -> str:
        """The column of a note or a task with the id of the record."""
        return f"{self.declaration.resource}_id"

    def composer(self) -> ComposerForm:
        """Return the empty form. `compose` in the address selects the kind; without one, the page shows only the kinds."""
        return ComposerForm(initial={"kind": self.request.GET.get("compose")}, user=self.request.user)

    def compose(self, id: int) -> HttpResponse:
        row, sent_files = self.find(id), take_files(self.request, "content")
        form = ComposerForm(self.request.POST, user=self.request.user)
        if row.trashed_at is not None:
            raise Http404
        is_task = form.is_valid() and form.cleaned_data["kind"] == TASK
        made: Note | Post | None
        if is_task:
            made = self.create_once(form, self.task_creation(id, form))
        else:
            made = self.create_once(form, self.note_creation(id, form), further=sent_files)
        if made is None:
            return self.show(row, http_status=422, composer=form)
        messages.success(self.request, str(KINDS[form.cleaned_data["kind"]].saved))
        return self.back_to(id)

    def lock_live(self, id: int) -> CRMResource:
        """Return the record, locked until the transaction ends. Raise Http404 if it is in the trash."""
        row = self.lock(id)
        if row.trashed_at is not None:
            raise Http404
        return row

    def task_creation(self, id: int, form: ComposerForm) -> Creation[Post]:
        account, user = self.request.account, self.request.user
        tasks = account.posts.live().filter(category_id=None, **{self.link: id})

        def create() -> Post:
            self.lock_live(id)
            return self.add_task(id, {**form.task_values(), "task_kind": "task", "responsible_id": user.id})

        def saved(task: Post) -> dict[str, object]:
            at = task.scheduled_at and timezone.localtime(task.scheduled_at)
            return {"kind": TASK, "title": task.title, "day": at and at.date()}

        return Creation(
            create=create,
            rows=tasks.locked(),
            path=lambda task: reverse("team-task", args=[task.id]),
            saved=saved,
            change=lambda task: task.write(form.task_values(), by=user),
            is_visible=user.access.includes,
        )

    def add_task(self, id: int, values: dict[str, object]) -> Post:
        """Create a task of the record."""
        task = Post(account=self.request.account, agent=self.request.headers.get("User-Agent", "")[:255])
        task.write({**values, self.link: id}, by=self.request.user)
        return task

    def note_creation(self, id: int, form: ComposerForm) -> Creation[Note]:
        account, user = self.request.account, self.request.user

        def create() -> Note:
            self.lock_live(id)
            note = Note(account=account)
            note.write(form.note_values() | {self.link: id}, by=user)
            if form.has_follow_up:
                self.add_task(id, form.follow_up_values())
            return note

        def saved(note: Note) -> dict[str, object]:
            return {name: getattr(note, name) for name in KINDS[note.kind].fields} | {"kind": note.kind}

        return Creation(
            create=create,
            rows=account.notes.live().locked(),
            path=lambda note: reverse("team-note", args=[note.id]),
            saved=saved,
            # The task that the form has planned is a row of its own by now.
            change=None if form.has_follow_up else lambda note: note.write(form.note_values(), by=user),
            is_visible=lambda note: note.may_be_changed_by(user),
        )


# Notes as pages show them


def with_people(notes: QuerySet[Note]) -> QuerySet[Note]:
    """Add the name of the author, and the logins and names of the mentioned users."""
    users = User.objects.filter(account_id=OuterRef("account_id"))
    mentioned = users.filter(EqualsAny("id", OuterRef("mentioned_user_ids")))
    author = users.filter(id=OuterRef("creator_id")).values(person=JSONObject(login="login", name="name"))[:1]
    columns = JSONObject(id="id", login_key="login_key", name="name")
    people = {"author": author, "mentioned": ArraySubquery(mentioned.values(person=columns))}
    return notes.annotate(files=attached_files("note"), **people)


def as_shown(note: Note, user: User) -> dict[str, object]:
    """Return a note of `with_people` as the template shows it to a user."""
    author: dict[str, str] = note.author  # type: ignore[attr-defined]  # an annotation
    return {
        "note": note,
        "author": author["name"] or author["login"],
        "icon": KINDS[note.kind].icon,
        "html": render(note.content, mentions=mentions_of(note.content, note.mentioned)),  # type: ignore[attr-defined]  # an annotation
        "may_change": note.may_be_changed_by(user),
    }


def mentions_of(text: str, people: list[ValuesRow]) -> dict[str, int | None]:
    """Return the ids of the mentioned users by the logins and names in the text."""
    ids = {person["name"]: person["id"] for person in people if person["name"]}
    logins = {person["login_key"]: person["id"] for person in people}
    names: set[str] = set().union(*names_in(text))
    return {name: id for name in names if (id := logins.get(fold(name), ids.get(name))) is not None}


class NotePage(ActionsPage):
    """A note, or the button that restores it from the trash."""

    template_name = "team/notes/note_page.html"
    actions = {"trash": "trash", "restore": "restore"}

    def rows(self) -> NoteQuerySet:
        return self.request.account.notes.accessible_to(self.request.user)

    def find(self, id: int) -> Note:
        return get_object_or_404(with_people(self.rows()), id=id)

    def lock(self, id: int) -> Note:
        """Return the note, locked until the transaction ends. Raise PermissionDenied if the user may not change it."""
        note: Note = get_object_or_404(self.rows().locked(), id=id)
        if not note.may_be_changed_by(self.request.user):
            raise PermissionDenied
        return note

    def show(self, note: Note, *, http_status: int = 200, **context: Any) -> HttpResponse:
        # The record may be in the trash.
        ids = {link: getattr(note, f"{link}_id") or getattr(note, f"trashed_{link}_id") for link in RECORDS}
        [(route, id)] = [(route, ids[link]) for link, (_model, route) in RECORDS.items() if ids[link] is not None]
        values = {"item": as_shown(note, self.request.user), "back": reverse(route, args=[id])}
        return self.render(http_status=http_status, **values | context)

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        return self.show(self.find(id))

    def trash(self, id: int) -> HttpResponse:
        def act() -> None:
            note = self.lock(id)
            if note.trashed_at is None:
                note.trash(by=self.request.user)

        self.perform(act, success_message=_("The note is in the trash."))
        return redirect("team-note", id)

    def restore(self, id: int) -> HttpResponse:
        def act() -> None:
            note = self.lock(id)
            if note.trashed_at is not None:
                note.restore()

        self.perform(act, success_message=_("The note is restored."))
        return redirect("team-note", id)


class EditNoteForm(NoteForm):
    version = forms.CharField(required=False, widget=forms.HiddenInput)


class EditNotePage(NotePage):
    """The form of a note. If another user has changed the note meanwhile, nothing is written until the form is sent again."""

    template_name = "team/notes/note_form.html"
    actions = {"": "save"}
    max_body_bytes = MAX_FORM_BYTES

    def find_own(self, id: int) -> Note:
        note = self.find(id)
        if note.trashed_at is not None:
            raise Http404
        if not note.may_be_changed_by(self.request.user):
            raise PermissionDenied
        return note

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        note = self.find_own(id)
        initial = {name: getattr(note, name) for name in ("kind", "content", "duration", "outcome")}
        initial |= {"noted_at": timezone.localtime(note.noted_at), "version": note.updated_at.isoformat()}
        return self.show(note, form=EditNoteForm(initial=initial))

    def save(self, id: int) -> HttpResponse:
        note = self.find_own(id)
        take_files(self.request, "content")
        form = EditNoteForm(self.request.POST)
        if not form.is_valid() or not self.submit_form(form, lambda: self.write(id, form)):
            return self.show(note, http_status=422, form=form)
        messages.success(self.request, _("The note is saved."))
        return redirect("team-note", id)

    def write(self, id: int, form: EditNoteForm) -> None:
        note = self.lock(id)
        if note.trashed_at is not None:
            raise Conflict(_("The note was deleted in the meantime."))
        if note.updated_at.isoformat() != form.cleaned_data["version"]:
            form.replace_data("version", note.updated_at.isoformat())
            raise Conflict(_("Somebody changed this note in the meantime. Save again to overwrite the changes."))
        note.write(form.note_values(), by=self.request.user)


class TeamMentionsPart(TeamPage):
    """The users of the team whose login or a word of whose name begins with `q`, as JSON."""

    def get(self, request: TeamRequest) -> HttpResponse:
        prefix = fold(request.GET.get("q", "")[:MAX_NAME_LENGTH])
        throttling.count_search(request)
        team = request.account.users.filter(role__in=User.TEAM, is_active=True).exclude(id=request.user.id)
        people = team.order_by("name", "id").values_list("login", "name")[:MAX_CANDIDATES]
        found = [pair for pair in people if " " not in pair[0] and has_word(prefix, f"{pair[0]} {pair[1]}")]
        shown = [{"login": login, "name": name or login} for login, name in found[:MAX_SHOWN]]
        return JsonResponse(shown, safe=False)


# Notes in notifications


def details_of(column: str) -> Subquery:
    """Return the details of the note whose id is in a column. The title is the name of the client, contact or deal."""
    ids = {link: Coalesce(f"{link}_id", f"trashed_{link}_id") for link in RECORDS}
    names = [
        Subquery(model.objects.filter(account_id=OuterRef("account_id"), id=OuterRef(link)).values("name"))
        for link, (model, _route) in RECORDS.items()
    ]
    notes = Note.objects.filter(account_id=OuterRef("account_id"), id=OuterRef(column)).annotate(**ids)
    title = Coalesce(*names, output_field=CharField())
    text = Left("content", MAX_TEXT_LENGTH)
    return Subquery(notes.values(details=JSONObject(id="id", title=title, text=text, **{link: link for link in ids})))


def path_of(note: Mapping[str, object]) -> str:
    [(id, route)] = [(note[link], route) for link, (_model, route) in RECORDS.items() if note[link] is not None]
    return reverse(route, args=[id], fragment=f"note-{note['id']}")
