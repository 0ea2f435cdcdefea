from typing import Any

from django.db.models import Model, QuerySet
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from accounts.erasure.personal_data import register as register_personal_data
from accounts.hosts.requests import PageRequest
from accounts.users.models import User, access_ended
from core.pages.navigation import register
from forum.posts.tasks import register_task_route
from team.menu.pages import CLIENT, main_entry, new_entry
from team.tasks.models import CalendarFeed
from team.tasks.queries import due_tasks


def tasks_due(request: PageRequest) -> int | QuerySet[Model, Any]:
    user = request.user
    return 0 if user is None or not user.is_team else due_tasks(user.account, user)


audit.register("calendar_feed", _("Calendar address"), "created")
links = {**CLIENT, "contact": "contact_id", "deal": "deal_id"}
register("main", main_entry("tasks", _("Tasks"), 80, "g t", count=tasks_due))
register("new", new_entry("task", _("Task"), "square-check", 10, links=links))
register_task_route("team-task")


@receiver(access_ended)
def end_calendar(sender: type[User], user: User, **kwargs: object) -> None:
    CalendarFeed.objects.filter(account_id=user.account_id, user_id=user.id).delete()


register_personal_data(
    "calendar_feeds", _("Calendar addresses"), lambda user: user.account.calendar_feeds.filter(user_id=user.id)
)
