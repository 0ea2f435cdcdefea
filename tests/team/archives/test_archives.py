"""The archive of an account: its export, and its import into another account."""

import contextlib
import io
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from resource import RUSAGE_SELF, getrusage
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from PIL import Image

from accounts.brand.models import Branding
from accounts.sign_in.models import SignInCode
from accounts.users.models import User
from config.management.commands.demo import create_demo_account
from core.changes.models import Change
from core.files.models import StoredFile
from forum.texts.markdown import html_field
from team.archives import reading
from team.archives.importing import check_archive, read_archive
from team.archives.reading import ArchiveError
from team.archives.tables import LEFT_OUT, RENDERED, TABLES
from team.archives.writing import MANIFEST, write_archive
from team.backers.models import process_queue
from team.duplicates.models import dismiss, fill_all, keys_in_common
from team.management.commands.recount import recount
from tests.support.archives import archive_of, contents_of, edit, grow, make_target, manifest_of, pack, rows_of
from tests.support.factories import PASSWORD, make_account, make_client, make_message, make_post
from tests.support.fill import SECRET, fill_both

commits = pytest.mark.django_db(transaction=True)


def save_file(account, content: bytes, **values) -> StoredFile:
    options = {"name": "a.png", "content_type": "image/png", "max_bytes": 10**6, **values}
    return StoredFile.objects.store(account, chunks=iter([content]), **options)


@commits
def test_it_works(acme, other):
    """Each row comes back with its values, and nothing of another account and no secret is in the archive."""
    fill_both(acme, other)
    post = make_post(acme.alice, content="**Bold**, <b>not bold</b>")
    post.comment(by=acme.carol, text="Look, @bob")
    post.comment(by=acme.bob, text="Look, @carol", internal=True)
    acme.account.customer_messages.update(state="sent")
    # Clients may send numbers that a float cannot hold.
    client = make_client(acme.alice)
    with connection.cursor() as cursor:
        exact = """{"a": 12345678901234567890.50, "b": "\\u00e9\\\\"}"""
        cursor.execute("UPDATE crm_client SET additional_fields = %s::jsonb WHERE id = %s", [exact, client.id])
    same = [make_client(acme.alice, "Twins", email="same@example.com").id for _ in range(2)]
    fill_all(acme.account.id)
    dismiss(acme.account, acme.alice, "client", keys_in_common(acme.account, "client", same))
    logo = io.BytesIO()
    Image.new("RGB", (90, 30), "#336699").save(logo, "PNG")
    links = [{"label": "Help", "url": "https://help.example.com"}]
    Branding.change(acme.account, accent="#0a7a4b", logo=logo.getvalue(), icon=logo.getvalue(), header_links=links)
    picture = save_file(acme.account, b"\x89PNG" * 100_000)
    save_file(acme.account, b"of an export", expires_at=timezone.now() + timedelta(days=1))
    archive = archive_of(acme.account)
    text = json.dumps(contents_of(archive))
    secrets = [
        acme.alice.password,
        *(sealed for endpoint in acme.account.webhooks.all() for sealed in (endpoint.secret, *endpoint.secrets)),
        *(bytes(row.digest).hex() for rows in (acme.account.tokens, acme.account.sessions) for row in rows.all()),
    ]
    others = ["mallory-own", str(acme.account.id), str(other.account.id)]
    assert len(secrets) > 4
    assert [secret for secret in (*secrets, *others) if secret in text] == []
    manifest = manifest_of(archive)
    assert (manifest["format"], manifest["version"], manifest["account"]["prefix"]) == ("rostrum-archive", 1, "acme")
    assert [file["rows"] for file in manifest["files"]] == [len(lines) for lines in contents_of(archive).values()]
    target = make_target(acme.alice)
    changes = Change.objects.filter(account_id=target.id).count()
    report = read_archive(target, archive)
    assert report.addresses.keys() == {f"{SECRET}.elsewhere.test"}
    assert report.owner == "alice"
    # Everything is the same, but the address that the other account has, and the passwords.
    [address] = report.addresses.values()
    before, after = contents_of(archive), contents_of(archive_of(target))
    before["forums.jsonl"] = [line.replace(f"{SECRET}.elsewhere.test", address) for line in before["forums.jsonl"]]
    assert after == before
    process_queue(acme.account.id)
    fill_all(acme.account.id)
    assert set(map(tuple, recount(target.id).values())) == {()}
    # Files that expire are not in the archive.
    acme.account.stored_files.exclude(expires_at=None).delete()
    # The account of the archive publishes the answers that wait.
    assert {*target.answers.values_list("failure", flat=True)} == {"archive"}
    acme.account.answers.update(failure="archive")
    assert rows_of(target) == rows_of(acme.account)
    assert target.client_keys.filter(client_id__in=same, is_dismissed=True).count() == 4
    assert not target.client_keys.filter(client_id__in=same).open().exists()
    assert b"".join(target.stored_files.get(id=picture.id).read()) == b"\x89PNG" * 100_000
    # The owner has the password of the new account, others have none, and new rows get further ids.
    owner = target.users.get(role=User.Role.OWNER)
    assert owner.check_password(PASSWORD)
    assert not any(user.has_usable_password() for user in target.users.exclude(id=owner.id))
    assert make_post(owner).id > manifest_of(archive)["last_id"]
    # Webhooks are disabled, and have a follower and a secret of their own.
    webhook = target.webhooks.get()
    assert (webhook.enabled, webhook.disabled_reason) == (False, "user")
    assert webhook.secrets != acme.account.webhooks.get().secrets
    # Nobody is notified of the import, and nobody can sign in by what was sent before.
    assert Change.objects.filter(account_id=target.id, resource="client").count() == 0
    assert Change.objects.filter(account_id=target.id).count() == changes + 1
    assert not target.notifications.exists()
    assert not SignInCode.objects.filter(account=target).exists()


