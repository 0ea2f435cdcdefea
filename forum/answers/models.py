"""Answers of the team: an official response, the change of status to which it belongs, and who is told.

An answer is published at once or at a time of its own. Publishing writes it to the post, whose history keeps it (`StatusChange`). Until then, the
team can change and delete it. The room above, which knows the customers, registers `CustomerNews`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.users.models import User
from core.db.locks import LockableQuerySet
from core.db.tenancy import TenantModel, foreign_object
from core.errors import Conflict, FieldError, FieldErrors
from core.registry import Resource
from forum.posts.models import Post

# The answers of a post that wait for their time, and how far ahead the time may be.
MAX_SCHEDULED, MAX_DELAY = 10, timedelta(days=3660)


@dataclass(frozen=True)
class CustomerNews:
    """How customers on whose behalf the team voted are told of an answer."""

    # Return how many of them the user would tell. Raise FieldErrors if there are too many.
    count: Callable[[Post, User], int]
    # Tell them of the response and status of the post. Return their number. Raise FieldErrors if that is not possible now.
    tell: Callable[[Post, User], int]


_news: list[CustomerNews] = []


def register_customer_news(news: CustomerNews) -> None:
    """Register how customers are told. Call this in a module `registration`."""
    _news[:] = [news]


def customer_news() -> CustomerNews:
    [news] = _news
    return news


class AnswerQuerySet(LockableQuerySet["Answer"]):
    def scheduled(self) -> Self:
        """Return the answers that are not published, the next one first."""
        return self.filter(published_at=None).order_by("publish_at", "id")

    def due(self) -> Self:
        """Return the answers whose time has come, except those of closed accounts."""
        due = self.scheduled().filter(failure="", publish_at__lte=timezone.now())
        return due.filter(account__suspended_at=None, account__deletion_at=None)


class Answer(TenantModel):
    """An answer, which may wait for the time of its publication."""

    api_resource = Resource("answer", _("Answer"), _("Answers"), icon="megaphone")

    class Failure(models.TextChoices):
        NONE = "", ""
        POST = "post", _("The suggestion was deleted or merged, so the answer is not published.")
        USER = "user", _("The author has left the team, so the answer is not published.")
        CUSTOMERS = "customers", _("The answer is published, but customers could not be told.")
        ARCHIVE = "archive", _("The answer came with an archive. It is published when you save it again.")

    post_id = models.BigIntegerField(editable=False)
    post = foreign_object(Post, "post_id")
    user_id = models.BigIntegerField(editable=False)
    user = foreign_object(User, "user_id")
    # Null if the status stays the same.
    status_id = models.BigIntegerField(null=True)
    # Empty for a change of status without a response.
    response = models.CharField(max_length=65536, blank=True, default="")
    # True if nobody is notified.
    silent = models.BooleanField(default=False)
    # True if customers who agreed to be contacted get an e-mail.
    tell_customers = models.BooleanField(default=False)
    # Null for an answer that is published at once.
    publish_at = models.DateTimeField(null=True)
    published_at = models.DateTimeField(null=True, editable=False)
    customers_told = models.IntegerField(null=True, editable=False)
    failure = models.CharField(max_length=255, choices=Failure.choices, blank=True, default="", editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = AnswerQuerySet.as_manager()

    class Meta:
        default_related_name = "answers"
        indexes = [
            models.Index(fields=["account", "post_id", "id"], name="answer_of_post"),
            # The foreign keys use these indexes when a user or a status is erased.
            models.Index(fields=["account", "user_id"], name="answer_of_user"),
            models.Index(
                fields=["account", "status_id"], name="answer_with_status", condition=Q(status_id__isnull=False)
            ),
            # The condition of the job that publishes the answers of all accounts.
            models.Index(fields=["publish_at"], name="answer_scheduled", condition=Q(published_at=None, failure="")),
        ]

    def __str__(self) -> str:
        return self.response[:80]

    @transaction.atomic(savepoint=False)
    def write(self, values: Mapping[str, Any], *, by: User) -> None:
        """Insert the answer, or update it if it is not published. Publish it unless it has a time. The caller must have locked the row.

        Raise Conflict if it is published, and FieldErrors if the answer is empty, the time is wrong or the post can't be answered.
        """
        self.check_not_published()
        for name, value in values.items():
            setattr(self, name, value)
        # The user whose text and choices these are now.
        self.user_id, self.failure, self.updated_at = by.id, "", timezone.now()
        post = self.lock_post()
        if not self.response.strip() and self.status_id in (None, post.status_id):
            raise FieldError("response", _("can't be blank, unless the status changes"), "blank")
        if self.publish_at is None:
            self.publish(post, by=by)
        else:
            self.check_time()
        self.save(force_insert=self._state.adding)

    def check_not_published(self) -> None:
        if self.published_at is not None:
            raise Conflict(_("The answer is published already."))

    def check_time(self) -> None:
        now = timezone.now()
        if self.publish_at is None or not now < self.publish_at <= now + MAX_DELAY:
            raise FieldError("publish_at", _("must be in the future, and at most ten years from now"), "time")
        others = self.account.answers.filter(post_id=self.post_id).scheduled().exclude(id=self.id)
        if others.count() >= MAX_SCHEDULED:
            message = _("is one too many: {most} answers wait for their time already")
            raise FieldError("publish_at", message, "too_many", {"most": MAX_SCHEDULED})

    def lock_post(self) -> Post:
        """Lock and return the post. Raise FieldError if it can't be answered."""
        post: Post | None = self.account.posts.live().without_tasks().locked().filter(id=self.post_id).first()
        if post is None or post.duplicate_from_id is not None:
            raise FieldError("post_id", _("was deleted or merged into another one"), "gone")
        post.account = self.account
        return post

    def publish(self, post: Post, *, by: User, ignores_customers: bool = False) -> None:
        """Write the answer to the locked post, and tell people, without saving this row.

        With `ignores_customers`, an answer is also published if customers can't be told. `failure` says so then.
        """
        values: dict[str, Any] = {}
        if self.response.strip():
            values["response"] = self.response
        if self.status_id not in (None, post.status_id):
            values["status"] = self.account.statuses.get(id=self.status_id)
        post.write(values, by=by, is_silent=self.silent)
        self.published_at = self.updated_at = timezone.now()
        if self.tell_customers and not self.silent:
            try:
                self.customers_told = customer_news().tell(post, by)
            except FieldErrors:
                if not ignores_customers:
                    raise
                self.failure = self.Failure.CUSTOMERS

    @transaction.atomic(savepoint=False)
    def publish_when_due(self) -> None:
        """Publish the locked answer, whose time has come. If that is not possible, store why."""
        author = self.account.users.filter(id=self.user_id, is_active=True, role__in=User.TEAM).first()
        if author is None:
            self.failure = self.Failure.USER
        else:
            author.account = self.account
            try:
                post = self.lock_post()
            except FieldErrors:
                self.failure = self.Failure.POST
            else:
                self.publish(post, by=author, ignores_customers=True)
        self.save()

    def erase(self) -> None:
        """Delete an answer that is not published. The caller must have locked the row. Raise Conflict if it is published."""
        self.check_not_published()
        self.account.answers.filter(id=self.id).delete()
