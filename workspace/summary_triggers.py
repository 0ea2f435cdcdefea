"""The SQL that keeps the summaries of clients, contacts and deals (`workspace.summaries`), whatever writes the rows.

1. A row trigger adds the changed row, or the rows to which it links, to the setting `workspace.changed` of the transaction.
2. A deferred trigger updates their summaries when the transaction commits. It locks the summaries of deals, then of contacts, then of
   clients, each in the order of the ids, so that concurrent transactions cannot deadlock. The next statement reads what other
   transactions committed before they released the locks.

A summary is computed again from the rows that link to its row. Indexes yield the maximum and the minimum, so the number of these rows does
not matter. A summary that changes also updates those of the client and the contact to which its row links. `workspace_clientrevenue` is
changed by the difference between the deal and the copy of its values in the summary of the deal.

A new client, and a new contact or deal without links, gets its summary at once, which costs least.

`workspace_current_…` return the summaries as they should be, and `workspace_update_summaries` writes them. Both serve `manage.py recount`
as well.
"""

from django.db import migrations

# A transaction that changes more rows than fit in this number of characters updates the first summaries before it commits.
MAX_CHANGED_LENGTH = 100_000


# In the functions below, OFFSET 0 makes PostgreSQL look up each row by its whole key. If it estimated few rows, it would join the tables by the
# account alone, and keep that plan while the tables grow.


def _latest(link: str, id: str) -> str:
    """Return the times of the last change of the posts and notes with a link."""
    return ", ".join(
        f"(SELECT max(updated_at) FROM {table} WHERE account_id = of_account AND {link} = {id} AND trashed_at IS NULL)"  # noqa: S608
        for table in ("forum_post", "crm_note")
    )


def _next_task(link: str, id: str) -> str:
    return f"""(
        SELECT min(scheduled_at) FROM forum_post
        WHERE account_id = of_account AND {link} = {id} AND trashed_at IS NULL AND category_id IS NULL AND NOT closed
    )"""  # noqa: S608


def _of_summaries(aggregate: str, kind: str, link: str, id: str) -> str:
    return f"(SELECT {aggregate} FROM workspace_{kind}summary WHERE account_id = of_account AND {link} = {id})"  # noqa: S608


CURRENT_DEALS = f"""
CREATE FUNCTION workspace_current_deals(of_account bigint, ids bigint[]) RETURNS TABLE (
    deal_id bigint, is_found boolean, client_id bigint, contact_id bigint, last_activity_at timestamptz, next_task_at timestamptz,
    outcome text, currency text, price numeric
) LANGUAGE sql STABLE AS $$
    SELECT given.id, deal.id IS NOT NULL, live.client_id, live.contact_id, live.last_activity_at, live.next_task_at, live.outcome,
        live.currency, live.price
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_deal WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS deal ON true
    LEFT JOIN LATERAL (
        SELECT deal.client_id, deal.contact_id,
            greatest(deal.updated_at, {_latest("deal_id", "deal.id")}) AS last_activity_at,
            {_next_task("deal_id", "deal.id")} AS next_task_at,
            coalesce((
                SELECT status.outcome FROM accounts_status AS status
                WHERE status.account_id = of_account AND status.id = deal.status_id
            ), 'open') AS outcome,
            deal.currency, coalesce(deal.price, 0) AS price
        WHERE deal.trashed_at IS NULL AND deal.id IS NOT NULL
    ) AS live ON true
$$;
"""  # noqa: S608

CURRENT_CONTACTS = f"""
CREATE FUNCTION workspace_current_contacts(of_account bigint, ids bigint[]) RETURNS TABLE (
    contact_id bigint, is_found boolean, client_id bigint, last_activity_at timestamptz, next_task_at timestamptz
) LANGUAGE sql STABLE AS $$
    SELECT given.id, contact.id IS NOT NULL, live.client_id, live.last_activity_at, live.next_task_at
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_contact WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS contact ON true
    LEFT JOIN LATERAL (
        SELECT contact.client_id,
            greatest(
                contact.updated_at, {_latest("contact_id", "contact.id")},
                {_of_summaries("max(last_activity_at)", "deal", "contact_id", "contact.id")}
            ) AS last_activity_at,
            least(
                {_next_task("contact_id", "contact.id")},
                {_of_summaries("min(next_task_at)", "deal", "contact_id", "contact.id")}
            ) AS next_task_at
        WHERE contact.trashed_at IS NULL AND contact.id IS NOT NULL
    ) AS live ON true
$$;
"""  # noqa: S608

