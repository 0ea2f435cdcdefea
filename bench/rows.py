"""The SQL statements that create the rows of a data set. Values depend on the number of the row, not on chance."""

TABLES = ("forum_post", "forum_postsortkey", "forum_comment", "crm_client", "crm_clientexternalid")

# The number of posts with comments, which are the newest ones, and the number of comments on each.
COMMENTED_POSTS, COMMENTS_PER_POST = 5_000, 20
# The number of agents in the team.
AGENTS = 12
# The number of posts and of clients in each of the other accounts.
ROWS_PER_OTHER_ACCOUNT = 50

# fmt: off
FIRST_NAMES = [
    "Anna", "Jan", "Maria", "Piotr", "Katarzyna", "Andrzej", "Małgorzata", "Krzysztof", "Agnieszka", "Tomasz", "Barbara", "Paweł",
    "Ewa", "Michał", "Zofia", "Marcin", "Magdalena", "Łukasz", "Joanna", "Jakub", "Emma", "Liam", "Olivia", "Noah", "Charlotte",
    "James", "Amelia", "William", "Sophia", "Henry", "Lena", "Lukas", "Mia", "Felix", "Hannah", "Jonas", "Camille", "Louis",
    "Chloé", "Hugo",
]
SURNAME_STARTS = [
    "Kowal", "Nowa", "Wiśniew", "Dąbrow", "Lewandow", "Zieliń", "Szymań", "Kozłow", "Jankow", "Mazur", "Wojciechow", "Kwiatkow",
    "Piotrow", "Grabow", "Pawłow", "Michal", "Król", "Wieczor", "Jabłoń", "Wróblew", "Majew", "Olszew", "Jaworow", "Malinow",
    "Stępniew", "Górow", "Rutkow", "Ostrow", "Sikorow", "Baranow",
]
SURNAME_ENDS = ["ski", "czyk", "ewicz", "owicz", "ak", "ek", "iak", "er", "mann", "son"]
CITIES = [
    "Warszawa", "Kraków", "Łódź", "Wrocław", "Poznań", "Gdańsk", "Szczecin", "Bydgoszcz", "Lublin", "Białystok", "Katowice",
    "Gdynia", "Częstochowa", "Radom", "Toruń", "Berlin", "Hamburg", "Praha", "Wien", "London", "Leeds", "Dublin", "Paris", "Lyon",
]
DOMAINS = ["example.com", "example.org", "example.net", "mail.example", "post.example"]
TAGS_OF_CLIENTS = ["vip", "newsletter", "wholesale", "returning", "late payer"]
VERBS = ["Add", "Show", "Allow", "Remember", "Export", "Import", "Simplify", "Speed up", "Translate", "Group"]
THINGS = [
    "the calendar", "invoices", "dark mode", "keyboard shortcuts", "the basket", "search results", "e-mail reminders", "the report",
    "attachments", "price lists", "the dashboard", "delivery dates", "discount codes", "the mobile page", "order history",
    "the contact form", "barcodes", "two currencies", "the login page", "product photos",
]
PLACES = ["in the shop", "for the team", "on a phone", "by month", "for every client", "in Polish", "before checkout", "as a file"]
REASONS = [
    "It would save us an hour every day.", "Our customers ask for it again and again.", "Now we copy it by hand into a table.",
    "The old version had this, and we miss it.", "Even a simple first step would help.", "We would gladly try it out early.",
    "It is easy to overlook where it is now.", "Other tools that we use can do it.",
]
# fmt: on

INDUSTRIES = [
    "Retail",
    "Wholesale",
    "Food",
    "Textiles",
    "Furniture",
    "Electronics",
    "Cosmetics",
    "Books",
    "Toys",
    "Garden",
    "Sports",
]
SIZES = ["S", "M", "L", "XL"]

# The parameters of the statements below: words to select from.
PARAMETERS = {
    "first_names": FIRST_NAMES,
    "surname_starts": SURNAME_STARTS,
    "surname_ends": SURNAME_ENDS,
    "cities": CITIES,
    "domains": DOMAINS,
    "client_tags": TAGS_OF_CLIENTS,
    "verbs": VERBS,
    "things": THINGS,
    "places": PLACES,
    "reasons": REASONS,
    "industries": INDUSTRIES,
    "sizes": SIZES,
}


