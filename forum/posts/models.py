"""Posts and tasks, and the history of their statuses."""

from calendar import monthrange
from datetime import date
from typing import Any, Self

from django.db import models, transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.attachments.models import Attachment
from accounts.audit.models import record
from accounts.statuses.models import Status
from accounts.tags.models import Tagged
from accounts.users.models import User
from core.changes.events import record_event
from core.db.prepared import insert, update
from core.db.tenancy import TenantModel, foreign_object
from core.errors import FieldError
from core.registry import Resource
from core.rows.additional_fields import NOT_SEARCHED, additional_fields, merge
from core.rows.trash import assign_links, link_indexes, trash_index
from core.search.declaration import Search, additional_fields_index
from forum.activities.models import Activity
from forum.categories.models import defaults_of_new_post
from forum.comments.commenting import Commentable
from forum.forums.membership import TRUSTED_TEXTS, count_public_texts
from forum.forums.models import requires_approval
from forum.lists.queries import MINE, NEW, UNANSWERED, PostKind, PostQuerySet, Visibility
from forum.posts import tasks
from forum.posts.events import FormerPost, record_update
from forum.posts.merging import Mergeable
from forum.posts.sort_keys import PostSortKey, trending_field
from forum.texts.markdown import has_links, html_field, render
from forum.votes.models import Votable


def end_of_quarter(day: date) -> date:
    month = (day.month + 2) // 3 * 3
    return day.replace(month=month, day=monthrange(day.year, month)[1])


