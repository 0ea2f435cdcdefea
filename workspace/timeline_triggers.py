"""The triggers that write the timeline, whatever writes the rows (`workspace.timeline`).

Most triggers have a condition (WHEN), so that a write of other columns, or of a row without links, costs no call of a function. A new
client or contact has no entry.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import dedent

from django.db import migrations

from crm.fields import builtin_fields
from workspace.timeline import LINKS, MIRRORED_KINDS

TABLE = "workspace_timelineentry"
# A longer text is cut in the log of changes.
MAX_VALUE_LENGTH = 500
LINK_COLUMNS = [name for link in LINKS for name in (f"{link}_id", f"trashed_{link}_id")]
COLUMNS = "account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id"
MIRRORED = ", ".join(f"'{kind}'" for kind in MIRRORED_KINDS)
# The linked contact and deal of a row with the alias `source`, and their own links.
JOINS = """
LEFT JOIN crm_contact AS contact
    ON contact.account_id = source.account_id AND contact.id = coalesce(source.contact_id, source.trashed_contact_id)
LEFT JOIN crm_deal AS deal
    ON deal.account_id = source.account_id AND deal.id = coalesce(source.deal_id, source.trashed_deal_id)
"""
JOINED_LINKS = """
coalesce(
    source.client_id, source.trashed_client_id, deal.client_id, deal.trashed_client_id,
    contact.client_id, contact.trashed_client_id
) AS client_id,
coalesce(source.contact_id, source.trashed_contact_id, deal.contact_id, deal.trashed_contact_id) AS contact_id,
coalesce(source.deal_id, source.trashed_deal_id) AS deal_id
"""


def either(row: str, link: str) -> str:
    """Return the id of a link, also while the linked row is in the trash."""
    return f"coalesce({row}.{link}_id, {row}.trashed_{link}_id)"


def has_links(row: str) -> str:
    return f"num_nonnulls({', '.join(f'{row}.{name}' for name in LINK_COLUMNS)}) > 0"


def differ(expressions: Iterable[str]) -> str:
    """Return the condition that one of the expressions, in which `{row}` stands for OLD and NEW, has changed."""
    old, new = ([each.format(row=row) for each in expressions] for row in ("OLD", "NEW"))
    return f"({', '.join(old)}) IS DISTINCT FROM ({', '.join(new)})"


@dataclass(frozen=True)
class Mirror:
    """A table whose rows have mirrored entries."""

    table: str
    resource: str
    # The statement that selects `COLUMNS` of the entries that the rows should have, without the condition of the rows. `{source}` stands for
    # the rows.
    template: str
    where: str
    # The rows (`{row}`) that can have entries, and the expressions on which the entries depend.
    condition: str
    depends_on: tuple[str, ...]

    @property
    def select(self) -> str:
        """The statement for the rows of the table."""
        return self.template.format(source=self.table)

    @property
    def function(self) -> str:
        return f"workspace_mirror_{self.resource}"

    def entries(self, condition: str = "true") -> str:
        """Return the statement that selects the entries of the rows that match a condition. The alias of the table is `source`."""
        return f"SELECT {COLUMNS} FROM ({self.select} WHERE {self.where} AND {condition}) AS entry"  # noqa: S608

    def insert(self, condition: str = "true") -> str:
        """Return the statement that inserts these entries, and updates existing ones."""
        return f"""
            INSERT INTO {TABLE} ({COLUMNS}, data) SELECT {COLUMNS}, '{{}}' FROM ({self.entries(condition)}) AS wanted
            ON CONFLICT (account_id, resource, resource_id, kind) WHERE kind IN ({MIRRORED})
            DO UPDATE SET at = excluded.at, user_id = excluded.user_id, client_id = excluded.client_id,
                contact_id = excluded.contact_id, deal_id = excluded.deal_id;
        """  # noqa: S608

    def insert_new(self) -> str:
        """Return the statement that inserts the entries of a new row, `NEW` in a trigger. A new row has no entries yet."""
        rows = self.template.format(source="(SELECT NEW.*)")
        return f"INSERT INTO {TABLE} ({COLUMNS}, data) SELECT {COLUMNS}, '{{}}' FROM ({rows} WHERE {self.where}) AS wanted;"  # noqa: S608

    def create(self) -> str:
        old, new = self.condition.format(row="OLD"), self.condition.format(row="NEW")
        changed = f"(({old}) OR ({new})) AND {differ(self.depends_on)}"
        return f"""
            {self.create_function()}
            CREATE TRIGGER mirror_inserted AFTER INSERT ON {self.table} FOR EACH ROW
                WHEN ({new}) EXECUTE FUNCTION {self.function}();
            CREATE TRIGGER mirror_updated AFTER UPDATE ON {self.table} FOR EACH ROW
                WHEN ({changed}) EXECUTE FUNCTION {self.function}();
            CREATE TRIGGER mirror_deleted AFTER DELETE ON {self.table} FOR EACH ROW
                WHEN ({old}) EXECUTE FUNCTION {self.function}();
        """

    def create_function(self) -> str:
        own = "source.account_id = NEW.account_id AND source.id = NEW.id"
        return f"""
            CREATE OR REPLACE FUNCTION {self.function}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    {self.insert_new()}
                    RETURN NULL;
                END IF;
                IF TG_OP = 'DELETE' THEN
                    DELETE FROM {TABLE} WHERE account_id = OLD.account_id AND resource = '{self.resource}'
                        AND resource_id = OLD.id AND kind IN ({MIRRORED});
                    RETURN NULL;
                END IF;
                DELETE FROM {TABLE} AS entry WHERE account_id = OLD.account_id AND resource = '{self.resource}'
                    AND resource_id = OLD.id AND kind IN ({MIRRORED})
                    AND kind NOT IN (SELECT kind FROM ({self.entries(own)}) AS wanted);
                {self.insert(own)}
                RETURN NULL;
            END $$;
        """  # noqa: S608

    def drop(self) -> str:
        triggers = "".join(f"DROP TRIGGER mirror_{act} ON {self.table};" for act in ("inserted", "updated", "deleted"))
        return f"{triggers} DROP FUNCTION {self.function}();"


EITHER_LINK = tuple(either("{row}", link) for link in LINKS)

NOTES = Mirror(
    "crm_note",
    "note",
    f"""SELECT source.account_id, source.noted_at AS at, source.kind, 'note' AS resource, source.id AS resource_id,
        source.creator_id AS user_id, {JOINED_LINKS} FROM {{source}} AS source {JOINS}""",  # noqa: S608
    "source.trashed_at IS NULL",
    has_links("{row}"),
    ("{row}.noted_at", "{row}.kind", "{row}.trashed_at", *EITHER_LINK),
)
# A task that is closed has a second entry, with the time at which it was closed. Nothing records who closed it.
POSTS = Mirror(
    "forum_post",
    "post",
    f"""SELECT source.account_id, event.at, event.kind, 'post' AS resource, source.id AS resource_id, event.user_id,
        {JOINED_LINKS} FROM {{source}} AS source {JOINS}
        CROSS JOIN LATERAL (VALUES
            (source.created_at, CASE WHEN source.category_id IS NULL THEN 'task' ELSE 'suggestion' END, source.user_id),
            (CASE WHEN source.category_id IS NULL THEN source.completed_at END, 'task_done', NULL)
        ) AS event (at, kind, user_id)""",  # noqa: S608
    f"source.trashed_at IS NULL AND event.at IS NOT NULL AND {has_links('source')}",
    has_links("{row}"),
    (
        "{row}.created_at",
        "{row}.completed_at",
        "{row}.trashed_at",
        "{row}.category_id IS NULL",
        "{row}.user_id",
        *EITHER_LINK,
    ),
)
# A vote that was copied from a merged post is no further entry.
VOTES = Mirror(
    "forum_proxyvote",
    "vote",
    """SELECT source.account_id, source.created_at AS at, 'vote' AS kind, 'vote' AS resource, source.id AS resource_id,
        coalesce(source.client_id, contact.client_id, contact.trashed_client_id) AS client_id, source.contact_id,
        NULL::bigint AS deal_id, source.user_id
        FROM {source} AS source
        LEFT JOIN crm_contact AS contact ON contact.account_id = source.account_id AND contact.id = source.contact_id""",
    "source.from_post_id IS NULL",
    "{row}.from_post_id IS NULL",
    ("{row}.created_at", "{row}.client_id", "{row}.contact_id", "{row}.from_post_id IS NULL"),
)
# The entries of a deal in the trash stay, like its stages and changes. The timeline does not show them.
DEALS = Mirror(
    "crm_deal",
    "deal",
    f"""SELECT source.account_id, source.created_at AS at, 'deal' AS kind, 'deal' AS resource, source.id AS resource_id,
        {either("source", "client")} AS client_id, {either("source", "contact")} AS contact_id,
        source.id AS deal_id, source.creator_id AS user_id FROM {{source}} AS source""",  # noqa: S608
    "true",
    "true",
    ("{row}.created_at", either("{row}", "client"), either("{row}", "contact")),
)
MIRRORS = (NOTES, POSTS, VOTES, DEALS)


# Links of contacts and deals

MOVE_ENTRIES = f"""
CREATE FUNCTION workspace_move_entries_of_contact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE {TABLE} SET client_id = {either("NEW", "client")}
    WHERE account_id = NEW.account_id AND contact_id = NEW.id
        AND (resource IN ('contact', 'vote') OR (resource = 'note' AND deal_id IS NULL));
    UPDATE {TABLE} AS entry SET client_id = wanted.client_id FROM ({POSTS.select} WHERE {POSTS.where}) AS wanted
    WHERE entry.account_id = NEW.account_id AND entry.contact_id = NEW.id AND entry.resource = 'post'
        AND wanted.account_id = entry.account_id AND wanted.resource_id = entry.resource_id
        AND wanted.kind = entry.kind AND wanted.client_id IS DISTINCT FROM entry.client_id;
    RETURN NULL;