def test_each_table_of_an_account_is_declared(db):
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.columns WHERE column_name = 'account_id'")
        stored = {name for (name,) in cursor.fetchall()}
    archived = [table.name for name, table in TABLES.items() if name != "account"]
    left_out = [name for names in LEFT_OUT.values() for name in names.split()]
    assert sorted([*archived, *left_out]) == sorted(stored), (
        "name the table in `team/archives/tables.py`: in TABLES, or in LEFT_OUT with the reason"
    )
    # A column that is left out, and a column with rendered Markdown, exist.
    for table in TABLES.values():
        columns = {field.column for field in table.model._meta.concrete_fields}
        assert {name for names in table.left_out.values() for name in names.split()} <= columns
        rendered = {
            field.column for field in table.model._meta.concrete_fields if field.max_length == html_field().max_length
        }
        assert {name: RENDERED[name] in columns for name in rendered} == dict.fromkeys(rendered, True)


ACCOUNT_COLUMNS = """
name initial_module time_zone language currency country agents_see confirms_user_links link_guests_by_email won_reasons lost_reasons trash_days inactive_member_months
exchange_rates exchange_rates_on takes_euro_rates start_page
"""
USER_COLUMNS = """
id last_login login email name role group_id notification shows_votes description www language time_zone delivery digest_hour digest_weekday
notify_new_posts notify_sign_ups bounces bounced_at shortcuts preferences asks_name is_active blocked_at erased_at created_at updated_at
"""


def test_columns_that_a_stranger_may_set():
    """A new column is exported and imported. If an owner must not set it, or it is a secret, leave it out in `team/archives/tables.py`."""
    assert TABLES["account"].columns == ACCOUNT_COLUMNS.split()
    assert TABLES["users"].columns == USER_COLUMNS.split()


@commits
def test_the_rows_are_those_of_one_moment(acme):
    make_client(acme.alice, "before")

    def add_client() -> None:
        make_client(acme.alice, "after")
        connection.close()

    def progress(name: str, _rows: int) -> None:
        if name == "users.jsonl":
            with ThreadPoolExecutor(1) as pool:
                pool.submit(add_client).result()

    file = io.BytesIO()
    write_archive(acme.account, file, progress=progress)
    assert [json.loads(line)["name"] for line in contents_of(file)["clients.jsonl"]] == ["before"]
    assert acme.account.clients.count() == 2


def with_file(archive: io.BytesIO, name: str, content: bytes = b"", **options) -> io.BytesIO:
    """Return a copy of an archive with one more file, or with another one of this name."""
    copy = io.BytesIO()
    with ZipFile(archive) as old, ZipFile(copy, "w") as new:
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info.filename, old.read(info))
        new.writestr(name, content, **options)
    return copy


def changed(archive: io.BytesIO, **values) -> io.BytesIO:
    return with_file(archive, MANIFEST, json.dumps(manifest_of(archive) | values).encode())


