"""The data sets of the benchmarks, created by SQL.

Each size is a database in the benchmark's cluster. It is created once, and each run works on a copy of it.
The command `python -m bench.data` fills the database of DATABASE_URL with one set.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

ROOT = Path(__file__).resolve().parent.parent
LOGIN, PASSWORD = "bench", "bench-0123456789"
# The rows that one INSERT statement creates.
BATCH_ROWS = 10_000
# The number of posts with comments and votes, which are the newest ones, and the number of comments on each.
COMMENTED_POSTS, COMMENTS_PER_POST = 5_000, 20
AGENTS, MEMBERS = 12, 40
# The number of posts and of clients in each of the other accounts.
ROWS_PER_OTHER_ACCOUNT = 50
# The maximum number of rows of a kind that link to the *busy client*, the first one. It is also at most a quarter of all rows of the kind.
BUSY_ROWS = 10_000
# A set is created again when the schema or this module changes.
DIGEST = hashlib.sha256((ROOT / "docs" / "schema.sql").read_bytes() + Path(__file__).read_bytes()).hexdigest()[:8]


@dataclass(frozen=True)
class Size:
    posts: int = 1_000_000
    clients: int = 1_000_000
    # The number of other accounts.
    others: int = 50

    @property
    def database(self) -> str:
        return f"bench_{DIGEST}_{self.posts}_{self.clients}_{self.others}"

    def __str__(self) -> str:
        return f"{self.posts:,} posts, {self.clients:,} clients, {self.others:,} other accounts"


def address(url: str, database: str, user: str = "rostrum") -> str:
    """Return the address of another database of the cluster. The user `postgres` is a superuser."""
    return re.sub(r"//\w+@(.*)/\w+$", rf"//{user}@\1/{database}", url)


def copy(url: str, size: Size, environment: dict[str, str]) -> tuple[str, dict]:
    """Copy the data set of this size, and create the set if it does not exist. Return the address of the copy and the description."""
    copied = f"run_{size.database}"
    with psycopg.connect(address(url, "postgres", "postgres"), autocommit=True) as connection:
        found = connection.execute("SELECT datname FROM pg_database WHERE datname ~ '^(run_)?bench_'")
        names = [name for (name,) in found]
        for name in names:
            if name == copied or DIGEST not in name:
                connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        if size.database not in names:
            print(f"Creating {size}", flush=True)
            connection.execute("DROP DATABASE IF EXISTS bench_new WITH (FORCE)")
            connection.execute("CREATE DATABASE bench_new OWNER rostrum")
            command = [sys.executable, "-m", "bench.data", *(str(value) for value in dataclasses.astuple(size))]
            variables = environment | {"DATABASE_URL": address(url, "bench_new")}
            subprocess.run(command, cwd=ROOT, env=variables, check=True)
            connection.execute(f'ALTER DATABASE bench_new RENAME TO "{size.database}"')
        connection.execute(f'CREATE DATABASE "{copied}" OWNER rostrum TEMPLATE "{size.database}" STRATEGY FILE_COPY')
        connection.execute("CHECKPOINT")
    with psycopg.connect(address(url, copied)) as connection:
        return address(url, copied), connection.execute("SELECT data_set FROM bench_data_set").fetchone()[0]


# The SQL. Rows have the numbers n from 1, and the ids from the parameter `first_…` of their kind. Values depend on n, not on chance.

# fmt: off
WORDS = {
    "first_names": [
        "Anna", "Jan", "Maria", "Piotr", "Katarzyna", "Andrzej", "Małgorzata", "Krzysztof", "Agnieszka", "Tomasz", "Barbara", "Paweł",
        "Emma", "Liam", "Olivia", "Noah", "Charlotte", "James", "Amelia", "William", "Lena", "Lukas", "Mia", "Felix", "Chloé", "Hugo",
    ],
    "surname_starts": [
        "Kowal", "Nowa", "Wiśniew", "Dąbrow", "Lewandow", "Zieliń", "Szymań", "Kozłow", "Jankow", "Mazur", "Wojciechow", "Kwiatkow",
        "Piotrow", "Grabow", "Pawłow", "Michal", "Król", "Wieczor", "Jabłoń", "Wróblew", "Majew", "Olszew", "Jaworow", "Malinow",
    ],
    "surname_ends": ["ski", "czyk", "ewicz", "owicz", "ak", "ek", "iak", "er", "mann", "son"],
    "cities": [
        "Warszawa", "Kraków", "Łódź", "Wrocław", "Poznań", "Gdańsk", "Szczecin", "Lublin", "Białystok", "Gdynia", "Toruń", "Berlin",
        "Hamburg", "Praha", "Wien", "London", "Leeds", "Dublin", "Paris", "Lyon",
    ],
    "client_tags": ["vip", "newsletter", "wholesale", "returning", "late payer"],
    "industries": ["Retail", "Wholesale", "Food", "Textiles", "Furniture", "Electronics", "Cosmetics", "Books", "Toys", "Garden"],
    "verbs": ["Add", "Show", "Allow", "Remember", "Export", "Import", "Simplify", "Speed up", "Translate", "Group"],
    "things": [
        "the calendar", "invoices", "dark mode", "keyboard shortcuts", "the basket", "search results", "the report", "price lists",
        "delivery dates", "discount codes", "order history", "the contact form", "barcodes", "two currencies", "product photos",
    ],
    "reasons": [
        "It would save us an hour every day.", "Our customers ask for it again and again.", "Now we copy it by hand into a table.",
        "The old version had this, and we miss it.", "We would gladly try it out early.", "Other tools that we use can do it.",
    ],
    "task_kinds": ["task", "phone", "email", "help"],
    "note_kinds": ["note", "call", "meeting", "email"],
    # The first one is the currency of the account.
    "currencies": ["EUR", "EUR", "EUR", "PLN", "PLN", "USD", "GBP"],
}
# fmt: on
# The seeds of columns, so that values of different columns do not correlate. Each is the multiplier of a multiplicative hash of n.
FIRST_NAME, SURNAME_START, SURNAME_END, CITY = 8191, 6841, 10061, 5087


def multiplier(seed: int) -> int:
    return seed * 2654435761 % 2**32


def pick_word(words: str, seed: int, n: int) -> str:
    """Return the word that the SQL of `pick` selects for the row number n."""
    return WORDS[words][n * multiplier(seed) % 2**32 // 2**12 % len(WORDS[words])]


def pick(words: str, seed: int) -> str:
    """Return SQL that selects one of the words for the row number n."""
    return f"(%({words})s::text[])[1 + (n * {multiplier(seed)} %% {2**32} / {2**12}) %% {len(WORDS[words])}]"


def spread(number: str, seed: int) -> str:
    """Return SQL for an integer from 0 to `number` - 1, which depends on n. All values are about equally frequent."""
    return f"(n * {multiplier(seed)} %% {2**32} * {number} / {2**32})"


def client(kind: str, seed: int) -> str:
    """Return SQL for the id of the client to whom a row of a kind links: the busy client for the first rows."""
    busy = f"n <= least({BUSY_ROWS}, %({kind}s)s / 4)"
    return f"CASE WHEN {busy} THEN %(first_client)s ELSE %(first_client)s + {spread('%(clients)s', seed)} END"


def numbered(kind: str, minutes: float = 1) -> str:
    """Return SQL for the row numbers of a batch, each with a time. The last row of the kind is the newest one."""
    return f"""(SELECT n, now() - (%({kind}s)s - n) * interval '{minutes} minutes' AS moment
        FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n) AS numbered"""


MEMBER_OF_TEAM = f"(%(team)s::bigint[])[1 + {spread(str(AGENTS + 1), 4513)}]"
RESPONSIBLE = f"CASE WHEN n %% 10 <> 0 THEN {MEMBER_OF_TEAM} END"
TAGS_OF_ROW = f"CASE WHEN n %% 3 = 0 THEN ARRAY[{pick('client_tags', 5501)}] ELSE ARRAY[]::text[] END"
PERSON = f"""(
    SELECT *, first_name || ' ' || last_name AS name, 'client' || n || '@example.com' AS email FROM (
        SELECT *, {pick("first_names", FIRST_NAME)} AS first_name,
            {pick("surname_starts", SURNAME_START)} || {pick("surname_ends", SURNAME_END)} AS last_name FROM {{rows}}
    ) AS named) AS person"""
# The posts and clients of the first account, and those of the others.
POST = f"""
INSERT INTO forum_post (account_id, id, forum_id, category_id, status_id, user_id, title, content, agent, kind, task_kind, tags, private,
    approved, closed, priority, votes_cache, comments_cache, created_at, updated_at)
