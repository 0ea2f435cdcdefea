import pytest
from django.db import IntegrityError, transaction

from forum.categories.models import RESERVED_SEGMENTS
from tests.support.factories import make_category, make_forum
from tests.support.tables import table
from tests.support.xml import document, shown


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
    last = make_category(acme.account, "A last one", position=9)
    bugs = make_category(acme.account, "Bugs & <errors>", position=2)
    # Categories at one position are ordered by age.
    younger = make_category(acme.account, "Another", position=2)
    client = acme.xml()
    client.get("/app/categories.xml")
    with django_assert_num_queries(2):
        response = client.get("/app/categories.xml")
    assert shown(response) == categories(
        category(acme.category.id, "General"),
        category(bugs.id, "Bugs &amp; &lt;errors&gt;"),
        category(younger.id, "Another"),
        category(last.id, "A last one"),
    )


def test_each_forum_has_its_own_categories(acme):
    forum = make_forum(acme.account, "ideas")
    ideas = acme.account.categories.of_forum(forum.id).get()
    client = acme.xml()
    assert shown(client.get("/app/categories.xml")) == categories(category(acme.category.id, "General"))
    path = "http://ideas.example.org/app/categories.xml"
    assert shown(client.get(path)) == categories(category(ideas.id, ideas.name))
    ideas.delete()
    assert shown(client.get(path)) == document(200, '<categories type="array"/>\n')


@table("name", [*sorted(RESERVED_SEGMENTS), "APP", "Static", "a/b", "news.xml", "news.JSON", "", "GENERAL"])
def test_the_database_rejects_names_that_are_invalid_in_a_path(acme, name):
    constraint = "category_name_unique" if name == "GENERAL" else "category_name_form"
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        acme.account.categories.create(forum_id=acme.forum.id, name=name)
