"""The SQL statements that create the team, deals, tasks, notes, votes and the timeline of the account of the benchmarks.

The rows have the numbers n from 1, and the ids from the parameter `first_…` of their kind. Like `bench.rows`, the values depend on n. One
*busy client*, the first one, has many rows of each kind.
"""

from bench.rows import AGENTS, CITY_SEED, PERSON, RESPONSIBLE, pick_sql, spread_sql

TABLES = (
    "accounts_user",
    "crm_clientlastchange",
    "crm_contact",
    "crm_contactlastchange",
    "crm_contactlistmembership",
    "crm_deal",
    "crm_deallastchange",
    "crm_dealstage",
    "crm_note",
    "crm_userlink",
    "forum_proxyvote",
    "forum_vote",
    "workspace_clientrevenue",
    "workspace_clientsummary",
    "workspace_contactsummary",
    "workspace_dealsummary",
    "workspace_postbacker",
    "workspace_postrevenue",
    "workspace_timelineentry",
)

MEMBERS = 40
# The most proxy votes for a suggestion. The other votes are those of members.
PROXY_VOTES = 10
# The rows that link to the busy client, at most a quarter of all rows of the kind.
BUSY = {"contact": 100, "deal": 200, "task": 200, "note": 10_000, "change": 5_000}
# The contact lists. Every 5th contact is in the first one, every 50th in the second one.
LISTS = {"Newsletter": 5, "Fair": 50}
CLIENT_STATUSES = ["Lead", "Customer", "Former"]

# fmt: off
SOURCES = ["Shop", "Fair", "Phone", "Recommendation", "Advertisement", "Newsletter"]
DEAL_FIELDS = {"source": SOURCES}
POSITIONS = ["Owner", "Buyer", "Accountant", "Assistant", "Manager"]
TASK_TITLES = ["Call back", "Send the offer", "Prepare the contract", "Check the delivery", "Ask for feedback", "Plan a meeting"]
# fmt: on

# The parameters of the statements, beside those of `bench.rows`.
PARAMETERS = {
    "sources": SOURCES,
    "positions": POSITIONS,
    "task_titles": TASK_TITLES,
    "task_kinds": ["task", "phone", "email", "help"],
    "note_kinds": ["note", "call", "meeting", "email"],
    "list_names": list(LISTS),
    "list_steps": list(LISTS.values()),
    # The first one is the currency of the account.
    "currencies": ["EUR", "EUR", "EUR", "PLN", "PLN", "USD", "GBP"],
}


def any_of(kind: str, seed: int) -> str:
    """Return SQL for the id of one of the rows of a kind."""
    return f"(%(first_{kind})s + {spread_sql(f'%({kind}s)s', seed)})"


def client_of(kind: str, seed: int) -> str:
    """Return SQL for the id of the client to whom a row of a kind links: the busy client for the first rows."""
    return f"CASE WHEN {is_busy(kind)} THEN %(first_client)s ELSE {any_of('client', seed)} END"


def is_busy(kind: str) -> str:
    return f"n <= least({BUSY[kind]}, %({kind}s)s / 4)"


def days(number: float, seed: int) -> str:
    """Return SQL for an interval of at most `number` days."""
    return f"({spread_sql('1000000', seed)} * interval '{number * 86.4} milliseconds')"


CREATOR = f"(%(team)s::bigint[])[1 + {spread_sql(str(AGENTS + 1), 3037)}]"
NUMBERS = "generate_series(%(first)s::bigint, %(last)s::bigint) AS n"
TAGS = f"CASE WHEN n %% 4 = 0 THEN ARRAY[{pick_sql('client_tags', 5501)}] ELSE '{{}}'::text[] END"

# The password is no hash, so nobody can sign in with it.
USERS = f"""
INSERT INTO accounts_user (account_id, id, password, login, login_key, login_skeleton, email, email_key, email_skeleton, name, role,
    notification, is_active, created_at, updated_at)
WITH numbered AS (SELECT n, now() AS moment FROM generate_series(1::bigint, {AGENTS + MEMBERS}) AS n), person AS ({PERSON})
SELECT %(account)s, %(first_agent)s - 1 + n, '!', login, login, login, login || '@example.com', login || '@example.com',
    login || '@example.com', name, CASE WHEN n <= {AGENTS} THEN 'agent' ELSE 'member' END, 'none', true, moment, moment
FROM (SELECT *, 'user-' || n AS login FROM person) AS user_
"""  # noqa: S608