END $$;

CREATE FUNCTION workspace_move_entries_of_deal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE {TABLE} SET client_id = {either("NEW", "client")}, contact_id = {either("NEW", "contact")}
    WHERE account_id = NEW.account_id AND deal_id = NEW.id AND resource IN ('deal', 'note');
    UPDATE {TABLE} AS entry SET client_id = wanted.client_id, contact_id = wanted.contact_id
    FROM ({POSTS.select} WHERE {POSTS.where}) AS wanted
    WHERE entry.account_id = NEW.account_id AND entry.deal_id = NEW.id AND entry.resource = 'post'
        AND wanted.account_id = entry.account_id AND wanted.resource_id = entry.resource_id
        AND wanted.kind = entry.kind;
    RETURN NULL;
END $$;

CREATE TRIGGER move_entries AFTER UPDATE ON crm_contact FOR EACH ROW
    WHEN ({either("OLD", "client")} IS DISTINCT FROM {either("NEW", "client")})
    EXECUTE FUNCTION workspace_move_entries_of_contact();
CREATE TRIGGER move_entries AFTER UPDATE ON crm_deal FOR EACH ROW
    WHEN (
        {either("OLD", "client")} IS DISTINCT FROM {either("NEW", "client")}
        OR {either("OLD", "contact")} IS DISTINCT FROM {either("NEW", "contact")}
    ) EXECUTE FUNCTION workspace_move_entries_of_deal();