def with_entry(archive: io.BytesIO, of: str, **values) -> io.BytesIO:
    files = [file | values if file["name"] == of else file for file in manifest_of(archive)["files"]]
    return changed(archive, files=files)


def test_values(**values):
    return lambda row: row.update(values)


test_values.__test__ = False


@contextlib.contextmanager
def suppress_error(name: str, texts: dict[str, str]):
    try:
        yield
    except ArchiveError as error:
        texts[name] = error.text


@commits
def test_it_rejects_wrong_archives(acme, monkeypatch):
    make_message(acme.alice)
    client, merged = make_client(acme.alice, "kept"), make_client(acme.alice, "merged")
    acme.account.merges.merge(acme.account, "client", client.id, merged.id, {}, by=acme.alice)
    file = save_file(acme.account, b"bytes")
    archive, target = archive_of(acme.account), make_target(acme.alice)
    whole, row = archive.getvalue(), test_values
    monkeypatch.setattr(reading, "MAX_BYTES", 9 * 1024**2)
    path = f"files/{file.id}"
    broken = bytearray(whole)
    broken[whole.index(b"clients.jsonl") + 60] ^= 255
    cases = {
        "not a ZIP": (io.BytesIO(b"PK"), "it is not a ZIP file, or is incomplete (File is not a zip file)"),
        "truncated": (io.BytesIO(whole[:-50]), "it is not a ZIP file, or is incomplete (File is not a zip file)"),
        "damaged": (io.BytesIO(bytes(broken)), "clients.jsonl: it is damaged or incomplete"),
        "path": (with_file(archive, "../x"), "../x: this version knows no such file"),
        "twice": (
            changed(archive, files=manifest_of(archive)["files"] * 2),
            "manifest.json: it does not name each file of the archive once",
        ),
        "bzip2": (
            with_file(archive, "tags.jsonl", b"x", compress_type=ZIP_BZIP2),
            "tags.jsonl: it is encrypted, or not compressed by deflate",
        ),
        "bomb": (
            with_file(archive, "tags.jsonl", b"\n" * 9 * 1024**2, compress_type=ZIP_DEFLATED),
            "its files are too large (maximum is 9,437,184 bytes together)",
        ),
        "other bytes": (
            with_file(archive, path, b"other"),
            f"{path}: its size or its checksum is not that of files.jsonl",
        ),
        "no bytes": (
            edit(archive, "files.jsonl", row(id=9)),
            "files/9: it is missing, damaged or incomplete",
        ),
        "more bytes": (
            with_file(archive, "files/9"),
            "files.jsonl: it does not describe each stored file once",
        ),
        "no manifest": (with_file(archive, MANIFEST), "manifest.json: it is missing or damaged"),
        "format": (changed(archive, version=2), "manifest.json: it is not of the format rostrum-archive, version 1"),
        "newer": (
            changed(archive, schema={"crm": "0999_more"}),
            "manifest.json: a newer version wrote it, with the migration crm.0999_more",
        ),
        "last id": (changed(archive, last_id=2**60), f"manifest.json: last_id is not between 0 and {2**53 - 1}"),
        "unknown table": (
            with_entry(archive, "tags.jsonl", name="secrets.jsonl"),
            "manifest.json: it describes a file that this version does not know",
        ),
        "unknown column": (
            with_entry(archive, "tags.jsonl", columns=["id", "password"]),
            "tags.jsonl: this version knows no column password",
        ),
        "missing column": (
            with_entry(archive, "tags.jsonl", columns=["id"]),
            "tags.jsonl: the column name is missing",
        ),
        "no forum": (
            pack(
                {"format": "rostrum-archive", "version": 1, "schema": {}, "last_id": 0, "files": []},
                {},
            ),
            "it has no default forum, or no statuses",
        ),
        "checksum": (
            with_entry(archive, "clients.jsonl", sha256="0" * 64),
            "clients.jsonl: the number of its rows or its checksum is not that of the manifest",
        ),
        "rendered text": (
            edit(archive, "posts.jsonl", row(content_html="<script>alert(1)</script>")),
            "posts.jsonl, line 1: it has not exactly the columns of the manifest: content_html",
        ),
        "another account": (
            edit(archive, "clients.jsonl", row(account_id=acme.account.id)),
            "clients.jsonl, line 1: it has not exactly the columns of the manifest: account_id",
        ),
        "no JSON": (
            edit(archive, "clients.jsonl", lambda _row: "{"),
            "clients.jsonl, line 1: unexpected end of data: line 2 column 1 (char 2)",
        ),
        "deep": (
            edit(
                archive,
                "clients.jsonl",
                lambda row: json.dumps({**row, "additional_fields": "deep"}).replace('"deep"', "[" * 900 + "]" * 900),
            ),
            "clients.jsonl, line 1: additional_fields has characters that XML does not allow, or is nested too deeply",
        ),
        "no id": (edit(archive, "clients.jsonl", row(id=None)), "clients.jsonl, line 1: id is null"),
        "id": (
            edit(archive, "clients.jsonl", row(id=2**53)),
            f"clients.jsonl, line 1: id is not an id from 1 to {2**53 - 1}",
        ),
        "time": (
            edit(archive, "clients.jsonl", row(created_at="infinity")),
            "clients.jsonl, line 1: created_at is not a time with an offset in ISO 8601",
        ),
        "number": (
            edit(archive, "clients.jsonl", row(discount="NaN")),
            "clients.jsonl, line 1: discount is not a number",
        ),
        "XML": (
            edit(archive, "clients.jsonl", row(name="a\0b")),
            "clients.jsonl, line 1: name is not a text, or has characters that XML does not allow",
        ),
        "XML in JSON": (
            edit(archive, "clients.jsonl", row(additional_fields={"a": ["\x1b"]})),
            "clients.jsonl, line 1: additional_fields has characters that XML does not allow, or is nested too deeply",
        ),
        "length": (
            edit(archive, "clients.jsonl", row(name="x" * 256), line=2),
            "clients.jsonl, line 2: value too long for type character varying(255)",
        ),
        "choice": (
            edit(archive, "users.jsonl", row(role="root")),
            "users.jsonl, line 1: role has a value that this version does not know",
        ),
        "login": (
            edit(archive, "users.jsonl", row(login="a:b")),
            "users.jsonl, line 1: login has a value that this version does not know",
        ),
        "zone": (
            edit(archive, "account.jsonl", row(time_zone="Mars/Base")),
            "account.jsonl, line 1: time_zone has a value that this version does not know",
        ),
        "twice the login": (
            edit(archive, "users.jsonl", row(login="BOB"), line=3),
            'users.jsonl, line 3: duplicate key value violates unique constraint "user_login_unique"',
        ),
        "link": (
            edit(archive, "posts.jsonl", row(user_id=999)),
            'posts.jsonl, line 1: insert or update on table "forum_post" violates foreign key constraint "forum_post_user_id_fk"',
        ),
        "circle": (
            edit(archive, "posts.jsonl", row(duplicate_from_id=999)),
            'posts.jsonl: insert or update on table "forum_post" violates foreign key constraint "forum_post_duplicate_from_id_fk"',
        ),
        "merge": (
            edit(archive, "merges.jsonl", row(changes={"account_id": {"before": acme.account.id, "after": target.id}})),
            "merges.jsonl, line 1: changes has a value that this version does not know",
        ),
        "line": (
            edit(archive, "clients.jsonl", lambda _row: "x" * (8 * 1024**2 + 1)),
            "clients.jsonl, line 1: it is too long (maximum is 8,388,608 bytes)",
        ),
    }
    before = rows_of(target)
    found = {}
    for name, (wrong, _expected) in cases.items():
        found[name] = "no error"
        with suppress_error(name, found):
            check_archive(wrong)
            read_archive(target, wrong)
    assert found == {name: expected for name, (_file, expected) in cases.items()}
    # The stored files of failed imports have expired. The account is still empty.
    assert target.stored_files.exists()
    assert not target.stored_files.current().exists()
    target.stored_files.all().delete()
    assert rows_of(target) == before
    read_archive(target, archive)