CONTACTS = f"""
INSERT INTO crm_contact (account_id, id, tags, creator_id, updater_id, created_at, updated_at, client_id, name, first_name, last_name, email,
    email_key, phone, position, responsible_id, additional_fields)
WITH numbered AS (SELECT n + %(clients)s AS n, n AS number, now() - (%(contacts)s - n) * interval '4 minutes' AS moment FROM {NUMBERS}),
person AS ({PERSON})
SELECT %(account)s, %(first_contact)s - 1 + n, {TAGS}, {CREATOR}, {CREATOR}, moment,
    moment + {days(30, 2557)} * least(1, extract(epoch FROM now() - moment) / 2592000), {client_of("contact", 6037)},
    name, first_name, last_name, email, email, '+48 ' || 600000000 + n * 71, {pick_sql("positions", 5653)}, {RESPONSIBLE},
    jsonb_build_object('size', {pick_sql("sizes", 6397)})
FROM (SELECT number AS n, moment, name, first_name, last_name, email FROM person) AS contact
"""  # noqa: S608

CONTACT_LISTS = """
INSERT INTO crm_contactlist (account_id, id, creator_id, updater_id, created_at, updated_at, name)
SELECT %(account)s, %(first_contact_list)s - 1 + n, %(user)s, %(user)s, now(), now(), name
FROM unnest(%(list_names)s::text[]) WITH ORDINALITY AS list (name, n)
"""
MEMBERSHIPS = f"""
INSERT INTO crm_contactlistmembership (account_id, contact_id, contact_list_id)
SELECT %(account)s, %(first_contact)s - 1 + n, %(first_contact_list)s - 1 + list
FROM {NUMBERS} CROSS JOIN unnest(%(list_steps)s::integer[]) WITH ORDINALITY AS part (step, list) WHERE n %% step = 0
"""  # noqa: S608
MEMBERSHIP_COUNTS = """
INSERT INTO crm_contactlistcount (account_id, contact_list_id, shard, uses)
SELECT account_id, contact_list_id, 0, count(*) FROM crm_contactlistmembership GROUP BY account_id, contact_list_id
"""

# One deal in seven has no status. A deal with another status than the first one was in the first one before.
DEALS = f"""
INSERT INTO crm_deal (account_id, id, tags, external_ids, creator_id, updater_id, created_at, updated_at, client_id, contact_id, name, description,
    price, currency, status_id, responsible_id, expected_close_date, additional_fields, lost_reason, closed_at, stage_entered_at,
    board_position)
SELECT %(account)s, %(first_deal)s - 1 + n, {TAGS}, '{{}}', {CREATOR}, {CREATOR}, deal.created_at, changed_at, {client_of("deal", 7211)},
    CASE WHEN n %% 3 = 0 THEN {any_of("contact", 4273)} END,
    initcap({pick_sql("things", 6563)}) || ', ' || {pick_sql("cities", CITY_SEED)} || ' ' || n,
    CASE WHEN n %% 5 = 0 THEN {pick_sql("reasons", 1361)} END,
    CASE WHEN n %% 50 <> 0 THEN {spread_sql("500000", 8087)} / 10.0 END, {pick_sql("currencies", 2399)}, status.id, {RESPONSIBLE},
    CASE WHEN n %% 5 <> 1 THEN current_date + ({spread_sql("400", 9293)} - 100)::integer END,
    jsonb_build_object('source', {pick_sql("sources", 7639)}),
    CASE WHEN outcome = 'lost' THEN {pick_sql("reasons", 1759)} END,
    CASE WHEN outcome <> 'open' THEN entered_at END, entered_at, -(extract(epoch FROM coalesce(entered_at, deal.created_at)) * 1000000)::bigint
FROM (
    SELECT n, moment AS created_at, moment + (now() - moment) * {spread_sql("1000", 3391)} / 1000 AS changed_at,
        (%(deal_statuses)s::bigint[])[1 + {spread_sql("7", 8461)}] AS status_id
    FROM (SELECT n, now() - (%(deals)s - n) * interval '90 seconds' AS moment FROM {NUMBERS}) AS numbered
) AS deal
LEFT JOIN accounts_status AS status ON status.account_id = %(account)s AND status.id = deal.status_id
CROSS JOIN LATERAL (
    SELECT CASE WHEN status.id = (%(deal_statuses)s::bigint[])[1] THEN deal.created_at WHEN status.id IS NOT NULL THEN changed_at END AS entered_at
) AS stage
"""  # noqa: S608

