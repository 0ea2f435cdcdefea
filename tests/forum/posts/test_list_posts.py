from datetime import UTC, datetime, timedelta

import pytest

from forum.posts.models import Post
from tests.support.assertions import assert_answered, assert_refused
from tests.support.bodies import post_body
from tests.support.factories import make_category, make_client, make_forum, make_post, make_task
from tests.support.lists import link_to_first_page, values_by_page, values_of

PATH = "/app/posts.json"


def test_it_works(acme):
    forum_fields = {"forum_id": acme.forum.id, "category_id": acme.category.id, "task_kind": "feedback"}
    dark = make_post(acme.carol, "Dark theme", content="At night", tags=["ui"])
    light = make_post(acme.alice, "Light theme", private=True)
    make_task(acme.alice)
    assert_answered(
        acme.json().get(PATH),
        200,
        [
            post_body(
                dark, acme.carol, title="Dark theme", content="At night", tags=["ui"], agent="factory", **forum_fields
            ),
            post_body(light, acme.alice, title="Light theme", private=True, agent="factory", **forum_fields),
        ],
        link=link_to_first_page(PATH),
    )


def test_it_rejects_unknown_and_invalid_parameters(acme):
    known = (
        "page, per_page, order, updated_since, q, tag, client_id, contact_id, deal_id, responsible_id, user_id, "
        "status_id, response_user_id, forum_id, category_id, duplicate_from_id, duplicate_from_id__empty"
    )
    assert_refused(
        acme.json().get(f"{PATH}?colour=red&order=name", headers={"Prefer": "handling=strict"}),
        422,
        "validation_failed",
        {
            "colour": [f"is not one of the parameters {known}"],
            "order": ["is not one of id, -id, created_at, -created_at, updated_at, -updated_at"],
        },
    )


def test_all_forum_posts_except_trashed_ones_are_listed(acme):
    make_post(acme.alice, "Gone").trash(by=acme.alice)
    open_post = make_post(acme.carol, "Open")
    make_post(acme.carol, "Merged", duplicate_from_id=open_post.id)
    make_post(acme.carol, "Private", kind="private")
    make_post(acme.carol, "Not approved", approved=False)
    forum = make_forum(acme.account)
    make_post(acme.carol, "In another forum", forum_id=forum.id)
    expected = ["Open", "Merged", "Private", "Not approved", "In another forum"]
    assert values_of(acme.json().get(PATH), "title") == expected
    assert values_of(acme.json().get(f"{PATH}?forum_id={forum.id}"), "title") == expected[-1:]


def test_filters_by_related_rows(acme):
    category, client = make_category(acme.account), make_client(acme.alice)
    planned = acme.account.statuses.get(kind="post", code="planned")
    make_post(acme.carol, "A", category_id=category.id, tags=["UI"])
    post = make_post(acme.alice, "B", client_id=client.id, responsible_id=acme.bob.id, status=planned)
    post.write({"response": "Soon"}, by=acme.bob)
    make_post(acme.alice, "C", duplicate_from_id=post.id)
    for query, expected in {
        f"category_id={category.id}": ["A"],
        f"user_id={acme.carol.id}": ["A"],
        f"client_id={client.id}": ["B"],
        f"responsible_id={acme.bob.id}": ["B"],
        f"status_id={planned.id}": ["B"],
        f"response_user_id={acme.bob.id}": ["B"],
        f"duplicate_from_id={post.id}": ["C"],
        f"duplicate_from_id={post.id}&response_user_id={acme.bob.id}": [],
        "tag=ui": ["A"],
    }.items():
        assert values_of(acme.json().get(f"{PATH}?{query}"), "title") == expected, query


@pytest.mark.parametrize(("path", "make"), [(PATH, make_post), ("/app/tasks.json", make_task)])
def test_orders(acme, path, make):
    start = datetime(2009, 1, 26, tzinfo=UTC)
    for title, created, updated in (("A", 2, 5), ("B", 3, 4), ("C", 1, 6)):
        row = make(acme.alice, title)
        hours = {"created_at": start + timedelta(hours=created), "updated_at": start + timedelta(hours=updated)}
        Post.objects.filter(pk=row.pk).update(**hours)
    for order, expected in {"id": "ABC", "created_at": "CAB", "updated_at": "BAC"}.items():
        for query, titles in ((order, expected), (f"-{order}", expected[::-1])):
            assert values_by_page(acme.json(), f"{path}?per_page=2&order={query}", "title") == [
                list(titles[:2]),
                [titles[2]],
            ]


def test_a_search(acme):
    make_post(acme.carol, "Ciemny motyw", content="Żeby dało się czytać w nocy")
    make_post(acme.carol, "Powiadomienia", content="O nowych fakturach: motyw wiadomości")
    make_task(acme.carol, "Ciemny motyw")
    for query, expected in {
        "motyw": ["Ciemny motyw", "Powiadomienia"],
        "zeby nocy": ["Ciemny motyw"],
        "faktura": ["Powiadomienia"],
        "powiadomienie": ["Powiadomienia"],
        "ceimny": ["Ciemny motyw"],
    }.items():
        assert values_of(acme.json().get(PATH, params={"q": query}), "title") == expected, query
    assert values_of(acme.json().get("/app/tasks.json?q=motyw"), "title") == ["Ciemny motyw"]
