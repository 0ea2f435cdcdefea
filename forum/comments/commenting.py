"""Writing, changing and approving the comments on a post, and the users whom they mention."""

from contextlib import nullcontext
from typing import Any, cast

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.attachments.models import Attachment, names_attachments
from accounts.audit.models import record
from accounts.audit.origin import current_origin
from accounts.mentions.parsing import ids_in, names_in
from accounts.users.models import User
from core.changes.events import insert_events, record_event
from core.db.prepared import insertion_of
from core.db.tenancy import fold
from core.errors import FieldError
from forum.comments.models import Comment, CommentReaction
from forum.lists.locking import LockablePost
from forum.texts.markdown import render

# The pinned comments of a post.
MAX_PINNED = 3

CREATED = insert_events("""
    SELECT account_id, 'comment', id, 'created', user_id,
        jsonb_build_object('before', NULL, 'after', NULL, 'post_id', post_id)
    FROM comment
""")
# The CTEs of `Post.lock_and_insert` for a new comment, which is counted, and recorded for notifications unless the post is a task.
# `updated_at` must not go back if a comment waited for another that was begun later.
INSERT_COMMENT = f"""
comment AS (
    INSERT INTO {{into}} SELECT {{values}} FROM post RETURNING *, approved AND NOT internal AS is_public
),
counted AS (
    UPDATE forum_post SET
        comments_cache = comments_cache + comment.is_public::int,
        internal_comments_cache = internal_comments_cache + (NOT comment.is_public)::int,
        updated_at = CASE WHEN comment.is_public THEN greatest(forum_post.updated_at, comment.created_at) ELSE forum_post.updated_at END,
        handled_at = CASE WHEN author.is_team THEN coalesce(handled_at, comment.created_at) ELSE handled_at END,
        answered_at = CASE WHEN author.is_team AND comment.is_public THEN coalesce(answered_at, comment.created_at) ELSE answered_at END
    FROM comment, (SELECT %s::boolean AS is_team) AS author
    WHERE forum_post.account_id = comment.account_id AND forum_post.id = comment.post_id
),
activity AS (
    INSERT INTO forum_activity (account_id, kind, post_id, comment_id, user_id, internal, announced, created_at)
    SELECT comment.account_id, 'comment', comment.post_id, comment.id, comment.user_id, NOT comment.is_public, false, comment.created_at
    FROM comment, post WHERE post.category_id IS NOT NULL
),
event AS ({CREATED}),
inserted AS (SELECT {{returning}} FROM comment)
"""  # noqa: S608