STAGES = f"""
INSERT INTO crm_dealstage (account_id, deal_id, number, status_id, entered_at, left_at, user_id)
SELECT account_id, deal.id, 2 * (deal.id - %(first_deal)s) + place, stage_id, entered_at, left_at, updater_id
FROM {NUMBERS} JOIN crm_deal AS deal ON account_id = %(account)s AND id = %(first_deal)s - 1 + n
CROSS JOIN LATERAL (VALUES
    (1, (%(deal_statuses)s::bigint[])[1], created_at, stage_entered_at), (2, status_id, stage_entered_at, NULL)
) AS stage (place, stage_id, entered_at, left_at)
WHERE status_id IS NOT NULL AND (place = 2 OR stage_id <> status_id)
"""  # noqa: S608

# Three of four tasks are closed. The others are due within 100 days, or were due within the last 10 days, or have no time.
TASKS = f"""
INSERT INTO forum_post (account_id, id, tags, task_kind, kind, title, content, agent, user_id, status_id, responsible_id, client_id, contact_id,
    deal_id, private, approved, closed, priority, votes_cache, comments_cache, created_at, updated_at, scheduled_at, completed_at)
SELECT %(account)s, %(first_task)s - 1 + n, '{{}}', {pick_sql("task_kinds", 5303)}, 'suggestion', {pick_sql("task_titles", 6871)} || ' ' || n,
    {pick_sql("reasons", 4457)}, '', {CREATOR}, %(status)s, {RESPONSIBLE},
    CASE WHEN {is_busy("task")} THEN %(first_client)s WHEN n %% 5 > 1 THEN {any_of("client", 5437)} END,
    CASE WHEN n %% 5 = 1 AND NOT {is_busy("task")} THEN {any_of("contact", 6911)} END,
    CASE WHEN n %% 5 = 0 AND NOT {is_busy("task")} THEN {any_of("deal", 7043)} END,
    false, true, closed, 0, 0, 0, created_at, coalesce(completed_at, created_at), scheduled_at, completed_at
FROM (
    SELECT *, least(scheduled_at, now()) - interval '20 days' AS created_at,
        CASE WHEN closed THEN scheduled_at END AS completed_at
    FROM (
        SELECT n, n %% 4 <> 0 AS closed, CASE WHEN n %% 4 <> 0 THEN now() - {days(700, 8573)}
            WHEN n %% 40 <> 0 THEN now() - interval '10 days' + {days(110, 9049)} END AS scheduled_at
        FROM {NUMBERS}
    ) AS numbered
) AS task
"""  # noqa: S608

NOTES = f"""
INSERT INTO crm_note (account_id, id, creator_id, updater_id, created_at, updated_at, client_id, contact_id, deal_id, kind, content, excerpt,
    noted_at, duration, mentioned_user_ids)
SELECT %(account)s, %(first_note)s - 1 + n, creator_id, creator_id, moment, moment,
    CASE WHEN {is_busy("note")} THEN %(first_client)s WHEN n %% 4 > 1 THEN {any_of("client", 3719)} END,
    CASE WHEN n %% 4 = 1 AND NOT {is_busy("note")} THEN {any_of("contact", 2851)} END,
    CASE WHEN n %% 4 = 0 AND NOT {is_busy("note")} THEN {any_of("deal", 8837)} END,
    kind, content, content, moment, CASE WHEN kind = 'call' THEN 1 + n %% 30 END, '{{}}'
FROM (
    SELECT n, {CREATOR} AS creator_id, now() - {days(700, 7877)} AS moment, {pick_sql("note_kinds", 9461)} AS kind,
        {pick_sql("reasons", 5077)} || ' Note ' || n AS content
    FROM {NUMBERS}
) AS note
"""  # noqa: S608

