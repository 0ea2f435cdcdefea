"""Attachments: files of texts and of the team's records.

A file is sent before the text that names it is saved. Until then it is a *draft* of its author, and expires after a day. A text names an
attachment by its path in Markdown: `![screenshot](…/attachments/12/screenshot.png)`. Saving the text attaches the drafts that it names,
and deletes the attachments that it no longer names.
"""

import re
from collections.abc import Collection
from datetime import timedelta
from functools import cache
from typing import Any, Self
from urllib.parse import quote, urlencode

from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import PermissionDenied
from django.core.signing import BadSignature, TimestampSigner
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import JSONObject
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.attachments.holders import Holder, holders
from accounts.attachments.reading import PICTURE_TYPES
from accounts.users.models import User
from core.db.locks import acquire
from core.db.tenancy import TenantModel, foreign_object
from core.errors import FieldError
from core.files.models import StoredFile

DRAFT_LIFETIME = timedelta(days=1)
MAX_FILES, MAX_DRAFTS = 10, 30
TOKEN_LIFETIME = timedelta(hours=1)
EXPIRY_MARGIN = timedelta(minutes=5)


@cache
def path_pattern() -> re.Pattern[str]:
    """Return the pattern of the path of an attachment, whose only group is the id."""
    beginning = reverse("accounts-attachment", args=[0, "-"]).removesuffix("0/-")
    return re.compile(rf"{re.escape(beginning)}([0-9]{{1,18}})/[^/?#\s\"'<>]+")


def ids_in(text: str | None) -> set[int]:
    """Return the ids of the attachments that a text names."""
    return set(map(int, path_pattern().findall(text or "")))


def names_attachments(text: str) -> bool:
    return path_pattern().search(text) is not None


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    def current(self) -> Self:
        """Return the attachments whose files have not expired, with the files."""
        now = timezone.now()
        rows = self.select_related("file", "thumbnail")
        return rows.filter(Q(file__expires_at=None) | Q(file__expires_at__gt=now))

    def drafts(self) -> Self:
        return self.filter(row_id=None)

    def of_row(self, key: str, row_id: int) -> Self:
        return self.filter(resource=key, row_id=row_id)

    def attach(
        self, row: Any, key: str, ids: Collection[int], *, by_id: int, part: str = "", is_inline: bool = False
    ) -> None:
        """Attach those of the user's drafts that have these ids to a row. Raise FieldError if the row would have too many."""
        account = row.account
        acquire(("attachments", row.account_id, key, row.id))
        # The job that erases expired files may have read one that expires now.
        drafts = account.attachments.drafts().filter(file__expires_at__gt=timezone.now() + EXPIRY_MARGIN)
        drafts = drafts.filter(user_id=by_id, id__in=ids)
        found = list(drafts.order_by("id").values_list("id", "file_id", "thumbnail_id"))
        if not found:
            return
        of_text = account.attachments.of_row(key, row.id).filter(part=part)
        if of_text.count() + len(found) > MAX_FILES:
            raise FieldError("file", _("is one of too many (maximum is {n})"), "too_many", {"n": MAX_FILES})
        values = {"resource": key, "row_id": row.id, "part": part, "is_inline": is_inline}
        account.attachments.filter(id__in=[id for id, *_files in found]).update(**values)
        files = [id for _id, *ids in found for id in ids if id]
        account.stored_files.filter(id__in=files).update(expires_at=None)

    def follow_text(
        self, row: Any, key: str, text: str | None, *, before: str | None = None, by_id: int, part: str = ""
    ) -> None:
        """Attach the user's drafts that a saved text names, and delete the attachments that only the text `before` named.

        It takes no statement if the two texts name the same attachments.
        """
        new, old = ids_in(text), ids_in(before)
        if new - old:
            self.attach(row, key, new - old, by_id=by_id, part=part, is_inline=True)
        if old - new:
            gone = row.account.attachments.of_row(key, row.id).filter(id__in=old - new, part=part, is_inline=True)
            gone.erase()

    def erase(self) -> int:
        """Delete the attachments. A job erases their files. Return the number of attachments."""
        found = list(self.values_list("account_id", "id", "file_id", "thumbnail_id"))
        files = [(account_id, id) for account_id, _id, *ids in found for id in ids if id]
        if found:
            StoredFile.objects.filter(pk__in=files).expire()
            self.model.objects.filter(pk__in=[row[:2] for row in found]).delete()
        return len(found)

    def orphans(self, holder: Holder) -> Self:
        """Return the attachments of rows that were erased."""
        rows = holder.model._base_manager.filter(account_id=OuterRef("account_id"), id=OuterRef("row_id"))
        return self.filter(~Exists(rows), resource=holder.key, row_id__isnull=False)