class Commentable(LockablePost):
    """The methods of `Post` for its comments."""

    class Meta:
        abstract = True

    def comment_count_for(self, user: User | None) -> int:
        """Return the number of comments that the user may see."""
        if user is None or not self.internal_comments_cache:
            return self.comments_cache
        if user.is_team:
            return self.comments_cache + self.internal_comments_cache
        own = self.account.comments.waiting().filter(post_id=self.id, user_id=user.id)
        return self.comments_cache + own.count()

    def comment(
        self, *, by: User, text: str, agent: str = "", internal: bool = False, parent_id: int | None = None
    ) -> Comment:
        """Add a comment, which may have to wait for approval. Raise FieldError if the post is merged into another, or if the user may not write internal comments.

        A reply to a reply belongs to the same parent. A reply to an internal comment is internal.
        Raise FieldError if the user may not see the parent, or if the parent waits for approval.

        A comment that is not public does not change `updated_at` of the post, because lists and feeds show that time to everyone. The row of
        the post is updated in any case, because the change feed must report the post.
        """
        html = render(text, mentions=self._mentions_in(text, by.id))
        if internal and not by.is_team:
            with transaction.atomic():
                self.lock()
            self.check_not_merged()
            raise FieldError("internal", _("can only be set by the team"), "team")
        comment = Comment(
            account=self.account, post_id=self.id, user_id=by.id, comment=text, comment_html=html, agent=agent
        )
        insertion = insertion_of(Comment)
        # Without attachments and a parent, the statement commits itself.
        with transaction.atomic() if parent_id is not None or names_attachments(text) else nullcontext():
            if parent_id is not None:
                internal = self._add_to_thread(comment, parent_id, by=by) or internal
            comment.internal = internal
            comment.approved = internal or not self.waits_for_approval(by, html=html)
            inserted = self.lock_and_insert(
                INSERT_COMMENT.format(into=insertion.into, values=insertion.values, returning=insertion.returning),
                [*insertion.values_of(comment), by.is_team],
            )
            insertion.complete(comment, cast("tuple[Any, ...]", inserted))
            Attachment.objects.follow_text(comment, "comment", text, by_id=by.id)
        setattr(self, comment.count_column, getattr(self, comment.count_column) + 1)
        if comment.is_public:
            self.updated_at = comment.created_at
        if by.is_team:
            self.handled_at = self.handled_at or comment.created_at
            if comment.is_public:
                self.answered_at = self.answered_at or comment.created_at
        return comment

    def _add_to_thread(self, reply: Comment, parent_id: int, *, by: User) -> bool:
        """Set the parent of a reply, and return whether the parent is internal."""
        # Otherwise an undone merge could move the parent away before the reply is inserted.
        self.lock()
        self.check_not_merged()
        comments = self.account.comments.filter(post_id=self.id).visible_to(by)
        parent = comments.filter(id=parent_id).first()
        if parent is None:
            raise FieldError("parent_id", _("can't be found"), "gone")
        if not parent.approved:
            raise FieldError("parent_id", _("waits for approval"), "waiting")
        # A reply moves with its parent when merges are undone.
        reply.parent_id, reply.from_post_id = parent.thread_id, parent.from_post_id
        return parent.internal

    @transaction.atomic(savepoint=False)
    def erase_comment(self, comment: Comment) -> None:
        """Erase a comment with its versions. The post's `updated_at` stays the same. A comment with replies keeps a row without its text.

        The post is unanswered again if this was the only public comment of the team, unless the team marked the post as handled.
        Raise FieldError if the post is merged into another.
        """
        self.lock()
        self.check_not_merged()
        comments = self.account.comments.filter(post_id=self.id)
        # Do not change `answered_at` if it is the time of another comment, or of `mark_handled`.
        is_answer = comment.is_public and comment.created_at == self.answered_at
        if self.erase_uncounted_comment(comment):
            values: dict[str, object] = {}
            if is_answer:
                answers = comments.public().by_team().order_by("created_at", "id")
                values["answered_at"] = answers.values_list("created_at", flat=True).first()
            self._add_to_count(comment.count_column, -1, **values)
            self._record_comment("deleted", comment, current_origin().user)

    def erase_uncounted_comment(self, comment: Comment) -> bool:
        """Erase a comment with the rows that depend on it, except its replies, without a change of the counts. Return whether it existed."""
        comments = self.account.comments(manager="with_withdrawn").filter(post_id=self.id)
        reply_ids = list(comments.filter(parent_id=comment.id).values_list("id", flat=True))
        if reply_ids:
            comments.filter(id__in=reply_ids).update(parent_id=None)
        _rows, by_model = comments.filter(id=comment.id).delete()
        if reply_ids:
            kept = ("account_id", "id", "post_id", "from_post_id", "user_id", "internal", "created_at")
            values = {name: getattr(comment, name) for name in kept}
            Comment.with_withdrawn.create(**values, comment="", deleted_at=timezone.now())
            comments.filter(id__in=reply_ids).update(parent_id=comment.id)
        elif comment.parent_id is not None:
            parent = comments.filter(id=comment.parent_id).exclude(deleted_at=None)
            parent.exclude(id__in=comments.filter(parent_id=comment.parent_id).values("parent_id")).delete()
        return "forum.Comment" in by_model

    @transaction.atomic(savepoint=False)
    def mark_comment(
        self, comment: Comment, *, by: User, pinned: bool | None = None, helpful: bool | None = None
    ) -> None:
        """Pin a comment, or mark it as helpful, or undo that. The caller must have read it after locking the post.

        Raise FieldError for a comment that is not public, for a pinned reply, above `MAX_PINNED`, and if the post is merged into another.
        """
        self.check_not_merged()
        for name, value in (("pinned", pinned), ("helpful", helpful)):
            if value is None or value == getattr(comment, name):
                continue
            if value and not comment.is_public:
                raise FieldError(name, _("is only for public comments"), "not_public")
            if name == "helpful":
                comment.helpful = value
            else:
                others = self.account.comments.filter(post_id=self.id, pinned_at__isnull=False)
                if value and comment.parent_id is not None:
                    raise FieldError(name, _("is not for replies"), "reply")
                if value and others.count() >= MAX_PINNED:
                    raise FieldError(name, _("is set for {most} comments already"), "too_many", {"most": MAX_PINNED})
                comment.pinned_at = timezone.now() if value else None
            record(
                self.account_id, f"comment.{name if value else f'not_{name}'}", by=by, target=self, comment=comment.id
            )
        comment.save(update_fields=["pinned_at", "helpful"])
        self._add_to_count(comment.count_column, 0)

    @transaction.atomic(savepoint=False)
    def react(self, comment: Comment, kind: str, *, by: User, reacts: bool) -> None:
        """Add or withdraw a reaction. Raise FieldError for an unknown kind, and if the post is merged into another."""
        self.check_not_merged()
        if kind not in CommentReaction.Kind:
            raise FieldError(
                "kind", _("is not one of {choices}"), "unknown", {"choices": ", ".join(CommentReaction.Kind)}
            )
        own = self.account.comment_reactions.filter(comment_id=comment.id, user_id=by.id, kind=kind)
        if not reacts:
            own.delete()
        elif not own.exists():
            self.account.comment_reactions.create(comment_id=comment.id, user_id=by.id, kind=kind)

    @transaction.atomic(savepoint=False)
    def edit_comment(self, comment: Comment, text: str, *, by: User) -> None:
        """Change the text of a comment, and save the old text as a version.

        The row of the post is updated as well, because the change feed must report the post. The post's `updated_at` changes only for a
        public comment. A changed comment may have to wait for approval. Raise FieldError if the post is merged into another. The caller must
        have read the comment after locking the post.
        """
        self.lock()
        self.check_not_merged()
        if text == comment.comment:
            return
        now = timezone.now()
        self.account.comment_versions.create(comment_id=comment.id, text=comment.comment, user_id=by.id, created_at=now)
        mentions = self._mentions_in(text, comment.user_id, edited_comment=comment)
        Attachment.objects.follow_text(comment, "comment", text, before=comment.comment, by_id=by.id)
        comment.comment, comment.comment_html = text, render(text, mentions=mentions)
        comment.updated_at = comment.edited_at = now
        comment.edited_by_other = comment.edited_by_other or by.id != comment.user_id
        comment.save(update_fields=["comment", "comment_html", "updated_at", "edited_at", "edited_by_other"])
        self._record_comment("updated", comment, by)
        if comment.is_public and self.waits_for_approval(by, html=comment.comment_html, comment_id=comment.id):
            # Otherwise a member could publish a harmless comment and then replace its text.
            self._set_approved(comment, False)
            return
        values = {"updated_at": now} if comment.is_public else {}
        self._add_to_count(comment.count_column, 0, **values)

    @transaction.atomic(savepoint=False)
    def approve_comment(self, comment: Comment) -> None:
        """Approve a comment, and announce it to those who may see it now. The caller must have read it after locking the post.

        Raise FieldError if the post is merged into another.
        """
        self.check_not_merged()
        if comment.approved:
            return
        now = timezone.now()
        # The follower of the change feed announces the activity again. Recipients who have a notification of it get no other one.
        self._set_approved(comment, True, announced=False, created_at=now)
        record(self.account_id, "comment.approved", target=self, comment=comment.id)
        self._record_comment("approved", comment, current_origin().user)
        self._add_to_count("comments_cache", 0, updated_at=now)

    @transaction.atomic(savepoint=False)
    def reject_comment(self, comment: Comment) -> None:
        """Erase a comment that waits for approval. Raise FieldError if it is approved. The caller must have locked the post."""
        if comment.approved:
            raise FieldError("comment", _("is approved"), "approved")
        record(self.account_id, "comment.rejected", target=self, comment=comment.id)
        self.erase_comment(comment)

    def _record_comment(self, name: str, comment: Comment, by: Any) -> None:
        record_event(comment, f"comment.{name}", actor=by, ids={"post_id": self.id})

    def _set_approved(self, comment: Comment, approved: bool, **values: Any) -> None:
        """Change whether the comment is public, with the counts of the post, and the activity with its notifications."""
        self._add_to_count(comment.count_column, -1)
        comment.approved = approved
        comment.save(update_fields=["approved"])
        self._add_to_count(comment.count_column, 1)
        self.account.activities.filter(comment_id=comment.id).update(internal=not approved, **values)

    def _mentions_in(self, text: str, author_id: int, edited_comment: Comment | None = None) -> dict[str, int | None]:
        """Return the result of `find_mentions` for the text of a comment, whose mentions are marked in the HTML.

        For an edited comment, the id of a user whom its first text did not mention is replaced by None: an edit notifies nobody.
        """
        ids = find_mentions(self.account, text, post=self, author_id=author_id)
        if not ids or edited_comment is None:
            return ids
        first_text = edited_comment.versions().reverse().values_list("text", flat=True)[0]
        notified = mentioned_ids(self.account, first_text, post=self, author_id=author_id)
        return {name: id if id in notified else None for name, id in ids.items()}

    def _add_to_count(self, column: str, difference: int, **values: object) -> None:
        """Add to a count of the locked row, and update other columns with it."""
        values[column] = getattr(self, column) + difference
        type(self)._default_manager.filter(pk=self.pk).update(**values)
        for name, value in values.items():
            setattr(self, name, value)


