"""The comments of a post by threads, as its page shows them: the pinned ones first, then by age, each with its first replies.

A comment that the reader may not see has a place in the list as long as the reader sees a reply to it.
"""

from typing import Any, cast

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, Case, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import RawSQL

from accounts.account.models import Account
from accounts.attachments.models import attached_files
from accounts.mentions.parsing import names_in
from accounts.users.models import User
from core.api.paging import ListPage
from core.db.prepared import prepared
from forum.comments.commenting import MAX_PINNED
from forum.comments.models import LIVE, Comment, CommentQuerySet, CommentReaction, reactions, visible
from forum.lists.queries import VISITOR_ID, author_filter
from forum.texts.markdown import render, truncate

# The replies that the page of a post shows of each thread, and the further ones that it counts.
MAX_SHOWN_REPLIES, MAX_COUNTED_REPLIES = 3, 100
# The beginning of a text that is quoted, in characters.
MAX_QUOTE_LENGTH = 1000
USER_COLUMNS = ("name", "role")


def reader_of(account_id: int, author_id: int | None) -> User:
    """Return a stand-in for a reader: the author of waiting comments, `VISITOR_ID` for a visitor, or None for the team, which reads the same."""
    role = User.Role.OWNER if author_id is None else User.Role.MEMBER
    return User(account_id=account_id, id=author_id or VISITOR_ID, role=role)


def visible_replies(account_id: int, reader: User) -> CommentQuerySet:
    """Return the replies to the comment of an outer query that the reader sees, oldest first."""
    replies = Account(id=account_id).comments.filter(parent_id=OuterRef("id"))
    return replies.visible_to(reader).order_by("created_at", "id")


def threads(account_id: int, post_id: int, reader: User) -> QuerySet[Comment]:
    """Return the comments that begin the threads of a post."""
    comments = Account(id=account_id).comments(manager="with_withdrawn").filter(post_id=post_id, parent_id=None)
    return comments.filter((LIVE & visible(reader)) | Exists(visible_replies(account_id, reader)))


def with_details(comments: QuerySet[Comment], reader: User, user_id: int) -> QuerySet[Comment]:
    """Add what the page shows to the user. Of an author, only the columns that the page shows are read."""
    names: dict[str, Any] = {name: F(f"user__{name}") for name in USER_COLUMNS}
    shown = Case(When(LIVE & visible(reader), then=Value(True)), default=Value(False), output_field=BooleanField())
    names |= {"files": attached_files("comment"), "counted": reactions(user_id), "is_shown": shown}
    return comments.annotate(**names)


@prepared(account_id=int, post_id=int, start=int, size=int, pinned=int, user_id=int, author_id=int)
def _threads_of_page(
    account_id: int, post_id: int, start: int, size: int, pinned: int, user_id: int, author_id: int | None = None
) -> QuerySet[Comment]:
    reader = reader_of(account_id, author_id)
    rows = threads(account_id, post_id, reader)
    # Each part has a limit of its own, so that the second one is read in the order of its index.
    first = rows.filter(pinned_at__isnull=False).order_by("pinned_at", "id").values("id")[:pinned]
    others = rows.filter(pinned_at=None).order_by("created_at", "id").values("id")[start : start + size]
    text, values = first.union(others, all=True).query.sql_with_params()
    page = Account(id=account_id).comments(manager="with_withdrawn").filter(id__in=RawSQL(text, values))  # noqa: S611
    reply_ids = ArraySubquery(
        visible_replies(account_id, reader).values("id")[: MAX_SHOWN_REPLIES + MAX_COUNTED_REPLIES + 1]
    )
    comments = with_details(page, reader, user_id).annotate(reply_ids=reply_ids)
    return comments.order_by(F("pinned_at").asc(nulls_last=True), "created_at", "id")


@prepared(account_id=int, ids=list, user_id=int, author_id=int)
def _comments_by_id(account_id: int, ids: list[int], user_id: int, author_id: int | None = None) -> QuerySet[Comment]:
    comments = Account(id=account_id).comments(manager="with_withdrawn").filter(id__any=ids)
    return with_details(comments, reader_of(account_id, author_id), user_id).order_by("created_at", "id")


