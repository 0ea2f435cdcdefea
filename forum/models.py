from datetime import datetime
from typing import Any, Self

from django.db import models, transaction
from django.db.models import Case, F, Q, Subquery, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.fields.tuple_lookups import TupleGreaterThanOrEqual, TupleLessThan
from django.utils import timezone

from accounts.models import Account, Status, Tagged, User
from accounts.prepared import insert, prepared, update
from accounts.tenancy import FoldedField, TenantModel, fold
from accounts.text import is_carriable
from accounts.trash import TrashableQuerySet, link_indexes, trash_index
from forum import depth
from forum.depth import PostCount as PostCount

# What a forum answers itself in the place of a category's name.
RESERVED_SEGMENTS = frozenset(
    ["app", "static", "media", "healthz", "readyz", "favicon.ico", "robots.txt", "sitemap.xml", ".well-known"]
)


class ForumQuerySet(models.QuerySet):
    def living_at(self, host_id: int) -> Self:
        """The forum of that host; for the account's own address, failing that, the default forum."""
        return self.filter(Q(host_id=host_id) | Q(is_default=True)).order_by(
            Case(When(host_id=host_id, then=0), default=1, output_field=models.IntegerField())
        )


class Forum(TenantModel):
    """A forum, at exactly one host; the account's default forum answers at the account's own address too."""

    host_id = models.BigIntegerField()
    name = models.CharField(max_length=255)
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ForumQuerySet.as_manager()

    class Meta:
        default_related_name = "forums"
        constraints = [
            models.UniqueConstraint(fields=["account", "host_id"], name="forum_host_unique"),
            models.UniqueConstraint(fields=["account"], condition=Q(is_default=True), name="forum_one_default"),
        ]

    def __str__(self) -> str:
        return self.name


class CategoryQuerySet(models.QuerySet):
    def of_forum(self, forum_id: int) -> Self:
        """A forum's categories; the first of them is the one that posts go to when none is named."""
        return self.filter(forum_id=forum_id).order_by("position", "id")

    def named(self, account_id: int, forum_id: int, name: str) -> "Category | None":
        """The forum's category of that name, in any case."""
        return (
            _category_named.first(account_id=account_id, forum_id=forum_id, key=fold(name))
            if is_carriable(name)
            else None
        )

    def first_of(self, account_id: int, forum_id: int) -> "Category | None":
        """The one that posts go to when none is named. Its `first_status` is the one that they get."""
        category = _first_category.first(account_id=account_id, forum_id=forum_id)
        if category is not None:
            status = {name: getattr(category, f"first_{name}") for name in ("id", "code", "closed")}
            category.first_status = Status(account_id=account_id, kind=Status.Kind.POST, **status)
        return category


@prepared(account_id=int, forum_id=int, key=str)
def _category_named(account_id, forum_id, key):
    return Category.objects.filter(account_id=account_id, name_key=key).of_forum(forum_id)[:1]


@prepared(account_id=int, forum_id=int)
def _first_category(account_id, forum_id):
    statuses = Account(id=account_id).first_statuses(Status.Kind.POST)
    first = {f"first_{name}": Subquery(statuses.values(name)[:1]) for name in ("id", "code", "closed")}
    return Category.objects.filter(account_id=account_id).of_forum(forum_id).annotate(**first)[:1]


class Category(TenantModel):
    forum_id = models.BigIntegerField()
    name = models.CharField(max_length=255)
    name_key = FoldedField(source="name")
    position = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = CategoryQuerySet.as_manager()

    class Meta:
        default_related_name = "categories"
        verbose_name_plural = "categories"
        constraints = [
            models.UniqueConstraint(fields=["account", "forum_id", "name_key"], name="category_name_unique"),
            # The name is a path segment, beside those that the service answers itself.
            models.CheckConstraint(
                condition=~Q(name_key__in=sorted(RESERVED_SEGMENTS)) & ~Q(name_key__regex=r"^$|/|\.(xml|json)$"),
                name="category_name_form",
            ),
        ]
        indexes = [models.Index(fields=["account", "forum_id", "position", "id"], name="category_order")]

    def __str__(self) -> str:
        return self.name


