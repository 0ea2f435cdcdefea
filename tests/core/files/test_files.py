"""Stored files, in a directory and in a bucket."""

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import RequestFactory
from django.utils import timezone

from core.errors import FieldError, StoreUnavailable
from core.files import store
from core.files.jobs import erase_expired_files, on_account_deleted
from core.files.models import MAX_STORING_TIME, StoredFile
from core.files.responses import file_response
from tests.support.bucket import serving_bucket
from tests.support.jobs import run_jobs
from tests.support.queries import capture_queries
from tests.support.tables import table

CONTENT = bytes(range(256)) * 4096


@pytest.fixture(autouse=True)
def directory(settings, tmp_path):
    settings.FILES_DIR = str(tmp_path)
    store.get_store.cache_clear()
    yield tmp_path
    store.get_store.cache_clear()


@pytest.fixture(scope="module")
def bucket():
    with serving_bucket("files") as options:
        yield options


def save(account, content=CONTENT, name="a.bin", *, max_bytes=2 * 1024 * 1024, **values) -> StoredFile:
    chunks = (content[start : start + 100_000] for start in range(0, len(content), 100_000))
    return StoredFile.objects.store(
        account, name=name, chunks=chunks, content_type="image/png", max_bytes=max_bytes, **values
    )


def stored(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def use(file: StoredFile) -> None:
    """Read a stored file in every way."""
    assert (file.size, file.sha256) == (len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    assert b"".join(file.read()) == CONTENT
    assert b"".join(file.read(10, 300_000)) == CONTENT[10:300_010]
    assert b"".join(file.read(len(CONTENT) - 5, 300)) == CONTENT[-5:]
    reader = file.open()
    reader.seek(1000)
    assert bytes(reader.read(10)) == CONTENT[1000:1010]
    with file.local_path() as path:
        assert path.read_bytes() == CONTENT


def test_it_works(acme, directory):
    file, statements = capture_queries(lambda: save(acme.account))
    assert len([statement for statement in statements if "SAVEPOINT" not in statement]) == 5
    use(file)
    [path] = stored(directory)
    assert path == directory / file.key
    assert file.key.startswith(f"{acme.account.id}/")
    erase_expired_files()
    assert stored(directory) == [path]
    file.expire()
    # A process that was killed while it wrote leaves a part.
    Path(f"{path}#1").write_bytes(b"part")
    erase_expired_files()
    assert (stored(directory), StoredFile.objects.count()) == ([], 0)
    # The bytes are gone and the row is not, if a job was killed in between.
    again = save(acme.account, expires_at=timezone.now() - timedelta(seconds=1))
    store.delete([again.key])
    erase_expired_files()
    assert StoredFile.objects.count() == 0


def test_it_works_in_a_bucket(acme, settings, bucket):
    settings.FILES_S3 = bucket
    store.get_store.cache_clear()
    file = save(acme.account)
    use(file)
    assert save(acme.account, b"").size == 0
    file.expire()
    erase_expired_files()
    with pytest.raises(StoreUnavailable):
        list(file.read())
    assert StoredFile.objects.count() == 1
    for keys in store.keys_of(str(acme.account.id)):
        store.delete(keys)
    assert list(store.obstore.list(store.get_store())) == []


def test_it_rejects_a_wrong_secret(acme, settings, bucket, caplog):
    settings.FILES_S3 = {**bucket, "secret_access_key": "wrong"}
    store.get_store.cache_clear()
    with pytest.raises(StoreUnavailable):
        save(acme.account)
    # The row expires, as the bytes may have been stored.
    file = StoredFile.objects.get()
    assert timezone.now() < file.expires_at < timezone.now() + MAX_STORING_TIME
    assert "wrong" not in caplog.text


def test_it_rejects_files_that_are_too_large(acme, settings, directory):
    with pytest.raises(FieldError) as caught:
        save(acme.account, max_bytes=1024 * 1024 - 1)
    assert str(caught.value) == "file is too large (maximum is 0 MiB)"
    quota = "file does not fit into the space for the files of the account (maximum is 1 MiB)"
    settings.FILES_QUOTA = 2 * len(CONTENT)
    acme.account.files_quota = len(CONTENT)
    acme.account.save()
    assert stored(directory) == []
    first = save(acme.account)
    for content in (b"x", CONTENT):
        with pytest.raises(FieldError) as caught:
            save(acme.account, content)
        assert str(caught.value) == quota
    assert StoredFile.objects.get() == first
    # An expired file does not count.
    first.expire()
    save(acme.account)


def test_a_failed_upload_leaves_nothing(acme, directory):
    def chunks():
        yield CONTENT
        raise ConnectionError

    with pytest.raises(ConnectionError):
        StoredFile.objects.store(acme.account, name="a", chunks=chunks(), content_type="", max_bytes=10**7)
    assert (stored(directory), StoredFile.objects.count()) == ([], 0)


def test_the_files_of_a_deleted_account_are_erased(other, acme, directory):
    file, kept = save(other.account), save(acme.account)
    StoredFile.objects.filter(pk=file.pk).delete()
    on_account_deleted(instance=other.account)
    assert run_jobs() == 0
    assert run_jobs(later=MAX_STORING_TIME + timedelta(minutes=2)) == 1
    assert stored(directory) == [directory / kept.key]


def respond(file, method="GET", *, inline=True, **headers):
    request = getattr(RequestFactory(), method.lower())("/", headers=headers)
    response = file_response(request, file, inline=inline)
    body = b"".join(response) if response.streaming else response.content
    shown = ("Content-Type", "Content-Length", "Content-Range", "Content-Disposition")
    return response.status_code, body, [response.get(name) for name in shown]


def test_the_response_has_the_file(acme):
    file = save(acme.account, b"0123456789", 'zażółć "a".png')
    name = "filename*=utf-8''za%C5%BC%C3%B3%C5%82%C4%87%20%22a%22.png"
    assert respond(file) == (200, b"0123456789", ["image/png", "10", None, f"inline; {name}"])
    assert respond(file, "HEAD") == (200, b"", ["image/png", "10", None, f"inline; {name}"])
    assert respond(file, inline=False)[2] == ["application/octet-stream", "10", None, f"attachment; {name}"]
    response = file_response(RequestFactory().get("/"), file, inline=True)
    assert {name: response[name] for name in ("ETag", "Cache-Control", "X-Content-Type-Options")} == {
        "ETag": f'"{file.sha256}"',
        "Cache-Control": "private, no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    assert response["Content-Security-Policy"] == "sandbox; default-src 'none'"


@table(
    "part, status, body, content_range",
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-30", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=-0", 416, b"", "bytes */10"),
        ("bytes=3-2", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("lines=0-1", 200, b"0123456789", None),
        ("bytes=" + "9" * 30 + "-", 200, b"0123456789", None),
    ],
)
def test_a_range(acme, part, status, body, content_range):
    found = respond(save(acme.account, b"0123456789"), Range=part)
    assert (found[0], found[1], found[2][2]) == (status, body, content_range)


def test_conditions(acme):
    file = save(acme.account, b"0123456789")
    etag = f'"{file.sha256}"'
    assert respond(file, if_none_match=etag)[:2] == (304, b"")
    assert respond(file, if_none_match='"other"')[0] == 200
    assert respond(file, Range="bytes=0-1", if_range=etag)[:2] == (206, b"01")
    assert respond(file, Range="bytes=0-1", if_range='"other"')[0] == 200
