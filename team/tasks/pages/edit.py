"""The pages with the form of a task: a new one, and an existing one."""

from datetime import date, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.attachments.uploading import MAX_FORM_BYTES, take_files
from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from core.db.text import replace_non_xml
from core.errors import Conflict
from core.pages.base import redirect, safe_path
from core.pages.creation import CreatingPage, Creation
from core.pages.number_fields import WholeNumberField
from core.search.queries import MAX_QUERY_LENGTH, search, search_transaction
from forum.posts.models import Post
from forum.posts.tasks import MAX_REPEAT, RepeatUnit
from team.fields.names import people_of
from team.menu.pages import TeamPage, TeamRequest
from team.tasks.pages.list import GONE, KINDS, NEXT
from team.tasks.queries import DEFAULT_TIME, LINKS, all_tasks, time_on

LINK_LABELS = {"client": gettext_lazy("Client"), "contact": gettext_lazy("Contact"), "deal": gettext_lazy("Deal")}
# The values of the reminder, in minutes before the task is due. A blank value reminds when it is due.
REMINDERS = (
    ("", gettext_lazy("When it is due")),
    ("15", gettext_lazy("15 minutes before")),
    ("60", gettext_lazy("1 hour before")),
    ("1440", gettext_lazy("1 day before")),
    ("other", gettext_lazy("At another time")),
)
REPEATS = (
    ("", gettext_lazy("Does not repeat")),
    (RepeatUnit.DAY.value, gettext_lazy("Daily")),
    (RepeatUnit.WEEK.value, gettext_lazy("Weekly")),
    (RepeatUnit.MONTH.value, gettext_lazy("Monthly")),
)
MAX_FOUND = 5


