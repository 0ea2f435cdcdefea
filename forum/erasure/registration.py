from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.erasure.erasing import Receipt, mention_of_deleted, user_erasing
from accounts.erasure.inactivity import register_activity
from accounts.erasure.personal_data import CUSTOMERS, register
from accounts.mentions.parsing import replace_mentions_in
from accounts.users.models import User
from forum.activities.models import Activity
from forum.comments.models import Comment
from forum.posts.models import Post
from forum.texts.markdown import render_again
from forum.votes.models import Vote

register_activity(Post.objects.live().without_tasks)
register_activity(Comment.objects.all)
register_activity(Vote.objects.all)
register(
    "notifications",
    _("Notifications"),
    lambda user: user.account.notifications.filter(user_id=user.id),
    public_columns=("id", "reason", "created_at", "read_at"),
)
register(
    "sign_ups",
    _("News of the sign-up"),
    lambda user: user.account.activities.filter(user_id=user.id, kind=Activity.Kind.SIGN_UP),
)
register(
    "follows",
    _("Followed suggestions"),
    lambda user: user.account.follows.filter(user_id=user.id),
    public_columns=("post_id", "is_following", "created_at"),
)
register(
    "comment_reactions",
    _("Reactions to comments"),
    lambda user: user.account.comment_reactions.filter(user_id=user.id),
    public_columns=("comment_id", "kind", "created_at"),
)
register("forum_members", _("Memberships of forums"), lambda user: user.account.forum_members.filter(user_id=user.id))
register(
    "content_reports",
    _("Reports of texts"),
    lambda user: user.account.content_reports.filter(user_id=user.id),
    public_columns=("id", "post_id", "comment_id", "reason", "note", "created_at"),
)
register(
    "forum_addresses",
    _("E-mail on lists of forums"),
    lambda user: user.account.forum_addresses.filter(address_key=user.email_key),
)
OF_AUTHORS = {
    "votes": (_("Votes"), ("post_id", "created_at")),
    "proxy_votes": (_("Votes for customers"), ()),
    "status_changes": (_("Changes of statuses"), ()),
    "answers": (_("Answers"), ()),
    "comment_versions": (_("Earlier texts of comments"), ()),
}

# The post of a comment.
OF_COMMENT = Post.objects.filter(account_id=OuterRef("account_id"), id=OuterRef("post_id"))


def rows_of_author(key: str, user: User) -> QuerySet[Any, Any]:
    rows: QuerySet[Any, Any] = getattr(user.account, key).filter(user_id=user.id)
    return rows


register(
    "posts",
    _("Suggestions and tasks"),
    partial(rows_of_author, "posts"),
    is_erased=False,
    public_columns=("id", "category_id", "title", "content", "agent", "created_at", "updated_at"),
    public_rows=Q(category_id__isnull=False),
)
for key, (label, columns) in OF_AUTHORS.items():
    register(key, label, partial(rows_of_author, key), is_erased=False, public_columns=columns)
register(
    "comments",
    _("Comments"),
    lambda user: user.account.comments(manager="with_withdrawn").filter(user_id=user.id, deleted_at=None),
    is_erased=False,
    public_columns=("id", "post_id", "comment", "agent", "created_at", "updated_at"),
    public_rows=Q(internal=False) & Q(Exists(OF_COMMENT.without_tasks())),
)
register(
    "proxy_votes",
    _("Votes for customers"),
    lambda row: row.account.proxy_votes.filter(**{f"{row.api_resource.key}_id": row.id}),
    subjects=CUSTOMERS,
)


@receiver(user_erasing)
def erase_from_forum(*, user: User, by: User, receipt: Receipt, deletes_texts: bool, **_options: object) -> None:
    if deletes_texts:
        delete_texts(user, by, receipt)
    account, name = user.account, mention_of_deleted(user.account)
    comments = account.comments(manager="with_withdrawn").all()
    changed = replace_mentions_in(account.posts.all(), "title", user, name)
    changed += replace_mentions_in(account.posts.all(), "content", user, name, content_html=render_again)
    changed += replace_mentions_in(account.posts.all(), "response", user, name, response_html=render_again)
    changed += replace_mentions_in(account.status_changes.all(), "response", user, name, response_html=render_again)
    changed += replace_mentions_in(account.answers.all(), "response", user, name)
    changed += replace_mentions_in(comments, "comment", user, name, comment_html=render_again)
    changed += replace_mentions_in(account.comment_versions.all(), "text", user, name)
    receipt.erased["mentions"] += changed


def delete_texts(user: User, by: User, receipt: Receipt) -> None:
    """Delete the suggestions of the user without other participants, and their comments. Those of merged suggestions stay."""
    account = user.account
    own = account.posts.without_tasks().filter(user_id=user.id)
    for post in list(own.order_by("id").locked()):
        if not post.has_other_participants():
            receipt.erased["posts"] += delete_post(post, by, receipt)
    comments = account.comments(manager="with_withdrawn").filter(user_id=user.id, deleted_at=None)
    posts = account.posts.filter(id__in=comments.order_by().values("post_id"), duplicate_from_id=None)
    for post in list(posts.order_by("id").locked()):
        post.account = account
        for comment in comments.filter(post_id=post.id).order_by("id"):
            receipt.erased["comments"] += 1
            if comment.withdrawn_at is None:
                post.erase_comment(comment)
            else:
                post.erase_uncounted_comment(comment)


def delete_post(post: Post, by: User, receipt: Receipt) -> int:
    if post.trashed_at is None:
        post.trash(by=by)
        receipt.report("post", post.id)
    number: int = post.account.posts.filter(id=post.id).erase_one()
    return min(number, 1)