CURRENT_CLIENTS = f"""
CREATE FUNCTION workspace_current_clients(of_account bigint, ids bigint[]) RETURNS TABLE (
    client_id bigint, is_found boolean, last_activity_at timestamptz, next_task_at timestamptz, open_sum numeric, won_sum numeric
) LANGUAGE sql STABLE AS $$
    SELECT given.id, client.id IS NOT NULL, live.last_activity_at, live.next_task_at, coalesce(revenue.open_sum, 0),
        coalesce(revenue.won_sum, 0)
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_client WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS client ON true
    LEFT JOIN LATERAL (
        SELECT
            greatest(
                client.updated_at, {_latest("client_id", "client.id")},
                {_of_summaries("max(last_activity_at)", "contact", "client_id", "client.id")},
                {_of_summaries("max(last_activity_at)", "deal", "client_id", "client.id")}
            ) AS last_activity_at,
            least(
                {_next_task("client_id", "client.id")},
                {_of_summaries("min(next_task_at)", "contact", "client_id", "client.id")},
                {_of_summaries("min(next_task_at)", "deal", "client_id", "client.id")}
            ) AS next_task_at
        WHERE client.trashed_at IS NULL AND client.id IS NOT NULL
    ) AS live ON true
    LEFT JOIN LATERAL (
        SELECT * FROM workspace_clientrevenue WHERE account_id = of_account AND client_id = given.id
            AND currency = (SELECT account.currency FROM accounts_account AS account WHERE account.id = of_account)
        OFFSET 0
    ) AS revenue ON true
$$;
"""  # noqa: S608

# The columns of a summary, without the account and the id of its row.
COLUMNS = {
    "deal": ("client_id", "contact_id", "last_activity_at", "next_task_at", "outcome", "currency", "price"),
    "contact": ("client_id", "last_activity_at", "next_task_at"),
    "client": ("last_activity_at", "next_task_at", "open_sum", "won_sum"),
}


def _write(kind: str) -> str:
    """Return common table expressions that write the summaries of a kind that differ.

    `differing` has the new values and, with the prefix `old_`, the former values.
    """
    table, id, columns = f"workspace_{kind}summary", f"{kind}_id", COLUMNS[kind]
    names = ", ".join(columns)
    new, old = (", ".join(f"{row}.{name}" for name in columns) for row in ("new", "old"))
    former = ", ".join(f"old.{name} AS old_{name}" for name in columns)
    changes = ", ".join(f"{name} = EXCLUDED.{name}" for name in columns)
    return f"""
    differing AS MATERIALIZED (
        SELECT new.*, {former} FROM workspace_current_{kind}s(of_account, {kind}s) AS new
        LEFT JOIN LATERAL (SELECT * FROM {table} WHERE account_id = of_account AND {id} = new.{id} OFFSET 0) AS old ON true
        WHERE NOT new.is_found OR old.{id} IS NULL OR ({new}) IS DISTINCT FROM ({old})
    ), written AS (
        INSERT INTO {table} (account_id, {id}, {names})
        SELECT of_account, {id}, {names} FROM differing WHERE is_found ORDER BY {id}
        ON CONFLICT (account_id, {id}) DO UPDATE SET {changes}
    ), erased AS (
        DELETE FROM {table} WHERE account_id = of_account AND {id} = ANY (ARRAY(SELECT {id} FROM differing WHERE NOT is_found))
    )"""  # noqa: S608


