from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import PageRequest
from accounts.users.models import User, access_ended
from core.pages.navigation import MenuEntry, register
from forum.notifications.texts import register_task_route
from team.menu.pages import CLIENT, GROUP, is_team_of_site
from team.tasks.models import CalendarFeed
from team.tasks.queries import count_due


def number_due(request: PageRequest) -> int:
    user = request.user
    return 0 if user is None or not user.is_team else count_due(user.account, user)


LINKS = {**CLIENT, "contact": "contact_id", "deal": "deal_id"}
register(
    "main",
    MenuEntry(
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
    MenuEntry("task", _("Task"), "team-task-new", "square-check", order=10, links=LINKS, is_shown=is_team_of_site),
)
register_task_route("team-task")


@receiver(access_ended)
def end_calendar(sender: type[User], user: User, **kwargs: object) -> None:
    """Delete the address of the user's calendar."""
    CalendarFeed.objects.filter(account_id=user.account_id, user_id=user.id).delete()