# The posts with comments have votes. `votes_cache` is the number of votes that each has.
VOTED = f"""
    SELECT id, id - %(first_commented)s + 1 AS n, created_at, votes_cache, least(votes_cache, {PROXY_VOTES}) AS proxies
    FROM forum_post WHERE account_id = %(account)s AND id BETWEEN %(first_commented)s AND %(last_post)s"""  # noqa: S608
VOTES = f"""
INSERT INTO forum_vote (account_id, post_id, user_id, created_at)
SELECT %(account)s, id, %(first_member)s - 1 + vote, created_at FROM ({VOTED}) AS post, generate_series(1, votes_cache - proxies) AS vote
"""  # noqa: S608
# The busy client votes for one of 100 suggestions.
PROXY_VOTES_OF_CLIENTS = f"""
INSERT INTO forum_proxyvote (account_id, id, post_id, client_id, user_id, created_at)
SELECT %(account)s, %(first_proxy_vote)s + (n - 1) * {PROXY_VOTES} + vote - 1, id,
    CASE WHEN vote = 1 AND n %% 100 = 0 THEN %(first_client)s
        ELSE %(first_client)s + 1 + ({spread_sql("%(clients)s", 6701)} + vote * 7919) %% (%(clients)s - 1) END,
    {CREATOR}, created_at
FROM ({VOTED}) AS post, generate_series(1, proxies) AS vote
"""  # noqa: S608
USER_LINKS = f"""
INSERT INTO crm_userlink (account_id, id, user_id, client_id, state, created_at, updated_at)
SELECT %(account)s, %(first_user_link)s - 1 + n, %(first_member)s - 1 + n, {any_of("client", 7561)}, 'confirmed', now(), now()
FROM generate_series(1::bigint, {MEMBERS}) AS n
"""  # noqa: S608
# A third of the posts with comments were written for a client.
CUSTOMERS_OF_POSTS = f"""
UPDATE forum_post SET client_id = {any_of("client", 8999)}
FROM ({VOTED}) AS post WHERE account_id = %(account)s AND forum_post.id = post.id AND n %% 3 = 0
"""  # noqa: S608

FEEDBACK = (VOTES, PROXY_VOTES_OF_CLIENTS, USER_LINKS, CUSTOMERS_OF_POSTS)
BACKERS = """
INSERT INTO workspace_postbacker (account_id, post_id, client_id)
SELECT account_id, post_id, client_id FROM forum_proxyvote WHERE account_id = %(account)s
UNION
SELECT account_id, id, client_id FROM forum_post
WHERE account_id = %(account)s AND id BETWEEN %(first_commented)s AND %(last_post)s AND client_id IS NOT NULL
UNION
SELECT account_id, post_id, client_id FROM forum_vote JOIN crm_userlink USING (account_id, user_id) WHERE account_id = %(account)s
"""
# The figures of the suggestions with votes, from those of the clients behind them. There is always a row in the currency of the account.
REVENUE_OF_POSTS = """
INSERT INTO workspace_postrevenue (account_id, post_id, currency, forum_id, clients, open_deals, open_sum, won_deals, won_sum)
WITH backer AS (SELECT * FROM workspace_postbacker WHERE account_id = %(account)s),
number AS (SELECT post_id, count(*) AS clients FROM backer GROUP BY post_id),
revenue AS (
    SELECT post_id, currency, sum(open_deals) AS open_deals, sum(open_sum) AS open_sum, sum(won_deals) AS won_deals, sum(won_sum) AS won_sum
    FROM backer JOIN workspace_clientrevenue USING (account_id, client_id) GROUP BY post_id, currency
), figure AS (
    SELECT post_id, currency FROM number, accounts_account WHERE id = %(account)s UNION SELECT post_id, currency FROM revenue
)
SELECT %(account)s, post_id, currency, %(forum)s, clients, coalesce(open_deals, 0), coalesce(open_sum, 0), coalesce(won_deals, 0),
    coalesce(won_sum, 0)
FROM figure JOIN number USING (post_id) LEFT JOIN revenue USING (post_id, currency)
"""

