"""The SQL that keeps the summaries of clients, contacts and deals (`workspace.summaries`), whatever writes the rows.

1. A row trigger adds the changed row, or the rows to which it links, to the setting `workspace.changed` of the transaction.
2. A deferred trigger updates their summaries when the transaction commits. It locks the summaries of deals, then of contacts, then of
   clients, each in the order of the ids, so that concurrent transactions cannot deadlock. The next statement reads what other
   transactions committed before they released the locks.
3. If the transaction only creates one row with links, the deferred trigger raises the summaries of the linked rows to the times of the new
   row, and adds the new deal to the revenue, in the same order of the locks. That takes a fifth of the time.

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


# The rows of posts that are not in the trash, and in the migrations that precede the table of the sort keys.
POSTS, FORMER_POSTS = "forum_postsortkey WHERE true", "forum_post WHERE trashed_at IS NULL"


def _latest(link: str, id: str) -> str:
    """Return the times of the last change of the posts and notes with a link."""
    return ", ".join(
        f"(SELECT max(updated_at) FROM {rows} AND account_id = of_account AND {link} = {id})"  # noqa: S608
        for rows in (POSTS, "crm_note WHERE trashed_at IS NULL")
    )


def _next_task(link: str, id: str) -> str:
    return f"""(
        SELECT min(scheduled_at) FROM forum_post
        WHERE account_id = of_account AND {link} = {id} AND trashed_at IS NULL AND category_id IS NULL AND NOT closed
    )"""  # noqa: S608


def _of_summaries(aggregate: str, kind: str, link: str, id: str) -> str:
    return f"(SELECT {aggregate} FROM workspace_{kind}summary WHERE account_id = of_account AND {link} = {id})"  # noqa: S608


CURRENT_DEALS = f"""
CREATE OR REPLACE FUNCTION workspace_current_deals(of_account bigint, ids bigint[]) RETURNS TABLE (
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
CREATE OR REPLACE FUNCTION workspace_current_contacts(of_account bigint, ids bigint[]) RETURNS TABLE (
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
CREATE OR REPLACE FUNCTION workspace_current_clients(of_account bigint, ids bigint[]) RETURNS TABLE (
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


ADD_REVENUE = """ON CONFLICT (account_id, client_id, currency) DO UPDATE SET
                open_deals = total.open_deals + EXCLUDED.open_deals, open_sum = total.open_sum + EXCLUDED.open_sum,
                won_deals = total.won_deals + EXCLUDED.won_deals, won_sum = total.won_sum + EXCLUDED.won_sum"""

# It returns the number of clients whose summaries were written. PostgreSQL would plan the statements in every call, because it estimates
# more rows for arrays of unknown length. Planning takes longer than the execution. The plan of a connection that met small tables must
# stay fast when they grow, so it uses the indexes from the beginning.
UPDATE_SUMMARIES = f"""
CREATE OR REPLACE FUNCTION workspace_update_summaries(of_account bigint, deals bigint[], contacts bigint[], clients bigint[])
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
            {ADD_REVENUE}
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
CREATE OR REPLACE FUNCTION workspace_update_changed() RETURNS void LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION workspace_update_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM workspace_update_changed();
    RETURN NULL;
END $$;
"""


def _items(row: str, *ids: tuple[str, str]) -> str:
    """Return the SQL for items of the setting. `ids` are pairs of a kind and a column with an id. No item is made for a null."""
    items = [f"'{kind}/' || {row}.account_id || '/' || {row}.{column} || ' '" for kind, column in ids]
    return f"concat({', '.join(items)})"


LINKS = ("client_id", "contact_id", "deal_id")
LINKED = tuple((link.removesuffix("_id"), link) for link in LINKS)
# The item of a new row is in no other setting, so it shows that the other items belong to the new row. Summaries are not updated for it.
NEW_ROW = ("new", "id")
NEW_ITEMS = {
    "contact": _items("NEW", NEW_ROW, ("contact", "id")),
    "deal": _items("NEW", NEW_ROW, ("deal", "id")),
    "note": _items("NEW", NEW_ROW, *LINKED),
    "post": _items("NEW", NEW_ROW, *LINKED),
}


def _collect(items: str) -> str:
    """Return the statement that adds items to the setting. `PERFORM` would start the executor for it, unlike this expression."""
    changed = f"set_config('workspace.changed', concat(current_setting('workspace.changed', true), {items}), true)"
    return f"IF length({changed}) > {MAX_CHANGED_LENGTH} THEN PERFORM workspace_update_changed(); END IF;"


COLLECT_CHANGES = f"""
CREATE OR REPLACE FUNCTION workspace_collect_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        {_collect("concat(TG_ARGV[0], '/', OLD.account_id, '/', OLD.id, ' ')")}
    ELSE
        {_collect("concat(TG_ARGV[0], '/', NEW.account_id, '/', NEW.id, ' ')")}
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_collect_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {_collect(_items("OLD", *LINKED))}
    IF TG_OP <> 'DELETE' THEN
        {_collect(_items("NEW", *LINKED))}
    END IF;
    RETURN NULL;
END $$;
""" + "".join(
    f"""
CREATE OR REPLACE FUNCTION workspace_collect_new_{resource}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {_collect(items)}
    RETURN NULL;
END $$;
"""
    for resource, items in NEW_ITEMS.items()
)

# No other transaction refers to a new row, so its summary needs no lock.
INSERT_SUMMARY = {
    "client": """
        INSERT INTO workspace_clientsummary (account_id, client_id, last_activity_at, open_sum, won_sum)
        VALUES (NEW.account_id, NEW.id, NEW.updated_at, 0, 0) ON CONFLICT DO NOTHING""",
    "contact": """
        INSERT INTO workspace_contactsummary (account_id, contact_id, client_id, last_activity_at)
        VALUES (NEW.account_id, NEW.id, NEW.client_id, NEW.updated_at) ON CONFLICT DO NOTHING""",
    "deal": """
        INSERT INTO workspace_dealsummary (account_id, deal_id, client_id, contact_id, last_activity_at, outcome, currency, price)
        VALUES (
            NEW.account_id, NEW.id, NEW.client_id, NEW.contact_id, NEW.updated_at,
            coalesce((
                SELECT outcome FROM accounts_status WHERE account_id = NEW.account_id AND id = NEW.status_id
            ), 'open'),
            NEW.currency, coalesce(NEW.price, 0)
        ) ON CONFLICT DO NOTHING""",
}
INSERT_SUMMARIES = "".join(
    f"""
CREATE OR REPLACE FUNCTION workspace_insert_{kind}_summary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {insert};
    RETURN NULL;
END $$;
"""
    for kind, insert in INSERT_SUMMARY.items()
)


def _raise(kind: str, returning: str, *assignments: str) -> str:
    """Return the statement that raises the times of a summary, unless its row is in the trash."""
    times = ("last_activity_at = greatest(last_activity_at, active_at)", "next_task_at = least(next_task_at, task_at)")
    return f"""
            UPDATE workspace_{kind}summary SET {", ".join([*times, *assignments])}
            WHERE account_id = of_account AND {kind}_id = {kind} AND last_activity_at IS NOT NULL {returning}"""  # noqa: S608


# A new row can only raise the last activity and bring the next task forward. Both are commutative, so no value is read before it is locked.
# A summary that is missing or of a row in the trash, and links to two rows of a kind, are left to `workspace_update_summaries`, which
# locks further summaries in the same order. The sums are those of the row of `workspace_clientrevenue`, which is locked.
RAISE_SUMMARIES = f"""
CREATE OR REPLACE FUNCTION workspace_raise_summaries(
    of_account bigint, deal bigint, contact bigint, client bigint, active_at timestamptz, task_at timestamptz,
    new_open_sum numeric, new_won_sum numeric
) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    contact_of_deal bigint;
    client_of_deal bigint;
    client_of_contact bigint;
    given_contact CONSTANT bigint := contact;
    given_client CONSTANT bigint := client;
BEGIN
    <<each_kind>>
    BEGIN
        IF deal IS NOT NULL THEN{
    _raise("deal", "RETURNING contact_id, client_id INTO contact_of_deal, client_of_deal")
};
            EXIT each_kind WHEN NOT FOUND OR contact <> contact_of_deal;
            contact := coalesce(contact, contact_of_deal);
        END IF;
        IF contact IS NOT NULL THEN{_raise("contact", "RETURNING client_id INTO client_of_contact")};
            EXIT each_kind WHEN NOT FOUND;
        END IF;
        client := coalesce(client, client_of_deal, client_of_contact);
        EXIT each_kind WHEN client <> client_of_deal OR client <> client_of_contact;
        IF client IS NOT NULL THEN{
    _raise("client", "", "open_sum = coalesce(new_open_sum, open_sum)", "won_sum = coalesce(new_won_sum, won_sum)")
};
            EXIT each_kind WHEN NOT FOUND;
        END IF;
        RETURN true;
    END;
    PERFORM workspace_update_summaries(
        of_account, array_remove(ARRAY[deal], NULL),
        ARRAY(SELECT DISTINCT id FROM unnest(ARRAY[given_contact, contact_of_deal]) AS id WHERE id IS NOT NULL),
        ARRAY(SELECT DISTINCT id FROM unnest(ARRAY[given_client, client_of_deal, client_of_contact]) AS id WHERE id IS NOT NULL)
    );
    RETURN false;
END $$;
"""  # noqa: S608


def _at_commit(resource: str, variables: str, statements: str) -> str:
    """Return the function of the deferred trigger for new rows with links. The statements are for a transaction that changed nothing else."""
    return f"""
CREATE OR REPLACE FUNCTION workspace_summarize_new_{resource}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed text := current_setting('workspace.changed', true);
    is_raised boolean;{variables}
BEGIN
    IF changed IS DISTINCT FROM {NEW_ITEMS[resource]} OR NEW.trashed_at IS NOT NULL THEN
        PERFORM workspace_update_changed();
        RETURN NULL;
    END IF;
    changed := set_config('workspace.changed', '', true);
    {statements}
    RETURN NULL;
END $$;
"""


def _raise_linked(task_at: str) -> str:
    return f"""is_raised := workspace_raise_summaries(
        NEW.account_id, NEW.deal_id, NEW.contact_id, NEW.client_id, NEW.updated_at, {task_at}, NULL, NULL
    );"""


SUMMARIZE_CONTACT = f"""{INSERT_SUMMARY["contact"]};
    is_raised := workspace_raise_summaries(NEW.account_id, NULL, NULL, NEW.client_id, NEW.updated_at, NULL, NULL, NULL);"""
DEAL_VARIABLES = """
    outcome_of_status text;
    is_open boolean;
    value CONSTANT numeric := coalesce(NEW.price, 0);
    new_open_sum numeric;
    new_won_sum numeric;"""
SUMMARIZE_DEAL = f"""{INSERT_SUMMARY["deal"]} RETURNING outcome INTO outcome_of_status;
    IF NEW.client_id IS NOT NULL AND outcome_of_status IN ('open', 'won') THEN
        is_open := outcome_of_status = 'open';
        INSERT INTO workspace_clientrevenue AS total
            (account_id, client_id, currency, open_deals, open_sum, won_deals, won_sum)
        VALUES (
            NEW.account_id, NEW.client_id, NEW.currency, is_open::integer, CASE WHEN is_open THEN value ELSE 0 END,
            (NOT is_open)::integer, CASE WHEN is_open THEN 0 ELSE value END
        )
        {ADD_REVENUE}
        RETURNING open_sum, won_sum INTO new_open_sum, new_won_sum;
        IF NEW.currency <> (SELECT currency FROM accounts_account WHERE id = NEW.account_id) THEN
            new_open_sum := NULL;
            new_won_sum := NULL;
        END IF;
    END IF;
    is_raised := workspace_raise_summaries(
        NEW.account_id, NULL, NEW.contact_id, NEW.client_id, NEW.updated_at, NULL, new_open_sum, new_won_sum
    );"""  # noqa: S608
SUMMARIZE_NEW = "".join(
    [
        _at_commit("contact", "", SUMMARIZE_CONTACT),
        _at_commit("deal", DEAL_VARIABLES, SUMMARIZE_DEAL),
        _at_commit("note", "", _raise_linked("NULL")),
        _at_commit(
            "post", "", _raise_linked("CASE WHEN NEW.category_id IS NULL AND NOT NEW.closed THEN NEW.scheduled_at END")
        ),
    ]
)

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
    for table, (collect, columns) in SOURCES.items():
        for event in EVENTS:
            each = f"FOR EACH ROW{_condition(collect, columns, event)} EXECUTE FUNCTION"
            name, resource = event.lower(), table.partition("_")[2]
            functions = (collect, "workspace_update_at_commit()")
            if event == "INSERT" and resource in NEW_ITEMS:
                functions = (f"workspace_collect_new_{resource}()", f"workspace_summarize_new_{resource}()")
            deferred = f"AFTER {event} ON {table} DEFERRABLE INITIALLY DEFERRED"
            statements += [
                f"CREATE TRIGGER collect_{name} AFTER {event} ON {table} {each} {functions[0]};",
                f"CREATE CONSTRAINT TRIGGER summarize_{name} {deferred} {each} {functions[1]};",
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
    RAISE_SUMMARIES,
    SUMMARIZE_NEW,
)
CREATE = "".join([*FUNCTIONS, _triggers()])

DROP_TRIGGERS = "\n".join(
    [
        *(f"DROP TRIGGER insert_summary ON crm_{kind};" for kind in IS_UNLINKED),
        *(
            f"DROP TRIGGER {prefix}_{event.lower()} ON {table};"
            for table in SOURCES
            for event in EVENTS
            for prefix in ("summarize", "collect")
        ),
    ]
)
DROP = DROP_TRIGGERS + "\n".join(
    f"DROP FUNCTION {function};"
    for function in (
        *(f"workspace_insert_{kind}_summary()" for kind in IS_UNLINKED),
        *(f"workspace_{verb}_new_{resource}()" for resource in NEW_ITEMS for verb in ("summarize", "collect")),
        "workspace_raise_summaries(bigint, bigint, bigint, bigint, timestamptz, timestamptz, numeric, numeric)",
        "workspace_collect_links()",
        "workspace_collect_row()",
        "workspace_update_at_commit()",
        "workspace_update_changed()",
        "workspace_update_summaries(bigint, bigint[], bigint[], bigint[])",
        "workspace_current_clients(bigint, bigint[])",
        "workspace_current_contacts(bigint, bigint[])",
        "workspace_current_deals(bigint, bigint[])",
    )
)


def create_summary_triggers() -> migrations.RunSQL:
    """Return the operation that creates the functions and the triggers, for `read_sort_keys` to follow."""
    return migrations.RunSQL(CREATE.replace(POSTS, FORMER_POSTS), DROP)


def replace_summary_triggers() -> migrations.RunSQL:
    """Return the operation that replaces the functions and the triggers by those of this version."""
    return migrations.RunSQL(
        DROP_TRIGGERS + "DROP FUNCTION IF EXISTS workspace_add_changed(text);" + CREATE.replace(POSTS, FORMER_POSTS),
        migrations.RunSQL.noop,
    )


def read_sort_keys() -> migrations.RunSQL:
    """Return the operation that makes the summaries read the last change of posts from their sort keys."""
    functions = CURRENT_DEALS + CURRENT_CONTACTS + CURRENT_CLIENTS
    return migrations.RunSQL(functions, functions.replace(POSTS, FORMER_POSTS))
