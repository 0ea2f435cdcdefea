"""The menu entries of tasks."""

from django.utils.translation import gettext_lazy as _

from core.http.requests import PageRequest
from core.pages.navigation import Entry, register
from team.menu.entries import CLIENT, GROUP, is_team_of_site
from team.tasks.tasks import count_due


def number_due(request: PageRequest) -> int:
    """Return the number of the user's tasks that are due today or overdue."""
    user = request.user
    return 0 if user is None or not user.is_team else count_due(user.account, user)


def register_task_entries() -> None:
    """Register the entries in `core.pages.navigation`."""
    register(
        "main",
        Entry(
            "tasks",
            _("Tasks"),
            "team-tasks",
            order=80,
            group=GROUP,
            is_shown=is_team_of_site,
            count=number_due,
            shortcut="g t",
        ),
    )
    register(
        "new",
        Entry(
            "task",
            _("Task"),
            "team-task-new",
            "square-check",
            order=10,
            links={**CLIENT, "contact": "contact_id", "deal": "deal_id"},
            is_shown=is_team_of_site,
        ),
    )