class Shelf(models.IntegerChoices):
    """Where a post stands in the lists of its category: a function of its row, kept by the database."""

    NONE = 0  # a task, a duplicate, or in the trash
    OPEN = 1
    CLOSED = 2  # for its author and the team: private, or not approved yet


class PostQuerySet(TrashableQuerySet):
    ORDERS = {
        "new": ("-created_at", "-id"),
        "old": ("created_at", "id"),
        "top": ("-votes_cache", "-id"),
        "commented": ("-comments_cache", "-id"),
        "active": ("-updated_at", "-id"),
    }

    def with_names(self) -> Self:
        """With what a post is shown with besides its own row: the code of its status, and its author's name."""
        return self.annotate(
            status_code=F("status__code"), nick=F("user__name"), post_id=Value(None, models.BigIntegerField(null=True))
        )

    def of_forum(self, forum_id: int) -> Self:
        return self.filter(forum_id=forum_id)

    def tasks(self) -> Self:
        """The account's tasks, open ones first, newest first."""
        return self.filter(category_id=None, trashed_at=None).order_by("closed", "-created_at", "-id")

    def visible_to(self, user: User) -> Self:
        """The posts and tasks that are not in the trash and that the user may see."""
        posts = self.live()
        if user.is_team:
            return posts
        merged = Q(duplicate_from_id__isnull=False, private=False, approved=True) & ~Q(kind=Post.Kind.PRIVATE)
        return posts.exclude(category_id=None).filter(Q(shelf=Shelf.OPEN) | Q(user_id=user.id) | merged)

    def shown_to(self, user: User, columns: tuple[str, ...], *, forum_id: int, id: int) -> tuple | None:
        """The columns of a post of the forum, if the user may see it; `status` is the status's code."""
        given = {} if user.is_team else {"author_id": user.id}
        return _post_shown.first(account_id=user.account_id, forum_id=forum_id, id=id, columns=columns, **given)

    def page(
        self,
        user: User,
        columns: tuple[str, ...],
        *,
        forum_id: int | None = None,
        category_id: int | None = None,
        order: str = "new",
        status_id: int | None = None,
        start: int,
        size: int,
    ) -> list[tuple]:
        """The columns of `size` posts from `start` on, as the user sees them, in order; of a category, or of a forum's first.

        They are found in one index for each order: the open shelf of the category merged with what the user may see of its
        closed one. No other row of the table is read. Far down, lists by age are entered at a mark (`forum.depth`), others are
        skipped through.
        """
        given = {
            "forum_id": forum_id if category_id is None else None,
            "category_id": category_id,
            "status_id": status_id,
            "author_id": None if user.is_team else user.id,
        }
        given = {name: value for name, value in given.items() if value is not None} | {"account_id": user.account_id}
        if start < depth.DEEP or order not in depth.DIRECTIONS:
            return _page_of_posts(columns=columns, order=order, **_limits(start, size), **given)
        entry = depth.find(order, start, **given)
        left = start - entry.skipped
        if entry.id is not None:
            given |= {"entry_at": entry.created_at, "entry_id": entry.id}
        rows = _page_of_posts(columns=columns, order=order, **_limits(left, size), **given)
        if entry.notes > depth.NOTES or (rows and left > 2 * depth.LENGTH):
            depth.gather(user.account_id, entry.category_id)
        return rows


# Further than a list that is entered at a mark is ever read.
REACH = 2700


def _limits(start: int, size: int) -> dict[str, int]:
    """How much of the list is read. Of a limit that is written out, the database knows what it means for its plan, and so keeps
    that; a plan for one that it does not know would be made for a tenth of the table."""
    if start == 0:
        return {"first": size}
    if start + size <= REACH:
        return {"start": start, "first": size, "reach": REACH}
    return {"start": start, "size": size, "stop": start + size}