def test_it_rejects_an_account_with_rows(acme, other):
    acme_rows = rows_of(acme.account)
    manifest = {"format": "rostrum-archive", "version": 1, "schema": {}, "last_id": 0, "files": []}
    archive = pack(manifest, {})
    expected = "the account is not empty: it has more than its owner and one forum"
    with pytest.raises(ArchiveError, match=expected):
        read_archive(acme.account, archive)
    make_client(other.mallory)
    with pytest.raises(ArchiveError, match="the account is not empty: it has clients"):
        read_archive(other.account, archive)
    assert rows_of(acme.account) == acme_rows


@commits
def test_what_a_stranger_changed(acme, other):
    """Rendered texts, keys and roles are not taken from the archive, and rows of other accounts cannot be named."""
    client, merged = make_client(acme.alice, email="ann@example.com"), make_client(acme.alice)
    post = make_post(acme.alice, content="text")
    for voter in (client, merged):
        post.cast_proxy_vote(by=acme.alice, client_id=voter.id)
    acme.account.merges.merge(acme.account, "client", client.id, merged.id, {}, by=acme.alice)
    script = "<script>alert(1)</script>"
    archive = edit(archive_of(acme.account), "posts.jsonl", lambda row: row.update(content=script, title=script))
    archive = edit(archive, "clients.jsonl", lambda row: row.update(email=" Bea@EXAMPLE.com", name=" Bea "))
    # The undo of a merge inserts the votes that the merge has deleted.
    elsewhere = make_post(other.mallory)
    deleted = {"account_id": other.account.id, "post_id": elsewhere.id, "user_id": other.mallory.id}
    archive = edit(archive, "merged_rows.jsonl", lambda row: row["deleted"].update(deleted))
    target, _owner, _token = make_account("copy", login="boss")
    report = read_archive(target, archive)
    assert "<script" not in target.posts.get().content_html
    stored = target.clients.get(id=client.id)
    assert (stored.name, stored.email, stored.email_key) == ("Bea", "Bea@EXAMPLE.com", "bea@example.com")
    target.merges.get().undo(by=target.users.get(role="admin"))
    assert not other.account.proxy_votes.exists()
    # The owner of the account is nobody of the archive, whose owner becomes an admin.
    assert report.owner == "boss"
    roles = {"alice": "admin", "bob": "agent", "boss": "owner", "carol": "member"}
    assert dict(target.users.values_list("login", "role")) == roles
    assert target.users.get(login="boss").check_password(PASSWORD)
    assert target.users.get(login="boss").id > manifest_of(archive)["last_id"]
    assert not target.tokens.exists()


