"""The pages of tasks: the list by time, a task with its comments, and the actions on tasks that pages share: tick, undo and postpone.

The actions work with forms and redirects. A ticked task is named in the address of the page (`done`), which then offers to undo it and
to plan the next one.
"""

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.attachments.models import attached_files
from accounts.attachments.uploading import MAX_FORM_BYTES, take_files
from accounts.layout.settings import parse_id
from core.db.text import replace_non_xml
from core.errors import Conflict
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from core.pages.formatting import date_text
from core.rows.values import ValuesRow
from forum.comments.models import Comment
from forum.comments.pages import CommentTextForm
from forum.lists.queries import PostQuerySet
from forum.posts.models import Post
from team.fields.names import RECORD_ICONS, people_of
from team.menu.pages import ActionsPage, TeamRequest
from team.tasks.queries import GROUP_SIZE, LINKS, Bounds, all_tasks, ids_by_group, items, open_tasks, time_on

# The labels and icons of the kinds of tasks.
KINDS: dict[str, tuple[object, str]] = {
    Post.TaskKind.TASK: (gettext_lazy("Task"), "square-check"),
    Post.TaskKind.PHONE: (gettext_lazy("Call"), "phone"),
    Post.TaskKind.EMAIL: (gettext_lazy("E-mail"), "mail"),
    Post.TaskKind.CHAT: (gettext_lazy("Chat"), "message-circle"),
    Post.TaskKind.HELP: (gettext_lazy("Support"), "life-buoy"),
    Post.TaskKind.LEAD: (gettext_lazy("Lead"), "target"),
    Post.TaskKind.ERROR: (gettext_lazy("Problem"), "bug"),
    Post.TaskKind.IDEA: (gettext_lazy("Idea"), "lightbulb"),
}
NEXT = (("day", gettext_lazy("In a day")), ("week", gettext_lazy("In a week")), ("month", gettext_lazy("In a month")))
TITLES = {
    "overdue": gettext_lazy("Overdue"),
    "today": gettext_lazy("Today"),
    "week": gettext_lazy("This week"),
    "later": gettext_lazy("Later"),
    "none": gettext_lazy("Without a date"),
    "done": gettext_lazy("Done"),
}
SHORTCUTS = (
    (("j", "k"), gettext_lazy("next and previous task")),
    (("Enter",), gettext_lazy("open the task")),
    (("x", "e"), gettext_lazy("tick the task, or untick it")),
    (("s",), gettext_lazy("postpone the task")),
    (("t",), gettext_lazy("new task")),
)
MAX_COMMENTS = 200


MAX_TICKED = 50
GONE = gettext_lazy("The task was deleted in the meantime, or you may not see it.")


def as_item(row: ValuesRow) -> dict[str, object]:
    """Add to the values of a task what the template shows of its kind and its links."""
    label, icon = KINDS.get(row["task_kind"], KINDS[Post.TaskKind.TASK])
    named = [(link, row[f"{link}_name"], row[f"{link}_id"]) for link in LINKS if row[f"{link}_name"]]
    links = [(RECORD_ICONS[link], name, reverse(f"team-{link}", args=[id])) for link, name, id in named]
    at = row["scheduled_at"] and timezone.localtime(row["scheduled_at"])
    is_today = (row["due_day"] or (at and at.date())) == timezone.localdate()
    return row | {"kind_label": label, "icon": icon, "links": links, "is_today": is_today}


class TaskActions(ActionsPage):
    """The actions on tasks that the list and the page of a task share."""

    section = "tasks"
    actions = {"complete": "complete", "reopen": "reopen", "snooze": "snooze"}

    def read_responsible(self) -> tuple[str, int | None, list[tuple[str, str]]]:
        """Return the parameter `who`, the id of the user that it names (None for all), and the other users of the team. Raise Http404."""
        user, people = self.request.user, people_of(self.request.account, None)
        who = self.request.GET.get("who") or "mine"
        responsible = user.id if who == "mine" else None if who == "all" else parse_id(who)
        if who not in ("mine", "all") and responsible not in dict(people):
            raise Http404
        return who, responsible, [(str(id), name) for id, name in people if id != user.id]

    def back(self, **changes: object) -> HttpResponse:
        """Return a redirect to the page with the form. `changes` are parameters of the address, or None to remove one."""
        query = {**self.request.GET.dict(), **changes}
        text = "&".join(f"{name}={value}" for name, value in query.items() if value not in (None, ""))
        return redirect(self.request.path + (f"?{text}" if text else ""))

    def tasks(self) -> PostQuerySet:
        return all_tasks(self.request.account, self.request.user)

    def lock(self, id: int) -> Post:
        """Return the task, locked until the transaction ends. Raise Conflict if there is none."""
        task: Post | None = self.tasks().locked().filter(id=id).first()
        if task is None:
            raise Conflict(GONE)
        return task

    def sent_ids(self) -> list[int]:
        ids = (parse_id(text) for text in self.request.POST.getlist("id")[:MAX_TICKED])
        return [id for id in dict.fromkeys(ids) if id is not None]

    def set_closed(self, ids: list[int], closed: bool) -> list[int]:
        """Close or reopen tasks, each in a transaction. Return the ids of those that changed or had that state already."""
        done = []
        for id in ids:

            def act(id: int = id) -> None:
                task = self.lock(id)
                if task.closed != closed:
                    task.write({"closed": closed}, by=self.request.user)

            if self.perform(act):
                done.append(id)
        return done

    def complete(self, **kwargs: object) -> HttpResponse:
        done = self.set_closed(self.sent_ids(), True)
        return self.back(done=",".join(map(str, done)) or None)

    def reopen(self, **kwargs: object) -> HttpResponse:
        if self.set_closed(self.sent_ids(), False):
            messages.success(self.request, _("The task is open again."))
        return self.back(done=None)

    def snooze(self, **kwargs: object) -> HttpResponse:
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
            task = self.lock(ids[0] if ids else 0)
            # The task keeps its time of day.
            at = time_on(day, timezone.localtime(task.scheduled_at).time()) if task.scheduled_at else time_on(day)
            # The reminder keeps its distance from the time of the task.
            remind_at = task.remind_at and at - (task.scheduled_at - task.remind_at if task.scheduled_at else at - at)
            has_time = task.scheduled_at is not None and task.due_day is None
            values = {"scheduled_at": at, "due_day": None if has_time else day, "remind_at": remind_at}
            task.write(values, by=self.request.user)

        text = _("The task is due on %(day)s.") % {"day": date_text(day)}
        self.perform(act, success_message=text)
        return self.back()

    def ticked(self) -> list[dict[str, object]]:
        """Return the closed tasks that the address names, for the notice that offers to undo and to plan the next one."""
        text = self.request.GET.get("done", "")
        ids = [id for part in text.split(",")[:MAX_TICKED] if (id := parse_id(part)) is not None]
        if not ids:
            return []
        rows = self.tasks().filter(id__in=ids, closed=True).order_by("id")
        return [{"id": id, "title": title} for id, title in rows.values_list("id", "title")]


