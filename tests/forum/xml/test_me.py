from datetime import UTC, datetime

from accounts.users.models import User
from tests.support.xml import CONTENT_TYPE, shown

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


def test_it_works(acme, django_assert_num_queries):
    acme.account.time_zone = "Europe/Warsaw"
    acme.account.save()
    User.objects.filter(pk=acme.alice.pk).update(
        created_at=datetime(2009, 1, 26, 17, 6, 53, 999_999, tzinfo=UTC),
        updated_at=datetime(2009, 2, 1, 23, 34, 2, tzinfo=UTC),
    )
    client = acme.xml()
    # The host with its forum, which are cached for seconds; the user with the account.
    with django_assert_num_queries(3):
        response = client.get("/app/users/me.xml")
    assert shown(response) == (200, CONTENT_TYPE, ME)
    with django_assert_num_queries(1):
        assert client.get("/app/users/me.xml").text == ME