SELECT {{account}}, {{id}}, {{forum}}, {{category}}, {{status}}, {{user}}, {pick("verbs", 9176)} || ' ' || {pick("things", 6151)},
    {pick("reasons", 7919)} || ' ' || {pick("reasons", 3571)} || ' Number ' || n, 'Mozilla/5.0', 'suggestion', 'feedback', '{{{{}}}}',
    false, true, false, 0, {{votes}}, {{comments}}, moment, moment FROM {{rows}}"""
CLIENT = f"""
INSERT INTO crm_client (account_id, id, creator_id, updater_id, created_at, updated_at, name, first_name, last_name, email, email_key, phone,
    city, street, street_no, post_code, country, note, tags, external_ids, company, tax_no, additional_fields, status_id, responsible_id)
SELECT {{account}}, {{id}}, {{user}}, {{user}}, moment, moment, name, first_name, last_name, email, email, '+48 ' || 500000000 + n * 7,
    {pick("cities", CITY)}, {pick("surname_starts", 2039)} || 'a', 1 + n %% 120, to_char(n %% 100000, 'FM00-000'), 'PL',
    CASE WHEN n %% 4 = 0 THEN {pick("reasons", 1361)} END, {TAGS_OF_ROW}, jsonb_build_object('shop', (100000 + n)::text), n %% 2 = 0,
    CASE WHEN n %% 2 = 0 THEN 'PL' || 5000000000 + n * 7 END, jsonb_build_object('industry', {pick("industries", 6733)}),
    {{status}}, {{responsible}} FROM {{rows}}"""
OTHERS = f"""(
    SELECT account.id AS account_id, forum.id AS forum_id, category.id AS category_id, status.id AS status_id, owner.id AS user_id, n,
        now() AS moment
    FROM accounts_account AS account
    JOIN forum_forum AS forum ON forum.account_id = account.id AND forum.is_default
    JOIN forum_category AS category ON category.account_id = account.id AND category.forum_id = forum.id
    JOIN accounts_status AS status ON status.account_id = account.id AND status.kind = 'post' AND status.position = 1
    JOIN accounts_user AS owner ON owner.account_id = account.id, generate_series(1::bigint, {ROWS_PER_OTHER_ACCOUNT}) AS n
    WHERE account.id <> %(account)s) AS numbered"""
OF_OTHERS = {"account": "account_id", "id": "account_ids.reserve(account_id, 1)", "user": "user_id"}
POSTS_OF_OTHERS = POST.format(
    **OF_OTHERS, forum="forum_id", category="category_id", status="status_id", votes=0, comments=0, rows=OTHERS
)
CLIENTS_OF_OTHERS = CLIENT.format(**OF_OTHERS, status="NULL", responsible="NULL", rows=PERSON.format(rows=OTHERS))
# The statements for the rows of a kind in the first account.
# fmt: off
IS_COMMENTED = "%(first_post)s - 1 + n >= %(first_commented)s"
ROWS = {
    "post": POST.format(
        account="%(account)s", id="%(first_post)s - 1 + n", forum="%(forum)s", category="%(category)s", status="%(status)s", user="%(user)s",
        votes=f"n * 31 / 7 %% 39 + ({IS_COMMENTED})::integer", comments=f"{COMMENTS_PER_POST} * ({IS_COMMENTED})::integer", rows=numbered("post"),
    ),
    "client": CLIENT.format(
        account="%(account)s", id="%(first_client)s - 1 + n", user="%(user)s", responsible=RESPONSIBLE,
        status=f"(%(client_statuses)s::bigint[])[1 + {spread('4', 5939)}]", rows=PERSON.format(rows=numbered("client")),
    ),
    "user": f"""
