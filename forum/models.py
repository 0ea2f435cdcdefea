from typing import Any, Self

from django.db import models, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Status, User
from accounts.tags import Tagged
from core.db.additional_fields import NOT_SEARCHED, additional_fields, merge
from core.db.prepared import insert, prepared, update
from core.db.tenancy import TenantModel
from core.db.trash import assign_links, link_indexes, trash_index
from core.errors import FieldError
from core.registry import registry
from core.search.declaration import Search
from forum.depth import PostCount as PostCount
from forum.forums import RESERVED_SEGMENTS as RESERVED_SEGMENTS
from forum.forums import Category as Category
from forum.forums import Forum as Forum
from forum.lists import PostQuerySet, Shelf
from forum.markdown import MOST_HTML, render
from forum.merging import Mergeable
from forum.votes import ProxyVote as ProxyVote
from forum.votes import Vote as Vote
from forum.votes import from_post_index


def rendered() -> models.CharField:
    """The HTML of another column, written with it; null in a row that was written before there was any, and of a null."""
    return models.CharField(max_length=MOST_HTML, null=True, editable=False)


class Post(TenantModel, Tagged, Mergeable):
    """A suggestion of a forum, or a task of the account: they share the table and the ids."""

    class Kind(models.TextChoices):
        SUGGESTION = "suggestion"
        ERROR = "error"
        QUESTION = "question"
        PRAISE = "praise"
        PRIVATE = "private"

    class TaskKind(models.TextChoices):
        FEEDBACK = "feedback"  # any forum post
        TASK = "task"
        EMAIL = "email"
        HELP = "help"
        CHAT = "chat"
        PHONE = "phone"
        LEAD = "lead"
        ERROR = "error"
        IDEA = "idea"

    DISPLAY_NAME_FIELD = "title"

    forum_id = models.BigIntegerField(null=True)
    category_id = models.BigIntegerField(null=True)
    task_kind = models.CharField(max_length=255, choices=TaskKind.choices, default=TaskKind.FEEDBACK)
    kind = models.CharField(max_length=255, choices=Kind.choices, default=Kind.SUGGESTION)
    title = models.CharField(max_length=255)
    content = models.CharField(max_length=65536, blank=True, default="")
    content_html = rendered()
    agent = models.CharField(max_length=255, blank=True, default="")
    user_id = models.BigIntegerField()
    user = models.ForeignObject(
        User, models.DO_NOTHING, from_fields=["account_id", "user_id"], to_fields=["account_id", "id"], related_name="+"
    )
    status_id = models.BigIntegerField()
    status = models.ForeignObject(
        Status,
        models.DO_NOTHING,
        from_fields=["account_id", "status_id"],
        to_fields=["account_id", "id"],
        related_name="+",
    )
    responsible_id = models.BigIntegerField(null=True)
    client_id = models.BigIntegerField(null=True)
    # The client of it that is in the trash, to be linked again when that is restored.
    trashed_client_id = models.BigIntegerField(null=True, editable=False)
    # Whose wish it is, where the team writes it down. In the trash: as with the client.
    contact_id = models.BigIntegerField(null=True)
    trashed_contact_id = models.BigIntegerField(null=True, editable=False)
    private = models.BooleanField(default=False)
    approved = models.BooleanField(default=True)
    closed = models.BooleanField(default=False)
    priority = models.IntegerField(default=0)
    scheduled_at = models.DateTimeField(null=True)
    response = models.CharField(max_length=65536, null=True)
    response_html = rendered()
    response_user_id = models.BigIntegerField(null=True)
    votes_cache = models.IntegerField(default=0)
    comments_cache = models.IntegerField(default=0)
    additional_fields = additional_fields()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    shelf = models.GeneratedField(
        expression=Case(
            When(
                Q(category_id=None) | Q(trashed_at__isnull=False) | Q(duplicate_from_id__isnull=False),
                then=Value(Shelf.NONE),
            ),
            When(Q(private=True) | Q(approved=False) | Q(kind="private"), then=Value(Shelf.CLOSED)),
            default=Value(Shelf.OPEN),
        ),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )

    # Only what is said to be a comment has one.
    post_id = None
    # Whether its forum holds members' posts back, where whoever makes it has read that already.
    held_back: bool | None = None

    search = Search(
        name_field="title",
        long=("content", "response"),
        filters=("category_id", "forum_id", "status_id", "responsible_id", "user_id", "tags"),
        not_searched={"agent": "names a program", "additional_fields": NOT_SEARCHED},
    )

    objects = PostQuerySet.as_manager()

    class Meta:
        default_related_name = "posts"
        constraints = [
            models.CheckConstraint(
                condition=Q(forum_id__isnull=False, category_id__isnull=False, task_kind="feedback")
                | (Q(forum_id=None, category_id=None) & ~Q(task_kind="feedback")),
                name="post_of_forum_or_task",
            ),
        ]
        indexes = [
            # One for each order of a list, read in either direction.
            models.Index(fields=["account", "category_id", "shelf", "created_at", "id"], name="post_by_age"),
            models.Index(fields=["account", "category_id", "shelf", "votes_cache", "id"], name="post_by_votes"),
            models.Index(fields=["account", "category_id", "shelf", "comments_cache", "id"], name="post_by_comments"),
            models.Index(fields=["account", "category_id", "shelf", "updated_at", "id"], name="post_by_activity"),
            models.Index(
                fields=["account", "category_id", "shelf", "status_id", "created_at", "id"], name="post_by_status"
            ),
            # What a member sees of the closed shelf: his own.
            models.Index(fields=["account", "user_id", "category_id"], name="post_closed_own", condition=Q(shelf=2)),
            # The list of tasks: open ones first, newest first.
            models.Index(
                fields=["account", "closed", "-created_at", "-id"],
                name="post_tasks",
                condition=Q(category_id=None, trashed_at=None),
            ),
            # One for each order of the account's lists, of forum posts and of tasks; a row is in three of the six. By name, and
            # for all filters: `search`.
            *(
                models.Index(
                    fields=["account", *fields],
                    name=f"{kind}_by_{order}",
                    condition=Q(trashed_at=None, category_id__isnull=is_task),
                )
                for kind, is_task in (("any_post", False), ("task", True))
                for order, fields in (
                    ("id", ["id"]),
                    ("creation", ["created_at", "id"]),
                    ("change", ["updated_at", "id"]),
                )
            ),
            # Tasks that are due.
            models.Index(
                fields=["account", "scheduled_at"],
                name="task_by_time",
                condition=Q(trashed_at=None, category_id=None, scheduled_at__isnull=False),
            ),
            # What a client, a trashed client and the trash itself hold.
            *link_indexes("post", "client", "id"),
            *link_indexes("post", "contact", "id"),
            # What a user wrote, the last first.
            models.Index(
                fields=["account", "user_id", "created_at", "id"],
                name="post_by_author",
                condition=Q(trashed_at=None, category_id__isnull=False),
            ),
            # What the team has not approved yet.
            models.Index(
                fields=["account", "forum_id", "created_at", "id"],
                name="post_waiting",
                condition=Q(approved=False, trashed_at=None, category_id__isnull=False),
            ),
            # The roadmap: what is in a status, by votes.
            models.Index(
                fields=["account", "forum_id", "status_id", "votes_cache", "id"],
                name="post_of_roadmap",
                condition=Q(shelf=1),
            ),
            # The posts merged into one, those that a user has answered, those that had a status; also for when these are erased.
            *(
                models.Index(
                    fields=["account", column, "id"],
                    name=f"post_by_{name}",
                    condition=Q(**{f"{column}__isnull": False}),
                )
                for name, column in (
                    ("original", "duplicate_from_id"),
                    ("response", "response_user_id"),
                    ("status_before_merge", "status_before_merge_id"),
                )
            ),
            trash_index("post"),
        ]

    def __str__(self) -> str:
        return self.title

    # Questions

    def has_echo(self) -> bool:
        """Whether anybody but its author took part: commented, even if the comment has gone to the original; voted, clients and
        contacts, for whom the team votes, being others; or wrote what was merged into it."""
        account = self.account
        comments, votes, duplicates = (
            rows.exclude(user_id=self.user_id).order_by()
            for rows in (account.comments, account.votes, self.duplicates())
        )
        rows = [duplicates, comments.filter(from_post_id=self.id)]
        if self.comments_cache or self.votes_cache:
            rows += [things.filter(post_id=self.id) for things in (comments, votes, account.proxy_votes.order_by())]
        sides = [things.values("account_id")[:1] for things in rows]
        return bool(sides[0].union(*sides[1:], all=True)[:1])

    def may_be_changed_by(self, user: User) -> bool:
        """The team changes and deletes any post, its author while nobody else commented or voted."""
        return user.is_team or (self.user_id == user.id and not self.has_echo())

    # Acts

    @transaction.atomic(savepoint=False)
    def write(self, values: dict[str, Any], *, by: User, single_statement: bool = False) -> None:
        """Insert it, or update what `values` names; the caller holds the row (`locked`). `alone` says that nothing else is
        written in the transaction.

        A new one gets, where nothing else is said, the first category of its forum and the account's first status for
        posts; a member's may have to wait for the team, as it may again when its words are changed. Closing goes with the
        status: one that closes closes the post, unless `closed` is said too. Later changes of the status, and responses, are
        noted (`StatusChange`).
        """
        tags = values.pop("tags", None)
        status = values.pop("status", None)
        is_new = self._state.adding
        if status is None and is_new:
            status = self.account.default_status(Status.Kind.POST)
        before = self.status_id
        if status is not None:
            values["status_id"] = status.id
            values.setdefault("closed", status.closed)
            if self.duplicate_from_id is not None and status.id != before:
                # What the team decides now is what it stays, even if it is merged no more.
                values.setdefault("status_before_merge_id", None)
        if (fields := values.get("additional_fields")) is not None:
            values["additional_fields"] = merge(self.additional_fields, fields)
        assign_links(values, "client_id", "contact_id")
        if "content" in values or is_new:
            values["content_html"] = render(values.get("content", self.content))
        is_answered = values.get("response", self.response) != self.response
        if is_answered:
            values["response_user_id"] = by.id if values["response"] else None
            values["response_html"] = None if values["response"] is None else render(values["response"])
        is_reworded = any(
            values.get(name, text) != text for name, text in (("title", self.title), ("content", self.content))
        )
        if not is_new and is_reworded and self.approved and self._waits_for_approval(by):
            # Or whoever has something harmless approved could put anything in its place.
            values["approved"] = False
        for name, value in values.items():
            setattr(self, name, value)
        self.updated_at = timezone.now()
        if tags is not None:
            self.tag_all(self.account, [(self, tags)])
        if is_new:
            self.user_id, self.created_at = by.id, self.updated_at
            if self._waits_for_approval(by):
                self.approved = False
            insert(self, single_statement=single_statement)
            self.nick = by.name
        else:
            update(self, {*values, "updated_at"} | ({"tags"} if tags is not None else set()))
            if self.status_id != before or (is_answered and self.response):
                StatusChange.objects.note(self, by=by, before=before, is_answered=is_answered)
        if status is not None:
            self.status_code = status.code

    def _waits_for_approval(self, by: User) -> bool:
        if by.is_team or self.forum_id is None:
            return False
        return Forum.objects.holding_back(self.account_id, self.forum_id) if self.held_back is None else self.held_back

    @transaction.atomic(savepoint=False)
    def approve(self, *, by: User) -> None:
        """Let everyone see it. The caller holds the row (`locked`)."""
        self.write({"approved": True}, by=by)

    @transaction.atomic(savepoint=False)
    def reject(self, *, by: User) -> None:
        """Move what waits for approval to the trash. The caller holds the row. Raises FieldError if it was approved."""
        if self.approved:
            raise FieldError("post", _("is approved"), "approved")
        self.trash(by=by)

    @transaction.atomic(savepoint=False)
    def comment(self, *, by: User, text: str, agent: str = "") -> "Comment":
        """Raises FieldError where the post was merged into another, as do all votes for it."""
        self.hold()
        self.refuse_if_merged()
        comment = self.account.comments.create(
            post_id=self.id, user_id=by.id, comment=text, comment_html=render(text), agent=agent
        )
        self._count("comments_cache", updated_at=comment.created_at)
        return comment

    @transaction.atomic(savepoint=False)
    def erase_comment(self, comment: "Comment") -> bool:
        """Take a comment away for good; False where it is no longer here. What was last done to the post stays what it was."""
        self.hold()
        self.refuse_if_merged()
        erased, _by_model = self.account.comments.filter(post_id=self.id, id=comment.id).delete()
        if erased:
            self._count("comments_cache", -1)
        return bool(erased)

    @transaction.atomic(savepoint=False)
    def edit_comment(self, comment: "Comment", text: str) -> None:
        """Change the text of a comment of this post. The post is updated too, so that the change feed tells of it."""
        self.hold()
        self.refuse_if_merged()
        comment.comment, comment.comment_html, comment.updated_at = text, render(text), timezone.now()
        comment.save(update_fields=["comment", "comment_html", "updated_at"])
        self.updated_at = comment.updated_at
        Post.objects.filter(pk=self.pk).update(updated_at=self.updated_at)

    @transaction.atomic(savepoint=False)
    def vote(self, *, by: User) -> bool:
        """Cast the user's vote; False where it was cast before."""
        self.hold()
        self.refuse_if_merged()
        _row, cast = self.account.votes.get_or_create(post_id=self.id, user_id=by.id)
        if cast:
            self._count("votes_cache")
        return cast

    @transaction.atomic(savepoint=False)
    def withdraw_vote(self, *, by: User) -> bool:
        """Take the user's vote back; False where there was none."""
        self.hold()
        self.refuse_if_merged()
        withdrawn, _by_model = self.account.votes.filter(post_id=self.id, user_id=by.id).delete()
        if withdrawn:
            self._count("votes_cache", -1)
        return bool(withdrawn)

    @transaction.atomic(savepoint=False)
    def vote_for(self, *, by: User, client_id: int | None = None, contact_id: int | None = None) -> bool:
        """Cast the vote of a client or of a contact, and return whether it is new.

        Raise FieldError if the account has no such client or contact.
        """
        self.hold()
        self.refuse_if_merged()
        voter = self._voter(client_id, contact_id)
        for customer in registry.customers():
            link = f"{customer.key}_id"
            if link in voter and not customer.rows_of(self.account).live().filter(id=voter[link]).exists():
                raise FieldError(link, _("can't be found"), "gone")
        _row, cast = self.account.proxy_votes.get_or_create(post_id=self.id, **voter, defaults={"user_id": by.id})
        # In the row the database counts.
        self.votes_cache += cast
        return cast

    @transaction.atomic(savepoint=False)
    def withdraw_vote_for(self, *, client_id: int | None = None, contact_id: int | None = None) -> bool:
        """Take the vote of a client or of a contact back; False where there was none."""
        self.hold()
        self.refuse_if_merged()
        voter = self._voter(client_id, contact_id)
        withdrawn, _by_model = self.account.proxy_votes.filter(post_id=self.id, **voter).delete()
        self.votes_cache -= withdrawn
        return bool(withdrawn)

    @staticmethod
    def _voter(client_id: int | None, contact_id: int | None) -> dict[str, int]:
        voter = {"client_id": client_id, "contact_id": contact_id}
        given = {link: id for link, id in voter.items() if id is not None}
        if len(given) != 1:
            raise FieldError("client_id", _("must be given, or else a contact_id"))
        return given

    def _count(self, counter: str, by: int = 1, **values) -> None:
        """Of a row that is held."""
        values[counter] = getattr(self, counter) + by
        Post.objects.filter(pk=self.pk).update(**values)
        for name, value in values.items():
            setattr(self, name, value)


