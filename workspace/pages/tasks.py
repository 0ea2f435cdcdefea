"""The pages of tasks: the list by time, a task with its comments, and the form of a task.

Everything works with forms and redirects. A ticked task is named in the address of the list (`done`), which then offers to undo it and
to plan the next one.
"""

from datetime import date, datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.pages.forms import Form
from accounts.pages.settings import parse_id
from accounts.roles import ASSIGNABLE
from core.db import locks
from core.db.text import replace_non_xml
from core.db.transactions import in_transaction
from core.error_responses import error_response
from core.errors import Conflict
from core.pages.base import redirect, safe_path
from core.search.queries import MAX_QUERY_LENGTH, search, search_transaction
from forum.models import Post
from workspace.pages.base import WorkspacePage
from workspace.requests import TeamRequest
from workspace.tasks import (
    DEFAULT_TIME,
    GROUP_SIZE,
    LINKS,
    Bounds,
    all_tasks,
    ids_by_group,
    in_order,
    items,
    moved_to,
    open_tasks,
)

# The labels and icons of the kinds of tasks.
KINDS: dict[str, tuple[Any, str]] = {
    Post.TaskKind.TASK: (gettext_lazy("Task"), "square-check"),
    Post.TaskKind.PHONE: (gettext_lazy("Call"), "phone"),
    Post.TaskKind.EMAIL: (gettext_lazy("E-mail"), "mail"),
    Post.TaskKind.CHAT: (gettext_lazy("Chat"), "message-circle"),
    Post.TaskKind.HELP: (gettext_lazy("Support"), "life-buoy"),
    Post.TaskKind.LEAD: (gettext_lazy("Lead"), "target"),
    Post.TaskKind.ERROR: (gettext_lazy("Problem"), "bug"),
    Post.TaskKind.IDEA: (gettext_lazy("Idea"), "lightbulb"),
}
TITLES = {
    "overdue": gettext_lazy("Overdue"),
    "today": gettext_lazy("Today"),
    "week": gettext_lazy("This week"),
    "later": gettext_lazy("Later"),
    "none": gettext_lazy("Without a date"),
    "done": gettext_lazy("Done"),
}
LINK_LABELS = {"client": gettext_lazy("Client"), "contact": gettext_lazy("Contact"), "deal": gettext_lazy("Deal")}
LINK_ICONS = {"client": "building-2", "contact": "user", "deal": "handshake"}
# The values of the reminder, in minutes before the task is due. A blank value reminds when it is due.
REMINDERS = (
    ("", gettext_lazy("When it is due")),
    ("15", gettext_lazy("15 minutes before")),
    ("60", gettext_lazy("1 hour before")),
    ("1440", gettext_lazy("1 day before")),
    ("other", gettext_lazy("At another time")),
)
SHORTCUTS = (
    (("j", "k"), gettext_lazy("next and previous task")),
    (("Enter",), gettext_lazy("open the task")),
    (("x", "e"), gettext_lazy("tick the task, or untick it")),
    (("s",), gettext_lazy("postpone the task")),
    (("t",), gettext_lazy("new task")),
)
NEXT = (("day", gettext_lazy("In a day")), ("week", gettext_lazy("In a week")), ("month", gettext_lazy("In a month")))
MAX_FOUND, MAX_TICKED, MAX_COMMENTS = 5, 50, 200
# If the same form is submitted again within this time, no second task is created.
DOUBLE_CLICK_WINDOW = timedelta(minutes=1)


def as_item(row: dict[str, Any]) -> dict[str, Any]:
    """Add to the values of a task what the template shows of its kind and its links."""
    label, icon = KINDS.get(row["task_kind"], KINDS[Post.TaskKind.TASK])
    links = [
        (LINK_ICONS[link], row[f"{link}_name"], reverse(f"workspace-{link}", args=[row[f"{link}_id"]]))
        for link in LINKS
        if row[f"{link}_name"]
    ]
    at = row["scheduled_at"] and timezone.localtime(row["scheduled_at"])
    return row | {
        "kind_label": label,
        "icon": icon,
        "links": links,
        "is_today": bool(at) and at.date() == timezone.localdate(),
    }


