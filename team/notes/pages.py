"""The page of a note, the form that changes it, and the completion of mentions in notes."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.users.models import User
from core.db.tenancy import fold
from core.errors import Conflict
from core.http import throttling
from core.pages.base import redirect
from crm.notes.models import Note, NoteQuerySet
from forum.comments.pages import MAX_CANDIDATES, MAX_NAME_LENGTH, MAX_SHOWN, has_word
from team.menu.pages import ActionsPage, TeamPage, TeamRequest
from team.notes.forms import NoteForm, as_shown, with_people
from team.notes.notifications import RECORDS


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

    def find_own(self, id: int) -> Note:
        note = self.find(id)
        if note.trashed_at is not None:
            raise Http404
        if not note.may_be_changed_by(self.request.user):
            raise PermissionDenied
        return note

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        note = self.find_own(id)
        initial = {
            "kind": note.kind,
            "content": note.content,
            "noted_at": timezone.localtime(note.noted_at),
            "duration": note.duration,
            "version": note.updated_at.isoformat(),
        }
        return self.show(note, form=EditNoteForm(initial=initial))

    def save(self, id: int) -> HttpResponse:
        note, form = self.find_own(id), EditNoteForm(self.request.POST)
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
        found = [
            {"login": login, "name": name or login}
            for login, name in people
            if " " not in login and has_word(prefix, f"{login} {name}")
        ]
        return JsonResponse(found[:MAX_SHOWN], safe=False)