def read_threads(account: Account, post_id: int, page: ListPage, *, reader: User | None) -> list[Comment]:
    """Return the comments that begin the threads of a page, with their first replies in `replies` and the number of others in `more_replies`."""
    pinned = MAX_PINNED if page.start == 0 else 0
    found = _threads_of_page(
        account_id=account.id, post_id=post_id, start=page.start, size=page.size, pinned=pinned, **_arguments(reader)
    )
    comments = _complete(found, account)
    ids = [id for comment in comments for id in comment.reply_ids[:MAX_SHOWN_REPLIES]]
    replies = read_comments(account, ids, reader=reader) if ids else []
    for comment in comments:
        comment.replies = [reply for reply in replies if reply.parent_id == comment.id]
        comment.more_replies = max(0, len(comment.reply_ids) - MAX_SHOWN_REPLIES)
    return cast("list[Comment]", comments)


def read_comments(account: Account, ids: list[int], *, reader: User | None) -> list[Any]:
    """Return the comments with these ids, which the reader may see, with what the page shows, oldest first."""
    return _complete(_comments_by_id(account_id=account.id, ids=ids, **_arguments(reader)), account)


def _arguments(reader: User | None) -> dict[str, int]:
    return {"user_id": VISITOR_ID if reader is None else reader.id, **author_filter(reader)}


def _complete(comments: list[Any], account: Account) -> list[Any]:
    for comment in comments:
        comment.account = account
        values = {name: getattr(comment, name) for name in USER_COLUMNS}
        comment.user = User(account_id=account.id, id=comment.user_id, **values)
        comment.comment_html = comment.comment_html or render(comment.comment)
        comment.reactions = shown_reactions(comment.counted)
    return comments


def shown_reactions(counted: list[dict[str, Any]]) -> list[tuple[str, str, int, bool]]:
    """Return the kind, the emoji, the number and whether the reader reacted, for each kind that the comment has."""
    found = {row["kind"]: row for row in counted}
    kinds = [kind for kind in CommentReaction.Kind if kind in found]
    return [(kind.value, str(kind.label), found[kind]["count"], bool(found[kind]["own"])) for kind in kinds]


def count_threads(account_id: int, post_id: int, reader: User | None) -> int:
    """Return the number of threads beside the pinned ones."""
    author_id = author_filter(reader).get("author_id")
    return threads(account_id, post_id, reader_of(account_id, author_id)).filter(pinned_at=None).count()


def place_of(comment: Comment, reader: User | None) -> tuple[int, int]:
    """Return the number of threads before that of the comment on the pages of the post, and the number of replies before it in its thread."""
    user = reader_of(comment.account_id, author_filter(reader).get("author_id"))
    parent, reply_count = comment, 0
    if comment.parent_id is not None:
        replies = comment.account.comments.filter(_is_earlier(comment), parent_id=comment.parent_id)
        reply_count = replies.visible_to(user).count()
        parent = comment.account.comments(manager="with_withdrawn").filter(id=comment.parent_id).first() or comment
    if parent.pinned:
        return 0, reply_count
    earlier = threads(comment.account_id, comment.post_id, user).filter(_is_earlier(parent), pinned_at=None)
    return earlier.count(), reply_count


def _is_earlier(comment: Comment) -> Q:
    return Q(created_at__lt=comment.created_at) | Q(created_at=comment.created_at, id__lt=comment.id)


def beginning_of_reply(comment: Comment, *, by: User, quotes: bool) -> str:
    """Return the text with which the form for a reply begins: the quoted text with its author, or a mention of the author of a reply."""
    name = comment.user.name
    if quotes:
        text = f"**{comment.user.public_name}**:\n\n{truncate(comment.comment, MAX_QUOTE_LENGTH)}"
        return "\n".join(f"> {line}".rstrip() for line in text.splitlines()) + "\n\n"
    is_mention = any(name in names for names in names_in(f"@{name}"))
    return f"@{name} " if comment.parent_id is not None and comment.user_id != by.id and is_mention else ""
