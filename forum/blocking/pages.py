"""The card of an author, with which the team decides whether to block a member."""

from collections.abc import Callable

from django.db.models import Exists, OuterRef
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from accounts.users.models import User
from accounts.users.pages import ROLE_NAMES, display_name
from core.pages.base import redirect
from forum.blocking import actions
from forum.forums.requests import ForumUserRequest
from forum.team_tools.pages import ForumTeamPage
from forum.texts.markdown import excerpt

# The number of suggestions, of comments and of votes that the card shows.
MAX_ROWS = 20
EXCERPT_LENGTH = 200


class AuthorPage(ForumTeamPage):
    """The author of a text, their other texts in the forum, and the buttons to block and unblock them."""

    template_name = "forum/blocking/author.html"
    actions = {"block": "block", "block_only": "block_only", "unblock": "unblock"}

    def find(self, id: int) -> User:  # type: ignore[override]  # a user
        return get_object_or_404(self.request.account.users, id=id)

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        account, author = request.account, self.find(id)
        visible = account.posts.visible_in_forum(request.user).of_forum(request.forum.id).without_tasks()
        comments = account.comments.filter(Exists(visible.filter(id=OuterRef("post_id"))), user_id=author.id)
        votes = visible.filter(Exists(account.votes.filter(post_id=OuterRef("id"), user_id=author.id)))
        own = account.posts.filter(user_id=author.id, trashed_at=None, category_id__isnull=False)
        forums = account.forums.filter(
            Exists(own.filter(forum_id=OuterRef("id")))
            | Exists(account.forum_members.filter(forum_id=OuterRef("id"), user_id=author.id))
        )
        return self.render(
            section="inbox",
            author=author,
            role_name=ROLE_NAMES[author.role],
            forums=list(forums.order_by("name", "id").values_list("name", flat=True)[:MAX_ROWS]),
            posts=list(visible.filter(user_id=author.id).order_by("-created_at", "-id")[:MAX_ROWS]),
            comments=[
                {"row": comment, "excerpt": excerpt(comment.comment, max_length=EXCERPT_LENGTH)}
                for comment in comments.order_by("-created_at", "-id")[:MAX_ROWS]
            ],
            votes=list(votes.order_by("-id")[:MAX_ROWS]),
            may_block=request.user.may_block(author) and (author.is_active or author.blocked_at is not None),
        )

    def block(self, request: ForumUserRequest, id: int) -> HttpResponse:
        message = _("%(name)s is blocked, and their suggestions and comments are withdrawn.")
        return self.act(id, lambda author: actions.block(author, by=request.user, takes_texts=True), message)

    def block_only(self, request: ForumUserRequest, id: int) -> HttpResponse:
        message = _("%(name)s is blocked. Their texts stay.")
        return self.act(id, lambda author: actions.block(author, by=request.user, takes_texts=False), message)

    def unblock(self, request: ForumUserRequest, id: int) -> HttpResponse:
        message = _("%(name)s is unblocked, and the texts that were withdrawn are restored.")
        return self.act(id, lambda author: author.unblock(by=request.user), message)

    def act(self, id: int, change: Callable[[User], object], message: str) -> HttpResponse:
        author = self.find(id)
        self.perform(lambda: change(self.find(id)), success_message=message % {"name": display_name(author)})
        return redirect("forum-author", id)
