"""The entries of the timeline (`workspace.timeline`) that triggers write for rows, and the columns whose changes are logged.

A new client or contact has no entry. A new column of a resource has to be added to the arguments of its trigger `log_changes`.
"""

from dataclasses import dataclass

from crm.fields import builtin_fields
from workspace.timeline import LINKS

TABLE = "workspace_timelineentry"
# A longer text is cut in the log of changes.
MAX_VALUE_LENGTH = 500
LINK_COLUMNS = [name for link in LINKS for name in (f"{link}_id", f"trashed_{link}_id")]
COLUMNS = "account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id"
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


@dataclass(frozen=True)
class Mirror:
    """A table whose rows have mirrored entries."""

    resource: str
    # The statement that selects `COLUMNS` of the entries that the rows should have, without the condition of the rows.
    select: str
    where: str

    def entries(self, condition: str = "true") -> str:
        """Return the statement that selects the entries of the rows that match a condition. The alias of the table is `source`."""
        return f"SELECT {COLUMNS} FROM ({self.select} WHERE {self.where} AND {condition}) AS entry"  # noqa: S608


NOTES = Mirror(
    "note",
    f"""SELECT source.account_id, source.noted_at AS at, source.kind, 'note' AS resource, source.id AS resource_id,
        source.creator_id AS user_id, {JOINED_LINKS} FROM crm_note AS source {JOINS}""",  # noqa: S608
    "source.trashed_at IS NULL",
)
# A task that is closed has a second entry, with the time at which it was closed. Nothing records who closed it.
POSTS = Mirror(
    "post",
    f"""SELECT source.account_id, event.at, event.kind, 'post' AS resource, source.id AS resource_id, event.user_id,
        {JOINED_LINKS} FROM forum_post AS source {JOINS}
        CROSS JOIN LATERAL (VALUES
            (source.created_at, CASE WHEN source.category_id IS NULL THEN 'task' ELSE 'suggestion' END, source.user_id),
            (CASE WHEN source.category_id IS NULL THEN source.completed_at END, 'task_done', NULL)
        ) AS event (at, kind, user_id)""",  # noqa: S608
    f"source.trashed_at IS NULL AND event.at IS NOT NULL AND {has_links('source')}",
)
# A vote that was copied from a merged post is no further entry.
VOTES = Mirror(
    "vote",
    """SELECT source.account_id, source.created_at AS at, 'vote' AS kind, 'vote' AS resource, source.id AS resource_id,
        coalesce(source.client_id, contact.client_id, contact.trashed_client_id) AS client_id, source.contact_id,
        NULL::bigint AS deal_id, source.user_id
        FROM forum_proxyvote AS source
        LEFT JOIN crm_contact AS contact ON contact.account_id = source.account_id AND contact.id = source.contact_id""",
    "source.from_post_id IS NULL",
)
# The entries of a deal in the trash stay, like its stages and changes. The timeline does not show them.
DEALS = Mirror(
    "deal",
    f"""SELECT source.account_id, source.created_at AS at, 'deal' AS kind, 'deal' AS resource, source.id AS resource_id,
        {either("source", "client")} AS client_id, {either("source", "contact")} AS contact_id,
        source.id AS deal_id, source.creator_id AS user_id FROM crm_deal AS source""",  # noqa: S608
    "true",
)
MIRRORS = (NOTES, POSTS, VOTES, DEALS)


def logged_columns(resource: str) -> list[str]:
    """Return the columns whose changes should be logged, beside `additional_fields`. The stages of deals have entries of their own."""
    columns = [field.name for field in builtin_fields(resource) if not field.read_only]
    return [name for name in columns if (resource, name) != ("deal", "status_id")]


def status_object(account: str, id: str) -> str:
    """Return the SQL for the values of a status, which it keeps in the log when it is renamed or deleted. Null for no status."""
    return f"""(
        SELECT jsonb_build_object('id', id, 'code', code, 'name', name, 'color', color, 'outcome', outcome)
        FROM accounts_status WHERE account_id = {account} AND id = {id}
    )"""  # noqa: S608


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