INSERT INTO accounts_user (account_id, id, password, login, login_key, login_skeleton, email, email_key, email_skeleton, name, role,
    notification, is_active, created_at, updated_at)
SELECT %(account)s, %(first_user)s - 1 + n, '!', login, login, login, login || '@example.com', login || '@example.com',
    login || '@example.com', name, CASE WHEN n <= {AGENTS} THEN 'agent' ELSE 'member' END, 'none', true, now(), now()
FROM {PERSON.format(rows=numbered("user"))} CROSS JOIN LATERAL (SELECT 'user-' || n AS login) AS named_user""",
    "comment": f"""
INSERT INTO forum_comment (account_id, id, post_id, user_id, agent, comment, created_at, updated_at)
SELECT %(account)s, %(first_comment)s - 1 + n, %(first_commented)s + (n - 1) / {COMMENTS_PER_POST}, %(user)s, 'Mozilla/5.0',
    {pick("reasons", 2371)} || ' Comment ' || n, moment, moment FROM {numbered("comment", 0.01)}""",
    "vote": f"""
INSERT INTO forum_vote (account_id, post_id, user_id, created_at)
SELECT %(account)s, %(first_commented)s - 1 + n, %(last_user)s - {MEMBERS} + vote, now()
FROM {numbered("vote")}, generate_series(1, (%(first_commented)s - %(first_post)s + n) * 31 / 7 %% 39) AS vote""",
    "proxy_vote": f"""