class TasksPage(TaskActions):
    """The open tasks of the user, of the team or of a colleague, in groups by time. `group` selects one group, or the closed tasks."""

    template_name = "team/tasks/tasks.html"

    def get(self, request: TeamRequest) -> HttpResponse:
        who, responsible, people = self.read_responsible()
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
            people=people,
            page=page,
            more=bool(group) and bool(groups) and groups[0][3],
            ticked=self.ticked(),
            next_steps=NEXT,
            shortcuts=SHORTCUTS,
        )

    def ids_of(self, group: str, mine: dict[str, int]) -> QuerySet[Model, int]:
        account, user = self.request.account, self.request.user
        if group == "done":
            rows = all_tasks(account, user).filter(closed=True, completed_at__isnull=False, **mine)
            return rows.order_by("-completed_at", "-id").values_list("id", flat=True)
        rows = open_tasks(account, user).filter(Bounds.now().condition(group), **mine)
        return rows.order_by("scheduled_at", "id").values_list("id", flat=True)


class TaskPage(CreatingPage, TaskActions):
    max_body_bytes = MAX_FORM_BYTES
    template_name = "team/tasks/task.html"
    actions = {**TaskActions.actions, "comment": "comment", "erase": "erase_comment", "trash": "trash"}

    def find(self, id: int) -> Post:
        task: Post = get_object_or_404(
            self.tasks().select_related("user").annotate(files=attached_files("post")), id=id
        )
        return task

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        return self.show(id)

    def show(self, id: int, *, http_status: int = 200, **context: Any) -> HttpResponse:
        account = self.request.account
        task = self.find(id)
        comments = account.comments.filter(post_id=id).select_related("user").order_by("-created_at", "-id")
        newest = list(comments.annotate(files=attached_files("comment"))[: MAX_COMMENTS + 1])
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
        sent_files = take_files(self.request, "comment")
        text = replace_non_xml(self.request.POST.get("comment", "")).strip()
        error = ""
        if not text:
            error = _("Can't be blank")
        elif len(text) > 65_536:
            error = _("Is too long")
        if error:
            return self.show(id, http_status=422, comment_text=text, comment_error=error)

        form, user = CommentTextForm({"content": text}), self.request.user
        form.full_clean()

        def task() -> Post:
            found: Post = get_object_or_404(self.tasks().locked(), id=id)
            return found

        def change(comment: Comment) -> None:
            # The text is read while the task is locked.
            task().edit_comment(self.request.account.comments.get(id=comment.id), text, by=user)

        def path_of(comment: Comment) -> str:
            return reverse("team-task", args=[id], fragment=f"comment-{comment.id}")

        creation = Creation(
            create=lambda: task().comment(by=user, text=text, agent=self.request.headers.get("User-Agent", "")[:255]),
            rows=self.request.account.comments.filter(post_id=id),
            path=path_of,
            saved=lambda comment: {"content": comment.comment},
            change=change,
        )
        comment = self.create_once(form, creation, further=sent_files)
        if comment is None:
            error = " ".join(map(str, form.non_field_errors()))
            return self.show(id, http_status=422, comment_text=text, comment_error=error)
        return redirect(path_of(comment))

    def erase_comment(self, id: int) -> HttpResponse:
        comment_id = parse_id(self.request.POST.get("id"))

        def act() -> None:
            task = get_object_or_404(self.tasks().locked(), id=id)
            comment = self.request.account.comments.filter(post_id=id, id=comment_id or 0).first()
            if comment is not None and comment.may_be_changed_by(self.request.user):
                task.erase_comment(comment)

        self.perform(act, success_message=_("The comment is deleted."))
        return redirect("team-task", id)

    def trash(self, id: int) -> HttpResponse:
        def act() -> None:
            task = self.tasks().locked().filter(id=id).first()
            if task is not None:
                task.trash(by=self.request.user)

        self.perform(act, success_message=_("The task is in the trash."))
        return redirect("team-tasks")
