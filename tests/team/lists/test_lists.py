"""The lists of clients, contacts, deals and contact lists: filters, orders and columns."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from accounts.users.models import User
from crm.clients.models import Client
from crm.deals.models import Deal
from team.list_queries import queries
from team.summaries.recount import recount_summaries
from tests.support.factories import (
    make_client,
    make_contact,
    make_contact_list,
    make_deal,
    make_field_definition,
    make_note,
    make_saved_view,
    make_task,
)
from tests.support.lists import values_of
from tests.support.reading import statements
from tests.support.record_lists import choose_filter, filter_chips, read_record_list, select_columns
from tests.support.tables import table
from tests.support.team import row_names

PATH = "/app/clients"


def headings(page) -> list[str]:
    return [" ".join(cell.get_text(" ").split()) for cell in page.html.select("thead th:not(.pick)")]


@pytest.fixture
def clients(acme):
    """Three clients with different values in each kind of field."""
    status = acme.account.statuses.create(kind="client", code="hot", name="Hot", color="#ff0000")
    for key, label, type, choices in (
        ("size", "Size", "choice", ["S", "XL"]),
        ("seats", "Seats", "number", []),
        ("since", "Customer since", "date", []),
        ("areas", "Areas", "choices", ["north", "south"]),
    ):
        make_field_definition(acme.account, key, label=label, type=type, choices=choices)
    adler = make_client(
        acme.bob,
        "Adler",
        email="Office@Adler.example",
        city="Warszawa",
        phone="+48 600-100-200",
        status_id=status.id,
        responsible_id=acme.bob.id,
        tags=["vip"],
        company=True,
        discount=5,
        country="Poland",
        additional_fields={"size": "XL", "seats": 12, "since": "2026-03-01", "areas": ["north"], "old": 7},
    )
    brandt = make_client(
        acme.bob,
        "Brandt",
        city="Gdańsk",
        discount=10,
        company=False,
        responsible_id=acme.alice.id,
        additional_fields={"size": "S", "seats": 3, "since": "2025-03-01"},
    )
    corvus = make_client(acme.bob, "Corvus", country="100%")
    moment = timezone.now()
    for days, client in ((1, corvus), (50, brandt), (100, adler)):
        Client.objects.filter(pk=client.pk).update(
            created_at=moment - timedelta(days=days), updated_at=moment - timedelta(days=days)
        )
    recount_summaries(acme.account.id, repair=True)
    return {
        "status": status.id,
        "bob": acme.bob.id,
        "alice": acme.alice.id,
        "day": (moment - timedelta(days=60)).date().isoformat(),
    }


FILTERS = [
    ("", "Corvus Brandt Adler"),
    ("name=adler", "Adler"),
    ("name__not=Adler", "Corvus Brandt"),
    ("name__contains=ran", "Brandt"),
    ("city__contains=gda", "Brandt"),
    ("city__contains=warsz", "Adler"),
    ("city__empty=true", "Corvus"),
    ("city__empty=false", "Brandt Adler"),
    ("country__contains=0%25", "Corvus"),
    ("email=office@adler.EXAMPLE", "Adler"),
    ("email__not=office@adler.example", "Corvus Brandt"),
    ("email__contains=adler.ex", "Adler"),
    ("email__contains=r.e", "Adler"),
    ("phone__contains=600100", "Adler"),
    ("status_id={status}", "Adler"),
    ("status_id__not={status}", "Corvus Brandt"),
    ("status_id__empty=true", "Corvus Brandt"),
    ("responsible_id=me", "Adler"),
    ("mine=true", "Adler"),
    ("mine=false", "Corvus Brandt Adler"),
    ("responsible_id__not={bob}", "Corvus Brandt"),
    ("tags=VIP", "Adler"),
    ("tags__not=vip", "Corvus Brandt"),
    ("tags__empty=false", "Adler"),
    ("company=true", "Adler"),
    ("company=false", "Brandt"),
    ("company__empty=true", "Corvus"),
    ("discount__after=5", "Brandt"),
    ("discount__before=10", "Adler"),
    ("discount=10", "Brandt"),
    ("discount__empty=true", "Corvus"),
    ("created_at__before={day}", "Adler"),
    ("created_at__after={day}", "Corvus Brandt"),
    ("created_at__after={day}T00:00:00Z", "Corvus Brandt"),
    ("inactive_days=30", "Brandt Adler"),
    ("inactive_days=30&city__contains=gda", "Brandt"),
    ("inactive_days=30&q=adler", "Adler"),
    ("no_task=true&inactive_days=30", "Brandt Adler"),
    ("last_activity_at__before={day}", "Adler"),
    ("last_activity_at__before={day}&q=adler", "Adler"),
    ("sort=last_activity_at", "Adler Brandt Corvus"),
    ("sort=-last_activity_at&q=adler", "Adler"),
    ("sort=next_task_at", "Adler Brandt Corvus"),
    ("sort=-open_sum", "Corvus Brandt Adler"),
    ("open_sum=0&sort=won_sum", "Adler Brandt Corvus"),
    ("city__any=warszawa&city__any=Gdynia", "Adler"),
    ("city__none=warszawa&city__none=Gdynia", "Corvus Brandt"),
    ("email__any=office@adler.example", "Adler"),
    ("responsible_id__any=me&responsible_id__any={alice}", "Brandt Adler"),
    ("responsible_id__none=me&responsible_id__none={alice}", "Corvus"),
    ("status_id__any={status}&name__any=Adler&name__any=Brandt", "Adler"),
    ("tags__any=vip&tags__any=other", "Adler"),
    ("tags__none=VIP", "Corvus Brandt"),
    ("additional_fields[size]__any=S&additional_fields[size]__any=XL", "Brandt Adler"),
    ("additional_fields[areas]__none=north", "Corvus Brandt"),
    ("created_at=last_30_days", "Corvus"),
    ("created_at__before=last_30_days", "Brandt Adler"),
    ("created_at__after=last_60_days", ""),
    ("created_at=yesterday", "Corvus"),
    ("created_at__before=today&created_at__after=last_year&name=corvus", "Corvus"),
    ("additional_fields[since]__before=last_30_days", "Brandt Adler"),
    ("additional_fields[since]=next_30_days", ""),
    ("or1.city__contains=gda&or2.country=Poland", "Brandt Adler"),
    ("or1.city__contains=gda&or1.discount=5&or2.country=100%25", "Corvus"),
    ("or1.city__contains=gda&or2.country=Poland&name__not=Adler", "Brandt"),
    ("or1.created_at=yesterday&or2.updated_at__before=last_60_days", "Corvus Adler"),
    ("or1.next_task_at__empty=false&or2.tags=vip&or3.additional_fields[seats]=3", "Brandt Adler"),
    ("or5.city__contains=gda", "Brandt"),
    ("or1.name=adler&or2.name=brandt&q=brandt", "Brandt"),
    ("additional_fields[size]=XL", "Adler"),
    ("additional_fields[size]__not=XL", "Corvus Brandt"),
    ("additional_fields[size]__empty=true", "Corvus"),
    ("additional_fields[seats]__after=3", "Adler"),
    ("additional_fields[seats]=3", "Brandt"),
    ("additional_fields[since]__before=2026-01-01", "Brandt"),
    ("additional_fields[since]=2026-03-01", "Adler"),
    ("additional_fields[areas]=north", "Adler"),
    ("additional_fields[old]=7", "Adler"),
    ("additional_fields[size]__empty=false&q=brandt", "Brandt"),
    ("sort=name", "Adler Brandt Corvus"),
    ("sort=city", "Brandt Adler Corvus"),
    ("sort=-city", "Adler Brandt Corvus"),
    ("sort=-city&city__empty=false", "Adler Brandt"),
    ("sort=status_id", "Adler Brandt Corvus"),
    ("sort=-responsible_id", "Adler Brandt Corvus"),
    ("sort=discount", "Adler Brandt Corvus"),
    ("sort=tags", "Brandt Corvus Adler"),
    ("sort=company&q=brandt", "Brandt"),
    ("sort=additional_fields[seats]", "Brandt Adler Corvus"),
    ("sort=-additional_fields[since]", "Adler Brandt Corvus"),
    ("sort=-name", "Corvus Brandt Adler"),
    ("sort=updated_at", "Adler Brandt Corvus"),
    ("q=adler&sort=name", "Adler"),
]


def test_it_works(acme, clients):
    page = acme.page(acme.bob).get(f"{PATH}?columns=city,status_id,responsible_id,tags,discount,created_at&sort=name")
    assert headings(page) == ["Name", "City", "Status", "Responsible", "Tags", "Discount", "Created"]
    rows = [
        [" ".join(cell.get_text(" ").split()) for cell in row.select("th, td:not(.pick)")]
        for row in page.html.select("tbody tr")
    ]
    assert rows == [
        ["Adler", "Warszawa", "Hot", "BN Bob Nowak", "vip", "5", "3 months ago"],
        ["Brandt", "Gdańsk", "", "A alice", "", "10", "1 month ago"],
        ["Corvus", "", "", "", "", "", "1 day ago"],
    ]
    assert page.html.select_one(".count").get_text() == "3 entries"
    assert page.click("Brandt").html.select_one("h1").get_text(strip=True).startswith("Brandt")


def test_it_filters_and_orders(acme, clients):
    for query, expected in FILTERS:
        names, errors = read_record_list(acme.bob, "client", query.format(**clients))
        assert (" ".join(names), errors) == (expected, []), query


RELATED = {
    "client": [
        ("open_deals.price__after=999", "Brandt"),
        ("open_deals.price__after=10&open_deals.currency=PLN", "Adler"),
        ("open_deals.price__after=999&open_deals.currency=PLN", ""),
        ("or1.open_deals.currency=PLN&or2.city__empty=true", "Corvus Adler"),
        ("open_deals.expected_close_date__empty=true&sort=name", "Adler"),
    ],
    "deal": [
        ("client.city__contains=gda", "Wall"),
        ("client.additional_fields[size]=XL&sort=name", "Door Roof"),
        ("or1.client.city__contains=gda&or2.price=100", "Wall Roof"),
        ("client.city__empty=false&price__after=100&sort=name", "Door Wall"),
        ("contact.name=Nora", "Roof"),
        ("outcome=open&sort=name", "Door Roof Wall"),
        ("outcome__none=open", "Gate"),
        ("outcome__not=won&sort=name", "Door Roof Wall"),
        ("outcome__any=lost&outcome__any=won", "Gate"),
        ("or1.outcome=won&or2.price__before=200", "Gate Roof"),
        ("pipeline_id__not={pipeline}", ""),
        ("pipeline_id=9999&sort=price", ""),
        ("pipeline_id__none=9999&sort=name", "Door Gate Roof Wall"),
        ("expected_close_date__after=2026-04-01&sort=expected_close_date", "Wall"),
        ("expected_close_date__before=2026-04-01&sort=-expected_close_date", ""),
        ("client.city__empty=false&expected_close_date=2026-05-01&sort=expected_close_date", "Wall"),
        ("expected_close_date__empty=true&client.city__empty=false&sort=expected_close_date", "Roof Door"),
        ("client.city__empty=false&sort=-updated_at&outcome=open", "Wall Door Roof"),
        ("pipeline_id={pipeline}&outcome=won", "Gate"),
    ],
    "contact": [("client.city=warszawa", "Nora"), ("client.last_activity_at__before={day}", "Nora")],
}


@pytest.mark.parametrize("common_rows", [10**9, -1], ids=["collected", "scanned"])
def test_it_filters_by_related_rows(acme, clients, monkeypatch, common_rows):
    monkeypatch.setattr(queries, "COMMON_ROWS", common_rows)
    adler, brandt, corvus = (acme.account.clients.get(name=name) for name in ("Adler", "Brandt", "Corvus"))
    won = acme.account.statuses.get(kind="deal", code="won")
    nora = make_contact(acme.bob, "Nora", client_id=adler.id)
    for name, client, price, currency, values in (
        ("Roof", adler, 100, "PLN", {"contact_id": nora.id}),
        ("Door", adler, 900, "EUR", {}),
        ("Wall", brandt, 1000, "EUR", {}),
        ("Gate", corvus, 2000, "EUR", {"status_id": won.id}),
    ):
        make_deal(acme.bob, name, client_id=client.id, price=price, currency=currency, **values)
    Deal.objects.filter(name="Wall").update(expected_close_date="2026-05-01")
    for resource, filters in RELATED.items():
        for query, expected in filters:
            names, errors = read_record_list(acme.bob, resource, query.format(pipeline=won.pipeline_id, **clients))
            assert (" ".join(names), errors) == (expected, []), query
    # A client that an agent may not see does not show itself by the deals that a filter finds.
    acme.account.change(agents_see="own")
    Deal.objects.filter(account=acme.account).update(responsible_id=acme.bob.id)
    bob = User.objects.get(pk=acme.bob.pk)
    for query, expected in (("client.city__empty=false&sort=name", "Door Roof"), ("client.city__contains=gda", "")):
        assert read_record_list(bob, "deal", query) == (expected.split(), [])


NO_DATE = "is not a date such as 2026-01-31, or a period such as last_7_days"
WRONG = {
    "citty=x": "citty is not a filter of this list",
    "city__after=x": "city__after is not a filter of this list",
    "status_id=x": "status_id is not an id",
    "discount__after=x": "discount__after is not a number",
    "created_at__after=soon": f"created_at__after {NO_DATE}",
    "created_at__after=9999-12-31": f"created_at__after {NO_DATE}",
    "created_at=last_0_days": f"created_at {NO_DATE}",
    "created_at=last_3651_days": f"created_at {NO_DATE}",
    "client.city=x": "client.city is not a filter of this list",
    "open_deals.outcome=open": "open_deals.outcome is not a filter of this list",
    "or0.city=x": "or0.city is not a filter of this list",
    "outcome=open": "outcome is not a filter of this list",
    "status_id__any=1&status_id__any=x": "status_id__any is not an id",
    "company=perhaps": "company is not true or false",
    "mine=perhaps": "mine is not true or false",
    "inactive_days=0": "inactive_days is not a number that is possible here",
    "contact_list_id=1": "contact_list_id is not a filter of this list",
    "sort=cities": "sort is not a column by which the list can be ordered",
    "columns=email,colour": "columns has a column that this list does not have",
    f"city={'x' * 256}": "city is too long or has characters that can't be stored",
    "city=%00": "city is too long or has characters that can't be stored",
}


def test_it_rejects_wrong_parameters_and_uses_the_others(acme, clients):
    for query, error in WRONG.items():
        found = read_record_list(acme.bob, "client", f"{query}&name__contains=dle")
        assert found == (["Adler"], [error]), query
    page = acme.page(acme.bob).get(f"{PATH}?citty=x&status_id=x&name__contains=dle", status=422)
    errors = [" ".join(item.get_text().split()) for item in page.html.select(".notice.error li")]
    assert errors == [WRONG["citty=x"], WRONG["status_id=x"]]
    assert row_names(page) == ["Adler"]


def test_a_filter_is_added_and_removed(acme, clients):
    bob = acme.page(acme.bob)
    page = bob.get(f"{PATH}?sort=name")
    form = choose_filter(page, "city").forms["filter"]
    form["operator"], form["value"] = "contains", "a"
    page = form.submit().follow()
    assert (row_names(page), filter_chips(page)) == (["Adler", "Brandt"], ["City contains a"])
    form = choose_filter(page, "responsible_id").forms["filter"]
    form.set("value", True, index=0)
    page = form.submit().follow()
    assert (row_names(page), filter_chips(page)) == (["Adler"], ["City contains a", "Responsible is me"])
    page = page.click("Remove the filter City contains a")
    assert (row_names(page), filter_chips(page)) == (["Adler"], ["Responsible is me"])
    assert row_names(page.click("Clear the filters")) == ["Adler", "Brandt", "Corvus"]


def test_it_rejects_a_filter_with_a_wrong_value(acme, clients):
    page = acme.page(acme.bob).get(f"{PATH}?name__contains=a&add=created_at")
    form = page.forms["filter"]
    form["period"], form["value"] = "date", "soon"
    page = form.submit(status=422)
    assert page.html.select_one("#filter-error").get_text() == NO_DATE.capitalize()
    assert [page.forms["filter"][name].value for name in ("period", "value")] == ["date", "soon"]
    assert filter_chips(page) == ["Name contains a"]


def test_the_columns_are_selected(acme, clients):
    bob = acme.page(acme.bob)
    page = bob.get(f"{PATH}?sort=name")
    page = select_columns(page, "city", "additional_fields[size]").submit().follow()
    assert headings(page) == ["Name", "City", "Size"]
    assert row_names(page) == ["Adler", "Brandt", "Corvus"]


def test_tasks_and_contact_about_linked_rows_count(acme, clients):
    adler, bob = acme.account.clients.get(name="Adler"), acme.page(acme.bob)
    deal = make_deal(acme.bob, "New", client_id=adler.id)
    make_note(acme.bob, deal_id=deal.id, kind="call")
    assert row_names(bob.get(f"{PATH}?inactive_days=30")) == ["Brandt"]
    make_task(acme.bob, "Call", client_id=adler.id, scheduled_at=timezone.now())
    assert row_names(bob.get(PATH).click("No task planned", index=0)) == ["Corvus", "Brandt"]


def test_a_filter_that_takes_too_long_is_cut_off(acme, clients, monkeypatch):
    monkeypatch.setattr("core.search.queries.TIME_LIMIT_MS", 1)
    monkeypatch.setattr(queries, "collect_and_sort", lambda *args, **kwargs: sleep_in_database())
    page = acme.page(acme.bob).get(f"{PATH}?country__contains=po")
    assert "This takes too long" in page.html.select_one(".notice.error").get_text()
    assert filter_chips(page) == ["Country contains po"]


def test_a_page_is_shown_although_counting_takes_too_long(acme, clients, monkeypatch):
    monkeypatch.setattr("core.search.queries.TIME_LIMIT_MS", 200)
    monkeypatch.setattr(QuerySet, "count", lambda rows: sleep_in_database())
    page = acme.page(acme.bob).get(f"{PATH}?per_page=2")
    assert (len(row_names(page)), page.html.select_one(".notice.error")) == (2, None)


def sleep_in_database():
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(1)")


def test_the_other_lists(acme):
    bob = acme.page(acme.bob)
    client = make_client(acme.bob, "Adler")
    members = make_contact_list(acme.bob, "Readers")
    make_contact(acme.bob, "Nora", client_id=client.id, contact_list_ids=[members.id])
    make_contact(acme.bob, "Olga")
    make_deal(acme.bob, "Roof", client_id=client.id, price="1234.5")
    make_deal(acme.bob, "Wall")
    assert row_names(bob.get(f"/app/contacts?client_id={client.id}")) == ["Nora"]
    page = bob.get("/app/contact_lists").click("Readers")
    assert (row_names(page), filter_chips(page)) == (["Nora"], ["In the contact list “Readers”"])
    page = bob.get(f"/app/deals?client_id={client.id}")
    assert (row_names(page), filter_chips(page)) == (["Roof"], ["Client is Adler"])
    assert page.html.select_one("td.amount bdi").get_text() == "1,234.50 EUR"
    assert page.html.select_one("td[data-label=Client] a[href]")["href"] == f"/app/clients/{client.id}"
    assert row_names(bob.get("/app/deals?price__after=1000")) == ["Roof"]


def test_a_filter_by_an_amount_as_people_type_it(acme):
    readers = {language: acme.page(acme.bob) for language in ("en", "pl")}

    def read_in(language: str):
        acme.account.users.filter(id=acme.bob.id).update(language=language)
        return readers[language]

    for language, typed, number, english, polish in (
        ("en", "7,000", "7000", "7,000", "7000"),
        ("en", "1,234.50 zł", "1234.5", "1,234.5", "1234,5"),
        ("pl", "1.500", "1500", "1,500", "1500"),
        ("pl", "12 345,678", "12345.6780", "12,345.678", "12 345,678"),
    ):
        form = read_in(language).get("/app/deals?add=price").forms["filter"]
        form["operator"], form["value"] = "after", typed
        assert form.submit(status=303).location == f"/app/deals?price__after={number}"
        # The address has the same meaning in both languages.
        for reader, shown in (("en", english), ("pl", polish)):
            [chip] = filter_chips(read_in(reader).get(f"/app/deals?price__after={number}"))
            assert chip.endswith(f" {shown}")


@table(("language", "typed", "path"), [("en", "1.500", "/app/deals"), ("pl", "1,500", "/app/deals/board")])
def test_a_filter_with_two_readings_is_asked_about(acme, language, typed, path):
    acme.account.users.filter(id=acme.bob.id).update(language=language)
    bob = acme.page(acme.bob)
    form = bob.get(f"{path}?add=price").forms["filter"]
    form["operator"], form["value"] = "before", typed
    asked = form.submit(status=422)
    for page in (asked, bob.get(f"{path}?price__before={typed}", status=422)):
        assert page.html.find(id="filter-error")
        form = page.forms["filter"]
        assert (form["operator"].value, form["value"].value, form["value-meant"].value) == ("before", typed, None)
        for reading in ("1500", "1.5"):
            form["value-meant"] = f"{typed}={reading}"
            assert form.submit(status=303).location == f"{path}?price__before={reading}"


def test_programs_and_saved_views_have_numbers_in_one_format(acme):
    make_deal(acme.bob, "Roof", price="1.5")
    api = acme.json()
    for text, found in (("1.500", ["Roof"]), ("1,5", ["Roof"]), ("1500", [])):
        assert [row["name"] for row in api.get("/app/deals.json", params={"price": text}).json()] == found
    for text in ("1,500", "1 500", "1.5 EUR"):
        assert api.get("/app/deals.json", params={"price": text}).status_code == 422
    view = make_saved_view(acme.bob, resource="deal", query="price=1.500")
    assert view.query == "price=1.5"


def test_the_number_of_statements_has_a_limit(acme, clients):
    bob = acme.page(acme.bob)
    for query in ("", "?city__contains=gda", "?mine=true&inactive_days=3", "?q=adler", "?q=qqqqqq", "?add=status_id"):
        assert len(statements(bob, PATH + query)) <= 12, query


def test_the_number_of_statements_has_a_limit_with_defined_fields(acme):
    """The collected rows of a filter are counted in the same statement."""
    make_field_definition(acme.account, resource="deal", in_lists=True)
    new = acme.account.statuses.get(kind="deal", code="new").id
    client_id = make_client(acme.bob).id
    for number in range(3):
        make_deal(acme.bob, f"Roof {number}", status_id=new, client_id=client_id, expected_close_date="2027-01-02")
    path = "/app/deals?outcome=open&currency=EUR&expected_close_date__after=2026-01-01&per_page=2"
    bob = acme.page(acme.bob)
    assert len(statements(bob, path)) <= 12
    assert "3 entries" in bob.get(path).html.find("main").get_text()


def test_the_stored_columns(acme, clients):
    adler, brandt = (acme.account.clients.get(name=name) for name in ("Adler", "Brandt"))
    won = acme.account.statuses.get(kind="deal", code="won").id
    make_deal(acme.alice, client_id=adler.id, price=1000)
    make_deal(acme.bob, client_id=adler.id, price="1.5", currency="PLN", responsible_id=acme.bob.id)
    make_deal(acme.bob, client_id=brandt.id, price=2000, responsible_id=acme.bob.id)
    make_deal(acme.bob, client_id=brandt.id, price=30, status_id=won, responsible_id=acme.bob.id)
    make_task(acme.bob, client_id=brandt.id, scheduled_at=datetime(2026, 1, 2, 15, tzinfo=UTC))
    bob = acme.page(acme.bob)
    # The first cell has the box that selects the row.
    page = bob.get(f"{PATH}?columns=next_task_at,open_sum,won_sum&sort=-open_sum&open_sum__after=0")
    rows = [
        [" ".join(cell.get_text(" ").split()) for cell in row.select("th, td")] for row in page.html.select("tbody tr")
    ]
    assert rows == [
        ["", "Brandt", "Overdue: Jan. 2, 2026, 3 p.m.", "2,000.00 EUR", "30.00 EUR"],
        ["", "Adler", "", "1,000.00 EUR · 1.50 PLN", ""],
    ]
    assert row_names(page.click("Next task", href="sort=next_task_at")) == ["Brandt", "Adler"]
    # An agent who sees a part of the deals sees the sums of these, and can't use the stored ones.
    acme.account.change(agents_see="own")
    page = bob.get(f"{PATH}?columns=open_sum&sort=open_sum&open_sum__after=0", status=422)
    errors = [" ".join(item.get_text().split()) for item in page.html.select(".notice.error li")]
    reason = "can't use sums of deals, because you see only some of the deals"
    assert errors == [f"sort {reason}", f"open_sum__after {reason}"]
    assert [cell.get_text(strip=True) for cell in page.html.select("tbody td")][-1:] == ["1.50 PLN"]
    assert "Largest open deals first" not in page.text


def test_dates_in_the_past_are_marked_while_something_is_to_be_done(acme):
    won = acme.account.statuses.get(kind="deal", code="won").id
    today = timezone.localdate()
    make_deal(acme.bob, "Late", expected_close_date=today - timedelta(days=1))
    make_deal(acme.bob, "Today", expected_close_date=today)
    make_deal(acme.bob, "Won", expected_close_date=today - timedelta(days=1), status_id=won)
    page = acme.page(acme.bob).get("/app/deals?columns=expected_close_date")
    late = [row.th.get_text(strip=True) for row in page.html.select("tbody tr") if row.select_one(".late")]
    assert late == ["Late"]


def test_every_heading_is_above_its_column(acme, clients):
    make_task(acme.bob)
    make_contact_list(acme.bob)
    for path in (f"{PATH}?columns=city,email", "/app/tasks/list", "/app/contact_lists"):
        records = acme.page(acme.bob).get(path).html.select_one("table.records")
        assert len(records.select("thead tr > *:not([hidden])")) == len(records.select("tbody tr")[0].select("th, td"))


def test_an_empty_list_offers_the_form_for_a_new_row(acme):
    bob = acme.page(acme.bob)
    for path, label in (("clients", "New client"), ("contacts", "New contact"), ("deals", "New deal")):
        [link] = bob.get(f"/app/{path}").html.select(".empty a")
        assert (link["href"], link.get_text(strip=True)) == (f"/app/{path}/new", label)


CHIPS = {
    "created_at__after=2026-01-31": "Created is after Jan. 31, 2026",
    "discount__after=12500.5": "Discount is more than 12,500.5",
    "discount__before=99999": "Discount is less than 99,999",
    "additional_fields[since]=2026-03-01": "Customer since is March 1, 2026",
    "status_id={status}": "Status is Hot",
    "responsible_id__not={bob}": "Responsible is not Bob Nowak",
    "responsible_id=me": "Responsible is me",
    "tags=vip": "Tags is vip",
    "company=true": "Is a company: yes",
    "city__empty=true": "City is empty",
    "country__empty=false": "Country is not empty",
    "mine=true": "Mine",
    "no_task=true": "No task planned",
    "inactive_days=30": "No activity for 30 days",
    "last_activity_at=last_7_days": "Last activity is in the last 7 days",
    "updated_at__before=this_quarter": "Changed is before this quarter",
    "open_deals.name__contains=roof": "Open deals: Name contains roof",
    "name__any=Adler&name__any=Brandt": "Name is any of Adler, Brandt",
    "country__none=a&country__none=b&country__none=c&country__none=d": "Country is none of a, b, c and 1 more",
}


def test_every_filter_is_shown(acme, clients):
    """Values have the format of the language."""
    page = acme.page(acme.bob).get(f"{PATH}?{'&'.join(CHIPS).format(**clients)}")
    special = ["Mine", "No task planned", "No activity for 30 days"]
    assert filter_chips(page) == [chip for chip in CHIPS.values() if chip not in special] + special
    page = acme.page(acme.bob).get(f"{PATH}?or1.city=x&or2.country=y&or2.tags=vip&mine=true")
    assert filter_chips(page) == ["Mine", "and either", "City is x", "or", "Country is y", "Tags is vip"]


def test_a_filter_is_changed_in_its_form(acme, clients):
    """The form has the values of the filter, and a link to each chip opens it."""
    bob = acme.page(acme.bob)
    for query, changes, expected in (
        ("city__contains=gda", {"value": "warsz"}, "city__contains=warsz"),
        ("city__contains=gda", {"operator": "any", "value": "Gdynia, Sopot"}, "city__any=Gdynia&city__any=Sopot"),
        ("city__contains=gda", {"operator": "empty"}, "city__empty=true"),
        ("created_at=last_30_days", {"days": "5"}, "created_at=last_5_days"),
        ("created_at=last_30_days", {"period": "this_week"}, "created_at=this_week"),
        ("created_at__after=2026-01-02", {}, "created_at__after=2026-01-02"),
        ("discount__after=1.5", {"operator": "before"}, "discount__before=1.5"),
        (
            "responsible_id__any=me&responsible_id__any={alice}",
            {"operator": "none"},
            "responsible_id__none=me&responsible_id__none={alice}",
        ),
        ("tags=vip", {"value": "a,b"}, "tags=a%2Cb"),
        ("open_deals.price=7", {"value": "8"}, "open_deals.price=8"),
        ("inactive_days=30", {"value": "31"}, "inactive_days=31"),
        ("or1.city=x&or2.country=y", {"group": "2", "value": "z"}, "country=y&city=z"),
    ):
        page = bob.get(f"{PATH}?{query.format(**clients)}")
        form = page.click(href="edit=", index=0).forms["filter"]
        for name, value in changes.items():
            form[name] = value
        found = form.submit(status=303).location.partition("?")[2]
        assert found == expected.format(**clients), query


def test_deals_are_sorted_by_every_column(acme):
    zeta, alpha = make_client(acme.alice, "Zeta"), make_client(acme.bob, "alpha", responsible_id=acme.bob.id)
    won = acme.account.statuses.get(kind="deal", code="won").id
    roof = make_deal(acme.bob, "Roof", price=100, client_id=zeta.id, expected_close_date="2026-03-01", status_id=won)
    wall = make_deal(acme.bob, "Wall", client_id=alpha.id, currency="PLN")
    door = make_deal(acme.bob, "Door", price=9, expected_close_date="2026-02-01")
    for query, expected in (
        ("sort=price", "Wall Door Roof"),
        ("sort=-price", "Roof Door Wall"),
        ("sort=-price&price__after=1", "Roof Door"),
        ("sort=expected_close_date", "Door Roof Wall"),
        ("sort=expected_close_date&expected_close_date__after=2026-02-01", "Roof"),
        ("sort=client_id", "Wall Roof Door"),
        ("sort=-client_id", "Roof Wall Door"),
        ("sort=currency", "Roof Door Wall"),
        ("sort=status_id", "Roof Wall Door"),
    ):
        assert read_record_list(acme.bob, "deal", query) == (expected.split(), []), query
    # The names of clients that the agent may not see have no influence on the order.
    acme.account.change(agents_see="own")
    Deal.objects.filter(account=acme.account).update(responsible_id=acme.bob.id)
    zeta.__class__.objects.filter(pk=zeta.pk).update(responsible_id=acme.alice.id)
    names, _errors = read_record_list(User.objects.get(pk=acme.bob.pk), "deal", "sort=client_id")
    assert names == ["Wall", *(row.name for row in sorted((roof, door), key=lambda row: row.id))]
    assert wall.id


def test_a_list_that_is_too_long_is_not_sorted_without_an_index(acme, clients, monkeypatch):
    monkeypatch.setattr("core.api.lists.SORT_LIMIT", 2)
    monkeypatch.setattr(queries, "SORT_LIMIT", 2)
    bob = acme.page(acme.bob)
    page = bob.get(f"{PATH}?sort=city", status=422)
    assert row_names(page) == ["Corvus", "Brandt", "Adler"]
    [error] = page.html.select(".notice.error li")
    assert " ".join(error.get_text().split()) == (
        "sort can't be by this column for more than 50,000 entries: add a filter"
    )
    assert row_names(bob.get(f"{PATH}?sort=city&city__empty=false")) == ["Brandt", "Adler"]
    response = acme.json().get(f"{PATH}.json?sort=city&tag=")
    text = "can't be by this column for more than 2 entries: add a filter"
    assert (response.status_code, response.json()["errors"]) == (422, {"sort": [text]})
    assert row_names(bob.get(f"{PATH}?sort=name")) == ["Adler", "Brandt", "Corvus"]


def test_or_begins_another_case(acme, clients):
    bob, page = acme.page(acme.bob), None
    for name, value, group in (
        ("city", "gda", None),
        ("country", "Poland", "new"),
        ("tags", "vip", "2"),
        ("name", "a", ""),
        ("phone", "x", "new"),
    ):
        form = choose_filter(page or bob.get(PATH), name).forms["filter"]
        form["value"] = value
        if group is not None:
            form["group"] = group
        page = form.submit().follow()
    query = "or1.city__contains=gda&or2.country__contains=Poland&or2.tags=vip&name__contains=a&or3.phone__contains=x"
    assert page.request.query_string == query
    words = [
        "Name contains a",
        "and either",
        "City contains gda",
        "or",
        "Country contains Poland",
        "Tags is vip",
        "or",
        "Telephone contains x",
    ]
    assert filter_chips(page) == words
    assert row_names(page) == ["Brandt", "Adler"]
    for chip in ("City contains gda", "Telephone contains x"):
        page = page.click(f"Remove the filter {chip}")
    assert filter_chips(page) == ["Country contains Poland", "Tags is vip", "Name contains a"]


def test_a_search_is_in_the_order_of_its_rank(acme, clients):
    bob = acme.page(acme.bob)
    for query, selected in (
        ("q=adler", "Best matches first"),
        ("q=adler&sort=name", "Name, A to Z"),
        ("", "Newest first"),
    ):
        [option] = bob.get(f"{PATH}?{query}").html.select("[name=sort] option[selected]")
        assert option.get_text(strip=True) == selected


def test_the_account_api_has_the_same_filters(acme, clients):
    for query, expected in (
        ("city__any=warszawa&city__any=Gdynia", "Adler"),
        ("or1.city__contains=gda&or2.country=Poland&order=-name", "Brandt Adler"),
        ("created_at=last_30_days", "Corvus"),
        ("open_deals.price=1", ""),
        ("sort=city", "Brandt Adler Corvus"),
        ("sort=-city&q=adler", "Adler"),
        ("sort=-additional_fields[seats]&per_page=2", "Adler Brandt"),
    ):
        assert " ".join(values_of(acme.json().get(f"{PATH}.json?{query}"))) == expected, query
    response = acme.json().get(f"{PATH}.json?{'&'.join(f'city__any={n}' for n in range(51))}")
    assert (response.status_code, response.json()["errors"]) == (422, {"city__any": ["has more than 50 values"]})