INSERT INTO forum_proxyvote (account_id, id, post_id, client_id, user_id, created_at)
SELECT %(account)s, %(first_proxy_vote)s - 1 + n, %(first_commented)s - 1 + n, {client("proxy_vote", 6701)}, %(user)s, now()
FROM {numbered("proxy_vote")}""",
    "contact": f"""
INSERT INTO crm_contact (account_id, id, tags, creator_id, updater_id, created_at, updated_at, client_id, name, first_name, last_name, email,
    email_key, phone, responsible_id, additional_fields)
SELECT %(account)s, %(first_contact)s - 1 + n, {TAGS_OF_ROW}, %(user)s, %(user)s, moment, moment, {client("contact", 6037)}, name, first_name,
    last_name, email, email, '+48 ' || 600000000 + n * 7, {RESPONSIBLE}, '{{}}' FROM {PERSON.format(rows=numbered("contact", 4))}""",
    # One deal in seven has no status.
    "deal": f"""
INSERT INTO crm_deal (account_id, id, tags, external_ids, creator_id, updater_id, created_at, updated_at, client_id, name, price, currency,
    status_id, responsible_id, expected_close_date, additional_fields, closed_at, stage_entered_at, board_position)
SELECT %(account)s, %(first_deal)s - 1 + n, {TAGS_OF_ROW}, '{{}}', %(user)s, %(user)s, moment, moment, {client("deal", 7211)},
    initcap({pick("things", 6563)}) || ' ' || n, CASE WHEN n %% 50 <> 0 THEN {spread("500000", 8087)} / 10.0 END, {pick("currencies", 2399)},
    status.id, {RESPONSIBLE}, CASE WHEN n %% 5 <> 1 THEN current_date + ({spread("400", 9293)} - 100)::integer END, '{{}}',
    CASE WHEN outcome <> 'open' THEN moment END, CASE WHEN status.id IS NOT NULL THEN moment END, -(extract(epoch FROM moment) * 1000000)::bigint