def _lock(kind: str) -> str:
    return f"""PERFORM FROM workspace_{kind}summary
            WHERE account_id = of_account AND {kind}_id = ANY ({kind}s) ORDER BY {kind}_id FOR NO KEY UPDATE;"""


def _merge(ids: str, *others: str) -> str:
    """Return the statement that adds ids to a variable, without nulls and duplicates."""
    arrays = " || ".join((ids, *others))
    return f"{ids} := ARRAY(SELECT DISTINCT id FROM unnest({arrays}) AS id WHERE id IS NOT NULL);"  # noqa: S608


# It returns the number of clients whose summaries were written. PostgreSQL would plan the statements in every call, because it estimates
# more rows for arrays of unknown length. Planning takes longer than the execution. The plan of a connection that met small tables must
# stay fast when they grow, so it uses the indexes from the beginning.
UPDATE_SUMMARIES = f"""
CREATE FUNCTION workspace_update_summaries(of_account bigint, deals bigint[], contacts bigint[], clients bigint[])
RETURNS integer LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    linked_contacts bigint[];
    linked_clients bigint[];
    number_of_clients integer := 0;
BEGIN
    IF cardinality(deals) > 0 THEN
        {_lock("deal")}
        WITH {_write("deal")}, revenue AS (
            INSERT INTO workspace_clientrevenue AS total
                (account_id, client_id, currency, open_deals, open_sum, won_deals, won_sum)
            SELECT of_account, * FROM (
                SELECT client_id, currency,
                    coalesce(sum(sign) FILTER (WHERE outcome = 'open'), 0) AS open_deals,
                    coalesce(sum(sign * price) FILTER (WHERE outcome = 'open'), 0) AS open_sum,
                    coalesce(sum(sign) FILTER (WHERE outcome = 'won'), 0) AS won_deals,
                    coalesce(sum(sign * price) FILTER (WHERE outcome = 'won'), 0) AS won_sum
                FROM (
                    SELECT client_id, currency, outcome, price, 1 AS sign FROM differing
                    UNION ALL
                    SELECT old_client_id, old_currency, old_outcome, old_price, -1 FROM differing
                ) AS counted
                WHERE client_id IS NOT NULL AND outcome IN ('open', 'won')
                GROUP BY client_id, currency
            ) AS change
            WHERE (open_deals, open_sum, won_deals, won_sum) <> (0, 0, 0, 0)
            ORDER BY client_id, currency
            ON CONFLICT (account_id, client_id, currency) DO UPDATE SET
                open_deals = total.open_deals + EXCLUDED.open_deals, open_sum = total.open_sum + EXCLUDED.open_sum,
                won_deals = total.won_deals + EXCLUDED.won_deals, won_sum = total.won_sum + EXCLUDED.won_sum
        )
        SELECT array_agg(contact_id) || array_agg(old_contact_id), array_agg(client_id) || array_agg(old_client_id)
        INTO linked_contacts, linked_clients FROM differing;
        {_merge("contacts", "linked_contacts")}
        {_merge("clients", "linked_clients")}
        DELETE FROM workspace_clientrevenue
        WHERE account_id = of_account AND client_id = ANY (linked_clients) AND open_deals = 0 AND won_deals = 0;
    END IF;
    IF cardinality(contacts) > 0 THEN
        {_lock("contact")}
        WITH {_write("contact")}
        SELECT array_agg(client_id) || array_agg(old_client_id) INTO linked_clients FROM differing;
        {_merge("clients", "linked_clients")}
    END IF;
    IF cardinality(clients) > 0 THEN
        {_lock("client")}
        WITH {_write("client")}
        SELECT count(*) INTO number_of_clients FROM differing;
    END IF;
    RETURN number_of_clients;
END $$;
"""  # noqa: S608

