"""The list of tasks as a table."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.support.assertions import read
from tests.support.factories import make_client, make_contact, make_deal, make_post, make_saved_view, make_task
from tests.support.reading import statements
from tests.support.record_lists import choose_filter, read_record_list
from tests.support.team import row_names

PATH = "/app/tasks/list"


@pytest.fixture
def tasks(acme):
    now = timezone.now()
    client, contact = make_client(acme.bob, "Adler"), make_contact(acme.bob, "Nora")
    deal = make_deal(acme.bob, "Roof")
    make_task(acme.bob, "Later", scheduled_at=now + timedelta(days=9), client_id=client.id, tags=["vip"])
    make_task(acme.bob, "Soon", scheduled_at=now + timedelta(hours=1), responsible_id=acme.bob.id, deal_id=deal.id)
    make_task(acme.bob, "Someday", contact_id=contact.id, priority=1)
    make_task(acme.bob, "Finished", scheduled_at=now - timedelta(days=9)).write({"closed": True}, by=acme.bob)
    make_post(acme.carol, "A suggestion", client_id=client.id)
    return {"client": client.id, "contact": contact.id, "deal": deal.id, "day": (now + timedelta(days=4)).date()}


FILTERS = {
    "": "Finished Soon Later Someday",
    "closed=false": "Soon Later Someday",
    "closed=false&mine=true": "Soon",
    "closed=true": "Finished",
    "sort=-scheduled_at": "Someday Later Soon Finished",
    "sort=-created_at": "Finished Someday Soon Later",
    "sort=-completed_at&closed=true": "Finished",
    "client_id={client}": "Later",
    "contact_id={contact}": "Someday",
    "deal_id={deal}": "Soon",
    "responsible_id__any=me": "Soon",
    "scheduled_at__after={day}": "Later",
    "scheduled_at__before={day}&closed=false": "Soon",
    "scheduled_at__empty=true": "Someday",
    "completed_at__empty=false": "Finished",
    "tags=VIP": "Later",
    "priority__after=0": "Someday",
    "title__contains=oo": "Soon",
    "q=later": "Later",
    "q=later&sort=scheduled_at": "Later",
}


def test_it_filters_and_orders(acme, tasks):
    # In tasks.json, `responsible_id` is a parameter of the list itself, which takes an id.
    for query, expected in (FILTERS | {"responsible_id=me": "Soon"}).items():
        names, errors = read_record_list(acme.bob, "task", query.format(**tasks))
        assert (" ".join(names), errors) == (expected, []), query
    bob = acme.page(acme.bob)
    view = make_saved_view(acme.bob, "Adler", resource="task", query=f"client_id={tasks['client']}&closed=false")
    assert row_names(bob.get(f"{PATH}?view={view.id}")) == ["Later"]
    for query in ("", "?closed=false", "?closed=false&mine=true&columns=client_id,contact_id,deal_id"):
        assert len(statements(bob, PATH + query)) <= 12


def test_it_works(acme, tasks):
    bob = acme.page(acme.bob)
    page = bob.get("/app/tasks?who=all").click("List")
    assert row_names(page) == ["Soon", "Later", "Someday"]
    cells = {row.th.get_text(strip=True): row for row in page.html.select("tbody tr")}
    assert cells["Soon"].select_one("[data-label=Deal]").get_text(strip=True) == "Roof"
    assert cells["Later"].select_one("[data-label=Client]").get_text(strip=True) == "Adler"
    assert "ago" not in cells["Later"].select_one("[data-label=Due]").get_text()
    assert bob.get(page.html.select_one("tbody th a")["href"]).html.h1.get_text(strip=True) == "Soon"
    assert not page.html.select("a.change")


def test_the_form_adds_a_filter(acme, tasks):
    form = choose_filter(acme.page(acme.bob).get(f"{PATH}?closed=false"), "scheduled_at").forms["filter"]
    form["operator"], form["period"], form["value"] = "after", "date", tasks["day"].isoformat()
    assert row_names(form.submit().follow()) == ["Later"]


def test_it_rejects_wrong_parameters(acme, tasks):
    page = acme.page(acme.bob).get(f"{PATH}?sort=name&deal_id=x&no_task=true&closed=false", status=422)
    errors = [" ".join(item.get_text().split()) for item in page.html.select(".notice.error li")]
    assert errors == [
        "sort is not a column by which the list can be ordered",
        "deal_id is not an id",
        "no_task is not a filter of this list",
    ]


def test_agents_see_their_own_tasks(acme, tasks):
    acme.account.change(agents_see="own")
    page = acme.page(acme.bob).get(f"{PATH}?closed=false&columns=client_id,deal_id")
    assert row_names(page) == ["Soon"]
    assert "Roof" not in page


# tasks.json


def titles(acme, query: str) -> str:
    response = acme.json().get(f"/app/tasks.json?{query}")
    assert "x-ignored-parameters" not in response.headers
    return " ".join(row["title"] for row in read(response))


MORE_FILTERS = {
    "client.name=adler": "Later",
    "or1.closed=true&or2.client.name__contains=adl": "Finished Later",
    "scheduled_at=next_30_days": "Soon Later",
    "tags__none=vip&closed=false": "Soon Someday",
    "deal_id__any={deal}&deal_id__any=0": "Soon",
    "sort=-title&closed=false": "Soon Someday Later",
    # The declared parameters keep their meaning.
    "order=id&scheduled_at__empty=false": "Later Soon Finished",
    "updated_since=2020-01-01T00:00:00Z&title__contains=e": "Finished Later Someday",
}


def test_the_api_accepts_the_conditions_of_the_table(acme, tasks):
    for query, expected in (FILTERS | MORE_FILTERS).items():
        # The order of the table without the parameter, unless a search is ordered by rank.
        has_order = "sort=" in query or "order=" in query or query.startswith("q=")
        query = query.format(**tasks) + ("" if has_order else "&sort=scheduled_at")
        assert titles(acme, query) == expected, query
    view = make_saved_view(acme.bob, resource="task", query=f"client_id={tasks['client']}")
    assert titles(acme, f"view={view.id}") == "Later"


def test_the_api_hides_tasks_and_clients_from_agents(acme, tasks):
    acme.account.change(agents_see="own")
    view = make_saved_view(acme.alice, resource="task", query="sort=scheduled_at&closed=false", shared=True)
    for query in (f"view={view.id}", "sort=title", "sort=-updated_at", "title__contains=oo", "tags__none=x&order=id"):
        assert titles(acme, query) == "Soon", query
    acme.account.posts.filter(title="Soon").update(client_id=tasks["client"])
    assert titles(acme, "client.name__contains=adl") == ""
