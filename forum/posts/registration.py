from typing import Any

from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.account.models import Account
from accounts.attachments.holders import Holder, register_holder
from accounts.audit import actions as audit
from accounts.hosts.names import public_url
from accounts.users.models import User
from core.changes.events import EventSubject, Values, register, register_subject, urls
from core.registry import newest_id, registry
from core.rows.scopes import areas
from forum.forums.requests import ForumRequest
from forum.lists.queries import PostQuerySet
from forum.posts.models import Post
from forum.posts.tasks import task_path

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
registry.register_sample(
    "merged posts", "duplicate_from", lambda request: live_posts(request).order_by("-id").values("id")[1:2]
)

# Events


def read_comment(account: Account, id: int, _data: Values) -> dict[str, Any] | None:
    """Return a comment, with the title of its post. Only the text of a public comment is included."""
    from forum.comments.api import CommentSerializer

    comment = account.comments.of_live_posts().with_names().filter(id=id).first()
    if comment is None:
        return None
    hidden = {} if comment.is_public else {"comment": None}
    title, forum_id = account.posts.values_list("title", "forum_id").get(id=comment.post_id)
    data = CommentSerializer.represent(comment, account.zone)
    return {**data, **hidden, "post_title": title, "forum_id": forum_id}


def read_vote(account: Account, id: int, data: Values) -> dict[str, Any] | None:
    """Return who voted, and the post with the current number of its votes."""
    post = account.posts.live().filter(id=id).values("title", "forum_id", "votes_cache").first()
    if post is None:
        return None
    voter = {name: data.get(name) for name in ("user_id", "client_id", "contact_id")}
    return {"post_id": id, "post_title": post.pop("title"), **post, **voter}


def page_of_post(account: Account, id: int, forum_id: int | None, *, comment_id: int | None = None) -> str:
    """Return the URL of the page of a post on the host of its forum, or of a task."""
    if forum_id is None:
        return public_url(account.prefix) + task_path(id, comment_id)
    forum = account.forums.get(id=forum_id)
    host = public_url(forum.host_for(account.hosts.get(id=forum.host_id), account, by_team=False))
    is_comment = comment_id is not None
    return host + (reverse("forum-comment", args=[id, comment_id]) if is_comment else reverse("forum-post", args=[id]))


NEW, PLANNED = {"status_id": 1, "status": "New"}, {"status_id": 3, "status": "Planned"}
NOBODY, SOMEBODY = {"responsible_id": None}, {"responsible_id": 2}
ALONE, MERGED = {"duplicate_from_id": None}, {"duplicate_from_id": 56}
OF_POST = {"post_id": 56}
VOTER = {"user_id": 3, "client_id": None, "contact_id": None}
register_subject("task", EventSubject(_("Task"), resource="post"))
register_subject("comment", EventSubject(_("Comment"), read_comment, resource="post", id_key="post_id"))
register_subject("vote", EventSubject(pgettext_lazy("noun", "Vote"), read_vote, resource="post"))
register("post", "approved", _("approved"))
register("post", "status_changed", _("status changed"), before=NEW, after=PLANNED)
register("post", "answered", _("officially answered"), after=PLANNED)
register("post", "assigned", _("assigned"), before=NOBODY, after=SOMEBODY)
register("post", "merged", _("merged"), before=ALONE, after=MERGED)
register("post", "unmerged", _("merge undone"), before=MERGED, after=ALONE)
register("task", "completed", _("completed"))
register("task", "due", _("due"), after=SOMEBODY)
register("comment", "created", _("new"), ids=OF_POST)
register("comment", "updated", _("changed"), ids=OF_POST)
register("comment", "approved", _("approved"), ids=OF_POST)
register("comment", "deleted", _("deleted"), ids=OF_POST)
register("comment", "restored", _("restored"), ids=OF_POST)
register("vote", "created", _("new"), ids=VOTER)
register("vote", "deleted", _("withdrawn"), ids=VOTER)
urls["post"] = urls["task"] = lambda account, row: page_of_post(account, row["id"], row["forum_id"])
urls["vote"] = lambda account, row: page_of_post(account, row["post_id"], row["forum_id"])
urls["comment"] = lambda account, row: page_of_post(account, row["post_id"], row["forum_id"], comment_id=row["id"])
