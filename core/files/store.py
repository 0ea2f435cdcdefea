"""The store of the bytes of files: a directory, or a bucket of a store that speaks S3."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from django.conf import settings
from obstore.exceptions import BaseError
from obstore.store import LocalStore, S3Store

from core.errors import StoreUnavailable

if TYPE_CHECKING:
    from obstore import ReadableFile

logger = logging.getLogger("rostrum.files")

# The bytes that are read from the store together.
CHUNK_SIZE = 256 * 1024


@cache
def get_store() -> LocalStore | S3Store:
    """Return the store of the settings. It is opened in the process that uses it, because its threads would not survive a fork."""
    if settings.FILES_S3:
        client = {"connect_timeout": "5s", "timeout": "60s", "allow_http": True}
        retry = {"max_retries": 2, "retry_timeout": timedelta(seconds=20)}
        store: S3Store = S3Store(**settings.FILES_S3, client_options=client, retry_config=retry)  # type: ignore[arg-type]  # dicts
        return store
    return LocalStore(settings.FILES_DIR, mkdir=True)


@contextmanager
def reporting_failures() -> Iterator[None]:
    """Raise StoreUnavailable for an error of the store. Its message may contain the address, so only its type is logged."""
    try:
        yield
    except (BaseError, FileNotFoundError) as error:
        logger.error("the store of files failed: %s", type(error).__name__)
        raise StoreUnavailable from None


def put(key: str, chunks: Iterable[bytes]) -> None:
    """Store the bytes. If `chunks` raises an exception, nothing is stored."""
    with reporting_failures():
        obstore.put(get_store(), key, iter(chunks))


def read(key: str, start: int, end: int) -> Iterator[bytes]:
    """Return the bytes from `start` up to `end`, in chunks."""
    if start >= end:
        return iter(())
    with reporting_failures():
        found = obstore.get(get_store(), key, options={"range": (start, end)})
    return map(bytes, found.stream(CHUNK_SIZE))


def open_file(key: str) -> "ReadableFile":
    with reporting_failures():
        return obstore.open_reader(get_store(), key)


def path_of(key: str) -> Path | None:
    """Return the path of the bytes on this machine, or None if a bucket has them."""
    return None if settings.FILES_S3 else Path(settings.FILES_DIR, key)


def delete(keys: Iterable[str]) -> None:
    """Delete the bytes with these keys. Those that do not exist are ignored."""
    if settings.FILES_S3:
        if bucket_keys := list(keys):
            with reporting_failures():
                obstore.delete(get_store(), bucket_keys)
        return
    for key in keys:
        # With the parts that a process left that was killed while it wrote. Their names continue the key.
        for path in Path(settings.FILES_DIR).glob(f"{key}*"):
            path.unlink(missing_ok=True)


def keys_of(prefix: str) -> Iterator[list[str]]:
    """Yield the keys that begin with `prefix` and a slash, in batches."""
    with reporting_failures():
        for batch in obstore.list(get_store(), prefix, chunk_size=500):
            yield [entry["path"] for entry in batch]
