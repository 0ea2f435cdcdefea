"""The filters of the team's lists of suggestions: by a segment of clients, by revenue, and by the number of clients."""

from urllib.parse import quote

import pytest
from django.db.models import Func, Value

from team.backers.segments import SuggestionFilter
from tests.support.factories import (
    make_category,
    make_client,
    make_contact,
    make_deal,
    make_field_definition,
    make_post,
    make_saved_view,
)
from tests.support.pages import Visitor
from tests.support.post_revenue import store_revenue
from tests.support.reading import titles
from tests.support.tables import table

LIST, INBOX = "/app/suggestions", "/app/inbox"


@pytest.fixture
def posts(acme) -> dict:
    """Suggestions of clients in two cities, and one without clients."""
    posts = {name: make_post(acme.alice, name) for name in ("Of Gdynia", "Of both", "Of Sopot", "Of nobody")}
    gdynia = make_client(acme.alice, "Port", city="Gdynia", responsible_id=acme.bob.id)
    sopot = make_client(acme.alice, "Pier", city="Sopot", responsible_id=acme.alice.id, phone="601 987 000")
    contact = make_contact(acme.alice, "Ann", client_id=sopot.id)
    make_deal(acme.alice, client_id=gdynia.id, price="1000", currency="EUR")
    make_deal(acme.alice, client_id=sopot.id, price="20", currency="EUR")
    make_deal(acme.alice, client_id=sopot.id, price="5000", currency="PLN")
    posts["Of Gdynia"].cast_proxy_vote(by=acme.alice, client_id=gdynia.id)
    posts["Of both"].cast_proxy_vote(by=acme.alice, client_id=gdynia.id)
    posts["Of both"].cast_proxy_vote(by=acme.alice, contact_id=contact.id)
    posts["Of Sopot"].cast_proxy_vote(by=acme.alice, contact_id=contact.id)
    store_revenue(acme.account)
    return posts


def segment(acme, query: str = "city=Gdynia", name: str = "Segment", **fields):
    return make_saved_view(acme.alice, name, **{"query": query, "shared": True} | fields)


def found(page) -> list[str]:
    """Return the titles of a list of suggestions or of the inbox, in alphabetical order."""
    return sorted(heading.get_text(strip=True) for heading in page.html.select(".list h2"))


def notice(page) -> str:
    return page.html.select_one(".notice.error").get_text(" ", strip=True)


def test_it_works(acme, posts):
    segment(acme)
    forms = acme.page(acme.bob).get(f"{LIST}?order=clients").forms.values()
    form = next(form for form in forms if "segment" in form.fields)
    form["segment"].select(text="Segment")
    page = form.submit()
    assert titles(page) == ["Of both", "Of Gdynia"]
    assert page.html.select_one(".tabs [aria-current]").get_text() == "Most clients"
    # The numbers beside the other filters would be those of all suggestions.
    assert not page.html.select(".filters .number")
    page = page.click("Most revenue")
    assert titles(page) == ["Of both", "Of Gdynia"]
    assert [chip.get_text(" ", strip=True) for chip in page.html.select(".chips .chip")] == [
        "Remove the filter Segment “Segment”"
    ]
    assert len(found(page.click("Remove the filter"))) == 3
    assert titles(page.click("Trending")) == ["Of both", "Of Gdynia"]


def test_revenue_and_clients(acme, posts):
    bob = acme.page(acme.bob)
    for query, expected in {
        "min_revenue=1000,5": ["Of both"],
        "min_revenue=1000": ["Of Gdynia", "Of both"],
        "min_revenue=0": ["Of Gdynia", "Of Sopot", "Of both"],
        "min_clients=1&min_revenue=5": ["Of Gdynia", "Of Sopot", "Of both"],
        "min_clients=2&min_revenue=5000": [],
    }.items():
        assert found(bob.get(f"{LIST}?{query}")) == expected, query
    for path in (f"{LIST}?", f"{LIST}?order=revenue&", f"{INBOX}?"):
        assert found(bob.get(f"{path}min_clients=2")) == ["Of both"], path