UPDATE_CHANGED = """
CREATE FUNCTION workspace_update_changed() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    changed CONSTANT text := current_setting('workspace.changed', true);
    account record;
BEGIN
    IF coalesce(changed, '') = '' THEN
        RETURN;
    END IF;
    PERFORM set_config('workspace.changed', '', true);
    FOR account IN
        SELECT parts[2]::bigint AS id,
            coalesce(array_agg(DISTINCT parts[3]::bigint) FILTER (WHERE parts[1] = 'deal'), '{}') AS deals,
            coalesce(array_agg(DISTINCT parts[3]::bigint) FILTER (WHERE parts[1] = 'contact'), '{}') AS contacts,
            coalesce(array_agg(DISTINCT parts[3]::bigint) FILTER (WHERE parts[1] = 'client'), '{}') AS clients
        FROM (SELECT string_to_array(item, '/') AS parts FROM string_to_table(rtrim(changed), ' ') AS item) AS items
        GROUP BY parts[2]::bigint ORDER BY parts[2]::bigint
    LOOP
        PERFORM workspace_update_summaries(account.id, account.deals, account.contacts, account.clients);
    END LOOP;
END $$;

CREATE FUNCTION workspace_update_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM workspace_update_changed();
    RETURN NULL;
END $$;
"""

COLLECT_CHANGES = f"""
CREATE FUNCTION workspace_add_changed(items text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    changed CONSTANT text := concat(current_setting('workspace.changed', true), items);
BEGIN
    PERFORM set_config('workspace.changed', changed, true);
    IF length(changed) > {MAX_CHANGED_LENGTH} THEN
        PERFORM workspace_update_changed();
    END IF;
END $$;

CREATE FUNCTION workspace_collect_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM workspace_add_changed(concat(TG_ARGV[0], '/', OLD.account_id, '/', OLD.id, ' '));
    ELSE
        PERFORM workspace_add_changed(concat(TG_ARGV[0], '/', NEW.account_id, '/', NEW.id, ' '));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION workspace_collect_links() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    items text := '';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        items := concat(
            'client/' || OLD.account_id || '/' || OLD.client_id || ' ',
            'contact/' || OLD.account_id || '/' || OLD.contact_id || ' ',
            'deal/' || OLD.account_id || '/' || OLD.deal_id || ' '
        );
    END IF;
    IF TG_OP <> 'DELETE' THEN
        items := concat(items,
            'client/' || NEW.account_id || '/' || NEW.client_id || ' ',
            'contact/' || NEW.account_id || '/' || NEW.contact_id || ' ',
            'deal/' || NEW.account_id || '/' || NEW.deal_id || ' '
        );
    END IF;
    PERFORM workspace_add_changed(items);
    RETURN NULL;
END $$;
"""

# No other transaction refers to a new row, so its summary needs no lock. A new row with links takes the way of all other changes.
INSERT_SUMMARIES = """
CREATE FUNCTION workspace_insert_client_summary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO workspace_clientsummary (account_id, client_id, last_activity_at, open_sum, won_sum)
    VALUES (NEW.account_id, NEW.id, NEW.updated_at, 0, 0) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION workspace_insert_contact_summary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO workspace_contactsummary (account_id, contact_id, last_activity_at)
    VALUES (NEW.account_id, NEW.id, NEW.updated_at) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION workspace_insert_deal_summary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO workspace_dealsummary (account_id, deal_id, last_activity_at, outcome, currency, price)
    VALUES (
        NEW.account_id, NEW.id, NEW.updated_at,
        coalesce((
            SELECT outcome FROM accounts_status WHERE account_id = NEW.account_id AND id = NEW.status_id
        ), 'open'),
        NEW.currency, coalesce(NEW.price, 0)
    ) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
"""

