from datetime import UTC, datetime

from accounts.users.models import User
from tests.support.factories import make_user
from tests.support.xml import CONTENT_TYPE, shown

TEAM = """<?xml version="1.0" encoding="UTF-8"?>
<users type="array">
  <user>
    <created-at type="datetime">2009-01-26T17:06:53+00:00</created-at>
    <description>Answers &amp; asks</description>
    <email>bob@acme.example</email>
    <login>bob</login>
    <name>Bob Nowak</name>
    <notification>own</notification>
    <updated-at type="datetime">2009-02-01T23:34:02+00:00</updated-at>
    <www>https://bob.example/?a=1&amp;b=2</www>
  </user>
  <user>
    <created-at type="datetime">2009-01-26T17:06:53+00:00</created-at>
    <description nil="true"/>
    <email>alice@acme.example</email>
    <login>alice</login>
    <name>alice</name>
    <notification>all</notification>
    <updated-at type="datetime">2009-02-01T23:34:02+00:00</updated-at>
    <www nil="true"/>
  </user>
</users>
"""


def logins(response) -> list[str]:
    lines = (line.strip() for line in response.text.splitlines())
    return [line.removeprefix("<login>").removesuffix("</login>") for line in lines if line.startswith("<login>")]


def test_it_works(acme, django_assert_num_queries):
    acme.account.users.update(
        created_at=datetime(2009, 1, 26, 17, 6, 53, 999_999, tzinfo=UTC),
        updated_at=datetime(2009, 2, 1, 23, 34, 2, tzinfo=UTC),
    )
    User.objects.filter(pk=acme.alice.pk).update(description=None)
    User.objects.filter(pk=acme.bob.pk).update(description="Answers & asks", www="https://bob.example/?a=1&b=2")
    client = acme.xml()
    client.get("/app/users/team.xml")
    with django_assert_num_queries(2):
        response = client.get("/app/users/team.xml")
    assert shown(response) == (200, CONTENT_TYPE, TEAM)


def test_members_see_no_logins_and_emails(acme):
    """The elements stay, without the values of others."""
    response = acme.xml(acme.carol).get("/app/users/team.xml")
    assert logins(response) == ["", ""]
    assert response.text.count("<login></login>") == response.text.count("<email></email>") == 2
    assert all(name not in response.text for name in ("alice@", "bob@", "<login>b"))


def test_active_users_of_the_team_are_ordered_by_name_and_age(acme, django_assert_num_queries):
    make_user(acme.account, "zoe", role="admin", name="Adam")
    make_user(acme.account, "adam", role="agent", name="Adam")
    make_user(acme.account, "left", role="agent", is_active=False)
    client = acme.xml()
    client.get("/app/users/team.xml")
    with django_assert_num_queries(2):
        assert logins(client.get("/app/users/team.xml")) == ["zoe", "adam", "bob", "alice"]
