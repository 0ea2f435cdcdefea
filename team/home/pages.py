"""Home, the page at which the team starts."""

from typing import cast

from django.http import HttpResponse

from forum.forums.requests import ForumUserRequest
from forum.notifications.pages import as_items
from team.home.queries import BOX_SIZE, SOON_DAYS, Home
from team.menu.pages import TeamRequest
from team.tasks.pages.list import NEXT, TaskActions, as_item


class HomePage(TaskActions):
    """The tasks of the user, their deals that need attention, mentions, suggestions without an answer, and what was won in this month."""

    section = "home"
    template_name = "team/home/home.html"

    def get(self, request: TeamRequest) -> HttpResponse:
        # The team's pages are served at forums only.
        at_forum = cast(ForumUserRequest, request)
        home = Home.read(request.account, request.user, at_forum.forum.id)
        return self.render(
            home=home,
            size=BOX_SIZE,
            soon_days=SOON_DAYS,
            tasks=[as_item(row) for row in home.tasks[:BOX_SIZE]],
            mentions=as_items(at_forum, home.mentions[:BOX_SIZE]),
            ticked=self.ticked(),
            next_steps=NEXT,
        )