def test_any_view_of_clients_is_a_segment(acme, posts):
    bob = acme.page(acme.bob)
    for query, expected in {
        "city=Sopot": ["Of Sopot", "Of both"],
        "city=Hel": [],
        "city__contains=dyn": ["Of Gdynia", "Of both"],
        "phone__contains=9-8-7": ["Of Sopot", "Of both"],
        "": ["Of Gdynia", "Of Sopot", "Of both"],
        "q=port": ["Of Gdynia", "Of both"],
        "mine=true": ["Of Gdynia", "Of both"],
        "open_sum__after=500&sort=-open_sum": ["Of Gdynia", "Of both"],
    }.items():
        view = segment(acme, query, name=f"View {query}")
        assert found(bob.get(f"{LIST}?segment={view.id}")) == expected, query
    assert found(bob.get(f"{INBOX}?segment={view.id}")) == expected


def test_filters_and_searches_are_combined(acme, posts):
    category = make_category(acme.account, "Ideas")
    posts["Of both"].write({"category_id": category.id}, by=acme.alice)
    view, bob = segment(acme), acme.page(acme.bob)
    page = bob.get(f"/Ideas?segment={view.id}&min_clients=1")
    assert found(page) == ["Of both"]
    assert found(page.click("Segment “Segment”")) == ["Of both"]
    assert "min_clients=1" in page.click("Segment “Segment”").request.url
    page = bob.get(f"{LIST}?q=of&segment={view.id}")
    assert found(page) == ["Of Gdynia", "Of both"]
    assert f"segment={view.id}" in page.click("Clear the search").request.url
    assert "No suggestion with these filters has these words." in bob.get(f"{LIST}?q=sopot&min_revenue=1000")


def test_actions_in_the_inbox_keep_the_filter(acme, posts):
    view = segment(acme)
    page = acme.page(acme.bob).get(f"{INBOX}?tab=unanswered&segment={view.id}")
    form = page.forms["inbox"]
    form.fields["id"][0].checked = True
    page = form.submit("do", value="handled").follow()
    assert dict(page.request.params).items() >= {"tab": "unanswered", "segment": str(view.id)}.items()
    assert found(page) == ["Of both"]
    page = acme.page(acme.bob).get(f"{INBOX}?min_clients=7")
    assert "No suggestion matches these filters." in page
    assert len(found(page.click("Clear filters"))) == 3


def test_invalid_filters_are_named(acme, posts):
    deleted, no_integer = (
        "Segment was deleted, or is not shared with you",
        "Minimum number of clients is not a whole number",
    )
    bob = acme.page(acme.bob)
    for path, query, message in (
        (LIST, "segment=x", deleted),
        (INBOX, "segment=987654", deleted),
        (LIST, "min_revenue=much", "Minimum revenue is not a number"),
        (LIST, "min_revenue=NaN", "Minimum revenue is not a number"),
        (INBOX, "min_clients=1.5", no_integer),
        (LIST, f"min_clients={quote('²')}", no_integer),
    ):
        page = bob.get(f"{path}?{query}", status=422)
        assert notice(page) == message
        assert "Of nobody" in found(page)


def test_a_view_whose_field_is_gone(acme, posts):
    make_field_definition(acme.account, "seats", type="number")
    status = acme.account.statuses.create(kind="client", code="spare", name="Spare")
    seats = segment(acme, "additional_fields[seats]__after=3", name="Large")
    spare = segment(acme, f"status_id={status.id}", name="Spare")
    behind = segment(acme, f"post_id={posts['Of Sopot'].id}", name="Behind")
    assert found(acme.page(acme.bob).get(f"{LIST}?segment={behind.id}")) == ["Of Sopot", "Of both"]
    posts["Of Sopot"].trash(by=acme.alice)
    acme.account.field_definitions.get().erase()
    status.erase()
    bob = acme.page(acme.bob)
    for view, error in (
        (seats, "additional_fields[seats]__after, which is not a filter of this list"),
        (spare, "status_id, which names a status that was deleted"),
        (behind, "post_id, which names a suggestion that was deleted"),
    ):
        page = bob.get(f"{LIST}?segment={view.id}", status=422)
        assert notice(page) == f"Segment has {error}"
        assert len(found(page)) == 3


