"""Stored files. A row exists before the bytes of its file and after them, so that no crash leaves bytes that no row names."""

import hashlib
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from django.apps import apps
from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Func, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.db import locks
from core.db.tenancy import TenantModel
from core.db.transactions import in_transaction
from core.errors import FieldError, StoreUnavailable
from core.files import store
from core.tenants import TenantAccount

MEBIBYTE = 1024 * 1024
# A row whose bytes were not stored within this time expires.
MAX_STORING_TIME = timedelta(hours=1)
MAX_NAME_LENGTH = 255
BATCH_SIZE = 200


class StoredFileQuerySet(models.QuerySet["StoredFile"]):
    def current(self) -> Self:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))

    def store(
        self,
        account: TenantAccount,
        *,
        name: str,
        chunks: Iterable[bytes],
        content_type: str,
        max_bytes: int,
        expires_at: datetime | None = None,
        is_counted: bool = True,
        field: str = "file",
    ) -> "StoredFile":
        """Store a file of at most `max_bytes`, and return it. Without `expires_at`, it is kept until its owner calls `expire`.

        The quota of the account applies if the file is counted. Call this outside of a transaction. Raise FieldError for the `field` if the
        file or the files of the account are too large, and StoreUnavailable. It takes five statements.
        """
        file = self.model(
            account_id=account.id,
            name=name[-MAX_NAME_LENGTH:],
            content_type=content_type,
            key=f"{account.id}/{secrets.token_hex(20)}",
            expires_at=timezone.now() + MAX_STORING_TIME,
            is_counted=is_counted,
        )
        space = file.find_space(account)
        space.check(1, field)
        with transaction.atomic(durable=True):
            file.save(force_insert=True)
        try:
            digest = hashlib.sha256()
            store.put(file.key, file.measure(chunks, digest, space, max_bytes, field))
            file.sha256 = digest.hexdigest()
            in_transaction(lambda: file.confirm(account, expires_at, field))
        except BaseException:
            # If this fails too, the row expires soon.
            with suppress(StoreUnavailable):
                file.erase()
            raise
        return file

    def expire(self) -> int:
        """Let the files expire now. A job erases them."""
        return self.update(expires_at=timezone.now())

    def erase_expired(self) -> int:
        """Erase the bytes and the rows of at most `BATCH_SIZE` expired files. Return their number."""
        rows = self.filter(expires_at__lte=timezone.now()).order_by("expires_at")
        keys = dict(rows.values_list("pk", "key")[:BATCH_SIZE])
        store.delete(keys.values())
        return self.filter(pk__in=list(keys)).delete()[0] if keys else 0


class StoredFile(TenantModel):
    """A file of an account, whose bytes are in the store under `key`."""

    # Random, because the name of a file in a bucket may become known to others than its readers.
    key = models.CharField(max_length=255)
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    content_type = models.CharField(max_length=255)
    size = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # None for a file that is kept.
    expires_at = models.DateTimeField(null=True)
    # False for a file that the quota of the account leaves out. It expires.
    is_counted = models.BooleanField(default=True, db_default=True)

    objects = StoredFileQuerySet.as_manager()

    class Meta:
        default_related_name = "stored_files"
        indexes = [
            models.Index(fields=["account", "expires_at"], include=["size"], name="storedfile_sizes"),
            models.Index(fields=["expires_at"], name="storedfile_expired", condition=Q(expires_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name

    def find_space(self, account: TenantAccount) -> "Space":
        return space_of(account) if self.is_counted else Space(quota=sys.maxsize, used=0)

    def measure(
        self, chunks: Iterable[bytes], digest: Any, space: "Space", max_bytes: int, field: str
    ) -> Iterator[bytes]:
        """Yield the chunks, and count and digest them. Raise FieldError if they are too many."""
        for chunk in chunks:
            self.size += len(chunk)
            if self.size > max_bytes:
                raise FieldError(
                    field, _("is too large (maximum is {n} MiB)"), "too_large", {"n": max_bytes // MEBIBYTE}
                )
            space.check(self.size, field)
            digest.update(chunk)
            yield chunk

    def confirm(self, account: TenantAccount, expires_at: datetime | None, field: str) -> None:
        """Keep the file, whose bytes are stored. Simultaneous files of the account wait for each other, and are counted."""
        locks.acquire(("stored files", account.id))
        self.find_space(account).check(self.size, field)
        self.expires_at = expires_at
        self.save(update_fields=["size", "sha256", "expires_at"])

    def open(self) -> BinaryIO:
        """Return a file with `read` and `seek`, which the caller closes."""
        return store.open_file(self.key)

    def read(self, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yield the bytes from `start`, in chunks."""
        return store.read(self.key, start, self.size if length is None else min(start + length, self.size))

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """Yield the lines from `start`, each with its line feed."""
        rest = b""
        for chunk in self.read(start):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line + b"\n" for line in lines)
        if rest:
            yield rest

    @contextmanager
    def local_path(self) -> Iterator[Path]:
        """Yield a path on this machine, which is valid within the context: of the stored file itself, or of a copy."""
        if (path := store.path_of(self.key)) is not None:
            yield path
            return
        directory = Path(tempfile.mkdtemp(prefix="rostrum-"))
        try:
            with (directory / "file").open("wb") as copy:
                copy.writelines(self.read())
            yield directory / "file"
        finally:
            shutil.rmtree(directory)

    def expire(self) -> None:
        """Let the file expire now. A job erases it."""
        self.expires_at = timezone.now()
        self.save(update_fields=["expires_at"])

    def erase(self) -> None:
        """Erase the bytes, and then the row."""
        store.delete([self.key])
        self.delete()


class Space(NamedTuple):
    """The bytes that an account may store, and those that it has stored."""

    quota: int
    used: int

    def check(self, size: int, field: str) -> None:
        """Raise FieldError if there is no space for a further file of this size."""
        if self.used + size > self.quota:
            message = _("does not fit into the space for the files of the account (maximum is {n} MiB)")
            raise FieldError(field, message, "quota", {"n": self.quota // MEBIBYTE})


def space_of(account: TenantAccount) -> Space:
    """Return the space of the account. It takes one statement."""
    files = StoredFile.objects.current().filter(account_id=OuterRef("id")).order_by()
    # The index with the sizes does not tell which files are counted, so those that are not, which expire, are subtracted.
    parts = (files, files.filter(expires_at__isnull=False, is_counted=False))
    sums = (Subquery(rows.values(used=Func(F("size"), function="sum"))) for rows in parts)
    every, uncounted = (Coalesce(size, 0, output_field=models.BigIntegerField()) for size in sums)
    accounts = apps.get_model(settings.ACCOUNT_MODEL)._default_manager.filter(id=account.id)
    return Space(
        *accounts.annotate(used=every - uncounted, quota=Coalesce("files_quota", settings.FILES_QUOTA))
        .values_list("quota", "used")
        .get()
    )