FROM {numbered("deal")}
LEFT JOIN accounts_status AS status ON account_id = %(account)s AND status.id = (%(deal_statuses)s::bigint[])[1 + {spread("7", 8461)}]""",
    # Three of four tasks are closed. The others are due within 100 days, or were due within the last 10 days.
    "task": f"""
INSERT INTO forum_post (account_id, id, tags, task_kind, kind, title, content, agent, user_id, status_id, responsible_id, client_id,
    private, approved, closed, priority, votes_cache, comments_cache, created_at, updated_at, scheduled_at, completed_at)
SELECT %(account)s, %(first_task)s - 1 + n, '{{}}', {pick("task_kinds", 5303)}, 'suggestion', {pick("verbs", 6871)} || ' ' || n,
    {pick("reasons", 4457)}, '', {MEMBER_OF_TEAM}, %(status)s, {RESPONSIBLE}, {client("task", 5437)}, false, true, closed, 0, 0, 0,
    due - interval '20 days', due, due, CASE WHEN closed THEN due END
FROM (SELECT *, n %% 4 <> 0 AS closed, now() + {spread("110", 9049)} * interval '1 day'
    - CASE WHEN n %% 4 <> 0 THEN interval '120 days' ELSE interval '10 days' END AS due FROM {numbered("task")}) AS task""",
    "note": f"""
INSERT INTO crm_note (account_id, id, creator_id, updater_id, created_at, updated_at, client_id, kind, content, excerpt, noted_at,
    mentioned_user_ids)
SELECT %(account)s, %(first_note)s - 1 + n, %(user)s, %(user)s, moment, moment, {client("note", 3719)}, {pick("note_kinds", 9461)},
    content, content, moment, '{{}}' FROM {numbered("note")} CROSS JOIN LATERAL (SELECT {pick("reasons", 5077)} || ' Note ' || n AS content) AS text""",
    # Changes of clients.
    "entry": f"""
INSERT INTO team_timelineentry (account_id, client_id, at, kind, resource, resource_id, user_id, data)
SELECT %(account)s, client_id, moment, 'change', 'client', client_id, %(user)s, jsonb_build_object('changes', jsonb_build_array(
    jsonb_build_object('field', 'city', 'before', {pick("cities", 9473)}, 'after', {pick("cities", 4021)})))
FROM (SELECT *, {client("entry", 4649)} AS client_id FROM {numbered("entry")}) AS change""",
}
# fmt: on
EXTERNAL_IDS = """
INSERT INTO crm_clientexternalid (account_id, key, value, holder_id)
SELECT account_id, key, value, id FROM crm_client, jsonb_each_text(external_ids)"""
TAGS = """
INSERT INTO accounts_tag (account_id, id, name, name_key)
SELECT account.id, account_ids.reserve(account.id, 1), tag, tag FROM accounts_account AS account, unnest(%(client_tags)s::text[]) AS tag"""
TAG_COUNTS = """
INSERT INTO accounts_tagcount (account_id, kind, tag_id, shard, uses)
SELECT tagged.account_id, '{kind}', tag.id, 0, count(*)
FROM crm_{kind} AS tagged, unnest(tagged.tags) AS called JOIN accounts_tag AS tag ON tag.name = called
WHERE tag.account_id = tagged.account_id GROUP BY tagged.account_id, tag.id"""
# The clients behind the suggestions with votes, and the figures of these clients. There is always a row in the currency of the account.
BACKERS = """
INSERT INTO team_postbacker (account_id, post_id, client_id) SELECT account_id, post_id, client_id FROM forum_proxyvote"""
REVENUE_OF_POSTS = """
INSERT INTO team_postrevenue (account_id, post_id, currency, forum_id, clients, open_deals, open_sum, won_deals, won_sum)
SELECT account_id, post_id, currency, %(forum)s, 1, coalesce(open_deals, 0), coalesce(open_sum, 0), coalesce(won_deals, 0), coalesce(won_sum, 0)
FROM (
    SELECT account_id, post_id, client_id, currency FROM team_postbacker JOIN accounts_account AS account ON account.id = account_id
    UNION SELECT account_id, post_id, client_id, currency FROM team_postbacker JOIN team_clientrevenue USING (account_id, client_id)
) AS figure LEFT JOIN team_clientrevenue USING (account_id, client_id, currency)"""
LARGE_TABLES = [
    "forum_post",
    "forum_comment",
    "forum_vote",
    "crm_client",
    "crm_contact",
    "crm_deal",
    "crm_note",
    "team_timelineentry",
]
SECONDARY_INDEXES = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = ANY (%s::regclass[]) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
ORDER BY pg_get_indexdef(indexrelid) NOT LIKE '%% gin %%'"""