class CommentQuerySet(models.QuerySet):
    def with_names(self) -> Self:
        """With its author's name."""
        return self.annotate(nick=F("user__name")).defer("comment_html")

    def of_live_posts(self) -> Self:
        """The comments of posts and tasks that are not in the trash."""
        posts = Post.objects.live().filter(account_id=OuterRef("account_id"), id=OuterRef("post_id"))
        return self.filter(Exists(posts))

    def of_post(self, account_id: int, post_id: int, columns: tuple[str, ...]) -> list[tuple]:
        """The columns of a post's comments, oldest first."""
        return _comments_of_post(account_id=account_id, post_id=post_id, columns=columns)


@prepared(account_id=int, post_id=int)
def _comments_of_post(account_id, post_id, columns):
    comments = Comment.objects.filter(account_id=account_id, post_id=post_id)
    return comments.order_by("created_at", "id").values_list(*columns)


class Comment(TenantModel):
    post_id = models.BigIntegerField()
    # Where it was written, if that was merged into the post.
    from_post_id = models.BigIntegerField(null=True, editable=False)
    user_id = models.BigIntegerField()
    user = models.ForeignObject(
        User, models.DO_NOTHING, from_fields=["account_id", "user_id"], to_fields=["account_id", "id"], related_name="+"
    )
    agent = models.CharField(max_length=255, blank=True, default="")
    comment = models.CharField(max_length=65536)
    comment_html = rendered()
    kind = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    # What a post has in its place.
    task_kind = "comment"

    objects = CommentQuerySet.as_manager()

    class Meta:
        default_related_name = "comments"
        indexes = [
            # The comments of a post, oldest first.
            models.Index(fields=["account", "post_id", "created_at", "id"], name="comment_of_post"),
            from_post_index("comment_from_post"),
        ]

    def __str__(self) -> str:
        return self.comment

    def may_be_changed_by(self, user: User) -> bool:
        """Return whether the user may change or delete it: the team any comment, members their own ones."""
        return user.is_team or self.user_id == user.id