"""  # noqa: S608

DROP_MOVE_ENTRIES = """
DROP TRIGGER move_entries ON crm_contact;
DROP TRIGGER move_entries ON crm_deal;
DROP FUNCTION workspace_move_entries_of_contact();
DROP FUNCTION workspace_move_entries_of_deal();
"""

# Erasing a row deletes its own entries, and those that no other row keeps. The triggers of the other rows update theirs.
ERASE_ENTRIES = f"""
CREATE FUNCTION workspace_erase_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'DELETE FROM {TABLE} WHERE account_id = $1 AND %1$I = $2
            AND (resource = $3 OR num_nonnulls(client_id, contact_id, deal_id) = 1)',
        TG_ARGV[0] || '_id'
    ) USING OLD.account_id, OLD.id, TG_ARGV[0];
    EXECUTE format(
        'UPDATE {TABLE} SET %1$I = NULL WHERE account_id = $1 AND %1$I = $2', TG_ARGV[0] || '_id'
    ) USING OLD.account_id, OLD.id;
    RETURN NULL;
END $$;
"""  # noqa: S608
ERASE_TRIGGERS = "".join(
    f"CREATE TRIGGER erase_entries AFTER DELETE ON crm_{link} FOR EACH ROW"
    f" EXECUTE FUNCTION workspace_erase_entries('{link}');\n"
    for link in LINKS
)
DROP_ERASE_ENTRIES = (
    "".join(f"DROP TRIGGER erase_entries ON crm_{link};" for link in LINKS) + "DROP FUNCTION workspace_erase_entries();"
)


# Logs of changes and stages

# The time and the user of an update. A write that does not set `updated_at` was not made by a user.
MOMENT = "CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updated_at ELSE clock_timestamp() END"
AUTHOR = "CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updater_id END"
# The columns of the links of an entry about a row.
LOGGED_LINKS = {
    "client": "NEW.id, NULL, NULL",
    "contact": f"{either('NEW', 'client')}, NEW.id, NULL",
    "deal": f"{either('NEW', 'client')}, {either('NEW', 'contact')}, NEW.id",
}
# These links have a second column, for the time that the linked row is in the trash.
TRASHABLE_LINKS = {"client": ("contact_id",), "contact": ("client_id",), "deal": ("client_id", "contact_id")}


def logged_columns(resource: str) -> list[str]:
    """Return the columns of a resource whose changes should be logged. The stages of deals have entries of their own."""
    columns = [field.name for field in builtin_fields(resource) if not field.read_only]
    return [*(name for name in columns if (resource, name) != ("deal", "status_id")), "additional_fields"]


def cut(value: str) -> str:
    """Return the SQL for a JSON value without more than about `MAX_VALUE_LENGTH` characters."""
    return (
        f"CASE WHEN length({value}::text) > {MAX_VALUE_LENGTH + 20}"
        f" THEN to_jsonb(left({value} #>> '{{}}', {MAX_VALUE_LENGTH}) || '…') ELSE {value} END"
    )


def change_log(resource: str, columns: Sequence[str]) -> migrations.RunSQL:
    """Return the operation that logs the changes of these columns. A new column needs a migration that calls this again.

    The function compares the columns, because PostgreSQL refuses to alter a column that the condition of a trigger names. If a linked
    row is erased, the link becomes null. This is no change that a user made.
    """
    name, table = f"workspace_log_{resource}", f"crm_{resource}"
    plain = [column for column in columns if column != "additional_fields"]
    conditions, values = [], []
    for place, column in enumerate(plain):
        old, new = f"OLD.{column}", f"NEW.{column}"
        if column in TRASHABLE_LINKS[resource]:
            link = column.removesuffix("_id")
            old, new = either("OLD", link), either("NEW", link)
            old = f"CASE WHEN OLD.{column} IS NULL AND {new} IS NULL THEN NULL ELSE {old} END"
        conditions.append((old, new))
        values.append(f"({place}, '{column}', to_jsonb({old}), to_jsonb({new}))")
    olds, news = (", ".join(pair) for pair in zip(*conditions, strict=True))
    text = dedent(f"""
        CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            changes jsonb;
        BEGIN
            IF ({olds}, OLD.additional_fields) IS NOT DISTINCT FROM ({news}, NEW.additional_fields) THEN
                RETURN NULL;
            END IF;
            SELECT jsonb_agg(
                jsonb_build_object('field', field, 'before', {cut("before")}, 'after', {cut("after")}) ORDER BY place, field
            ) INTO changes
            FROM (
                SELECT place, field, nullif(before, '""') AS before, nullif(after, '""') AS after
                FROM (VALUES {", ".join(values)}) AS value (place, field, before, after)
                UNION ALL
                SELECT {len(plain)}, 'additional_fields[' || key || ']', former.value, newer.value
                FROM jsonb_each(OLD.additional_fields) AS former FULL JOIN jsonb_each(NEW.additional_fields) AS newer USING (key)
                WHERE OLD.additional_fields IS DISTINCT FROM NEW.additional_fields
            ) AS field
            WHERE before IS DISTINCT FROM after;
            IF changes IS NOT NULL THEN
                INSERT INTO {TABLE} (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
                VALUES (NEW.account_id, {MOMENT}, 'change', '{resource}', NEW.id, {LOGGED_LINKS[resource]}, {AUTHOR},
                    jsonb_build_object('changes', changes));
            END IF;
            RETURN NULL;
        END $$;
        DROP TRIGGER IF EXISTS log_changes ON {table};
        CREATE TRIGGER log_changes AFTER UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {name}();
    """)  # noqa: S608
    return migrations.RunSQL(text, f"DROP TRIGGER log_changes ON {table}; DROP FUNCTION {name}();")


def status_object(account: str, id: str) -> str:
    """Return the SQL for the values of a status, which it keeps in the log when it is renamed or deleted. Null for no status."""
    return f"""(
        SELECT jsonb_build_object('id', id, 'code', code, 'name', name, 'color', color, 'outcome', outcome)
        FROM accounts_status WHERE account_id = {account} AND id = {id}
    )"""  # noqa: S608


STAGE_LOG = f"""
CREATE FUNCTION workspace_log_stage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO {TABLE} (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
    VALUES (NEW.account_id, coalesce(NEW.stage_entered_at, {MOMENT}), 'stage', 'deal', NEW.id,
        {LOGGED_LINKS["deal"]}, {AUTHOR}, jsonb_build_object(
            'before', {status_object("OLD.account_id", "OLD.status_id")},
            'after', {status_object("NEW.account_id", "NEW.status_id")}
        ));
    RETURN NULL;
END $$;
CREATE TRIGGER log_stage AFTER UPDATE ON crm_deal FOR EACH ROW
    WHEN (OLD.status_id IS DISTINCT FROM NEW.status_id) EXECUTE FUNCTION workspace_log_stage();
"""  # noqa: S608

# The stages before this table existed. The first stage of a deal belongs to the entry of the deal.
FILL_STAGES = f"""
INSERT INTO {TABLE} (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
SELECT stage.account_id, stage.entered_at, 'stage', 'deal', source.id,
    {either("source", "client")}, {either("source", "contact")}, source.id, stage.user_id, jsonb_build_object(
        'before', {status_object("stage.account_id", "stage.former_id")},
        'after', {status_object("stage.account_id", "stage.status_id")}
    )
FROM (
    SELECT account_id, deal_id, status_id, entered_at, user_id,
        lag(status_id) OVER deal AS former_id, lag(number) OVER deal AS former
    FROM crm_dealstage WINDOW deal AS (PARTITION BY account_id, deal_id ORDER BY number)
) AS stage JOIN crm_deal AS source ON source.account_id = stage.account_id AND source.id = stage.deal_id
WHERE stage.former IS NOT NULL AND NOT EXISTS (
    SELECT FROM {TABLE} AS entry
    WHERE entry.account_id = stage.account_id AND entry.deal_id = stage.deal_id AND entry.kind = 'stage'
);
"""  # noqa: S608
