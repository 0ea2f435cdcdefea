"""Importing an archive into an empty account, in one transaction: all rows of the archive or none.

Rows keep their ids and times. Whatever an archive says, its rows belong to the importing account, and rendered texts, keys and derived values
are computed anew. The triggers of the tables compute searches, live copies and counts. They write no change feed, so nobody is notified.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import IO, Any

import orjson
from django.contrib.auth.hashers import make_password
from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from accounts.account.models import Account
from accounts.brand.models import Branding
from accounts.brand.pictures import MAKERS
from accounts.hosts.models import Host
from accounts.tags.models import TagCount, count_tags
from accounts.users.models import User
from accounts.users.names import check_visible
from core.db.time_limit import without_statement_timeout
from core.errors import FieldError, FieldErrors
from core.files.models import StoredFile
from core.rows.trimmed import fold_email
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from forum.comments.commenting import find_mentions
from forum.comments.models import Comment
from forum.posts.models import Post
from forum.texts.markdown import render
from team.archives.reading import FILES, Archive, ArchivedFile, ArchivedLine, ArchiveError
from team.archives.tables import TABLES, quoted
from team.archives.writing import Progress
from team.duplicates.models import fill_all
from team.summaries.models import update_summaries
from team.summaries.recount import pages
from team.timeline.mirrored_entries import recount_entries

# The tables in which a new account has rows. An import replaces them.
DEFAULT_ROWS = ("account", "branding", "users", "pipelines", "statuses", "forums", "categories")
# The limits of a statement that inserts rows.
BATCH_ROWS, BATCH_BYTES = 500, 4 * 1024**2
# A table with as many new rows is analyzed.
ANALYZED_ROWS = 1000
REFUSED = (IntegrityError, DataError, FieldErrors)

INSERT = """
INSERT INTO {table} (account_id, {columns}) SELECT %s, {columns} FROM jsonb_populate_recordset(NULL::{table}, %s::jsonb)
"""
UPDATE_LINKS = """
UPDATE {table} AS row SET ({columns}) = ROW ({values}) FROM jsonb_populate_recordset(NULL::{table}, %(rows)s::jsonb) AS linked
WHERE row.account_id = %(account)s AND row.id = linked.id
"""
# Derived values that neither triggers nor the functions of `ArchiveImport.derive` write.
DERIVE = (
    """
    UPDATE forum_post SET comments_cache = counted.public, internal_comments_cache = counted.others FROM (
        SELECT post_id, count(*) FILTER (WHERE NOT internal AND approved) AS public,
            count(*) FILTER (WHERE internal OR NOT approved) AS others
        FROM forum_comment WHERE account_id = %(account)s AND withdrawn_at IS NULL AND deleted_at IS NULL
        GROUP BY post_id
    ) AS counted
    WHERE account_id = %(account)s AND id = post_id
    """,
    """
    INSERT INTO crm_contactlistcount (account_id, contact_list_id, shard, uses)
    SELECT %(account)s, contact_list_id, 0, count(*) FROM crm_contactlistmembership AS membership
    JOIN crm_contact AS contact ON contact.account_id = membership.account_id AND contact.id = contact_id
    WHERE membership.account_id = %(account)s AND contact.trashed_at IS NULL GROUP BY contact_list_id
    """,
    *(
        f"""
        INSERT INTO {table}externalid (account_id, key, value, holder_id)
        SELECT account_id, pair.key, pair.value, id FROM {table} CROSS JOIN LATERAL (
            SELECT key, value FROM jsonb_each_text(external_ids)
            UNION SELECT item ->> 0, item ->> 1 FROM jsonb_array_elements(coalesce(further_external_ids, '[]')) AS item
        ) AS pair
        WHERE account_id = %(account)s AND trashed_at IS NULL
        """  # noqa: S608
        for table in ("crm_client", "crm_contact", "crm_deal")
    ),
    """
    UPDATE accounts_account SET resources_with_fields = ARRAY(
        SELECT DISTINCT resource FROM accounts_fielddefinition WHERE account_id = %(account)s ORDER BY resource
    ) WHERE id = %(account)s
    """,
    # A job of `team.backers` computes the figures of the suggestions of customers.
    """
    WITH counted AS (DELETE FROM forum_votechange WHERE account_id = %(account)s), member AS (
        SELECT user_id FROM crm_userlink WHERE account_id = %(account)s AND state = 'confirmed'
    )
    INSERT INTO team_revenuechange (account_id, kind, row_id) SELECT %(account)s, 'post', id FROM (
        SELECT id FROM forum_post
        WHERE account_id = %(account)s AND (num_nonnulls(client_id, contact_id) > 0 OR user_id IN (SELECT user_id FROM member))
        UNION SELECT post_id FROM forum_proxyvote WHERE account_id = %(account)s
        UNION SELECT post_id FROM forum_vote WHERE account_id = %(account)s AND user_id IN (SELECT user_id FROM member)
    ) AS post (id)
    """,
)


@dataclass
class ImportReport:
    """The result of an import, or of its check."""

    # The numbers of rows by the name of their file.
    rows: dict[str, int] = field(default_factory=dict)
    # The addresses of forums that the account cannot have, and those that the forums got instead.
    addresses: dict[str, str] = field(default_factory=dict)
    # The login of the owner after the import.
    owner: str = ""


def check_archive(file: IO[bytes], *, progress: Progress | None = None) -> ImportReport:
    """Check an archive without writing anything. Raise ArchiveError."""
    archive, report = Archive(file), ImportReport()
    for archived in archive.files.values():
        for batch in batches(archive.lines(archived)):
            if archived.name == FILES:
                for line in batch:
                    deque(archive.stored_bytes(line), maxlen=0)
            report.rows[archived.name] = batch[-1].number
            if progress:
                progress(archived.name, batch[-1].number)
    return report


def read_archive(account: Account, file: IO[bytes], *, progress: Progress | None = None) -> ImportReport:
    """Import an archive into an empty account (`check_empty`). Raise ArchiveError, and write nothing then.

    The only user of the account stays its owner, with the same password. If a user of the archive has their e-mail, they become that user.
    Otherwise they are added with a new id. The owners in the archive become admins.
    """
    archive = Archive(file)
    check_empty(account)
    with storing_files(account, archive) as keys, transaction.atomic(), without_statement_timeout():
        # No other transaction can add rows to the account until the end.
        account = Account.objects.select_for_update().get(id=account.id)
        return ArchiveImport(account, archive, keys, progress).run()


@contextmanager
def storing_files(account: Account, archive: Archive) -> Iterator[dict[int, str]]:
    """Store the bytes of the files in the archive, and return their keys by id. They expire if the block fails or takes more than a day."""
    keys: dict[int, str] = {}
    try:
        for line in archive.lines(archive.files[FILES]) if FILES in archive.files else ():
            name, content_type, size = (line.row[each] for each in ("name", "content_type", "size"))
            chunks, expires_at = archive.stored_bytes(line), timezone.now() + timedelta(days=1)
            values: dict[str, Any] = {"content_type": content_type, "max_bytes": size, "expires_at": expires_at}
            try:
                keys[line.row["id"]] = StoredFile.objects.store(account, name=name, chunks=chunks, **values).key
            except FieldErrors as error:
                raise (
                    error if isinstance(error, ArchiveError) else ArchiveError(str(error), FILES, line.number)
                ) from None
        yield keys
    except BaseException:
        StoredFile.objects.filter(account_id=account.id, key__in=keys.values()).expire()
        raise


def check_empty(account: Account) -> User:
    """Return the only user of a new account: one with no rows but its owner, a forum, categories, pipelines and statuses. Raise ArchiveError."""
    users: list[User] = list(account.users.all()[:2])
    if len(users) != 1 or users[0].role != User.Role.OWNER or account.forums.count() > 1:
        raise ArchiveError("the account is not empty: it has more than its owner and one forum")
    for name, table in TABLES.items():
        # Files that expire belong to tasks of the account, such as exports.
        condition = {"expires_at": None} if name == "files" else {}
        if name not in DEFAULT_ROWS and table.model._base_manager.filter(account_id=account.id, **condition).exists():
            raise ArchiveError(f"the account is not empty: it has {name.replace('_', ' ')}")
    return users[0]


class ArchiveImport:
    """An import in progress."""

    def __init__(self, account: Account, archive: Archive, keys: dict[int, str], progress: Progress | None) -> None:
        self.account, self.archive, self.keys, self.progress = account, archive, keys, progress
        self.owner, self.last_id, self.report = check_empty(account), archive.last_id, ImportReport()

    def run(self) -> ImportReport:
        # The change feed leaves out what is written with this setting. Its triggers are executed with each statement: until the commit,
        # they would take memory for each row.
        self.execute("SET CONSTRAINTS ALL IMMEDIATE; SET LOCAL search.is_filling = on")
        for name in reversed(DEFAULT_ROWS[1:]):
            self.execute(f"DELETE FROM {TABLES[name].name} WHERE account_id = %(account)s")  # noqa: S608
        # The rows of the stored bytes get the ids of the archive.
        StoredFile.objects.filter(account_id=self.account.id, key__in=self.keys.values()).delete()
        for name in TABLES:
            if (archived := self.archive.files.get(f"{name}.jsonl")) is not None:
                self.load(archived)
        if not self.account.forums.filter(is_default=True).exists() or not self.account.statuses.exists():
            raise ArchiveError("it has no default forum, or no statuses")
        if not self.report.owner:
            self.add_owner()
        # The statements that follow need statistics of the new rows: the plans for a few rows take a time that grows with the square.
        for archived in self.archive.files.values():
            if self.report.rows.get(archived.name, 0) >= ANALYZED_ROWS:
                self.execute(f"ANALYZE {archived.table.name}")
        for archived in self.archive.files.values():
            self.link(archived)
        self.derive()
        self.execute("SELECT account_ids.advance(%(account)s, %(last_id)s)", last_id=self.last_id)
        self.execute("SET CONSTRAINTS ALL DEFERRED; SET LOCAL search.is_filling = off")
        return self.report

    def execute(self, sql: str, file: str = "", **parameters: int | str) -> None:
        """Execute a statement about the rows of a file, or several statements without parameters."""
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(sql, {"account": self.account.id, **parameters} if "%(" in sql else None)
        except REFUSED as error:
            raise ArchiveError(rule_of(error), file) from error

    # The rows

    def load(self, archived: ArchivedFile) -> None:
        for batch in batches(self.archive.lines(archived)):
            if "id" in archived.table.fields:
                self.last_id = max(self.last_id, *(line.row["id"] for line in batch))
            self.try_insert(archived, batch)
            self.report.rows[archived.name] = batch[-1].number
            if self.progress:
                self.progress(archived.name, batch[-1].number)

    def try_insert(self, archived: ArchivedFile, batch: Sequence[ArchivedLine]) -> None:
        """Insert the rows of a batch. If that is refused, insert them one by one, and raise ArchiveError for the first that is wrong."""
        try:
            with transaction.atomic():
                INSERTS.get(archived.table.label, ArchiveImport.insert)(self, archived, batch)
        except REFUSED as error:
            if len(batch) == 1:
                raise ArchiveError(rule_of(error), archived.name, batch[0].number) from error
            for line in batch:
                self.try_insert(archived, [line])

    def insert(self, archived: ArchivedFile, batch: Sequence[ArchivedLine]) -> None:
        values = [self.values_of(archived, line) for line in batch]
        columns = {*archived.columns, *(name for each in values for name in each)} - archived.table.expressions.keys()
        columns |= archived.table.fields.keys() & archived.table.expressions.keys()
        rows = b",".join(map(with_values, batch, values)).decode()
        sql = INSERT.format(table=archived.table.name, columns=", ".join(map(quoted, sorted(columns))))
        with connection.cursor() as cursor:
            cursor.execute(sql, [self.account.id, f"[{rows}]"])

    def values_of(self, archived: ArchivedFile, line: ArchivedLine) -> dict[str, Any]:
        """Return the values of a row that are not in its line, or replace those of the line."""
        table, row = archived.table, line.row
        values: dict[str, Any] = archived.derive(row) | dict(table.values) | dict.fromkeys(table.late)
        values |= {name: new[row[name]] for name, new in table.replaced.items() if row.get(name) in new}
        if table.label == "core.StoredFile":
            values["key"] = self.keys[row["id"]]
        if table.label == "forum.Forum":
            values["host_id"] = self.find_host(row)
        if table.label == "accounts.User":
            check_visible(login=row["login"], email=row["email"])
            values["password"] = make_password(None)
            if fold_email(row["email"]) == self.owner.email_key:
                self.report.owner = row["login"]
                names = ("password", "role", "email", "is_active", "blocked_at")
                values |= {name: getattr(self.owner, name) for name in names}
        return values

    def find_host(self, row: dict[str, Any]) -> int:
        """Return the id of the host of a forum. An address that the account cannot have is replaced by one under BASE_DOMAIN."""
        hosts, address, own = Host.objects.all(), row.get("host"), self.account.prefix
        if address is None:
            return hosts.get(account=self.account, name=own).id
        try:
            return hosts.get_or_create_for(self.account, str(address)).id
        except FieldError:
            self.report.addresses[str(address)] = replacement = f"{own[:40]}-{row['id']}"
            return hosts.get_or_create_for(self.account, replacement).id

    def update_account(self, archived: ArchivedFile, batch: Sequence[ArchivedLine]) -> None:
        for line in batch:
            Account.objects.filter(id=self.account.id).update(**line.row | archived.derive(line.row))

    def change_branding(self, _archived: ArchivedFile, batch: Sequence[ArchivedLine]) -> None:
        for line in batch:
            pictures = {name: line.row[name] for name in MAKERS if line.row.get(name)}
            contents = {name: bytes.fromhex(text.removeprefix("\\x")) for name, text in pictures.items()}
            # Archives of earlier versions have fewer columns.
            others = {name: value for name, value in line.row.items() if name not in MAKERS}
            Branding.change(self.account, **others, **contents)

    # After the rows

    def add_owner(self) -> None:
        try:
            User.objects.check_free(self.account.id, login=self.owner.login, email=self.owner.email)
        except FieldErrors as error:
            raise ArchiveError(
                f"the owner of the account cannot be added to the users of the archive: {error}"
            ) from None
        self.last_id += 1
        self.owner.id, self.owner._state.adding, self.report.owner = self.last_id, True, self.owner.login
        self.owner.save(force_insert=True)

    def link(self, archived: ArchivedFile) -> None:
        """Write the columns with links in a circle."""
        if late := [name for name in archived.table.late if name in archived.columns]:
            values = ", ".join(f"linked.{name}" for name in late)
            sql = UPDATE_LINKS.format(table=archived.table.name, columns=", ".join(late), values=values)
            for batch in batches(line for line in self.archive.lines(archived) if any(line.row[name] for name in late)):
                rows = [{name: line.row[name] for name in ("id", *late)} for line in batch]
                self.execute(sql, archived.name, rows=orjson.dumps(rows).decode())

    def derive(self) -> None:
        """Compute the values that depend on several rows. The hosts of the account that have no forum are released."""
        for host in self.account.hosts.exclude(id__in=self.account.forums.values("host_id")):
            Host.objects.release(self.account, host.id)
        for statement in DERIVE:
            self.execute(statement)
        tags = dict(self.account.tags.values_list("name", "id"))
        for model in (Client, Contact, Deal, Post):
            counts = count_tags(model._base_manager.filter(account_id=self.account.id, trashed_at=None))
            uses = {tags[name]: number for name, number in counts.items() if name in tags}
            TagCount.add(self.account.id, "tag_id", uses, kind=str(model._meta.model_name))
        # Mentions depend on the users, and on the other comments of a post.
        comments = Comment.with_withdrawn.filter(account_id=self.account.id, comment__contains="@")
        for comment in comments.order_by("id").iterator():
            post = Post.objects.only("user_id").get(account_id=self.account.id, id=comment.post_id)
            text, author_id = comment.comment, comment.user_id
            if mentions := find_mentions(self.account, text, post=post, author_id=author_id):
                comments.filter(id=comment.id).update(comment_html=render(text, mentions=mentions))
        recount_entries(self.account.id, repair=True)
        for kind in ("deal", "contact", "client"):
            for ids in pages(self.account.id, f"crm_{kind}", f"team_{kind}summary", f"{kind}_id"):
                update_summaries(self.account.id, **{f"{kind}s": ids})
        fill_all(self.account.id)


Insert = Callable[[ArchiveImport, ArchivedFile, Sequence[ArchivedLine]], None]
# How the rows of some tables are imported. The others are inserted.
INSERTS: dict[str, Insert] = {
    "accounts.Account": ArchiveImport.update_account,
    "accounts.Branding": ArchiveImport.change_branding,
}


def batches(lines: Iterable[ArchivedLine]) -> Iterator[list[ArchivedLine]]:
    batch, size = list[ArchivedLine](), 0
    for line in lines:
        batch.append(line)
        size += len(line.json)
        if len(batch) == BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def with_values(line: ArchivedLine, values: dict[str, Any]) -> bytes:
    """Return the JSON of a line with other values: PostgreSQL takes the last of two values with one name.

    The line is not written anew, because Python would round its numbers.
    """
    return line.json[:-1] + b"," + orjson.dumps(values)[1:] if values else line.json


def rule_of(error: Exception) -> str:
    """Return the message of the database or of a model, which names the constraint or the field."""
    diagnostics = getattr(error.__cause__, "diag", None)
    return str(diagnostics.message_primary if diagnostics else error)
