"""The pages of tasks: the list by time, and a task with its comments."""

from typing import Any

from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.layout.settings import parse_id
from core.db.text import replace_non_xml
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from forum.comments.models import Comment
from forum.comments.pages import CommentTextForm
from forum.posts.models import Post
from team.menu.pages import TeamRequest
from team.tasks.pages.actions import NEXT, TaskActions, as_item
from team.tasks.queries import GROUP_SIZE, Bounds, all_tasks, ids_by_group, items, open_tasks, order_tasks

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
        return order_tasks(rows).values_list("id", flat=True)


class TaskPage(CreatingPage, TaskActions):
    """A task with its comments."""

    template_name = "team/tasks/task.html"
    actions = {**TaskActions.actions, "comment": "comment", "erase": "erase_comment", "trash": "trash"}

    def find(self, id: int) -> Post:
        task: Post = get_object_or_404(self.tasks().select_related("user"), id=id)
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
        comment = self.create_once(form, creation)
        if comment is None:
            return self.show(
                id, http_status=422, comment_text=text, comment_error=" ".join(map(str, form.non_field_errors()))
            )
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