def connect() -> psycopg.Connection:
    """Connect as a superuser. Triggers and foreign keys are off, as for the restore of a backup: the rows are valid by construction."""
    url = os.environ["DATABASE_URL"]
    connection = psycopg.connect(
        url.replace("//rostrum@", "//postgres@"), autocommit=True, cursor_factory=psycopg.ClientCursor
    )
    for name, value in {
        "session_replication_role": "replica",
        "synchronous_commit": "off",
        "statement_timeout": "0",
    }.items():
        connection.execute(f"SET {name} = {value}")
    return connection


@contextmanager
def step(name: str) -> Iterator[None]:
    started_at = time.monotonic()
    yield
    print(f"  {name}: {time.monotonic() - started_at:.1f} s", flush=True)


def execute_all(name: str, statements: list[tuple[str, dict]]) -> None:
    """Execute statements on as many connections as there are cores, in any order."""

    def execute(statement: tuple[str, dict]) -> None:
        with connect() as connection:
            connection.execute(statement[0], statement[1] or None)

    with step(name), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(execute, statements))


def create_accounts(size: Size) -> dict:
    """Create the accounts with the code of the service, and return the description of the set."""
    from accounts.account_creation.creation import create_account
    from accounts.sessions import passwords

    account, owner, token = create_account(prefix="bench", login=LOGIN, email="bench@example.com", password=PASSWORD)
    forum = account.forums.get(is_default=True)
    account.statuses.create(
        kind="deal", code="negotiation", name="Negotiation", outcome="open", probability=70, pipeline_id=1, position=4
    )
    for position, name in enumerate(("Lead", "Customer", "Former"), start=1):
        account.statuses.create(kind="client", code=name.lower(), name=name, position=position)
    # Nobody signs in to the other accounts, so their passwords are hashed cheaply.
    passwords.Argon2idPasswordHasher.time_cost = 1
    passwords.Argon2idPasswordHasher.memory_cost = 8
    with step("Other accounts"):
        for number in range(size.others):
            login = f"owner-{number}"
            create_account(prefix=f"other-{number}", login=login, email=f"{login}@example.com", password=PASSWORD)
    category, status = account.categories.of_forum(forum.id).first(), account.default_status("post")
    ids = {"account": account.id, "forum": forum.id, "category": category.id, "status": status.id, "user": owner.id}
    statuses = {kind: [status.id for status in account.statuses_of_kind(kind)] for kind in ("deal", "client")}
    return {**ids, "token": token, **{f"{kind}_statuses": values for kind, values in statuses.items()}}


def allocate_ids(size: Size, data_set: dict) -> dict:
    """Take ids for all rows of the account. Return the first one, the last one and the number of each kind."""
    commented = min(COMMENTED_POSTS, size.posts)
    # fmt: off
    numbers = {
        "post": size.posts, "client": size.clients, "user": AGENTS + MEMBERS, "comment": commented * COMMENTS_PER_POST, "vote": commented,
        "proxy_vote": commented, "contact": size.clients // 4, "deal": size.clients, "task": size.posts // 4, "note": size.clients // 2,
        "entry": size.clients,
    }
    # fmt: on
    values = {}
    with connect() as connection:
        [last_id] = connection.execute("SELECT account_ids.reserve(%s, 1)", [data_set["account"]]).fetchone()
        for kind, number in numbers.items():
            values |= {f"first_{kind}": last_id + 1, f"last_{kind}": last_id + number, f"{kind}s": number}
            last_id += number
        connection.execute("SELECT account_ids.advance(%s, %s)", [data_set["account"], last_id])
    team = [data_set["user"], *range(values["first_user"], values["first_user"] + AGENTS)]
    return {**values, "first_commented": values["last_post"] - commented + 1, "team": team}


