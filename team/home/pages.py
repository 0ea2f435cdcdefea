"""Home, the page at which the team starts."""

from typing import cast

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _

from core.error_responses import error_response
from core.pages.base import redirect
from forum.forums.requests import ForumUserRequest
from forum.notifications.pages import as_items
from team.home.examples import add_examples, remove_examples
from team.home.first_steps import dismiss, first_steps
from team.home.queries import BOX_SIZE, SOON_DAYS, Home
from team.menu.pages import TeamRequest
from team.tasks.pages.list import NEXT, TaskActions, as_item


class HomePage(TaskActions):
    """The tasks of the user, their deals that need attention, mentions, suggestions without an answer, and what was won in this month."""

    section = "home"
    template_name = "team/home/home.html"
    actions = {
        **TaskActions.actions,
        "dismiss": "dismiss",
        "add_examples": "add_examples",
        "remove_examples": "remove_examples",
    }

    def get(self, request: TeamRequest) -> HttpResponse:
        # The team's pages are served at forums only.
        at_forum = cast(ForumUserRequest, request)
        home = Home.read(request.account, request.user, at_forum.forum.forum_ids)
        return self.render(
            home=home,
            size=BOX_SIZE,
            soon_days=SOON_DAYS,
            tasks=[as_item(row) for row in home.tasks[:BOX_SIZE]],
            mentions=as_items(at_forum, home.mentions[:BOX_SIZE]),
            ticked=self.ticked(),
            next_steps=NEXT,
            steps=first_steps(request.account, request.user),
        )

    def dismiss(self) -> HttpResponse:
        """Hide one of the first steps, or all."""
        self.perform(lambda: dismiss(self.request.user, self.request.POST.get("step", "")))
        return redirect("team-home")

    def add_examples(self) -> HttpResponse:
        request = self.request
        if not request.user.is_admin:
            return error_response(request, 403)
        message = _("The examples are added. Look at the clients, the deals and the suggestions.")
        self.perform(lambda: add_examples(request.account, request.user), success_message=message)
        return redirect("team-home")

    def remove_examples(self) -> HttpResponse:
        request = self.request
        if not request.user.is_admin:
            return error_response(request, 403)
        kept: list[str] = []

        def act() -> None:
            kept[:] = remove_examples(request.account, request.user)

        if self.perform(act, success_message=_("The examples are in the trash.")) and kept:
            text = _("These stay, because somebody has changed them or linked something to them: %(names)s")
            messages.info(request, text % {"names": ", ".join(kept)})
        return redirect("team-home")
