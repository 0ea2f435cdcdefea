from datetime import UTC, datetime

from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from tests.support.tables import table
from tests.support.xml import NOT_ALLOWED, UNAUTHENTICATED, client_of, refusal, shown, stamp

ME = """<?xml version="1.0" encoding="UTF-8"?>
<user>
  <created-at type="datetime">2009-01-26T18:06:53+01:00</created-at>
  <description></description>
  <email>alice@acme.example</email>
  <login>alice</login>
  <name>alice</name>
  <notification>all</notification>
  <updated-at type="datetime">2009-02-02T00:34:02+01:00</updated-at>
  <www nil="true"/>
</user>
"""


def test_it_works(acme):
    acme.account.time_zone = "Europe/Warsaw"
    acme.account.save()
    User.objects.filter(pk=acme.alice.pk).update(
        created_at=datetime(2009, 1, 26, 17, 6, 53, 999_999, tzinfo=UTC),
        updated_at=datetime(2009, 2, 1, 23, 34, 2, tzinfo=UTC),
    )
    with CaptureQueriesContext(connection) as queries:
        response = acme.xml().get("/app/users/me.xml")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/xml; charset=utf-8"
    assert response.text == ME
    # The host with its forum, which are cached for seconds; the user with the account.
    assert len(queries) == 3


def test_it_takes_one_query_if_the_host_is_cached(acme, django_assert_num_queries):
    client = acme.xml()
    client.get("/app/users/me.xml")
    with django_assert_num_queries(1):
        assert client.get("/app/users/me.xml").status_code == 200


def test_it_rejects_anonymous_requests(acme):
    response = client_of(acme, "anonymous").get("/app/users/me.xml")
    assert shown(response) == refusal(401, UNAUTHENTICATED)
    assert response.headers["WWW-Authenticate"] == 'Basic realm="Acme", charset="UTF-8"'


@table("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "FOO"])
def test_it_rejects_other_methods(acme, method):
    response = acme.xml().request(method, "/app/users/me.xml")
    assert shown(response) == refusal(405, NOT_ALLOWED)
    assert response.headers["Allow"] == "GET, HEAD"


@table("role", ["owner", "admin", "agent", "member"])
def test_every_user_sees_their_own_fields_without_the_role(acme, role):
    response = client_of(acme, role).get("/app/users/me.xml")
    login = {"owner": "alice", "admin": "dave", "agent": "bob", "member": "carol"}[role]
    user = acme.account.users.get(login=login)
    assert (
        response.text
        == f"""\
<?xml version="1.0" encoding="UTF-8"?>
<user>
  <created-at type="datetime">{stamp(user.created_at)}</created-at>
  <description></description>
  <email>{login}@acme.example</email>
  <login>{login}</login>
  <name>{user.name}</name>
  <notification>{"all" if role == "owner" else "own"}</notification>
  <updated-at type="datetime">{stamp(user.updated_at)}</updated-at>
  <www nil="true"/>
</user>
"""
    )


def test_values_are_escaped(acme):
    User.objects.filter(pk=acme.bob.pk).update(
        name='<Bob> & "co"', description="]]>\r\n\ttext", www="http://x/?a=1&b=2", notification="none"
    )
    response = acme.xml(acme.bob).get("/app/users/me.xml")
    acme.bob.refresh_from_db()
    assert (
        response.text
        == f"""\
<?xml version="1.0" encoding="UTF-8"?>
<user>
  <created-at type="datetime">{stamp(acme.bob.created_at)}</created-at>
  <description>]]&gt;&#13;
\ttext</description>
  <email>bob@acme.example</email>
  <login>bob</login>
  <name>&lt;Bob&gt; &amp; "co"</name>
  <notification>none</notification>
  <updated-at type="datetime">{stamp(acme.bob.updated_at)}</updated-at>
  <www>http://x/?a=1&amp;b=2</www>
</user>
"""
    )


@table("accept", ["*/*", "application/json", "text/html", "image/png", "x", "", ";q="])
def test_the_accept_header_is_ignored(acme, accept):
    client = acme.xml()
    assert client.get("/app/users/me.xml", headers={"Accept": accept}).text == client.get("/app/users/me.xml").text