def add_step(step: str, day: date) -> date:
    """Return the day that is a day, a week or a month after another one."""
    if step == "month":
        first = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
        last = (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
        return first.replace(day=min(day.day, last.day))
    return day + timedelta(days=7 if step == "week" else 1)


class TaskForm(Form):
    id_format = "task-%s"
    title = forms.CharField(label=gettext_lazy("Title"), max_length=255)
    task_kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=[(kind, KINDS[kind][0]) for kind in KINDS])
    day = forms.DateField(
        label=gettext_lazy("Day"), required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    time = forms.TimeField(
        label=gettext_lazy("Time"), required=False, widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
    reminder = forms.ChoiceField(label=gettext_lazy("Reminder"), choices=REMINDERS, required=False)
    remind_at = forms.DateTimeField(
        label=gettext_lazy("Remind at"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=gettext_lazy("Only for a reminder at another time."),
    )
    responsible_id = forms.ChoiceField(label=gettext_lazy("Responsible"), required=False)
    priority = forms.ChoiceField(
        label=gettext_lazy("Priority"),
        required=False,
        choices=[("0", gettext_lazy("Normal")), ("1", gettext_lazy("High")), ("-1", gettext_lazy("Low"))],
    )
    repeat_unit = forms.ChoiceField(label=gettext_lazy("Repeats"), choices=REPEATS, required=False)
    repeat_every = WholeNumberField(
        label=gettext_lazy("Every"),
        required=False,
        min_value=1,
        max_value=MAX_REPEAT,
        help_text=gettext_lazy(
            "2 with “Weekly” means every two weeks. When the task is done, the next one is planned."
        ),
    )
    content = forms.CharField(
        label=gettext_lazy("Description"), required=False, max_length=65_536, widget=forms.Textarea(attrs={"rows": 4})
    )
    version = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, people: list[tuple[int, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.set_choices("responsible_id", [("", gettext_lazy("Nobody")), *((str(id), name) for id, name in people)])

    def clean(self) -> dict[str, object]:
        values = super().clean()
        for name in ("day", "remind_at"):
            if (value := values.get(name)) and not 2000 <= value.year < 2100:
                self.add_error(name, _("Is too far from today"))
        if values.get("time") and not values.get("day") and "day" not in self.errors:
            self.add_error("day", _("Can't be blank when there is a time"))
        if values.get("repeat_unit") and not values.get("day") and "day" not in self.errors:
            self.add_error("day", _("Can't be blank for a task that repeats"))
        reminder = values.get("reminder")
        if reminder == "other" and not values.get("remind_at") and "remind_at" not in self.errors:
            self.add_error("remind_at", _("Can't be blank"))
        if reminder not in (None, "", "other") and not values.get("day") and "day" not in self.errors:
            self.add_error("day", _("Can't be blank when there is a reminder before it"))
        return values

    def values(self) -> dict[str, object]:
        """Return the values for `Post.write`."""
        values = self.cleaned_data
        day, reminder = values["day"], values["reminder"]
        at = day and time_on(day, values["time"] or DEFAULT_TIME)
        remind_at = values["remind_at"] if reminder == "other" else None
        if reminder not in ("", "other"):
            remind_at = at - timedelta(minutes=int(reminder))
        return {
            **{name: values[name] for name in ("title", "task_kind", "content")},
            "scheduled_at": at or None,
            "due_day": None if values["time"] else day,
            "remind_at": remind_at,
            "responsible_id": int(values["responsible_id"]) if values["responsible_id"] else None,
            "priority": int(values["priority"] or 0),
            "repeat_unit": values["repeat_unit"] or None,
            "repeat_every": values["repeat_every"] if values["repeat_unit"] else None,
        }

    @staticmethod
    def initial_of(task: Post) -> dict[str, object]:
        at = task.scheduled_at and timezone.localtime(task.scheduled_at)
        minutes = task.remind_at and at and str(int((at - task.remind_at).total_seconds() // 60))
        reminder = "" if task.remind_at is None else minutes if minutes in dict(REMINDERS) else "other"
        return {
            **{name: getattr(task, name) for name in ("title", "task_kind", "content", "repeat_unit", "repeat_every")},
            "day": task.due_day or (at and at.date()),
            "time": None if task.due_day else at and at.time(),
            "reminder": reminder,
            "remind_at": task.remind_at if reminder == "other" else None,
            "responsible_id": str(task.responsible_id or ""),
            # The pages have three priorities. Programs may set others.
            "priority": str(max(-1, min(task.priority, 1))),
            "version": task.updated_at.isoformat(),
        }


class TaskFormPage(CreatingPage, TeamPage):
    """The form of a new task. Parameters of the address fill it: links, title and day, or the task that it follows (`after`)."""

    section = "tasks"
    template_name = "team/tasks/task_form.html"
    max_body_bytes = MAX_FORM_BYTES
    # The id of the part of the form that htmx replaces while the user types.
    FOUND = "task-links"

    def rows_of(self, link: str) -> Any:
        return getattr(self.request.account, LINKS[link]).live().accessible_to(self.request.user)

    def linked(self, ids: dict[str, int | None]) -> list[tuple[str, int, str, str]]:
        """Return the rows that a task belongs to, as (link, id, label, name)."""
        found = []
        for link, id in ids.items():
            if id is not None and (name := self.rows_of(link).filter(id=id).values_list("name", flat=True).first()):
                found.append((link, id, str(LINK_LABELS[link]), name))
        return found

    def find(self, q: str) -> list[tuple[str, int, str, str]]:
        """Return the clients, contacts and deals that a search finds."""
        q = replace_non_xml(q).strip()[:MAX_QUERY_LENGTH]
        if not q:
            return []
        found = []
        with search_transaction(self.request.account.id, q) as query:
            for link in LINKS:
                ids = search(self.rows_of(link), query, enough=MAX_FOUND, fuzzy=False)[:MAX_FOUND]
                names = dict(self.rows_of(link).filter(id__in=ids).values_list("id", "name")) if ids else {}
                found += [(link, id, str(LINK_LABELS[link]), names[id]) for id in ids if id in names]
        return found

    def sent_links(self) -> dict[str, int | None]:
        """Return the ids that the form keeps or that the user has chosen. A chosen row replaces the others."""
        chosen = self.request.POST.get("link", "keep")
        if chosen == "keep":
            return {link: parse_id(self.request.POST.get(f"{link}_id")) for link in LINKS}
        link, _separator, id = chosen.partition(":")
        ids: dict[str, int | None] = dict.fromkeys(LINKS)
        if link not in LINKS:
            return ids
        ids[link] = parse_id(id) or 0
        if link != "client":
            # A contact or a deal brings its client.
            ids["client"] = self.rows_of(link).filter(id=ids[link]).values_list("client_id", flat=True).first()
        return ids

    def show(
        self, form: TaskForm, ids: dict[str, int | None], *, q: str = "", status: int = 0, **context: Any
    ) -> HttpResponse:
        return self.render(
            http_status=status or (422 if form.is_bound and form.errors else 200),
            form=form,
            current=self.linked(ids),
            found=self.find(q),
            q=q,
            back=safe_path(self.request, self.request.GET.get("back"), reverse("team-tasks")),
            **context,
        )

    def show_found(self, request: TeamRequest) -> HttpResponse:
        q = request.GET.get("q", "")
        return self.render("team/tasks/task_links.html", found=self.find(q), q=q)

    def get(self, request: TeamRequest) -> HttpResponse:
        if self.fills(self.FOUND):
            return self.show_found(request)
        ids = {link: parse_id(request.GET.get(f"{link}_id")) for link in LINKS}
        initial: dict[str, object] = {
            "title": replace_non_xml(request.GET.get("title", ""))[:255],
            "responsible_id": str(request.user.id),
            "day": request.GET.get("day", ""),
        }
        after = all_tasks(request.account, request.user).filter(id=parse_id(request.GET.get("after")) or 0).first()
        if after is not None:
            ids = links_of(after)
            at = timezone.localtime(after.scheduled_at) if after.scheduled_at else None
            step = request.GET.get("in", "")
            initial |= {
                "title": after.title,
                "task_kind": after.task_kind,
                "responsible_id": str(after.responsible_id or request.user.id),
                "time": None if after.due_day else at and at.time(),
                "day": add_step(step, timezone.localdate()) if step in dict(NEXT) else None,
            }
        return self.show(TaskForm(initial=initial, people=people_of(self.request.account, None)), ids)

    def post(self, request: TeamRequest, **kwargs: object) -> HttpResponse:
        self.sent_files = take_files(request, "content")
        ids, q = self.sent_links(), request.POST.get("q", "")
        if request.POST.get("do") == "find":
            form = TaskForm(initial=request.POST.dict(), people=people_of(self.request.account, None))
            return self.show(form, ids, q=q, **self.context_of(**kwargs))
        form = TaskForm(request.POST, people=people_of(self.request.account, None))
        task = self.save(form, ids, **kwargs)
        if task is None:
            return self.show(form, ids, q=q, **self.context_of(**kwargs))
        if not request.user.access.includes(task):
            return self.leave(task.title, reverse("team-tasks"))
        messages.success(request, _("The task is saved."))
        return redirect("team-task", task.id)

    def context_of(self, **kwargs: Any) -> dict[str, Any]:
        return {}

    def checked_links(self, ids: dict[str, int | None]) -> dict[str, int | None]:
        """Return the links as columns. Raise Conflict if the user may not access a row."""
        for link, id in ids.items():
            if id is not None and not self.rows_of(link).filter(id=id).exists():
                raise Conflict(_("The client, contact or deal was deleted in the meantime."))
        return {f"{link}_id": id for link, id in ids.items()}

    def save(self, form: TaskForm, ids: dict[str, int | None]) -> Post | None:
        """Create the task. Return None if the form has errors."""
        account, user = self.request.account, self.request.user
        tasks = account.posts.live().filter(category_id=None)

        def write(task: Post) -> Post:
            task.write(form.values() | self.checked_links(ids), by=user)
            return task

        creation = Creation(
            create=lambda: write(Post(account=account, agent=self.request.headers.get("User-Agent", "")[:255])),
            rows=tasks.locked(),
            path=lambda task: reverse("team-task", args=[task.id]),
            saved=TaskForm.initial_of,
            change=write,
            choices=lambda task: self.compare_links(task, ids),
            is_visible=user.access.includes,
        )
        return self.create_once(form, creation, further={**ids, **self.sent_files})

    def compare_links(self, task: Post, ids: dict[str, int | None]) -> list[tuple[str, str, str]]:
        """Return the labels of the links, with the names of the rows of the task and of the chosen ones."""
        saved = {link: name for link, _id, _label, name in self.linked(links_of(task))}
        sent = {link: name for link, _id, _label, name in self.linked(ids)}
        return [(str(LINK_LABELS[link]), saved.get(link, ""), sent.get(link, "")) for link in LINKS]


def links_of(task: Post) -> dict[str, int | None]:
    return {link: getattr(task, f"{link}_id") for link in LINKS}


class EditTaskPage(TaskFormPage):
    """The form of an existing task. If another user has changed the task meanwhile, nothing is written until it is sent again."""

    def find_task(self, id: int) -> Post:
        task: Post = get_object_or_404(all_tasks(self.request.account, self.request.user), id=id)
        return task

    def context_of(self, **kwargs: Any) -> dict[str, Any]:
        return {"task": self.find_task(kwargs["id"])}

    def get(self, request: TeamRequest, id: int = 0) -> HttpResponse:
        if self.fills(self.FOUND):
            return self.show_found(request)
        task = self.find_task(id)
        form = TaskForm(initial=TaskForm.initial_of(task), people=people_of(self.request.account, None))
        return self.show(form, links_of(task), task=task)

    def save(self, form: TaskForm, ids: dict[str, int | None], id: int = 0) -> Post | None:
        saved: list[Post] = []
        is_saved = form.is_valid() and self.submit_form(form, lambda: saved.append(self.write(form, ids, id)))
        return saved[-1] if is_saved else None

    def write(self, form: TaskForm, ids: dict[str, int | None], id: int) -> Post:
        tasks = all_tasks(self.request.account, self.request.user)
        task: Post | None = tasks.locked().filter(id=id).first()
        if task is None:
            raise Conflict(GONE)
        if task.updated_at.isoformat() != form.cleaned_data["version"]:
            form.replace_data("version", task.updated_at.isoformat())
            raise Conflict(_("Somebody changed this task in the meantime. Save again to overwrite the changes."))
        hidden = {link for link, own in links_of(task).items() if own and not self.rows_of(link).filter(id=own)}
        # A link to a row that the user may not see stays.
        links = self.checked_links({link: id for link, id in ids.items() if link not in hidden})
        task.write(form.values() | links, by=self.request.user)
        return task