class Post(Tagged, Mergeable, Commentable, Votable):
    """A post of a forum, or a task of the account, which has no forum and no category."""

    api_resource = Resource(
        "post",
        _("Suggestion or task"),
        _("Suggestions and tasks"),
        icon="lightbulb",
        path_samples={"json": ("post", "task"), "xml": ("forum_post",)},
    )

    Kind = PostKind

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
    # A change of one of these fields by the team removes the post from the tab of new posts in the team's inbox.
    TRIAGE_FIELDS = frozenset(
        {"status_id", "category_id", "responsible_id", "response", "approved", "duplicate_from_id"}
    )

    forum_id = models.BigIntegerField(null=True)
    category_id = models.BigIntegerField(null=True)
    task_kind = models.CharField(max_length=255, choices=TaskKind.choices, default=TaskKind.FEEDBACK)
    kind = models.CharField(max_length=255, choices=Kind.choices, default=Kind.SUGGESTION)
    title = models.CharField(max_length=255)
    content = models.CharField(max_length=65536, blank=True, default="")
    content_html = html_field()
    agent = models.CharField(max_length=255, blank=True, default="")
    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    status_id = models.BigIntegerField()
    status = foreign_object(Status, "status_id")
    responsible_id = models.BigIntegerField(null=True)
    client_id = models.BigIntegerField(null=True)
    # The client while it is in the trash. Restoring the client moves the id back to `client_id`.
    trashed_client_id = models.BigIntegerField(null=True, editable=False)
    # The contact for whom the team wrote the post.
    contact_id = models.BigIntegerField(null=True)
    trashed_contact_id = models.BigIntegerField(null=True, editable=False)
    # The deal that a task is about.
    deal_id = models.BigIntegerField(null=True)
    trashed_deal_id = models.BigIntegerField(null=True, editable=False)
    private = models.BooleanField(default=False)
    approved = models.BooleanField(default=True)
    closed = models.BooleanField(default=False)
    priority = models.IntegerField(default=0)
    # When a task is due.
    scheduled_at = models.DateTimeField(null=True)
    # The day on which a task without a time of day is due. `scheduled_at` is then a time on this day, at which the reminder comes.
    due_day = models.DateField(null=True)
    # When the responsible user is reminded of a task. Without it, the reminder comes when the task is due.
    remind_at = models.DateTimeField(null=True)
    # A task with a unit repeats every so many days, weeks or months: when it is closed, the next one is created.
    repeat_unit = models.CharField(max_length=255, choices=tasks.RepeatUnit.choices, null=True)
    repeat_every = models.IntegerField(null=True)
    # The day of a monthly series, because the task of a shorter month is due on an earlier day.
    repeat_day = models.SmallIntegerField(null=True, editable=False)
    # When a task was closed. Null for an open task. A trigger of the database sets it if the writer does not (`forum.posts.tasks`).
    completed_at = models.DateTimeField(null=True, editable=False)
    # When the suggestion is planned to be done: a day, or the last day of a quarter. Others than the team see it as long as the status is on
    # the roadmap.
    target_on = models.DateField(null=True)
    target_is_quarter = models.BooleanField(default=False, db_default=False)
    response = models.CharField(max_length=65536, null=True)
    response_html = html_field()
    response_user_id = models.BigIntegerField(null=True)
    votes_cache = models.IntegerField(default=0)
    comments_cache = models.IntegerField(default=0)
    # The logarithm of the sum of the weights of all votes, and the key of the order by trend (`forum.posts.sort_keys`). The database sets both.
    vote_weight = models.FloatField(null=True, editable=False)
    trending = trending_field()
    # The number of internal comments and of those that wait for approval. `comments_cache` is the number of public ones.
    internal_comments_cache = models.IntegerField(default=0, db_default=0, editable=False)
    # When the team first dealt with the post (`forum.inbox.tabs`), and when the team first commented publicly or marked the post as handled.
    handled_at = models.DateTimeField(null=True, editable=False)
    answered_at = models.DateTimeField(null=True, editable=False)
    additional_fields = additional_fields()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    # A post in the trash has none.
    sort_key = foreign_object(PostSortKey, "id")
    visibility = models.GeneratedField(
        expression=Case(
            When(
                Q(category_id=None) | Q(trashed_at__isnull=False) | Q(duplicate_from_id__isnull=False),
                then=Value(Visibility.NONE),
            ),
            When(Q(private=True) | Q(approved=False) | Q(kind="private"), then=Value(Visibility.CLOSED)),
            default=Value(Visibility.OPEN),
        ),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )

    # Posts have this field in the Account API because comments are written as posts there.
    post_id = None
    # Whether the team must approve new posts of members. None if the caller has not read this from the forum; `write` reads it then.
    requires_approval: bool | None = None
    # Annotations of `with_names`: the code of the status and the name of the author.
    status_code: str
    nick: str

    search = Search(
        name_field="title",
        long=("content", "response"),
        filters=("category_id", "forum_id", "status_id", "responsible_id", "user_id", "tags"),
        not_searched={"agent": "names a program", "additional_fields": NOT_SEARCHED},
        is_ordered_by_name=False,
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
            models.CheckConstraint(condition=tasks.COMPLETION_OF_TASK, name="completion_of_task"),
        ]
        indexes = [
            # No index has a column that votes and comments change (`forum.posts.sort_keys`).
            # The list of a category, and of the whole forum, by age.
            models.Index(fields=["account", "category_id", "visibility", "created_at", "id"], name="post_by_age"),
            models.Index(
                fields=["account", "category_id", "visibility", "status_id", "created_at", "id"], name="post_by_status"
            ),
            models.Index(fields=["account", "forum_id", "visibility", "created_at", "id"], name="post_of_forum_by_age"),
            # The posts of a rare kind. Most posts are suggestions.
            models.Index(
                fields=["account", "forum_id", "kind", "id"],
                name="post_of_forum_by_kind",
                condition=Q(visibility__gt=0) & ~Q(kind="suggestion"),
            ),
            # The posts of a status by the day for which they are planned, on the roadmap.
            models.Index(
                fields=["account", "forum_id", "status_id", "target_on", "id"],
                name="post_by_target",
                condition=Q(visibility=1, target_on__isnull=False),
            ),
            # The closed posts of a member, which only the member and the team see.
            models.Index(
                fields=["account", "user_id", "category_id"], name="post_closed_own", condition=Q(visibility=2)
            ),
            # The list of tasks: open tasks first, newest first.
            models.Index(
                fields=["account", "closed", "-created_at", "-id"],
                name="post_tasks",
                condition=Q(category_id=None, trashed_at=None),
            ),
            # One index for each order of the account's lists, of forum posts and of tasks. Each row is in two of these four indexes.
            # The indexes of `search` serve the order by name and the filters.
            *(
                models.Index(
                    fields=["account", *fields],
                    name=f"{kind}_by_{order}",
                    condition=Q(trashed_at=None, category_id__isnull=is_task),
                )
                for kind, is_task in (("any_post", False), ("task", True))
                for order, fields in (("id", ["id"]), ("creation", ["created_at", "id"]))
            ),
            *tasks.INDEXES,
            # The posts of a client, a contact or a deal, even if it is in the trash.
            *link_indexes("post", "client", "id"),
            *link_indexes("post", "contact", "id"),
            *link_indexes("post", "deal", "id"),
            # The posts of a user, by age.
            models.Index(
                fields=["account", "user_id", "created_at", "id"],
                name="post_by_author",
                condition=Q(trashed_at=None, category_id__isnull=False),
            ),
            # The posts that the team has not approved yet.
            models.Index(
                fields=["account", "forum_id", "created_at", "id"],
                name="post_waiting",
                condition=Q(approved=False, trashed_at=None, category_id__isnull=False),
            ),
            # The tabs of the team's inbox (`forum.inbox.tabs`), beside `post_waiting`.
            *(
                models.Index(
                    fields=["account", "forum_id", *columns, "created_at", "id"],
                    name=f"post_inbox_{name}",
                    condition=condition,
                )
                for name, columns, condition in (
                    ("new", (), NEW),
                    ("unanswered", (), UNANSWERED),
                    ("mine", ("responsible_id",), MINE),
                )
            ),
            # The duplicates of a post, the posts with a response of a user, and the merged posts that had a status before the merge.
            # The foreign keys use these indexes when the post, user or status is erased.
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
            # Imports find suggestions by these values.
            models.Index(F("account"), Lower("title"), name="post_by_title", condition=Q(trashed_at=None)),
            models.Index(
                F("account"),
                KeyTextTransform("source_id", "additional_fields"),
                name="post_by_source_id",
                condition=Q(additional_fields__has_key="source_id"),
            ),
            trash_index("post"),
            additional_fields_index("post"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_private(self) -> bool:
        return self.private or self.kind == self.Kind.PRIVATE

    def has_other_participants(self) -> bool:
        """Return whether anyone except the author took part.

        Another user takes part by a public comment (even if the comment moved to the original), by a vote, or by writing a duplicate of
        this post. The team takes part by a vote on behalf of a client or contact. Internal comments do not count, because the result
        would reveal them to the author.
        """
        account = self.account
        comments, votes, duplicates = (
            rows.exclude(user_id=self.user_id).order_by()
            for rows in (account.comments.public(), account.votes, self.duplicates())
        )
        rows = [duplicates, comments.filter(from_post_id=self.id)]
        if self.comments_cache or self.votes_cache:
            rows += [queryset.filter(post_id=self.id) for queryset in (comments, votes, account.proxy_votes.order_by())]
        queries = [queryset.values("account_id")[:1] for queryset in rows]
        return bool(queries[0].union(*queries[1:], all=True)[:1])

    def may_be_changed_by(self, user: User) -> bool:
        """Return whether the user may change or delete the post. The team always may; the author may while nobody else took part."""
        return user.is_team or (self.user_id == user.id and not self.has_other_participants())

    @transaction.atomic(savepoint=False)
    def write(
        self, values: dict[str, Any], *, by: User, is_silent: bool = False, corrects_answer: bool = False
    ) -> None:
        """Insert the post, or update the fields in `values`. To update, the caller must have locked the row.

        Without a status, a new post gets the account's first status for posts. A new post of `forum_id` without a category gets the first
        category of the forum and the first status. A status also sets `closed`, unless `values` has `closed`. The team may have to
        approve a new post of a member, and a post whose title or content a member has changed. A change of an existing post's status or
        response is recorded as `StatusChange`, and announced unless the write is silent. Withdrawing the response withdraws the newest answer
        of the history, and with `corrects_answer` a new text replaces that of the newest answer. A new post may have an author and a time of
        its own.
        """
        tags = values.pop("tags", None)
        status = values.pop("status", None)
        is_new = self._state.adding
        has_category = values.get("category_id", self.category_id) is not None
        needs_category = is_new and not has_category and self.forum_id is not None
        if not has_category and not needs_category and by.access.is_limited and (is_new or "responsible_id" in values):
            # Without a responsible user, the agent could not access the task.
            values["responsible_id"] = values.get("responsible_id") or by.id
        if status is None and is_new and not needs_category:
            status = self.account.default_status(Status.Kind.POST)
        status_id_before = self.status_id
        before, former = (self.approved, self.responsible_id, self.duplicate_from_id), FormerPost(self)
        if status is not None:
            values["status_id"] = status.id
            values.setdefault("closed", status.closed)
            if self.duplicate_from_id is not None and status.id != status_id_before:
                # The team chose this status for the duplicate, so undoing the merge keeps it.
                values.setdefault("status_before_merge_id", None)
        if (fields := values.get("additional_fields")) is not None:
            values["additional_fields"] = merge(self.additional_fields, fields)
        if values.get("scheduled_at", self.scheduled_at) != self.scheduled_at:
            values.setdefault("due_day", None)
        if not {"target_on", "target_is_quarter"}.isdisjoint(values):
            day, is_quarter = (values.get(name, getattr(self, name)) for name in ("target_on", "target_is_quarter"))
            if day is not None and is_quarter:
                day = end_of_quarter(day)
            values |= {"target_on": day, "target_is_quarter": bool(day and is_quarter)}
        assign_links(values, "client_id", "contact_id", "deal_id")
        if "content" in values or is_new:
            values["content_html"] = render(values.get("content", self.content))
        has_response_changed = values.get("response", self.response) != self.response
        if has_response_changed:
            values["response_user_id"] = by.id if values["response"] else None
            values["response_html"] = None if values["response"] is None else render(values["response"])
        texts = {"title": self.title, "content": self.content}
        response_before = self.response
        # False if the text of the newest answer changes.
        keeps_answers = True
        is_reworded = any(values.get(name, text) != text for name, text in texts.items())
        self.updated_at = timezone.now()
        if by.is_team and not is_new and self.handled_at is None and not self.TRIAGE_FIELDS.isdisjoint(values):
            values["handled_at"] = self.updated_at
        is_closed = values.get("closed", self.closed)
        if values.get("category_id", self.category_id) is None and is_closed != (self.completed_at is not None):
            values["completed_at"] = self.updated_at if is_closed else None
        is_done = not is_new and is_closed and self.completed_at is None
        for name, value in values.items():
            setattr(self, name, value)
        following = self._check_repeat(values, is_done=is_done)
        if not is_new and is_reworded and self.approved and self._must_wait(by):
            # Otherwise a member could have a harmless post approved and then replace its content.
            self.approved = values["approved"] = False
        if tags is not None:
            self.tag_all(self.account, [(self, tags)])
        if is_new:
            self.user_id, self.created_at = values.get("user_id", by.id), values.get("created_at", self.updated_at)
            if self.created_at > self.updated_at:
                raise FieldError("created_at", _("is in the future"), "future")
            if self.user_id != by.id and not by.is_team:
                raise FieldError("user_id", _("can only be chosen by the team"), "team")
            if needs_category:
                self._enter_first_category(by=by)
            elif self._must_wait(by):
                self.approved = False
            insert(self)
            self.nick = by.name
        else:
            update(self, {*values, "updated_at"} | ({"tags"} if tags is not None else set()))
            change = None
            if has_response_changed and (corrects_answer or not self.response):
                keeps_answers = not StatusChange.objects.correct_newest_answer(self)
            is_answer = has_response_changed and bool(self.response) and keeps_answers
            if self.status_id != status_id_before or is_answer:
                change = StatusChange.objects.record(
                    self, by=by, status_id_before=status_id_before, has_response_changed=is_answer
                )
            if not is_silent:
                self._record_activities(change, before, by=by)
            record_update(self, former, change, by=by)
        for part, name, text in (("", "content", texts["content"]), ("response", "response", response_before)):
            if name in values:
                attachments = Attachment.objects
                # Earlier answers keep their files.
                text_before = None if is_new or (part and has_response_changed and keeps_answers) else text
                attachments.follow_text(self, "post", values[name], before=text_before, by_id=by.id, part=part)
        if status is not None:
            self.status_code = status.code
        if following:
            Post(account=self.account, agent=self.agent).write(following, by=by)

    def _check_repeat(self, values: dict[str, Any], *, is_done: bool) -> dict[str, Any]:
        """Return the values of the next task if this one repeats and is done. It no longer repeats then. Raise FieldError."""
        if self.repeat_unit is None:
            if self.repeat_every is not None:
                self.repeat_every = values["repeat_every"] = None
            return {}
        if self.category_id is not None or self.forum_id is not None:
            raise FieldError("repeat_unit", _("can't be given for a post of a forum"), "task")
        if self.scheduled_at is None:
            raise FieldError("scheduled_at", _("can't be blank for a task that repeats"), "required")
        self.repeat_every = values["repeat_every"] = self.repeat_every or 1
        zone = self.account.zone
        self.repeat_day = values["repeat_day"] = tasks.day_of_series(
            self.scheduled_at.astimezone(zone), self.repeat_day
        )
        after = max(self.updated_at, self.scheduled_at)
        series = (self.repeat_unit, self.repeat_every, self.repeat_day)
        at = tasks.next_time(self.scheduled_at, *series, after=after, zone=zone)
        if not is_done or at is None:
            return {}
        names = ("title", "content", "task_kind", "priority", "responsible_id", "client_id", "contact_id", "deal_id")
        repeat = {name: getattr(self, name) for name in ("repeat_unit", "repeat_every", "repeat_day")}
        reminder = self.remind_at and at - (self.scheduled_at - self.remind_at)
        for name in repeat:
            values[name] = None
            setattr(self, name, None)
        return {
            **{name: getattr(self, name) for name in names},
            **repeat,
            "tags": [*self.tags],
            "scheduled_at": at,
            "due_day": self.due_day and at.astimezone(zone).date(),
            "remind_at": reminder,
        }

    def _enter_first_category(self, *, by: User) -> None:
        """Set the first category of the forum and the first status. Raise FieldError if there is no category."""
        found = defaults_of_new_post.first(
            account_id=self.account_id,
            forum_id=self.forum_id,
            by_team=by.is_team,
            waits=self._is_by_new_member_with_links(by, title=self.title, html=self._html_to_judge()),
        )
        if found is None:
            raise FieldError("category_id", _("can't be blank"), "required")
        self.category_id, self.status_id, self.closed, self.approved, self.status_code = found

    def _record_activities(
        self, change: "StatusChange | None", before: tuple[bool, int | None, int | None], *, by: User
    ) -> None:
        """Record the activities of an update, for notifications. Tasks have no such activities."""
        if self.category_id is None:
            return
        was_approved, responsible_id_before, original_id_before = before
        kinds: list[str] = []
        if self.duplicate_from_id != original_id_before:
            kinds.append(Activity.Kind.UNMERGE if self.duplicate_from_id is None else Activity.Kind.MERGE)
        elif change is not None:
            kinds.append(Activity.Kind.RESPONSE if change.response else Activity.Kind.STATUS)
        if self.approved and not was_approved:
            kinds.append(Activity.Kind.APPROVAL)
            record(self.account_id, "post.approved", by=by, target=self)
        if self.responsible_id not in (None, responsible_id_before):
            kinds.append(Activity.Kind.ASSIGNMENT)
        names = {"before": change.from_name, "after": change.name} if change is not None and change.from_name else {}
        for kind in kinds:
            Activity.objects.record(self, kind, by=by, **names)

    @transaction.atomic(savepoint=False)
    def submit(self, values: dict[str, object], *, by: User) -> None:
        """Insert the post as `write` does, with a vote of its author, who can withdraw it."""
        self.write(values, by=by)
        self.account.votes.create(post_id=self.id, user_id=by.id)
        record_event(self, "vote.created", actor=by, ids={"user_id": by.id})
        # A trigger has updated the count in the database.
        self.votes_cache = 1

    def _must_wait(self, by: User) -> bool:
        """Return whether the post as it is now waits for approval if `by` saves it."""
        return self.waits_for_approval(by, title=self.title, html=self._html_to_judge())

    def _html_to_judge(self) -> str:
        # A content that was not read does not change now. It was judged when it was written.
        return "" if "content_html" in self.get_deferred_fields() else self.content_html or ""

    def waits_for_approval(self, by: User, *, html: str, title: str | None = None, comment_id: int = 0) -> bool:
        """Return whether the team must approve a text that a user writes: the post, or without a title a new or changed comment on it."""
        if by.is_team or self.forum_id is None:
            return False
        if self._is_by_new_member_with_links(by, title=title, html=html, comment_id=comment_id):
            return True
        if self.requires_approval is None:
            return bool(requires_approval.first(account_id=self.account_id, forum_id=self.forum_id))
        return self.requires_approval

    def _is_by_new_member_with_links(self, by: User, *, title: str | None, html: str, comment_id: int = 0) -> bool:
        """Return whether the text has links, and everyone sees fewer than `TRUSTED_TEXTS` other texts of its author, who is a member."""
        if by.is_team or not has_links(title or "", html):
            return False
        post_id = 0 if title is None else self.id or 0
        return count_public_texts(by, not_post=post_id, not_comment=comment_id) < TRUSTED_TEXTS

    @transaction.atomic(savepoint=False)
    def approve(self, *, by: User) -> None:
        """Approve the post. The caller must have locked the row."""
        self.write({"approved": True}, by=by)

    def mark_handled(self) -> None:
        """Record that the team dealt with the post, and that it needs no answer. The caller must have locked the row."""
        now = timezone.now()
        # Replace the time of a comment, because deleting that comment would make the post unanswered again.
        self.handled_at, self.answered_at = self.handled_at or now, now
        Post.objects.filter(pk=self.pk).update(handled_at=self.handled_at, answered_at=self.answered_at)

    @transaction.atomic(savepoint=False)
    def reject(self, *, by: User) -> None:
        """Move the post to the trash. Raise FieldError if it is approved. The caller must have locked the row."""
        if self.approved:
            raise FieldError("post", _("is approved"), "approved")
        record(self.account_id, "post.rejected", by=by, target=self)
        self.trash(by=by)


class StatusChangeQuerySet(models.QuerySet["StatusChange"]):
    def of_post(self, post_id: int) -> Self:
        """Return the changes of a post, oldest first, each annotated with the name of the user who made it."""
        return self.filter(post_id=post_id).annotate(nick=F("user__name")).order_by("created_at", "id")

    def answers(self) -> Self:
        """Return the changes with an official response."""
        return self.filter(response__isnull=False)

    def correct_newest_answer(self, post: Post) -> bool:
        """Give the newest answer in the history the text of the response of the post. Return whether there was one."""
        newest = self.filter(account_id=post.account_id).of_post(post.id).answers().reverse().values("id")[:1]
        rows = self.filter(account_id=post.account_id, id__in=newest)
        return bool(rows.update(response=post.response, response_html=post.response_html))

    def record(self, post: Post, *, by: User, status_id_before: int, has_response_changed: bool) -> "StatusChange":
        """Record a change that was just saved. `has_response_changed` says that it has an official response."""
        ids = {status_id_before, post.status_id}
        statuses = {status.id: status for status in post.account.statuses.filter(id__in=ids)}
        status = statuses[post.status_id]
        return self.create(
            account=post.account,
            post_id=post.id,
            from_name=statuses[status_id_before].name if status_id_before != status.id else None,
            name=status.name,
            color=status.color,
            response=post.response if has_response_changed else None,
            response_html=post.response_html if has_response_changed else None,
            user_id=by.id,
            created_at=post.updated_at,
        )


class StatusChange(TenantModel):
    """A change of a post's status, or a response of the team.

    It stores the names of the statuses, so that it can be shown after the statuses are erased.
    """

    post_id = models.BigIntegerField()
    # Null if the status stayed the same.
    from_name = models.CharField(max_length=255, null=True)
    name = models.CharField(max_length=255)
    color = models.CharField(max_length=255, null=True)
    # Null if the response stayed the same.
    response = models.CharField(max_length=65536, null=True)
    response_html = html_field()
    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = StatusChangeQuerySet.as_manager()

    class Meta:
        default_related_name = "status_changes"
        # The changes of a post, oldest first.
        indexes = [models.Index(fields=["account", "post_id", "created_at", "id"], name="statuschange_of_post")]

    def __str__(self) -> str:
        return f"{self.from_name} → {self.name}" if self.from_name else self.name