@prepared(account_id=int, forum_id=int, id=int, author_id=int)
def _post_shown(account_id, forum_id, id, columns, author_id=None):
    user = User(id=author_id, role=User.Role.OWNER if author_id is None else User.Role.MEMBER)
    posts = Post.objects.filter(account_id=account_id, id=id).visible_to(user).of_forum(forum_id)
    return posts.values_list(*("status__code" if name == "status" else name for name in columns))


@prepared(
    account_id=int,
    forum_id=int,
    category_id=int,
    status_id=int,
    author_id=int,
    start=int,
    size=int,
    stop=int,
    entry_at=datetime,
    entry_id=int,
)
def _page_of_posts(
    account_id,
    columns,
    order,
    first=None,
    reach=None,
    start=0,
    size=None,
    stop=None,
    forum_id=None,
    category_id=None,
    status_id=None,
    author_id=None,
    entry_at=None,
    entry_id=None,
):
    size, stop = first or size, reach or first or stop
    posts, order_by = Post.objects.filter(account_id=account_id), PostQuerySet.ORDERS[order]
    if category_id is None:
        first = Category.objects.filter(account_id=account_id).of_forum(forum_id).values("id")[:1]
        shelf = posts.filter(category_id=Subquery(first))
    else:
        shelf = posts.filter(category_id=category_id)
    if status_id is not None:
        shelf = shelf.filter(status_id=status_id)
    if entry_id is not None:
        beyond = TupleLessThan if order == "new" else TupleGreaterThanOrEqual
        shelf = shelf.filter(beyond((F("created_at"), F("id")), (entry_at, entry_id)))
    closed = shelf.filter(shelf=Shelf.CLOSED)
    if author_id is not None:
        closed = closed.filter(user_id=author_id)
    # Each side is cut off where the page ends; without that, the database would sort them whole to merge them.
    sides = [
        side.values(*(name.removeprefix("-") for name in order_by)).order_by(*order_by)[:stop]
        for side in (shelf.filter(shelf=Shelf.OPEN), closed)
    ]
    page = sides[0].union(sides[1], all=True).order_by(*order_by)[start : start + size]
    text, values = page.query.sql_with_params()
    found = posts.filter(id__in=RawSQL(f"SELECT id FROM ({text}) AS page", values))  # noqa: S608, S611
    return found.order_by(*order_by).values_list(*columns)