# Mentions


def find_mentions(account: Account, text: str, *, post: Any, author_id: int) -> dict[str, int | None]:
    """Return the ids of the users that a text mentions, by the names and logins after each `@`.

    `post` is the post on whose page the author wrote the text. For a text without an `@`, no SQL statement is executed.

    The team may mention everyone by login. Others may mention only the team and the users who wrote on the page of the post. Otherwise a
    member could discover the logins of other members, and cause e-mails to each of them.

    A name is that of a user of the team, or of a user who wrote on the page. The id is None for a name that several users of the team
    have, or else several writers. The names of other members are not searched, because an account may have a million members.
    """
    mentions = names_in(text)
    if not mentions:
        return {}
    names = set().union(*mentions)
    users = account.users.filter(is_active=True)
    of_login = Q(login_key__in={fold(name) for name in names})
    logins: dict[str, int] = {}
    members: set[int] = set()
    is_by_team = False
    for login, id, role in users.filter(of_login | Q(id=author_id)).values_list("login_key", "id", "role"):
        is_team = role in User.TEAM
        if id == author_id:
            is_by_team = is_team
            continue
        logins[login] = id
        if not is_team:
            members.add(id)
    if members and not is_by_team:
        comments = account.comments.public().filter(post_id=post.id, user_id__in=members).order_by()
        hidden = members - {post.user_id, *comments.values_list("user_id", flat=True).distinct()}
        logins = {login: id for login, id in logins.items() if id not in hidden}
    found: dict[str, int | None] = {}
    writers = account.comments.public().filter(post_id=post.id, user_id=OuterRef("id"))
    is_known = Q(role__in=User.TEAM) | Q(id=post.user_id) | Exists(writers)
    of_team: set[str] = set()
    # The team comes first, so that no member takes over the mentions of a user of the team with an equal name.
    named = users.filter(is_known, name__in=names).exclude(id=author_id).values_list("name", "id", "role")
    for name, id, role in sorted(named, key=lambda row: row[2] == User.Role.MEMBER):
        if role in User.TEAM:
            of_team.add(name)
        elif name in of_team:
            continue
        found[name] = None if name in found else id
    return found | {name: logins[fold(name)] for name in names if fold(name) in logins}


def mentioned_ids(account: Account, text: str, *, post: object, author_id: int) -> list[int]:
    """Return the sorted ids of the users that a text mentions. The arguments are those of `find_mentions`."""
    return ids_in(text, find_mentions(account, text, post=post, author_id=author_id))