@commits
def test_the_commands(acme, tmp_path):
    make_client(acme.alice)
    make_target(acme.alice)
    path = tmp_path / "acme.zip"

    def run(*arguments: str) -> str:
        output = io.StringIO()
        try:
            call_command(*arguments, stdout=output)
        except CommandError as error:
            return f"error: {error}"
        return output.getvalue()

    rows = 20
    outputs = {
        ("export_account", "nobody", str(path)): "error: There is no account nobody.",
        ("export_account", "acme", str(path)): f"{rows} rows of acme are in {path}.\n",
        ("export_account", "acme", f"{tmp_path}"): f"error: {tmp_path} cannot be created: File exists.",
        ("import_account", "nobody", str(path)): "error: There is no account nobody: create it with `create_account`.",
        ("import_account", "copy", "nothing.zip"): "error: nothing.zip cannot be read: No such file or directory.",
        (
            "import_account",
            "copy",
            __file__,
        ): f"error: {__file__}: it is not a ZIP file, or is incomplete (File is not a zip file)",
        (
            "import_account",
            "copy",
            str(path),
            "--dry-run",
        ): f"{path} has {rows} rows, which can be read. Nothing was imported.\n",
        ("import_account", "copy", str(path)): f"{rows} rows were imported into copy. Its owner is alice.\n",
    }
    assert {arguments: run(*arguments) for arguments in outputs} == outputs
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.soak
@commits
def test_a_large_account(tmp_path):
    """The memory does not grow with the rows."""
    demo = create_demo_account(bare=False)
    small, target = archive_of(demo), make_target(demo.users.get(role="owner"))
    with (tmp_path / "large.zip").open("w+b") as file, (tmp_path / "again.zip").open("w+b") as again:
        grow(small, 20, file)
        peak = getrusage(RUSAGE_SELF).ru_maxrss
        report = read_archive(target, file)
        write_archive(target, again)
        assert getrusage(RUSAGE_SELF).ru_maxrss < peak + 32 * 1024
        assert sum(report.rows.values()) > 100_000
        before, after = (
            {name: sorted(map(canonical, lines)) for name, lines in contents_of(each).items()} for each in (file, again)
        )
    [(address, replacement)] = report.addresses.items()
    before["forums.jsonl"] = [line.replace(address, replacement) for line in before["forums.jsonl"]]
    assert after == before


def canonical(line: str) -> str:
    """Return the JSON of a row in a form in which equal numbers are equal texts."""
    row = json.loads(line, parse_float=lambda text: str(Decimal(text).normalize()))
    return json.dumps(row, sort_keys=True)
