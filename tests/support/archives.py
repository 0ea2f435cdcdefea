"""Archives of accounts in tests: their contents, changed copies, and copies with more rows."""

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.db import connection

from accounts.account.models import Account
from accounts.users.models import User
from team.archives.tables import DERIVED, LEFT_OUT, TABLES
from team.archives.writing import MANIFEST, write_archive
from tests.support.factories import make_account

# The tables whose rows `grow` repeats, and their columns with ids of such rows.
REPEATED = (
    "clients",
    "contacts",
    "contact_list_memberships",
    "deals",
    "deal_stages",
    "notes",
    "posts",
    "comments",
    "comment_versions",
    "votes",
    "proxy_votes",
    "status_changes",
    "timeline",
)
LINKS = {
    "id",
    "resource_id",
    "duplicate_from_id",
    "from_post_id",
    "comment_id",
    *(f"{kind}{name}_id" for kind in ("", "trashed_") for name in ("client", "contact", "deal", "post")),
}


def make_target(owner: User, prefix: str = "copy") -> Account:
    """Return a new account whose owner has the same e-mail."""
    account, target_owner, _token = make_account(prefix, login="boss")
    account.users.filter(id=target_owner.id).update(email=owner.email, email_key=owner.email_key)
    return account


def archive_of(account: Account) -> io.BytesIO:
    file = io.BytesIO()
    write_archive(account, file)
    return file


def contents_of(archive: io.BytesIO) -> dict[str, list[str]]:
    """Return the lines of each file of rows."""
    with ZipFile(archive) as file:
        return {name: file.read(name).decode().splitlines() for name in file.namelist() if name.endswith(".jsonl")}


def manifest_of(archive: io.BytesIO) -> dict[str, Any]:
    with ZipFile(archive) as file:
        return json.loads(file.read(MANIFEST))


# Columns that differ between two accounts with the same rows.
OWN_COLUMNS = [
    *(
        "account_id",
        "number",
        "shard",
        "recorded_by",
        "search_words",
        "vote_weight",
        "trending",
        "password",
        "host_id",
        "unread_notifications",
    ),
    *(
        name
        for names in TABLES["account"].left_out.values()
        for name in names.split()
        if name != "resources_with_fields"
    ),
    "key",
    *(name for names in TABLES["webhooks"].left_out.values() for name in names.split()),
]
OF_ONE_TABLE = {"id": "accounts_account", "key": "core_storedfile"}
# The columns of tables of counts, which are summed.
MEASURES = {"uses", "deals", "price", "posts"}


def rows_of(account: Account) -> dict[str, Counter[str]]:
    """Return all rows of the archived tables, and of the tables with derived values, without the columns that belong to an account."""
    found = {}
    derived = [name for name in LEFT_OUT[DERIVED].split() if name not in ("core_word", "core_staleword")]
    for name in [*(table.name for table in TABLES.values()), *derived]:
        rows: Counter[str] = Counter()
        with connection.cursor() as cursor:
            column = "id" if name == "accounts_account" else "account_id"
            cursor.execute(
                f"SELECT (to_jsonb(row) - %s::text[])::text FROM {name} AS row WHERE {column} = %s",  # noqa: S608
                [
                    [each for each in OWN_COLUMNS if each not in OF_ONE_TABLE or OF_ONE_TABLE[each] == name],
                    account.id,
                ],
            )
            for (text,) in cursor.fetchall():
                row = json.loads(text, parse_float=Decimal)
                amounts = {each: row.pop(each) for each in MEASURES & row.keys()} if name.endswith("count") else {}
                rows[json.dumps(row, default=str)] += amounts.get("uses", amounts.get("deals", amounts.get("posts", 1)))
        found[name] = +rows
    return found


def stored_in(archive: io.BytesIO) -> dict[str, bytes]:
    """Return the bytes of the stored files."""
    with ZipFile(archive) as file:
        return {name: file.read(name) for name in file.namelist() if name.startswith("files/")}


def pack(
    manifest: dict[str, Any],
    files: dict[str, Iterable[str]],
    output: Any = None,
    stored: dict[str, bytes] | None = None,
) -> io.BytesIO:
    """Return an archive of these lines. The numbers of rows and the checksums in the manifest are computed."""
    output = output or io.BytesIO()
    entries = []
    with ZipFile(output, "w", ZIP_DEFLATED) as archive:
        for entry in manifest["files"]:
            digest, rows = hashlib.sha256(), 0
            with archive.open(entry["name"], "w", force_zip64=True) as stream:
                for line in files[entry["name"]]:
                    data = f"{line}\n".encode()
                    digest.update(data)
                    stream.write(data)
                    rows += 1
            entries.append(entry | {"rows": rows, "sha256": digest.hexdigest()})
        for name, content in (stored or {}).items():
            archive.writestr(name, content)
        archive.writestr(MANIFEST, json.dumps(manifest | {"files": entries}))
    return output


def edit(archive: io.BytesIO, name: str, change: Callable[[dict[str, Any]], Any], line: int = 1) -> io.BytesIO:
    """Return a copy of an archive with another row in one line of a file. `change` changes the row, or returns another text."""
    files = contents_of(archive)
    row = json.loads(files[name][line - 1])
    text = change(row)
    files[name][line - 1] = text if isinstance(text, str) else json.dumps(row)
    return pack(manifest_of(archive), files, stored=stored_in(archive))


def grow(archive: io.BytesIO, copies: int, output: Any = None) -> Any:
    """Return an archive with copies of the customers and suggestions, which have other ids."""
    files, manifest = contents_of(archive), manifest_of(archive)
    step = manifest["last_id"] + 1

    def repeated(lines: list[str]) -> Iterator[str]:
        yield from lines
        rows = [json.loads(line) for line in lines]
        for copy in range(1, copies + 1):
            for row in rows:
                moved = {name: id + copy * step for name, id in row.items() if name in LINKS and id is not None}
                without = {name: None for name in ("further_external_ids",) if name in row}
                yield json.dumps(row | moved | without | ({"external_ids": {}} if "external_ids" in row else {}))

    grown = {
        name: repeated(lines) if name.removesuffix(".jsonl") in REPEATED else lines for name, lines in files.items()
    }
    return pack(manifest | {"last_id": step * (copies + 1)}, grown, output, stored_in(archive))
