"""Reports: members tell the team about suggestions and comments of others that should not stay.

A report is about a text as its reporter saw it, which `digest` identifies. A user reports the same text once, also if the team decided to
keep it (`dismissed_at`). After an edit, the same user may report it again. The reports of a text are erased with it.
"""

import hashlib
from typing import Any, Self

from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import Count, Q, Window
from django.db.models.functions import RowNumber
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit.models import record
from accounts.users.models import User
from core.db.tenancy import TenantModel, foreign_object


def digest_of(row: Any) -> str:
    """Return the digest of the texts of a suggestion, or of the text of a comment."""
    texts = (row.comment,) if hasattr(row, "comment_html") else (row.title, row.content)
    return hashlib.sha256(repr(texts).encode(errors="surrogatepass")).hexdigest()


def link_to(row: Any) -> dict[str, int]:
    return {f"{row._meta.model_name}_id": row.id}


def may_report(row: Any, user: User) -> bool:
    """Return whether the user may report a text that they see. The team deletes a text instead, and so does its author."""
    return not user.is_team and row.user_id != user.id


class ContentReportQuerySet(models.QuerySet["ContentReport"]):
    def open(self) -> Self:
        """Return the reports that the team has not dismissed, without those of blocked members."""
        return self.filter(dismissed_at=None, user__blocked_at=None)

    def count_by_reason(self) -> list[tuple[int | None, int | None, str, int]]:
        """Return the ids of the posts and comments, each with a reason and the number of its reports, most reports first."""
        rows = self.order_by().values_list("post_id", "comment_id", "reason").annotate(number=Count("id"))
        return list(rows.order_by("-number", "reason"))

    def oldest_of_each(self, limit: int) -> Self:
        """Return at most `limit` reports of each text, oldest first."""
        position = Window(RowNumber(), partition_by=["post_id", "comment_id"], order_by=["created_at", "id"])
        rows = self.annotate(position=position).filter(position__lte=limit)
        return rows.select_related("user").order_by("created_at", "id")

    @transaction.atomic(savepoint=False)
    def file(self, row: Any, *, by: User, reason: str, note: str = "") -> bool:
        """Report a suggestion or a comment. Return False if the user has reported the same text before.

        Raise PermissionDenied for the author and for the team.
        """
        if not may_report(row, by):
            raise PermissionDenied(_("Only members report texts, and only those of others."))
        values = {"reason": reason, "note": note, "digest": digest_of(row)}
        report, is_new = self.get_or_create(account_id=row.account_id, user_id=by.id, **link_to(row), defaults=values)
        if is_new or report.digest == values["digest"]:
            return is_new
        self.filter(pk=report.pk).update(**values, created_at=timezone.now(), dismissed_at=None)
        return True

    @transaction.atomic(savepoint=False)
    def dismiss(self, row: Any) -> None:
        """Dismiss all reports of a suggestion or a comment."""
        rows = self.filter(account_id=row.account_id, dismissed_at=None, **link_to(row))
        if number := rows.update(dismissed_at=timezone.now()):
            record(row.account_id, "report.dismissed", reports=number, **link_to(row))

    @transaction.atomic(savepoint=False)
    def accept(self, post: Any, comment: Any, *, by: User) -> None:
        """Delete a reported comment of a locked post, or else the suggestion itself."""
        record(post.account_id, "report.accepted", by=by, **link_to(comment or post))
        if comment is None:
            post.trash(by=by)
        else:
            post.erase_comment(comment)


class ContentReport(TenantModel):
    """A report of a suggestion or of a comment, which only the team sees."""

    class Reason(models.TextChoices):
        SPAM = "spam", _("Spam or advertising")
        ABUSE = "abuse", _("Insults or threats")
        PERSONAL_DATA = "personal_data", _("Personal data of somebody")
        OTHER = "other", _("Something else")

    MAX_NOTE_LENGTH = 500
    # The reports that a member may send in 24 hours.
    MAX_PER_DAY = 20

    post_id = models.BigIntegerField(null=True)
    post = foreign_object("forum.Post", "post_id", null=True)
    comment_id = models.BigIntegerField(null=True)
    comment = foreign_object("forum.Comment", "comment_id", null=True)
    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    reason = models.CharField(max_length=255, choices=Reason.choices)
    note = models.CharField(max_length=MAX_NOTE_LENGTH, blank=True, default="")
    digest = models.CharField(max_length=64)
    dismissed_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ContentReportQuerySet.as_manager()

    class Meta:
        default_related_name = "content_reports"
        constraints = [
            models.CheckConstraint(
                condition=Q(post_id=None, comment_id__isnull=False) | Q(post_id__isnull=False, comment_id=None),
                name="contentreport_of_post_or_comment",
            ),
            *(
                models.UniqueConstraint(
                    fields=["account", f"{text}_id", "user_id"], name=f"contentreport_{text}_unique"
                )
                for text in ("post", "comment")
            ),
        ]
        indexes = [
            # The foreign key uses this index when a user is erased.
            models.Index(fields=["account", "user_id"], name="contentreport_of_user"),
            # The reports that the team has to deal with.
            models.Index(fields=["account", "created_at"], name="contentreport_open", condition=Q(dismissed_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.reason} of {self.post_id or self.comment_id}"