CHANGES = f"""
INSERT INTO workspace_timelineentry (account_id, client_id, at, kind, resource, resource_id, user_id, data)
SELECT %(account)s, client_id, moment, 'change', 'client', client_id, creator_id, jsonb_build_object('changes', jsonb_build_array(
    jsonb_build_object('field', 'city', 'before', city, 'after', {pick_sql("cities", 4021)})))
FROM (
    SELECT n, {client_of("change", 4649)} AS client_id, now() - {days(700, 6151)} AS moment, {CREATOR} AS creator_id,
        {pick_sql("cities", 9473)} AS city
    FROM {NUMBERS}
) AS change
"""  # noqa: S608


def last_changes(kind: str) -> str:
    """Return the statement for the times of the last change of the clients, contacts or deals of all accounts."""
    return f"""
INSERT INTO crm_{kind}lastchange (account_id, id, updated_at)
SELECT account_id, id, updated_at FROM crm_{kind} WHERE trashed_at IS NULL
"""  # noqa: S608


# The modules of the service need its settings, so the functions below import them.


def vote_weights() -> str:
    """Return the statement for the weights of the votes of posts."""
    return """
UPDATE forum_post SET vote_weight = (
    SELECT forum_log2_sum(forum_half_lives(votes.created_at)) FROM (
        SELECT created_at FROM forum_vote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
        UNION ALL
        SELECT created_at FROM forum_proxyvote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
    ) AS votes
)
WHERE account_id = %(account)s AND id BETWEEN %(first_commented)s AND %(last_post)s
"""


def stage_entries() -> str:
    """Return the statement for the entries of the stages of deals."""
    from workspace.logged_entries import status_object
    from workspace.mirrored_entries import either

    return f"""
INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
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
    SELECT FROM workspace_timelineentry AS entry
    WHERE entry.account_id = stage.account_id AND entry.deal_id = stage.deal_id AND entry.kind = 'stage'
)
"""  # noqa: S608


def mirrored_entries() -> list[tuple[str, str]]:
    """Return the statements for the entries of rows, each with the parameter for the number of these rows."""
    from workspace.mirrored_entries import COLUMNS, MIRRORS

    statements = []
    for mirror in MIRRORS.values():
        for first_id, number in ROWS_WITH_ENTRIES[mirror.resource]:
            ids = f"%({first_id})s - 1 + %(first)s AND %({first_id})s - 1 + %(last)s"
            entries = mirror.entries(f"source.account_id = %(account)s AND source.id BETWEEN {ids}")
            statement = f"INSERT INTO workspace_timelineentry ({COLUMNS}, data) SELECT {COLUMNS}, '{{}}' FROM ({entries}) AS entry"  # noqa: S608
            statements.append((statement, number))
    return statements


# The parameters for the first id and the number of the rows, by resource. Suggestions with a customer have entries.
ROWS_WITH_ENTRIES = {
    "note": [("first_note", "notes")],
    "post": [("first_task", "tasks"), ("first_commented", "commented")],
    "vote": [("first_proxy_vote", "proxy_votes")],
    "deal": [("first_deal", "deals")],
}


def summaries(kind: str) -> str:
    """Return the statement for the summaries of clients, contacts or deals."""
    names = summary_columns(kind)
    return f"""
INSERT INTO workspace_{kind}summary (account_id, {names})
SELECT %(account)s, {names} FROM workspace_current_{kind}s(%(account)s, ARRAY(
    SELECT %(first_{kind})s - 1 + n FROM {NUMBERS}
))
"""  # noqa: S608


def summaries_of_others(kind: str) -> str:
    """Return the statement for the summaries of the other accounts."""
    names = summary_columns(kind)
    return f"""
INSERT INTO workspace_{kind}summary (account_id, {names})
SELECT account_of, {names}
FROM (SELECT id AS account_of FROM accounts_account WHERE id <> %(account)s) AS other
CROSS JOIN LATERAL workspace_current_{kind}s(account_of, ARRAY(SELECT id FROM crm_{kind} WHERE account_id = account_of))
"""  # noqa: S608


def summary_columns(kind: str) -> str:
    from workspace.summaries import COLUMNS

    return ", ".join((f"{kind}_id", *COLUMNS[kind]))
