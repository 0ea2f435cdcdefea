"""The bare twin, which the benchmarks compare with: views that run the same SQL on a raw cursor and format responses by hand.

It uses only Django's handler and URL resolver: no accounts, checks, limits or REST framework. The difference is the cost of
the service itself. `bench.run` compares the responses of both, byte by byte, before it measures.
"""

import json
import os
from contextlib import nullcontext
from datetime import UTC
from functools import cache
from pathlib import Path

import orjson
from django.db import connection, transaction
from django.http import HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from accounts.models import Account
from bench.data import LOGIN
from core.db.text import escape
from core.search.queries import search, search_transaction
from crm.api.serializers import ClientSerializer

DATA_SET = json.loads(os.environ["BENCH_DATA_SET"])
ACCOUNT, FORUM, CATEGORY, STATUS, USER = (DATA_SET[name] for name in ("account", "forum", "category", "status", "user"))

ME = """
SELECT created_at, description, email, login, name, notification, updated_at, www FROM accounts_user
WHERE account_id = %s AND (login_key = %s OR email_key = %s)
"""
POST_IDS = """
(SELECT created_at, id FROM forum_post WHERE account_id = %s AND category_id = %s AND shelf = 1
 ORDER BY 1 DESC, 2 DESC LIMIT %s)
UNION ALL
(SELECT created_at, id FROM forum_post WHERE account_id = %s AND category_id = %s AND shelf = 2
 ORDER BY 1 DESC, 2 DESC LIMIT %s)
ORDER BY 1 DESC, 2 DESC LIMIT 26 OFFSET %s
"""
POST_ROWS = """
SELECT agent, comments_cache, content, created_at, id, title, updated_at, votes_cache FROM forum_post
WHERE account_id = %s AND id = ANY(%s)
"""
POST = """
SELECT post.agent, post.category_id, post.comments_cache, post.content, post.created_at, post.id, post.kind,
       post.responsible_id, status.code, post.title, post.updated_at, post.votes_cache
FROM forum_post post JOIN accounts_status status ON status.account_id = post.account_id AND status.id = post.status_id
WHERE post.account_id = %s AND post.id = %s AND post.trashed_at IS NULL
"""
COMMENTS = """
SELECT agent, comment, created_at, id, kind, updated_at FROM forum_comment
WHERE account_id = %s AND post_id = %s ORDER BY created_at, id
"""
CREATE_POST = """
INSERT INTO forum_post (account_id, forum_id, category_id, status_id, user_id, title, content, agent, kind, task_kind, tags,
                        private, approved, closed, priority, votes_cache, comments_cache, created_at, updated_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, '', 'suggestion', 'feedback', '{}', false, true, false, 0, 0, 0, now(), now())
RETURNING agent, category_id, comments_cache, content, created_at, id, kind, responsible_id, 'new', title, updated_at,
    votes_cache
"""

COMPUTED_FIELDS = ["contacts_count", "posts_count", "deals_count", "last_activity"]
TIME_FIELDS = ["created_at", "updated_at"]
# The other fields of a client, which are columns, in the order of the response.
COLUMN_FIELDS = [name for name in ClientSerializer.names if name not in (*COMPUTED_FIELDS, *TIME_FIELDS)]


def count(table: str) -> str:
    """Return SQL for the number of the rows that belong to a client."""
    return f"""(SELECT count(*) FROM {table} AS of_it WHERE of_it.account_id = client.account_id
        AND of_it.client_id = client.id AND of_it.trashed_at IS NULL)"""  # noqa: S608


RELATED_TABLES = ("crm_contact", "forum_post", "crm_deal")
COUNTS = ", ".join(count(table) for table in RELATED_TABLES)
LAST_ACTIVITY = """(SELECT summary.last_activity_at FROM workspace_clientsummary AS summary
    WHERE summary.account_id = client.account_id AND summary.client_id = client.id)"""
COLUMNS = ", ".join(f"client.{name}" for name in COLUMN_FIELDS)
SELECT_CLIENTS = f"""
SELECT {COLUMNS}, {COUNTS}, {LAST_ACTIVITY}, client.created_at, client.updated_at FROM crm_client AS client
WHERE client.account_id = %s AND client.trashed_at IS NULL
"""  # noqa: S608
CLIENTS = f"{SELECT_CLIENTS} AND client.id = ANY(%s)"
CLIENT_IDS = "SELECT id FROM crm_client WHERE account_id = %s AND trashed_at IS NULL ORDER BY id LIMIT 26 OFFSET %s"
CLIENT_ID_BY_EXTERNAL_ID = (
    "SELECT holder_id FROM crm_clientexternalid WHERE account_id = %s AND key = %s AND value = %s"
)
CREATE_CLIENT = f"""
INSERT INTO crm_client AS client (account_id, name, email, email_key, phone, city, external_ids, additional_fields, tags, creator_id,
                        updater_id, created_at, updated_at)
VALUES (%s, %s, %s, lower(%s), %s, %s, %s::jsonb, '{{}}', '{{}}', %s, %s, now(), now())
RETURNING {COLUMNS}, 0, 0, 0, client.updated_at, client.created_at, client.updated_at
"""  # noqa: S608
CREATE_EXTERNAL_ID = "INSERT INTO crm_clientexternalid (account_id, key, value, holder_id) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
UPDATE_CLIENT = """
UPDATE crm_client SET note = %s, street_no = %s, updater_id = %s, updated_at = now() WHERE account_id = %s AND id = %s
"""