class Post(TenantModel, Tagged):
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

    CALLED = "title"

    forum_id = models.BigIntegerField(null=True)
    category_id = models.BigIntegerField(null=True)
    task_kind = models.CharField(max_length=255, choices=TaskKind.choices, default=TaskKind.FEEDBACK)
    kind = models.CharField(max_length=255, choices=Kind.choices, default=Kind.SUGGESTION)
    title = models.CharField(max_length=255)
    content = models.CharField(max_length=65536, blank=True, default="")
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
    duplicate_from_id = models.BigIntegerField(null=True)
    private = models.BooleanField(default=False)
    approved = models.BooleanField(default=True)
    closed = models.BooleanField(default=False)
    priority = models.IntegerField(default=0)
    scheduled_at = models.DateTimeField(null=True)
    response = models.CharField(max_length=65536, null=True)
    response_user_id = models.BigIntegerField(null=True)
    votes_cache = models.IntegerField(default=0)
    comments_cache = models.IntegerField(default=0)
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
            # to find by anything: `accounts.search`.
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
            # The posts merged into one, and those that a user has answered; also for when these are erased.
            *(
                models.Index(
                    fields=["account", column, "id"],
                    name=f"post_by_{name}",
                    condition=Q(**{f"{column}__isnull": False}),
                )
                for name, column in (("original", "duplicate_from_id"), ("response", "response_user_id"))
            ),
            trash_index("post"),
        ]

    def __str__(self) -> str:
        return self.title

    # Questions

    def has_echo(self) -> bool:
        """Whether anybody but its author commented or voted."""
        return (
            self.account.comments.filter(post_id=self.id).exclude(user_id=self.user_id).exists()
            or self.account.votes.filter(post_id=self.id).exclude(user_id=self.user_id).exists()
        )

    def may_be_changed_by(self, user: User) -> bool:
        """The team changes and deletes any post, its author while nobody else commented or voted."""
        return user.is_team or (self.user_id == user.id and not self.has_echo())

    # Acts

    @transaction.atomic(savepoint=False)
    def write(self, values: dict[str, Any], *, by: User) -> None:
        """Insert it, or update what `values` names; the caller holds the row (`locked`).

        A new one gets, where nothing else is said, the first category of its forum and the account's first status for
        posts. Closing goes with the status: one that closes closes the post, unless `closed` is said too.
        """
        tags = values.pop("tags", None)
        status = values.pop("status", None)
        if status is None and self._state.adding:
            status = self.account.default_status(Status.Kind.POST)
        if status is not None:
            values["status_id"] = status.id
            values.setdefault("closed", status.closed)
        if values.get("client_id"):
            values["trashed_client_id"] = None
        if values.get("response", self.response) != self.response:
            values["response_user_id"] = by.id if values["response"] else None
        for name, value in values.items():
            setattr(self, name, value)
        self.updated_at = timezone.now()
        if tags is not None:
            self.tag_all(self.account, [(self, tags)])
        if self._state.adding:
            self.user_id, self.created_at = by.id, self.updated_at
            insert(self)
            self.nick = by.name
        else:
            update(self, {*values, "updated_at"} | ({"tags"} if tags is not None else set()))
        if status is not None:
            self.status_code = status.code

    @transaction.atomic(savepoint=False)
    def comment(self, *, by: User, text: str, agent: str = "") -> "Comment":
        comment = self.account.comments.create(post_id=self.id, user_id=by.id, comment=text, agent=agent)
        self._count("comments_cache", updated_at=comment.created_at)
        return comment

    @transaction.atomic(savepoint=False)
    def vote(self, *, by: User) -> bool:
        """Cast the user's vote; False where it was cast before."""
        Post.objects.locked().get(pk=self.pk)
        _, cast = self.account.votes.get_or_create(post_id=self.id, user_id=by.id)
        if cast:
            self._count("votes_cache")
        return cast

    @transaction.atomic(savepoint=False)
    def withdraw_vote(self, *, by: User) -> bool:
        """Take the user's vote back; False where there was none."""
        withdrawn, _ = self.account.votes.filter(post_id=self.id, user_id=by.id).delete()
        if withdrawn:
            self._count("votes_cache", -1)
        return bool(withdrawn)

    def _count(self, counter: str, by: int = 1, **values) -> None:
        Post.objects.filter(pk=self.pk).update(**{counter: F(counter) + by}, **values)
        self.refresh_from_db(fields=[counter, *values])


class CommentQuerySet(models.QuerySet):
    def with_names(self) -> Self:
        """With its author's name."""
        return self.annotate(nick=F("user__name"))

    def of_post(self, account_id: int, post_id: int, columns: tuple[str, ...]) -> list[tuple]:
        """The columns of a post's comments, oldest first."""
        return _comments_of_post(account_id=account_id, post_id=post_id, columns=columns)


@prepared(account_id=int, post_id=int)
def _comments_of_post(account_id, post_id, columns):
    comments = Comment.objects.filter(account_id=account_id, post_id=post_id)
    return comments.order_by("created_at", "id").values_list(*columns)


class Comment(TenantModel):
    post_id = models.BigIntegerField()
    user_id = models.BigIntegerField()
    user = models.ForeignObject(
        User, models.DO_NOTHING, from_fields=["account_id", "user_id"], to_fields=["account_id", "id"], related_name="+"
    )
    agent = models.CharField(max_length=255, blank=True, default="")
    comment = models.CharField(max_length=65536)
    kind = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = CommentQuerySet.as_manager()

    class Meta:
        default_related_name = "comments"
        # The comments of a post, oldest first.
        indexes = [models.Index(fields=["account", "post_id", "created_at", "id"], name="comment_of_post")]

    def __str__(self) -> str:
        return self.comment


class Vote(models.Model):
    pk = models.CompositePrimaryKey("account_id", "post_id", "user_id")
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="votes", db_index=False)
    post_id = models.BigIntegerField()
    user_id = models.BigIntegerField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
