"""The measure of the benchmarks: views that run the same SQL on a raw cursor, without accounts, checks or a framework.

Django's handler and URL resolver are all that is left; what the service adds to them is the difference.
"""

import os
from datetime import UTC

from django.db import connection
from django.http import HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from accounts.text import escape

ACCOUNT, FORUM, CATEGORY, STATUS, USER = (int(part) for part in os.environ["BENCH_IDS"].split(","))

IDS = """
(SELECT created_at, id FROM forum_post WHERE account_id = %s AND category_id = %s AND shelf = 1
 ORDER BY 1 DESC, 2 DESC LIMIT %s)
UNION ALL
(SELECT created_at, id FROM forum_post WHERE account_id = %s AND category_id = %s AND shelf = 2
 ORDER BY 1 DESC, 2 DESC LIMIT %s)
ORDER BY 1 DESC, 2 DESC LIMIT 26 OFFSET %s
"""
ROWS = """
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
INSERT = """
INSERT INTO forum_post (account_id, forum_id, category_id, status_id, user_id, title, content, agent, kind, task_kind, tags,
                        private, approved, closed, priority, votes_cache, comments_cache, created_at, updated_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, 'bare', 'suggestion', 'feedback', '{}', false, true, false, 0, 0, 0, now(), now())
RETURNING id, created_at
"""


def xml(body: str, status: int = 200) -> HttpResponse:
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'.encode()
    return HttpResponse(content, status=status, content_type="application/xml; charset=utf-8")


def moment(value) -> str:
    return value.astimezone(UTC).isoformat(timespec="seconds")


def posts(request) -> HttpResponse:
    start = (int(request.GET.get("page", 1)) - 1) * 25
    with connection.cursor() as cursor:
        cursor.execute(IDS, [ACCOUNT, CATEGORY, start + 26, ACCOUNT, CATEGORY, start + 26, start])
        ids = [row[1] for row in cursor.fetchall()][:25]
        cursor.execute(ROWS, [ACCOUNT, ids])
        rows = {row[4]: row for row in cursor.fetchall()}
    items = "".join(
        f"""  <post>
    <agent>{escape(row[0])}</agent>
    <comments-cache type="integer">{row[1]}</comments-cache>
    <content>{escape(row[2])}</content>
    <created-at type="datetime">{moment(row[3])}</created-at>
    <id type="integer">{row[4]}</id>
    <title>{escape(row[5])}</title>
    <updated-at type="datetime">{moment(row[6])}</updated-at>
    <votes-cache type="integer">{row[7]}</votes-cache>
  </post>
"""
        for row in map(rows.get, ids)
    )
    return xml(f'<posts type="array">\n{items}</posts>\n')


def post(request, id: int) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute(POST, [ACCOUNT, id])
        row = cursor.fetchone()
        cursor.execute(COMMENTS, [ACCOUNT, id])
        comments = "".join(
            f"""    <comment>
      <agent>{escape(comment[0])}</agent>
      <comment>{escape(comment[1])}</comment>
      <created-at type="datetime">{moment(comment[2])}</created-at>
      <id type="integer">{comment[3]}</id>
      <kind nil="true"/>
      <updated-at type="datetime">{moment(comment[5])}</updated-at>
    </comment>
"""
            for comment in cursor.fetchall()
        )
    return xml(
        f"<hash>\n{comments}  <post>\n    <id>{row[5]}</id>\n    <title>{escape(row[9])}</title>\n  </post>\n</hash>\n"
    )


@csrf_exempt
def create(request) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [ACCOUNT, FORUM, CATEGORY, STATUS, USER, "A post", request.body.decode()])
        id, created_at = cursor.fetchone()
    return xml(f"<post>\n  <created-at>{moment(created_at)}</created-at>\n  <id>{id}</id>\n</post>\n", status=201)


urlpatterns = [path("", posts), path("app/posts/<int:id>.xml", post), path("app/posts.xml", create)]