def rows(sql: str, *values) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        return cursor.fetchall()


# The Forum API


def xml(body: str, **options) -> HttpResponse:
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'.encode()
    return HttpResponse(content, content_type="application/xml; charset=utf-8", **options)


def format_time(value) -> str:
    return value.astimezone(UTC).isoformat(timespec="seconds")


def element(name: str, value: str | None) -> str:
    return f'<{name} nil="true"/>' if value is None else f"<{name}>{escape(value)}</{name}>"


def me(request) -> HttpResponse:
    [row] = rows(ME, ACCOUNT, LOGIN, LOGIN)
    return xml(
        f"""<user>
  <created-at type="datetime">{format_time(row[0])}</created-at>
  {element("description", row[1])}
  {element("email", row[2])}
  {element("login", row[3])}
  {element("name", row[4])}
  {element("notification", row[5])}
  <updated-at type="datetime">{format_time(row[6])}</updated-at>
  {element("www", row[7])}
</user>
"""
    )


def link(request, page: int, more: bool) -> str:
    url = request.build_absolute_uri(request.path)
    links = ((1, "first", True), (page - 1, "prev", page > 1), (page + 1, "next", more))
    return ", ".join(f'<{url}?page={number}>; rel="{relation}"' for number, relation, exists in links if exists)


def posts(request) -> HttpResponse:
    page = int(request.GET.get("page", 1))
    start = (page - 1) * 25
    ids = [row[1] for row in rows(POST_IDS, ACCOUNT, CATEGORY, start + 26, ACCOUNT, CATEGORY, start + 26, start)]
    by_id = {row[4]: row for row in rows(POST_ROWS, ACCOUNT, ids[:25])}
    items = "".join(
        f"""  <post>
    <agent>{escape(row[0])}</agent>
    <comments-cache type="integer">{row[1]}</comments-cache>
    <content>{escape(row[2])}</content>
    <created-at type="datetime">{format_time(row[3])}</created-at>
    <id type="integer">{row[4]}</id>
    <title>{escape(row[5])}</title>
    <updated-at type="datetime">{format_time(row[6])}</updated-at>
    <votes-cache type="integer">{row[7]}</votes-cache>
  </post>
"""
        for row in map(by_id.get, ids[:25])
    )
    headers = {"Link": link(request, page, len(ids) > 25)}
    return xml(f'<posts type="array">\n{items}</posts>\n', headers=headers)


def post_element(row: tuple, margin: str = "") -> str:
    responsible = ' nil="true"/' if row[7] is None else f">{row[7]}</responsible-id"
    return f"""{margin}<post>
{margin}  <agent>{escape(row[0])}</agent>
{margin}  <category-id type="integer">{row[1]}</category-id>
{margin}  <comments-cache type="integer">{row[2]}</comments-cache>
{margin}  <content>{escape(row[3])}</content>
{margin}  <created-at type="datetime">{format_time(row[4])}</created-at>
{margin}  <id type="integer">{row[5]}</id>
{margin}  <kind>{escape(row[6])}</kind>
{margin}  <responsible-id type="integer"{responsible}>
{margin}  <status>{escape(row[8])}</status>
{margin}  <title>{escape(row[9])}</title>
{margin}  <updated-at type="datetime">{format_time(row[10])}</updated-at>
{margin}  <votes-cache type="integer">{row[11]}</votes-cache>
{margin}</post>
"""


def post(request, id: int) -> HttpResponse:
    [row] = rows(POST, ACCOUNT, id)
    comments = "".join(
        f"""    <comment>
      <agent>{escape(comment[0])}</agent>
      <comment>{escape(comment[1])}</comment>
      <created-at type="datetime">{format_time(comment[2])}</created-at>
      <id type="integer">{comment[3]}</id>
      {element("kind", comment[4])}
      <updated-at type="datetime">{format_time(comment[5])}</updated-at>
    </comment>
"""
        for comment in rows(COMMENTS, ACCOUNT, id)
    )
    return xml(f'<hash>\n  <comments type="array">\n{comments}  </comments>\n{post_element(row, "  ")}</hash>\n')


