import pytest
from django.db import IntegrityError, transaction

from forum.models import RESERVED_SEGMENTS
from tests.support.factories import make_category
from tests.support.tables import table
from tests.support.xml import NOT_ALLOWED, UNAUTHENTICATED, client_of, document, refusal, shown


def category(id: int, name: str) -> str:
    return f"""\
  <category>
    <id type="integer">{id}</id>
    <name>{name}</name>
  </category>
"""


def categories(*items: str) -> tuple[int, str, str]:
    return document(200, '<categories type="array">\n', *items, "</categories>\n")


def test_it_works(acme, django_assert_num_queries):
    bugs = make_category(acme.account, "Bugs & <errors>", position=2)
    client = acme.xml()
    client.get("/app/categories.xml")
    with django_assert_num_queries(2):
        response = client.get("/app/categories.xml")
    assert shown(response) == categories(
        category(acme.category.id, "General"), category(bugs.id, "Bugs &amp; &lt;errors&gt;")
    )


def test_it_rejects_anonymous_requests(acme):
    response = client_of(acme, "anonymous").get("/app/categories.xml")
    assert shown(response) == refusal(401, UNAUTHENTICATED)


@table("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "FOO"])
def test_it_rejects_other_methods(acme, method):
    response = acme.xml().request(method, "/app/categories.xml")
    assert shown(response) == refusal(405, NOT_ALLOWED)
    assert response.headers["Allow"] == "GET, HEAD"


@table("role", ["owner", "admin", "agent", "member"])
def test_every_role_sees_the_categories(acme, role):
    response = client_of(acme, role).get("/app/categories.xml")
    assert shown(response) == categories(category(acme.category.id, "General"))


def test_categories_are_ordered_by_position_and_age(acme):
    last = make_category(acme.account, "A last one", position=9)
    second = make_category(acme.account, "Z", position=5)
    third = make_category(acme.account, "B", position=5)
    assert shown(acme.xml().get("/app/categories.xml")) == categories(
        category(acme.category.id, "General"),
        category(second.id, "Z"),
        category(third.id, "B"),
        category(last.id, "A last one"),
    )


def test_a_forum_without_categories_has_an_empty_list(acme):
    acme.account.categories.all().delete()
    assert shown(acme.xml().get("/app/categories.xml")) == document(200, '<categories type="array"/>\n')


def test_each_forum_has_its_own_categories(acme, other):
    forum = acme.account.forums.create(name="Second", host_id=acme.account.hosts.create(name="ideas.example.org").id)
    ideas = acme.account.categories.create(forum_id=forum.id, name="Ideas", position=1)
    client = acme.xml()
    assert shown(client.get("/app/categories.xml")) == categories(category(acme.category.id, "General"))
    assert shown(client.get("http://ideas.example.org/app/categories.xml")) == categories(category(ideas.id, "Ideas"))
    assert other.account.categories.count() == 1


@table("name", [*sorted(RESERVED_SEGMENTS), "APP", "Static", "a/b", "news.xml", "news.JSON", ""])
def test_the_database_rejects_names_that_are_invalid_in_a_path(acme, name):
    with pytest.raises(IntegrityError, match="category_name_form"), transaction.atomic():
        acme.account.categories.create(forum_id=acme.forum.id, name=name)
    assert shown(acme.xml().get("/app/categories.xml")) == categories(category(acme.category.id, "General"))


def test_the_database_rejects_a_name_that_only_differs_by_case(acme):
    with pytest.raises(IntegrityError, match="category_name_unique"), transaction.atomic():
        make_category(acme.account, "GENERAL")
