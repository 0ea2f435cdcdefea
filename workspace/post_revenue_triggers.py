"""The triggers that queue the rows on which the figures of suggestions depend (`workspace.post_revenue`), whatever writes the rows.

Conditions (WHEN) exclude writes of other columns. A vote, or a suggestion without a customer, is queued only if its author has a confirmed
link.
"""

from django.db import migrations

QUEUE = "workspace_revenuechange"
# A link and a vote of its user in concurrent transactions do not see each other. The posts of the user are therefore computed again when
# both transactions have ended.
SECOND_RUN_AFTER = "2 minutes"

# OLD is null in triggers for INSERT, and NEW in those for DELETE. PostgreSQL keeps the plans of PL/pgSQL functions. It would parse and plan a
# function in SQL with each call.
FUNCTIONS = f"""
CREATE OR REPLACE FUNCTION workspace_queue_revenue(of_account bigint, of_kind text, ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO {QUEUE} (account_id, kind, row_id)
    SELECT DISTINCT of_account, of_kind, id FROM unnest(ids) AS id WHERE id IS NOT NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_has_link(of_account bigint, of_user bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM crm_userlink WHERE account_id = of_account AND user_id = of_user AND state = 'confirmed');
END $$;

CREATE OR REPLACE FUNCTION workspace_revenue_of_deal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO {QUEUE} (account_id, kind, row_id) VALUES (NEW.account_id, 'client', NEW.client_id);
    ELSE
        PERFORM workspace_queue_revenue(OLD.account_id, 'client', ARRAY[OLD.client_id, NEW.client_id]);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_revenue_of_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM workspace_queue_revenue(NEW.account_id, TG_ARGV[0], ARRAY[NEW.id]);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_revenue_of_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'accounts_account' THEN
        PERFORM workspace_queue_revenue(NEW.id, 'account', ARRAY[NEW.id]);
    ELSE
        PERFORM workspace_queue_revenue(NEW.account_id, 'account', ARRAY[NEW.account_id]);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_revenue_of_proxy_vote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM workspace_queue_revenue(coalesce(NEW.account_id, OLD.account_id), 'post', ARRAY[OLD.post_id, NEW.post_id]);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_revenue_of_vote() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    vote CONSTANT forum_vote := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF workspace_has_link(vote.account_id, vote.user_id) THEN
        PERFORM workspace_queue_revenue(vote.account_id, 'post', ARRAY[vote.post_id]);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_revenue_of_link() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    link CONSTANT crm_userlink := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    INSERT INTO {QUEUE} (account_id, kind, row_id, due_at)
    SELECT link.account_id, 'user', link.user_id, statement_timestamp() + delay
    FROM unnest(ARRAY['0', '{SECOND_RUN_AFTER}']::interval[]) AS delay;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_revenue_of_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' OR num_nonnulls(NEW.client_id, NEW.contact_id, NEW.duplicate_from_id) > 0
            OR workspace_has_link(NEW.account_id, NEW.user_id) THEN
        PERFORM workspace_queue_revenue(
            coalesce(NEW.account_id, OLD.account_id), 'post', ARRAY[NEW.id, NEW.duplicate_from_id, OLD.duplicate_from_id]
        );
    END IF;
    RETURN NULL;
END $$;
"""  # noqa: S608
NAMES = ("post", "link", "vote", "proxy_vote", "account", "row", "deal")


def changed(*columns: str) -> str:
    old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("OLD", "NEW"))
    return f"({old}) IS DISTINCT FROM ({new})"


# The table, the event, its condition, and the function.
TRIGGERS = (
    ("crm_deal", "INSERT", "NEW.client_id IS NOT NULL AND NEW.trashed_at IS NULL", "deal()"),
    ("crm_deal", "UPDATE", changed("client_id", "status_id", "currency", "price", "trashed_at"), "deal()"),
    ("crm_deal", "DELETE", "OLD.client_id IS NOT NULL AND OLD.trashed_at IS NULL", "deal()"),
    ("crm_client", "UPDATE", changed("trashed_at"), "row('client')"),
    ("crm_contact", "UPDATE", changed("client_id", "trashed_at"), "row('contact')"),
    ("accounts_status", "UPDATE", changed("outcome"), "account()"),
    ("accounts_account", "UPDATE", changed("currency"), "account()"),
    ("forum_proxyvote", "INSERT", "true", "proxy_vote()"),
    ("forum_proxyvote", "UPDATE", changed("post_id", "client_id", "contact_id"), "proxy_vote()"),
    ("forum_proxyvote", "DELETE", "true", "proxy_vote()"),
    ("forum_vote", "INSERT", "true", "vote()"),
    ("forum_vote", "DELETE", "true", "vote()"),
    ("crm_userlink", "INSERT", "NEW.state = 'confirmed'", "link()"),
    ("crm_userlink", "UPDATE", changed("state", "client_id", "contact_id"), "link()"),
    ("crm_userlink", "DELETE", "OLD.state = 'confirmed'", "link()"),
    ("forum_post", "INSERT", "NEW.category_id IS NOT NULL", "post()"),
    (
        "forum_post",
        "UPDATE",
        "num_nonnulls(OLD.category_id, NEW.category_id) > 0 AND "
        + changed("client_id", "contact_id", "user_id", "duplicate_from_id", "trashed_at", "forum_id"),
        "post()",
    ),
    ("forum_post", "DELETE", "OLD.duplicate_from_id IS NOT NULL", "post()"),
)

CREATE = FUNCTIONS + "".join(
    f"CREATE TRIGGER queue_revenue_{event.lower()} AFTER {event} ON {table} FOR EACH ROW WHEN ({condition})"
    f" EXECUTE FUNCTION workspace_revenue_of_{function};\n"
    for table, event, condition, function in TRIGGERS
)
DROP = "".join(
    [
        *(f"DROP TRIGGER queue_revenue_{event.lower()} ON {table};\n" for table, event, *_ in TRIGGERS),
        *(f"DROP FUNCTION workspace_revenue_of_{name}();\n" for name in NAMES),
        "DROP FUNCTION workspace_has_link(bigint, bigint);",
        "DROP FUNCTION workspace_queue_revenue(bigint, text, bigint[]);",
    ]
)

# The suggestions that may have clients when the triggers are created.
QUEUE_EXISTING = f"""
INSERT INTO {QUEUE} (account_id, kind, row_id)
SELECT account_id, 'post', post_id FROM forum_proxyvote
UNION SELECT account_id, 'post', id FROM forum_post
    WHERE category_id IS NOT NULL AND trashed_at IS NULL AND num_nonnulls(client_id, contact_id) > 0
UNION SELECT account_id, 'user', user_id FROM crm_userlink WHERE state = 'confirmed'
"""  # noqa: S608

# The suggestions whose figures are stored already, before their clients were stored too.
QUEUE_STORED = f"""
INSERT INTO {QUEUE} (account_id, kind, row_id)
SELECT DISTINCT account_id, 'post', post_id FROM workspace_postrevenue
"""  # noqa: S608


def create_triggers() -> list[migrations.RunSQL]:
    """Return the operations that create the functions and the triggers, and queue the existing suggestions."""
    return [migrations.RunSQL(CREATE, DROP), migrations.RunSQL(QUEUE_EXISTING, migrations.RunSQL.noop)]


def replace_functions() -> migrations.RunSQL:
    """Return the operation that replaces the functions by those of this version. `CREATE OR REPLACE` keeps the triggers."""
    return migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop)