def build(size: Size) -> None:
    """Fill the database of DATABASE_URL."""
    from django.core.management import call_command

    from accounts.account.models import Account
    from accounts.users.models import User
    from core.db.time_limit import without_statement_timeout
    from core.rows import last_changes
    from crm.clients.models import Client
    from crm.contacts.models import Contact
    from crm.deals import models as deals
    from crm.deals.models import Deal
    from crm.notes.models import Note
    from forum.lists import facets
    from forum.posts import sort_keys
    from forum.posts.models import Post
    from team.summaries.recount import recount_summaries
    from team.timeline.mirrored_entries import COLUMNS, MIRRORS, TABLE

    call_command("migrate", verbosity=0, from_schema=True)
    data_set = create_accounts(size)
    data_set |= allocate_ids(size, data_set)
    values = {**WORDS, **data_set}
    searched = (Client, Post, Deal, Note, Contact, User)
    with connect() as connection:
        indexes = connection.execute(SECONDARY_INDEXES, [LARGE_TABLES]).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}")
        # The trigger that computes the search of a row runs although other triggers are off.
        for model in searched:
            table = model._meta.db_table
            connection.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_update_search")
        connection.execute(TAGS, values)
    batches = [
        (statement, {**values, "first": first, "last": min(data_set[f"{kind}s"], first + BATCH_ROWS - 1)})
        for kind, statement in ROWS.items()
        for first in range(1, data_set[f"{kind}s"] + 1, BATCH_ROWS)
    ]
    execute_all("Rows", [*batches, (POSTS_OF_OTHERS, values), (CLIENTS_OF_OTHERS, values)])
    execute_all("Indexes", [(definition, {}) for _, definition in indexes])
    derived = [
        *(model.search.add_words_statement(model) for model in searched),
        *(TAG_COUNTS.format(kind=kind) for kind in ("client", "contact", "deal")),
        *(last_changes.INSERT.format(table=model._meta.db_table) for model in (Client, Contact, Deal)),
        *(
            f"INSERT INTO {TABLE} ({COLUMNS}, data) SELECT {COLUMNS}, '{{}}' FROM ({mirror.entries()}) AS entry"
            for mirror in MIRRORS.values()
        ),
        *(facets.COUNTER.count_all, deals.COUNTER.count_all, sort_keys.ADD_MISSING, EXTERNAL_IDS, BACKERS),
    ]
    execute_all("External ids, counts, words, sort keys", [(statement, {}) for statement in derived])
    with step("Statistics"), connect() as connection:
        connection.execute("VACUUM ANALYZE")
    with step("Summaries and sums"), without_statement_timeout():
        for account_id in Account.objects.values_list("id", flat=True):
            recount_summaries(account_id, repair=True)
    with step("Vacuum"), connect() as connection:
        connection.execute(REVENUE_OF_POSTS, values)
        connection.execute("TRUNCATE core_change")
        connection.execute("VACUUM ANALYZE")
        connection.execute("CREATE TABLE bench_data_set AS SELECT %s::jsonb AS data_set", [json.dumps(data_set)])
        connection.execute("GRANT SELECT ON bench_data_set TO rostrum")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("posts", "clients", "others"):
        parser.add_argument(name, type=int)
    import django

    size = Size(**vars(parser.parse_args()))
    django.setup()
    build(size)


if __name__ == "__main__":
    main()