# The seeds of columns. Each column has its own, so that values of different columns do not correlate.
FIRST_NAME_SEED, SURNAME_START_SEED, SURNAME_END_SEED, CITY_SEED = 8191, 6841, 10061, 5087


def multiplier(seed: int) -> int:
    """Return the multiplier of a multiplicative hash of row numbers. The upper bits of the hash are spread evenly."""
    return seed * 2654435761 % 2**32


def pick_word(words: list[str], seed: int, n: int) -> str:
    """Return the word that the SQL of `pick_sql` selects for the row number n."""
    return words[n * multiplier(seed) % 2**32 // 2**12 % len(words)]


def pick_sql(words: str, seed: int) -> str:
    """Return SQL that selects one of the words for the row number n. `words` is the name of a parameter."""
    return (
        f"(%({words})s::text[])[1 + (n * {multiplier(seed)} %% {2**32} / {2**12}) %% cardinality(%({words})s::text[])]"
    )


def spread_sql(number: str, seed: int) -> str:
    """Return SQL for an integer from 0 to `number` - 1, which depends on n. All values are about equally frequent."""
    return f"(n * {multiplier(seed)} %% {2**32} * {number} / {2**32})"


# The owner is responsible for rows too. Nobody is responsible for one row in 10.
RESPONSIBLE = f"CASE WHEN n %% 10 <> 0 THEN (%(team)s::bigint[])[1 + {spread_sql(str(AGENTS + 1), 4513)}] END"

POST_COLUMNS = """account_id, id, forum_id, category_id, status_id, user_id, title, content, agent, kind, task_kind, tags,
    private, approved, closed, priority, votes_cache, comments_cache, created_at, updated_at"""
POST_TEXTS = f"""
    {pick_sql("verbs", 9176)} || ' ' || {pick_sql("things", 6151)} || ' ' || {pick_sql("places", 12289)},
    {pick_sql("reasons", 7919)} || ' ' || {pick_sql("reasons", 3571)} || ' Number ' || n, 'Mozilla/5.0', 'suggestion', 'feedback', '{{}}',
    false, true, false, 0"""

POSTS = f"""
INSERT INTO forum_post ({POST_COLUMNS})
SELECT %(account)s, %(first_post)s - 1 + n, %(forum)s, %(category)s, %(status)s, %(user)s, {POST_TEXTS}, (n * 31 / 7) %% 50,
    CASE WHEN %(first_post)s - 1 + n >= %(first_commented)s THEN {COMMENTS_PER_POST} ELSE 0 END, moment, moment
FROM (SELECT n, now() - (%(posts)s - n) * interval '1 minute' AS moment
      FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n) AS numbered
"""  # noqa: S608

COMMENTS = f"""
INSERT INTO forum_comment (account_id, id, post_id, user_id, agent, comment, created_at, updated_at)
SELECT %(account)s, %(first_comment)s - 1 + (n - 1) * {COMMENTS_PER_POST} + m, %(first_commented)s - 1 + n, %(user)s, 'Mozilla/5.0',
    {pick_sql("reasons", 2371)} || ' Comment ' || m, moment, moment
FROM (SELECT n, m, now() - ({COMMENTS_PER_POST} - m) * interval '1 second' AS moment
      FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n, generate_series(1, {COMMENTS_PER_POST}) AS m) AS numbered
"""  # noqa: S608

CLIENT_COLUMNS = """account_id, id, creator_id, updater_id, created_at, updated_at, name, first_name, last_name, email,
    email_key, phone, city, street, street_no, post_code, country, note, tags, external_ids, company, tax_no, additional_fields"""
PERSON = f"""
    SELECT *, first_name || ' ' || last_name AS name,
        lower(translate(first_name || '.' || last_name, 'ąćęłńóśźżĄĆĘŁŃÓŚŹŻé', 'acelnoszzACELNOSZZe')) || n || '@' || domain
            AS email
    FROM (SELECT *, {pick_sql("first_names", FIRST_NAME_SEED)} AS first_name,
              {pick_sql("surname_starts", SURNAME_START_SEED)} || {pick_sql("surname_ends", SURNAME_END_SEED)} AS last_name, {pick_sql("domains", 4057)} AS domain
          FROM numbered) AS named"""  # noqa: S608
CLIENT_VALUES = f"""name, first_name, last_name, email, email,
    '+48 ' || 500 + (n * 271 / 7) %% 400 || ' ' || to_char(n / 1000 %% 1000, 'FM000') || ' ' || to_char(n %% 1000, 'FM000'),
    {pick_sql("cities", CITY_SEED)}, {pick_sql("surname_starts", 2039)} || 'a', 1 + n %% 120, to_char(n %% 100000, 'FM00-000'), 'PL',
    CASE WHEN n %% 4 = 0 THEN {pick_sql("reasons", 1361)} END,
    CASE WHEN n %% 3 = 0 THEN ARRAY[{pick_sql("client_tags", 5501)}] ELSE '{{}}'::text[] END,
    jsonb_build_object('shop', (100000 + n)::text), n %% 2 = 0, CASE WHEN n %% 2 = 0 THEN 'PL' || 5000000000 + n * 7 END,
    jsonb_build_object('industry', {pick_sql("industries", 6733)}, 'size', {pick_sql("sizes", 5279)}, 'employees', {spread_sql("500", 7253)})"""

CLIENTS = f"""
INSERT INTO crm_client ({CLIENT_COLUMNS}, status_id, responsible_id)
WITH numbered AS (SELECT n, now() - (%(clients)s - n) * interval '1 minute' AS moment
                  FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n)
SELECT %(account)s, %(first_client)s - 1 + n, %(user)s, %(user)s, moment, moment + (now() - moment) * {spread_sql("1000", 2729)} / 1000,
    {CLIENT_VALUES}, (%(client_statuses)s::bigint[])[1 + {spread_sql("4", 5939)}], {RESPONSIBLE}
FROM ({PERSON}) AS person
"""  # noqa: S608

# The rows of each other account have the numbers from 1.
OTHERS = f"""
    SELECT account.id AS account_id, forum.id AS forum_id, category.id AS category_id, status.id AS status_id,
        owner.id AS user_id, n, now() AS moment
    FROM accounts_account AS account
    JOIN forum_forum AS forum ON forum.account_id = account.id AND forum.is_default
    JOIN forum_category AS category ON category.account_id = account.id AND category.forum_id = forum.id
    JOIN accounts_status AS status ON status.account_id = account.id AND status.kind = 'post' AND status.position = 1
    JOIN accounts_user AS owner ON owner.account_id = account.id, generate_series(1::bigint, {ROWS_PER_OTHER_ACCOUNT}) AS n
    WHERE account.id <> %(account)s"""  # noqa: S608
NEXT_ID = "account_ids.reserve(account_id, 1)"

OTHERS_POSTS = f"""
INSERT INTO forum_post ({POST_COLUMNS})
SELECT account_id, {NEXT_ID}, forum_id, category_id, status_id, user_id, {POST_TEXTS}, 0, 0, moment, moment
FROM ({OTHERS}) AS numbered
"""  # noqa: S608

OTHERS_CLIENTS = f"""
INSERT INTO crm_client ({CLIENT_COLUMNS})
WITH numbered AS ({OTHERS})
SELECT account_id, {NEXT_ID}, user_id, user_id, moment, moment, {CLIENT_VALUES} FROM ({PERSON}) AS person
"""  # noqa: S608

EXTERNAL_IDS = """
INSERT INTO crm_clientexternalid (account_id, key, value, holder_id)
SELECT account_id, key, value, id FROM crm_client, jsonb_each_text(external_ids) ORDER BY account_id, key, value
"""

TAGS = """
INSERT INTO accounts_tag (account_id, id, name, name_key)
SELECT account.id, account_ids.reserve(account.id, 1), called, called
FROM accounts_account AS account, unnest(%(client_tags)s::text[]) AS called
"""


def tag_counts(kind: str) -> str:
    """Return the statement that counts the tags of clients, contacts or deals."""
    return f"""
INSERT INTO accounts_tagcount (account_id, kind, tag_id, shard, uses)
SELECT tagged.account_id, '{kind}', tag.id, 0, count(*)
FROM crm_{kind} AS tagged, unnest(tagged.tags) AS called
JOIN accounts_tag AS tag ON tag.name = called
WHERE tag.account_id = tagged.account_id
GROUP BY tagged.account_id, tag.id
"""  # noqa: S608


def sort_keys() -> str:
    """Return the statement for the sort keys of all posts. The module of the service needs its settings."""
    from forum.sort_keys import ADD_MISSING

    return ADD_MISSING