@table(("language", "typed", "shown"), [("en", "€ 1,000", "1,000.00 EUR"), ("pl", "1 000,00", "1000,00 EUR")])
def test_the_minimum_revenue_as_people_type_it(acme, posts, language, typed, shown):
    acme.account.users.filter(id=acme.bob.id).update(language=language)
    page = acme.page(acme.bob).get(LIST, {"min_revenue": typed, "min_clients": "1"})
    assert found(page) == ["Of Gdynia", "Of both"]
    assert shown in page.html.find("main").get_text()
    assert page.html.find("a", href=lambda href: href and "min_revenue=1000" in href)


def test_a_minimum_revenue_with_two_readings_is_asked_about(acme, posts):
    acme.account.users.filter(id=acme.bob.id).update(language="pl")
    page = acme.page(acme.bob).get(LIST, {"min_revenue": "1,000"}, status=422)
    form = next(form for form in page.forms.values() if "min_revenue" in form.fields)
    assert form["min_revenue-meant"].value is None
    form["min_revenue-meant"] = "1,000=1000"
    assert found(form.submit(status=200)) == ["Of Gdynia", "Of both"]
    assert acme.page(acme.bob).get(LIST, {"min_revenue": "15 zł"}, status=422)


def test_views_of_others_and_of_other_lists_are_no_segments(acme, other, posts):
    bob = acme.page(acme.bob)
    private, of_deals = segment(acme, shared=False), segment(acme, "", name="Deals", resource="deal")
    elsewhere = make_saved_view(other.mallory, "Theirs", shared=True)
    for view in (private, of_deals, elsewhere):
        page = bob.get(f"{LIST}?segment={view.id}", status=422)
        assert notice(page) == "Segment was deleted, or is not shared with you"
        assert view.name not in page.html.select_one("select[name=segment]").get_text()
    assert found(acme.page(acme.alice).get(f"{LIST}?segment={private.id}")) == ["Of Gdynia", "Of both"]
    mallory = Visitor(other.host).start_session(other.mallory)
    assert found(mallory.get(f"{LIST}?segment={elsewhere.id}")) == []


def test_limited_agents_count_the_clients_that_they_may_access(acme, posts):
    acme.account.change(agents_see="own")
    everybody, rich = segment(acme, ""), segment(acme, "open_sum__after=5", name="Rich")
    bob = acme.page(acme.bob)
    page = bob.get(f"{LIST}?segment={everybody.id}")
    assert found(page) == ["Of Gdynia", "Of both"]
    assert "1,000.00 EUR" not in page
    assert not page.html.select("input[name^=min_]")
    page = bob.get(f"{INBOX}?segment={rich.id}", status=422)
    reason = "can't use sums of deals, because you see only some of the deals"
    assert notice(page) == f"Segment has open_sum__after, which {reason}"
    for name in ("min_revenue", "min_clients"):
        page = bob.get(f"{LIST}?{name}=1", status=422)
        assert notice(page).endswith("can't be used, because you see only some of the clients and deals")
    acme.account.change(agents_see="group")
    group = acme.account.user_groups.create(name="Sales")
    acme.account.users.filter(id__in=[acme.alice.id, acme.bob.id]).update(group_id=group.id)
    assert len(found(acme.page(acme.bob).get(f"{LIST}?segment={everybody.id}"))) == 3


def test_others_have_no_filters(acme, posts):
    view = segment(acme)
    for visitor in (acme.page(), acme.page(acme.carol)):
        page = visitor.get(f"{LIST}?segment={view.id}&min_revenue=x")
        assert len(found(page)) == 4
        assert not page.html.select("select[name=segment]")


def test_a_filter_that_takes_too_long(acme, posts, monkeypatch):
    monkeypatch.setattr("core.search.queries.TIME_LIMIT_MS", 100)
    slow = Func(Value(3), function="pg_sleep")
    monkeypatch.setattr(SuggestionFilter, "select", lambda self, rows: rows.alias(slept=slow).exclude(slept=None))
    for path in (f"{LIST}?", f"{LIST}?order=revenue&", f"{LIST}?q=of&", f"{INBOX}?"):
        page = acme.page(acme.bob).get(f"{path}min_clients=1")
        assert notice(page).startswith("This takes too long, because too many clients would have to be compared.")
        assert found(page) == []