class Attachment(TenantModel):
    """A file of a row (`holders`), or a draft of its author."""

    # The key of the holder, the id of the row, and the text of the row. A draft has neither.
    resource = models.CharField(max_length=255, blank=True, default="")
    row_id = models.BigIntegerField(null=True)
    part = models.CharField(max_length=255, blank=True, default="")
    # True if the text names it, and False if it was added beside the text.
    is_inline = models.BooleanField(default=False)
    file_id = models.BigIntegerField()
    file = foreign_object(StoredFile, "file_id")
    thumbnail_id = models.BigIntegerField(null=True)
    thumbnail = foreign_object(StoredFile, "thumbnail_id", null=True)
    # The size of a picture in pixels.
    width = models.IntegerField(null=True)
    height = models.IntegerField(null=True)
    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = AttachmentQuerySet.as_manager()

    class Meta:
        default_related_name = "attachments"
        indexes = [
            models.Index(fields=["account", "resource", "row_id", "id"], name="attachment_of_row"),
            models.Index(fields=["account", "user_id", "id"], name="attachment_of_user"),
            models.Index(fields=["account", "file_id"], name="attachment_of_file"),
            models.Index(
                fields=["account", "thumbnail_id"],
                name="attachment_of_thumbnail",
                condition=Q(thumbnail_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        name: str = self.file.name
        return name

    @property
    def is_picture(self) -> bool:
        return self.file.content_type in PICTURE_TYPES

    @property
    def path(self) -> str:
        return path_of(self.id, self.file.name)

    @property
    def markdown(self) -> str:
        """The text that names the attachment: a picture, or a link to another file."""
        label = re.sub(r"[\[\]\\`*_<>!]", " ", self.file.name).strip()
        return f"{'!' if self.is_picture else ''}[{label}]({self.path})"

    def is_visible_to(self, user: User | None) -> bool:
        """Return whether the user, or a visitor (None), may see it: as the row, and a draft for its author alone."""
        if self.row_id is None:
            return user is not None and user.id == self.user_id
        holder = holders.get(self.resource)
        return holder is not None and holder.visible_to(self.account, user).filter(id=self.row_id).exists()


def path_of(id: int, name: str) -> str:
    """Return the path of an attachment. Markdown reads it as one address."""
    return f"{reverse('accounts-attachment', args=[id, '-']).removesuffix('-')}{quote(name, safe='')}"


def signer() -> TimestampSigner:
    return TimestampSigner(salt="attachments")


def signed_path(attachment: Attachment) -> str:
    """Return the path with a token that admits everybody for an hour, for clients without a session."""
    return f"{attachment.path}?{urlencode({'token': signer().sign(f'{attachment.account_id} {attachment.id}')})}"


def is_signed(attachment: Attachment, token: str) -> bool:
    try:
        signed = signer().unsign(token, max_age=TOKEN_LIFETIME)
    except BadSignature:
        return False
    return signed == f"{attachment.account_id} {attachment.id}"


def find_row(account: Account, user: User, key: str, row_id: int, *, to_change: bool = False) -> tuple[Holder, Any]:
    """Return the row that holds attachments. Raise FieldError if there is no such row for the user, and PermissionDenied."""
    holder = holders.get(key)
    if holder is None:
        raise FieldError("resource", _("is not one of {keys}"), "choice", {"keys": ", ".join(sorted(holders))})
    row = holder.visible_to(account, user).filter(id=row_id).first()
    if row is None:
        raise FieldError("resource_id", _("can't be found"), "unknown")
    row.account = account
    if to_change and not holder.may_change(row, user):
        raise PermissionDenied
    return holder, row


def attached_files(key: str) -> ArraySubquery:
    """Return an annotation of rows: the attachments beside their texts, and those in their texts that are no pictures, as dicts."""
    rows = Attachment.objects.filter(account_id=OuterRef("account_id"), resource=key, row_id=OuterRef("id"))
    listed = rows.filter(~Q(is_inline=True, width__isnull=False)).order_by("id")
    columns = {"id": "id", "part": "part", "width": "width", "user_id": "user_id"}
    values = JSONObject(name=F("file__name"), size=F("file__size"), **columns)
    return ArraySubquery(listed.values(file_of_row=values))


def erase_orphans() -> int:
    """Delete the attachments of erased rows. Return their number."""
    return sum(Attachment.objects.orphans(holder).erase() for holder in holders.values())
