from datetime import UTC, datetime

from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User

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
    # The host (kept for seconds), the forum of the host, and the user with the account.
    assert len(queries) == 3


def test_it_asks_once_where_the_host_is_known(acme, django_assert_num_queries):
    client = acme.xml()
    client.get("/app/users/me.xml")
    with django_assert_num_queries(1):
        assert client.get("/app/users/me.xml").status_code == 200