class StatusChangeQuerySet(models.QuerySet):
    def of_post(self, post_id: int) -> Self:
        """A post's history, oldest first, with the names of who made it."""
        return self.filter(post_id=post_id).annotate(nick=F("user__name")).order_by("created_at", "id")

    def note(self, post: Post, *, by: User, before: int, is_answered: bool) -> "StatusChange":
        """Note what has just been written: the status is another than the one of the id `before`, or the response is new."""
        statuses = {status.id: status for status in post.account.statuses.filter(id__in={before, post.status_id})}
        now = statuses[post.status_id]
        return self.create(
            account=post.account,
            post_id=post.id,
            from_name=statuses[before].name if before != now.id else None,
            name=now.name,
            color=now.color,
            response=post.response if is_answered else None,
            response_html=post.response_html if is_answered else None,
            user_id=by.id,
            created_at=post.updated_at,
        )


class StatusChange(TenantModel):
    """That a post got another status, or a response. It tells the names that the statuses had, so they may be erased."""

    post_id = models.BigIntegerField()
    # Null where the status stayed.
    from_name = models.CharField(max_length=255, null=True)
    name = models.CharField(max_length=255)
    color = models.CharField(max_length=255, null=True)
    # What was said with it.
    response = models.CharField(max_length=65536, null=True)
    response_html = rendered()
    user_id = models.BigIntegerField()
    user = models.ForeignObject(
        User, models.DO_NOTHING, from_fields=["account_id", "user_id"], to_fields=["account_id", "id"], related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = StatusChangeQuerySet.as_manager()

    class Meta:
        default_related_name = "status_changes"
        # A post's, oldest first.
        indexes = [models.Index(fields=["account", "post_id", "created_at", "id"], name="statuschange_of_post")]

    def __str__(self) -> str:
        return f"{self.from_name} → {self.name}" if self.from_name else self.name
