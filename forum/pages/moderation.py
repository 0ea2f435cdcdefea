"""The queue of posts that wait for approval."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import F, OuterRef, Subquery
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.pages.settings import parse_id
from core.errors import FieldError
from core.pages.base import redirect
from forum.markdown import render
from forum.models import Post
from forum.pages.forms import EditForm
from forum.pages.team import PostInTrash, TeamPage
from forum.requests import ForumUserRequest


class ModerationPage(TeamPage):
    """The queue, oldest first. The page of a post submits its buttons to this page too; with `back`, the response returns to the post."""

    template_name = "forum/moderation.html"
    actions = {"approve": "approve", "reject": "reject"}

    def get(self, request: ForumUserRequest) -> HttpResponse:
        page = self.read_page()
        categories = request.account.categories.filter(id=OuterRef("category_id"))
        annotations: dict[str, Any] = {"nick": F("user__name"), "category_name": Subquery(categories.values("name"))}
        posts = request.account.posts.of_forum(request.forum.id).unapproved().annotate(**annotations)
        rows = list(posts[page.start : page.stop])
        if not rows and page.number > 1:
            # All posts of the last page have been approved or rejected.
            return redirect("forum-moderation")
        more = len(rows) > page.size
        for post in rows:
            if post.content_html is None:
                post.content_html = render(post.content)
        return self.render(section="inbox", posts=rows[: page.size], page=page, more=more)

    def approve(self, request: ForumUserRequest) -> HttpResponse:
        def act() -> None:
            post = self.lock(id)
            locked_posts[:] = [post]
            if post.approved:
                return
            if request.POST.get("version", current := EditForm.version_of(post)) != current:
                raise FieldError("post", gettext_lazy("was changed in the meantime"), "changed")
            post.approve(by=request.user)

        id = parse_id(request.POST.get("id")) or 0
        locked_posts: list[Post] = []
        if self.decide(act):
            if locked_posts[0].is_private:
                message = _("The suggestion is approved. It is private: only its author and the team can see it.")
            else:
                message = _("The suggestion is approved: everyone can see it now.")
            messages.success(request, message)
        return self.go_back(*(("forum-post", id) if locked_posts else ("forum-suggestions",)))

    def reject(self, request: ForumUserRequest) -> HttpResponse:
        id = parse_id(request.POST.get("id")) or 0
        success_message = _("The suggestion is rejected. An admin can restore it from the trash for 30 days.")
        self.decide(lambda: self.lock(id).reject(by=request.user), success_message=success_message)
        return self.go_back("forum-suggestions")

    def decide(self, act: Callable[[], Any], *, success_message: str = "") -> bool:
        """Run `act` as `Page.perform` does. If the post is in the trash already, add a message."""
        try:
            return self.perform(act, success_message=success_message)
        except PostInTrash:
            messages.error(self.request, _("This suggestion was rejected or deleted in the meantime."))
            return False

    def go_back(self, route: str, *args: Any) -> HttpResponse:
        """Redirect to the route if the form was submitted from the page of a post, else to the queue."""
        if self.request.POST.get("back"):
            return redirect(route, *args)
        page = parse_id(self.request.GET.get("page"))
        return redirect("forum-moderation", query={"page": page} if page and page > 1 else None)
