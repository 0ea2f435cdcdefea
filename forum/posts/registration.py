from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.attachments.holders import Holder, register_holder
from accounts.audit import actions as audit
from accounts.users.models import User
from core.registry import newest_id
from core.rows.scopes import areas
from forum.forums.requests import ForumRequest
from forum.lists.queries import PostQuerySet
from forum.posts.models import Post

areas.register("posts", _("Suggestions, comments, votes and tasks"))
audit.register("post", _("Suggestion"), "approved", "rejected", "merged", "undone")
audit.register("comment", _("Comment"), "approved", "rejected", "pinned", "not_pinned", "helpful", "not_helpful")
audit.register("report", _("Report of a text"), "accepted", "dismissed")


def live_posts(request: ForumRequest) -> PostQuerySet:
    """Return the posts that the API examples may use, without duplicates, which accept neither votes nor comments."""
    return request.account.posts.live().without_tasks().filter(duplicate_from_id=None)


def visible_posts(account: Account, user: User | None) -> PostQuerySet:
    rows: PostQuerySet = account.posts.visible_to(user)
    return rows


register_holder(Holder("post", Post, visible_posts, may_change=Post.may_be_changed_by, parts=("", "response")))
Post.api_resource.samples |= {
    "post": lambda request: newest_id(live_posts(request)),
    # Of the post of the other sample.
    "comment": lambda request: newest_id(request.account.comments.filter(post_id__in=newest_id(live_posts(request)))),
    "task": lambda request: newest_id(request.account.posts.tasks().accessible_to(request.user)),
    "forum_post": lambda request: newest_id(live_posts(request).of_forum(request.forum.id)),
    "category_name": lambda request: request.account.categories.of_forum(request.forum.id).values("name")[:1],
}