def in_a(step: str, day: date) -> date:
    """Return the day that is a day, a week or a month after another one."""
    if step == "month":
        first = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
        last = (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
        return first.replace(day=min(day.day, last.day))
    return day + timedelta(days=7 if step == "week" else 1)


class TaskActions(WorkspacePage):
    """The actions on tasks that the list and the page of a task share."""

    section = "tasks"
    actions = {"complete": "complete", "reopen": "reopen", "snooze": "snooze"}

    def post(self, request: TeamRequest, **kwargs: Any) -> HttpResponse:
        action = self.actions.get(request.POST.get("do", ""))
        if action is None:
            return error_response(request, 400)
        response: HttpResponse = getattr(self, action)(**kwargs)
        return response

    def back(self, **changes: Any) -> HttpResponse:
        """Return a redirect to the page with the form. `changes` are parameters of the address, or None to remove one."""
        query = {**self.request.GET.dict(), **changes}
        text = "&".join(f"{name}={value}" for name, value in query.items() if value not in (None, ""))
        return redirect(self.request.path + (f"?{text}" if text else ""))

    def tasks(self) -> QuerySet[Post]:
        return all_tasks(self.request.account, self.request.user)

    def sent_ids(self) -> list[int]:
        ids = (parse_id(text) for text in self.request.POST.getlist("id")[:MAX_TICKED])
        return [id for id in dict.fromkeys(ids) if id is not None]

    def set_closed(self, ids: list[int], closed: bool) -> list[int]:
        """Close or reopen tasks, each in a transaction. Return the ids of those that changed or had that state already."""
        done = []
        for id in ids:

            def act(id: int = id) -> None:
                task: Post | None = self.tasks().locked().filter(id=id).first()  # type: ignore[attr-defined]
                if task is None:
                    raise Conflict(_("The task was deleted in the meantime, or you may not see it."))
                if task.closed != closed:
                    task.write({"closed": closed}, by=self.request.user)

            if self.perform(act):
                done.append(id)
        return done

    def complete(self, **kwargs: Any) -> HttpResponse:
        done = self.set_closed(self.sent_ids(), True)
        return self.back(done=",".join(map(str, done)) or None)

    def reopen(self, **kwargs: Any) -> HttpResponse:
        if self.set_closed(self.sent_ids(), False):
            messages.success(self.request, _("The task is open again."))
        return self.back(done=None)

    def snooze(self, **kwargs: Any) -> HttpResponse:
        today, until = timezone.localdate(), self.request.POST.get("until", "")
        days = {"tomorrow": today + timedelta(days=1), "week": today + timedelta(days=7 - today.weekday())}
        try:
            day = days.get(until) or parse_date(self.request.POST.get("day", ""))
        except ValueError:
            day = None
        ids = self.sent_ids()
        if day is None or not 2000 <= day.year < 2100:
            messages.error(self.request, _("Choose a day to which the task is moved."))
            return self.back()

        def act() -> None:
            task: Post | None = self.tasks().locked().filter(id__in=ids[:1]).first()  # type: ignore[attr-defined]
            if task is None:
                raise Conflict(_("The task was deleted in the meantime, or you may not see it."))
            at = moved_to(task.scheduled_at, day)
            # The reminder keeps its distance from the time of the task.
            remind_at = task.remind_at and at - (task.scheduled_at - task.remind_at if task.scheduled_at else at - at)
            task.write({"scheduled_at": at, "remind_at": remind_at}, by=self.request.user)

        text = _("The task is due on %(day)s.") % {"day": date_format(day, "DATE_FORMAT")}
        self.perform(act, success_message=text)
        return self.back()

    def ticked(self) -> list[dict[str, Any]]:
        """Return the closed tasks that the address names, for the notice that offers to undo and to plan the next one."""
        text = self.request.GET.get("done", "")
        ids = [id for part in text.split(",")[:MAX_TICKED] if (id := parse_id(part)) is not None]
        if not ids:
            return []
        rows = self.tasks().filter(id__in=ids, closed=True).order_by("id")
        return [{"id": id, "title": title} for id, title in rows.values_list("id", "title")]

    def people(self) -> list[tuple[int, str]]:
        team = self.request.account.users.filter(**ASSIGNABLE).order_by("name", "id").values_list("id", "name", "login")
        return [(id, name or login) for id, name, login in team]


class TasksPage(TaskActions):
    """The open tasks of the user, of the team or of a colleague, in groups by time. `group` selects one group, or the closed tasks."""

    template_name = "workspace/tasks.html"

    def get(self, request: TeamRequest) -> HttpResponse:
        who, people = request.GET.get("who") or "mine", self.people()
        responsible = request.user.id if who == "mine" else None if who == "all" else parse_id(who)
        if who not in ("mine", "all") and responsible not in dict(people):
            raise Http404
        group = request.GET.get("group", "")
        if group and group not in TITLES:
            raise Http404
        mine = {} if responsible is None else {"responsible_id": responsible}
        page = self.read_page()
        if not group:
            ids = ids_by_group(open_tasks(request.account, request.user).filter(**mine), Bounds.now())
        else:
            ids = {group: list(self.ids_of(group, mine)[page.start : page.stop])}
        size = page.size if group else GROUP_SIZE
        shown = items(request.account, request.user, [id for listed in ids.values() for id in listed[:size]])
        groups = [
            (name, TITLES[name], [as_item(shown[id]) for id in listed[:size] if id in shown], len(listed) > size)
            for name, listed in ids.items()
            if listed
        ]
        return self.render(
            groups=groups,
            group=group,
            group_title=TITLES.get(group),
            who=who,
            people=[(str(id), name) for id, name in people if id != request.user.id],
            page=page,
            more=bool(group) and bool(groups) and groups[0][3],
            ticked=self.ticked(),
            next_steps=NEXT,
            shortcuts=SHORTCUTS,
        )

    def ids_of(self, group: str, mine: dict[str, int]) -> QuerySet[Any, Any]:
        account, user = self.request.account, self.request.user
        if group == "done":
            rows = all_tasks(account, user).filter(closed=True, completed_at__isnull=False, **mine)
            return rows.order_by("-completed_at", "-id").values_list("id", flat=True)
        rows = open_tasks(account, user).filter(Bounds.now().condition(group), **mine)
        return in_order(rows).values_list("id", flat=True)


class TaskForm(Form):
    title = forms.CharField(label=gettext_lazy("Title"), max_length=255)
    task_kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=[(kind, KINDS[kind][0]) for kind in KINDS])
    day = forms.DateField(
        label=gettext_lazy("Day"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    time = forms.TimeField(
        label=gettext_lazy("Time"),
        required=False,
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
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
    content = forms.CharField(
        label=gettext_lazy("Description"), required=False, max_length=65_536, widget=forms.Textarea(attrs={"rows": 4})
    )
    version = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, people: list[tuple[int, str]], **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": "task-%s", **kwargs})
        self.set_choices("responsible_id", [("", gettext_lazy("Nobody")), *((str(id), name) for id, name in people)])

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        for name in ("day", "remind_at"):
            if (value := values.get(name)) and not 2000 <= value.year < 2100:
                self.add_error(name, _("Is too far from today"))
        if values.get("time") and not values.get("day") and "day" not in self.errors:
            self.add_error("day", _("Can't be blank when there is a time"))
        reminder = values.get("reminder")
        if reminder == "other" and not values.get("remind_at") and "remind_at" not in self.errors:
            self.add_error("remind_at", _("Can't be blank"))
        if reminder not in (None, "", "other") and not values.get("day") and "day" not in self.errors:
            self.add_error("day", _("Can't be blank when there is a reminder before it"))
        return values

    def values(self) -> dict[str, Any]:
        """Return the values for `Post.write`."""
        values = self.cleaned_data
        day, reminder = values["day"], values["reminder"]
        at = day and timezone.make_aware(datetime.combine(day, values["time"] or DEFAULT_TIME))
        remind_at = values["remind_at"] if reminder == "other" else None
        if reminder not in ("", "other"):
            remind_at = at - timedelta(minutes=int(reminder))
        return {
            "title": values["title"],
            "task_kind": values["task_kind"],
            "content": values["content"],
            "scheduled_at": at or None,
            "remind_at": remind_at,
            "responsible_id": int(values["responsible_id"]) if values["responsible_id"] else None,
            "priority": int(values["priority"] or 0),
        }

    @staticmethod
    def initial_of(task: Post) -> dict[str, Any]:
        at = task.scheduled_at and timezone.localtime(task.scheduled_at)
        minutes = task.remind_at and at and str(int((at - task.remind_at).total_seconds() // 60))
        reminder = "" if task.remind_at is None else minutes if minutes in dict(REMINDERS) else "other"
        return {
            "title": task.title,
            "task_kind": task.task_kind,
            "content": task.content,
            "day": at and at.date(),
            "time": at and at.time(),
            "reminder": reminder,
            "remind_at": task.remind_at if reminder == "other" else None,
            "responsible_id": str(task.responsible_id or ""),
            # The pages have three priorities. Programs may set others.
            "priority": str(max(-1, min(task.priority, 1))),
            "version": task.updated_at.isoformat(),
        }


class TaskFormPage(WorkspacePage):
    """The form of a new task. Parameters of the address fill it: links, title and day, or the task that it follows (`after`)."""

    section = "tasks"
    template_name = "workspace/task_form.html"
    # The id of the part of the form that htmx replaces while the user types.
    FOUND = "task-links"

    def rows_of(self, link: str) -> Any:
        rows: Any = getattr(self.request.account, LINKS[link])
        return rows.live().accessible_to(self.request.user)

    def linked(self, ids: dict[str, int | None]) -> list[tuple[str, int, str, str]]:
        """Return the rows that a task belongs to, as (link, id, label, name)."""
        found = []
        for link, id in ids.items():
            if id is not None and (row := self.rows_of(link).filter(id=id).values_list("name", flat=True).first()):
                found.append((link, id, str(LINK_LABELS[link]), row))
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

    def people(self) -> list[tuple[int, str]]:
        return TaskActions.people(self)  # type: ignore[arg-type]

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
            back=safe_path(self.request, self.request.GET.get("back"), reverse("workspace-tasks")),
            **context,
        )

    def show_found(self, request: TeamRequest) -> HttpResponse:
        q = request.GET.get("q", "")
        return self.render("workspace/task_links.html", found=self.find(q), q=q)

    def get(self, request: TeamRequest) -> HttpResponse:
        if request.htmx and request.htmx.target == self.FOUND:
            return self.show_found(request)
        ids = {link: parse_id(request.GET.get(f"{link}_id")) for link in LINKS}
        initial: dict[str, Any] = {
            "title": replace_non_xml(request.GET.get("title", ""))[:255],
            "responsible_id": str(request.user.id),
            "day": request.GET.get("day", ""),
        }
        after = all_tasks(request.account, request.user).filter(id=parse_id(request.GET.get("after")) or 0).first()
        if after is not None:
            ids = {link: getattr(after, f"{link}_id") for link in LINKS}
            at = timezone.localtime(after.scheduled_at) if after.scheduled_at else None
            step = request.GET.get("in", "")
            initial |= {
                "title": after.title,
                "task_kind": after.task_kind,
                "responsible_id": str(after.responsible_id or request.user.id),
                "time": at and at.time(),
                "day": in_a(step, timezone.localdate()) if step in dict(NEXT) else None,
            }
        return self.show(TaskForm(initial=initial, people=self.people()), ids)

    def post(self, request: TeamRequest, **kwargs: Any) -> HttpResponse:
        ids, q = self.sent_links(), request.POST.get("q", "")
        if request.POST.get("do") == "find":
            form = TaskForm(initial=request.POST.dict(), people=self.people())
            return self.show(form, ids, q=q, **self.context_of(**kwargs))
        form = TaskForm(request.POST, people=self.people())
        saved: list[Post] = []
        if not form.is_valid() or not self.submit_form(form, lambda: saved.append(self.save(form, ids, **kwargs))):
            return self.show(form, ids, q=q, **self.context_of(**kwargs))
        task = saved[-1]
        if not request.user.access.includes(task):
            return self.leave(task.title, reverse("workspace-tasks"))
        messages.success(request, _("The task is saved."))
        return redirect("workspace-task", task.id)

    def context_of(self, **kwargs: Any) -> dict[str, Any]:
        return {}

    def checked_links(self, ids: dict[str, int | None]) -> dict[str, int | None]:
        """Return the links as columns. Raise Conflict if the user may not access a row."""
        for link, id in ids.items():
            if id is not None and not self.rows_of(link).filter(id=id).exists():
                raise Conflict(_("The client, contact or deal was deleted in the meantime."))
        return {f"{link}_id": id for link, id in ids.items()}

    def save(self, form: TaskForm, ids: dict[str, int | None]) -> Post:
        """Create the task. After a double click, return the task that the first click created."""
        account, user = self.request.account, self.request.user
        values = form.values() | self.checked_links(ids)
        locks.acquire(("new task", account.id, user.id))
        since = timezone.now() - DOUBLE_CLICK_WINDOW
        same = {name: values[name] for name in ("title", "scheduled_at", "content", *(f"{link}_id" for link in LINKS))}
        tasks = all_tasks(account, user).filter(user_id=user.id, created_at__gt=since, **same)
        if (existing := tasks.order_by("-id").first()) is not None:
            return existing
        task = Post(account=account, agent=self.request.headers.get("User-Agent", "")[:255])
        task.write(values, by=user)
        return task


class EditTaskPage(TaskFormPage):
    """The form of an existing task. If another user has changed the task meanwhile, nothing is written until it is sent again."""

    def find_task(self, id: int) -> Post:
        task = all_tasks(self.request.account, self.request.user).filter(id=id).first()
        if task is None:
            raise Http404
        return task

    def context_of(self, **kwargs: Any) -> dict[str, Any]:
        return {"task": self.find_task(kwargs["id"])}

    def get(self, request: TeamRequest, id: int = 0) -> HttpResponse:
        if request.htmx and request.htmx.target == self.FOUND:
            return self.show_found(request)
        task = self.find_task(id)
        ids = {link: getattr(task, f"{link}_id") for link in LINKS}
        return self.show(TaskForm(initial=TaskForm.initial_of(task), people=self.people()), ids, task=task)

    def save(self, form: TaskForm, ids: dict[str, int | None], id: int = 0) -> Post:
        tasks: Any = all_tasks(self.request.account, self.request.user)
        task: Post | None = tasks.locked().filter(id=id).first()
        if task is None:
            raise Conflict(_("The task was deleted in the meantime, or you may not see it."))
        if task.updated_at.isoformat() != form.cleaned_data["version"]:
            form.replace_data("version", task.updated_at.isoformat())
            raise Conflict(_("Somebody changed this task in the meantime. Save again to overwrite the changes."))
        hidden = {
            link for link in LINKS if (own := getattr(task, f"{link}_id")) and not self.rows_of(link).filter(id=own)
        }
        # A link to a row that the user may not see stays.
        links = self.checked_links({link: id for link, id in ids.items() if link not in hidden})
        task.write(form.values() | links, by=self.request.user)
        return task


class TaskPage(TaskActions):
    """A task with its comments."""

    template_name = "workspace/task.html"
    actions = {**TaskActions.actions, "comment": "comment", "erase": "erase_comment", "trash": "trash"}

    def find(self, id: int) -> Post:
        task: Post | None = self.tasks().filter(id=id).select_related("user").first()
        if task is None:
            raise Http404
        return task

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        return self.show(id)

    def show(self, id: int, *, http_status: int = 200, **context: Any) -> HttpResponse:
        account = self.request.account
        task = self.find(id)
        comments = account.comments.filter(post_id=id).select_related("user").order_by("-created_at", "-id")
        newest = list(comments[: MAX_COMMENTS + 1])
        return self.render(
            http_status=http_status,
            task=task,
            item=as_item(items(account, self.request.user, [id])[id]),
            comments=newest[:MAX_COMMENTS][::-1],
            more_comments=len(newest) > MAX_COMMENTS,
            ticked=self.ticked(),
            next_steps=NEXT,
            **context,
        )

    def comment(self, id: int) -> HttpResponse:
        text = replace_non_xml(self.request.POST.get("comment", "")).strip()
        error = ""
        if not text:
            error = _("Can't be blank")
        elif len(text) > 65_536:
            error = _("Is too long")
        if error:
            return self.show(id, http_status=422, comment_text=text, comment_error=error)

        def act() -> int:
            tasks: Any = self.tasks()
            task = tasks.locked().filter(id=id).first()
            if task is None:
                raise Http404
            agent = self.request.headers.get("User-Agent", "")[:255]
            comment_id: int = task.comment(by=self.request.user, text=text, agent=agent).id
            return comment_id

        return redirect(f"{reverse('workspace-task', args=[id])}#comment-{in_transaction(act)}")

    def erase_comment(self, id: int) -> HttpResponse:
        comment_id = parse_id(self.request.POST.get("id"))

        def act() -> None:
            tasks: Any = self.tasks()
            task = tasks.locked().filter(id=id).first()
            if task is None:
                raise Http404
            comment = self.request.account.comments.filter(post_id=id, id=comment_id or 0).first()
            if comment is not None and comment.may_be_changed_by(self.request.user):
                task.erase_comment(comment)

        self.perform(act, success_message=_("The comment is deleted."))
        return redirect("workspace-task", id)

    def trash(self, id: int) -> HttpResponse:
        def act() -> None:
            tasks: Any = self.tasks()
            task = tasks.locked().filter(id=id).first()
            if task is not None:
                task.trash(by=self.request.user)

        self.perform(act, success_message=_("The task is in the trash."))
        return redirect("workspace-tasks")