LINKS = ("client_id", "contact_id", "deal_id")
# The conditions of new rows whose summaries are inserted at once.
IS_UNLINKED = {
    "client": "NEW.trashed_at IS NULL",
    "contact": "NEW.trashed_at IS NULL AND NEW.client_id IS NULL",
    "deal": "NEW.trashed_at IS NULL AND NEW.client_id IS NULL AND NEW.contact_id IS NULL",
}
# The function that collects a changed row, and the columns whose change matters, by table.
SOURCES: dict[str, tuple[str, tuple[str, ...]]] = {
    "crm_client": ("workspace_collect_row('client')", ("updated_at", "trashed_at")),
    "crm_contact": ("workspace_collect_row('contact')", ("updated_at", "trashed_at", "client_id")),
    "crm_deal": (
        "workspace_collect_row('deal')",
        ("updated_at", "trashed_at", "client_id", "contact_id", "status_id", "currency", "price"),
    ),
    "crm_note": ("workspace_collect_links()", ("updated_at", "trashed_at", *LINKS)),
    "forum_post": (
        "workspace_collect_links()",
        ("updated_at", "trashed_at", "category_id", "closed", "scheduled_at", *LINKS),
    ),
}
EVENTS = ("INSERT", "UPDATE", "DELETE")


def _condition(function: str, columns: tuple[str, ...], event: str) -> str:
    """Return the condition of the triggers, so that rows without links and changes of other columns cost nothing."""
    rows = {"INSERT": ("NEW",), "UPDATE": ("OLD", "NEW"), "DELETE": ("OLD",)}[event]
    conditions = []
    if "links" in function:
        given = ", ".join(f"{row}.{link}" for row in rows for link in LINKS)
        conditions.append(f"num_nonnulls({given}) > 0")
    if event == "INSERT":
        conditions += [f"NOT ({unlinked})" for kind, unlinked in IS_UNLINKED.items() if f"'{kind}'" in function]
    if event == "UPDATE":
        old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("OLD", "NEW"))
        conditions.append(f"({old}) IS DISTINCT FROM ({new})")
    return f" WHEN ({' AND '.join(conditions)})" if conditions else ""


def _triggers() -> str:
    statements = []
    for table, (function, columns) in SOURCES.items():
        for event in EVENTS:
            each = f"FOR EACH ROW{_condition(function, columns, event)} EXECUTE FUNCTION"
            name = event.lower()
            deferred = f"AFTER {event} ON {table} DEFERRABLE INITIALLY DEFERRED"
            statements += [
                f"CREATE TRIGGER collect_{name} AFTER {event} ON {table} {each} {function};",
                f"CREATE CONSTRAINT TRIGGER summarize_{name} {deferred} {each} workspace_update_at_commit();",
            ]
    statements += [
        f"CREATE TRIGGER insert_summary AFTER INSERT ON crm_{kind} FOR EACH ROW WHEN ({condition})"
        f" EXECUTE FUNCTION workspace_insert_{kind}_summary();"
        for kind, condition in IS_UNLINKED.items()
    ]
    return "\n".join(statements)


FUNCTIONS = (
    CURRENT_DEALS,
    CURRENT_CONTACTS,
    CURRENT_CLIENTS,
    UPDATE_SUMMARIES,
    UPDATE_CHANGED,
    COLLECT_CHANGES,
    INSERT_SUMMARIES,
)
CREATE = "".join([*FUNCTIONS, _triggers()])

DROP = "\n".join(
    [
        *(f"DROP TRIGGER insert_summary ON crm_{kind};" for kind in IS_UNLINKED),
        *(f"DROP FUNCTION workspace_insert_{kind}_summary();" for kind in IS_UNLINKED),
        *(
            f"DROP TRIGGER {prefix}_{event.lower()} ON {table};"
            for table in SOURCES
            for event in EVENTS
            for prefix in ("summarize", "collect")
        ),
        *(
            f"DROP FUNCTION {function};"
            for function in (
                "workspace_collect_links()",
                "workspace_collect_row()",
                "workspace_add_changed(text)",
                "workspace_update_at_commit()",
                "workspace_update_changed()",
                "workspace_update_summaries(bigint, bigint[], bigint[], bigint[])",
                "workspace_current_clients(bigint, bigint[])",
                "workspace_current_contacts(bigint, bigint[])",
                "workspace_current_deals(bigint, bigint[])",
            )
        ),
    ]
)


def create_summary_triggers() -> migrations.RunSQL:
    """Return the operation that creates the functions and the triggers."""
    return migrations.RunSQL(CREATE, DROP)