@csrf_exempt
def create_post(request) -> HttpResponse:
    # Cut the values out of the text without an XML parser: parsing is part of the service's cost.
    body = request.body.decode()
    title = body.partition("<title>")[2].partition("</title>")[0]
    content = body.partition("<content>")[2].partition("</content>")[0]
    [row] = rows(CREATE_POST, ACCOUNT, FORUM, CATEGORY, STATUS, USER, title, content)
    headers = {"Location": request.build_absolute_uri(f"/app/posts/{row[5]}.xml")}
    return xml(post_element(row), status=201, headers=headers)


# The Account API


def client_data(row: tuple) -> dict:
    data = dict(zip([*COLUMN_FIELDS, *COMPUTED_FIELDS, *TIME_FIELDS], row, strict=True))
    for name in ("external_ids", "additional_fields"):
        if isinstance(data[name], str):
            data[name] = json.loads(data[name])
        # The service sorts the names, which PostgreSQL does not.
        data[name] = dict(sorted(data[name].items()))
    for name in ClientSerializer.times:
        data[name] = None if data[name] is None else format_time(data[name])
    return {name: data[name] for name in ClientSerializer.names}


def json_response(data, **options) -> HttpResponse:
    return HttpResponse(orjson.dumps(data), content_type="application/json", **options)


def clients_of(ids: list[int]) -> list[dict]:
    by_id = {row[0]: row for row in rows(CLIENTS, ACCOUNT, ids)}
    return [client_data(by_id[id]) for id in ids]


@cache
def recorded_search(query_text: str) -> tuple[list[int], list[tuple[str, list]]]:
    """Return the ids that a search finds, and its statements.

    The statements depend on estimates of PostgreSQL, so they are recorded while the code of the service runs the same search.
    """
    statements = []

    def record_statement(execute, sql, values, many, context):
        statements.append((sql, values))
        return execute(sql, values, many, context)

    with connection.execute_wrapper(record_statement), search_transaction(ACCOUNT, query_text) as query:
        return search(Account(id=ACCOUNT).clients.live(), query, enough=26)[:26], statements


def find_clients(query_text: str) -> list[int]:
    ids, statements = recorded_search(query_text)
    with transaction.atomic():
        for sql, values in statements:
            rows(sql, *values)
    return ids


@csrf_exempt
def clients(request) -> HttpResponse:
    if request.method == "POST":
        return create_client(request)
    if (value := request.GET.get("external_ids[shop]")) is not None:
        ids = [row[0] for row in rows(CLIENT_ID_BY_EXTERNAL_ID, ACCOUNT, "shop", value)]
    elif (query_text := request.GET.get("q")) is not None:
        ids = find_clients(query_text)
    else:
        ids = [row[0] for row in rows(CLIENT_IDS, ACCOUNT, 0)]
    return json_response(clients_of(ids[:25]), headers={"Link": link(request, 1, len(ids) > 25)})


def create_client(request) -> HttpResponse:
    fields = orjson.loads(request.body)["client"]
    external_ids = fields["external_ids"]
    with transaction.atomic():
        values = [fields[name] for name in ("name", "email", "email", "phone", "city")]
        [row] = rows(CREATE_CLIENT, ACCOUNT, *values, json.dumps(external_ids), USER, USER)
        with connection.cursor() as cursor:
            for key, value in external_ids.items():
                cursor.execute(CREATE_EXTERNAL_ID, [ACCOUNT, key, value, row[0]])
    headers = {"Location": request.build_absolute_uri(f"/app/clients/{row[0]}.json")}
    return json_response(client_data(row), status=201, headers=headers)


@csrf_exempt
def client(request, id: int) -> HttpResponse:
    if request.method == "PUT":
        changes = orjson.loads(request.body)["client"]
        with transaction.atomic():
            [row] = rows(f"{SELECT_CLIENTS} AND client.id = %s FOR NO KEY UPDATE OF client", ACCOUNT, id)
            with connection.cursor() as cursor:
                cursor.execute(UPDATE_CLIENT, [changes["note"], changes["street_no"], USER, ACCOUNT, id])
        return json_response({**client_data(row), **changes})
    return json_response(clients_of([id])[0])


# Pages


@cache
def recorded_pages() -> list[dict]:
    """Return the recorded statements and sizes of pages (`bench.pages`)."""
    return list(json.loads(Path(os.environ["BENCH_RECORDED_PAGES"]).read_text())["cases"].values())


def recorded_page(request, case: int, number: int) -> HttpResponse:
    page = recorded_pages()[case]
    statements = page["statements"][number]
    # A setting of a transaction has no effect outside of it.
    with transaction.atomic() if any("set_config" in sql for sql in statements) else nullcontext():
        for sql in statements:
            rows(sql)
    return HttpResponse(b" " * page["bytes"][number])


urlpatterns = [
    path("recorded/<int:case>/<int:number>", recorded_page),
    path("", posts),
    path("app/users/me.xml", me),
    path("app/posts.xml", create_post),
    path("app/posts/<int:id>.xml", post),
    path("app/clients.json", clients),
    path("app/clients/<int:id>.json", client),
]
