"""The lists of clients, contacts, deals and contact lists: filters, orders and columns."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from crm.clients.models import Client
from team.lists import queries
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
from tests.support.reading import statements
from tests.support.record_lists import read_record_list
from tests.support.tables import table
from tests.support.team import row_names

PATH = "/app/clients"


def chips(page) -> list[str]:
    return [" ".join(chip.find("bdi").get_text().split()) for chip in page.html.select(".chips .chip")]


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
    return {"status": status.id, "bob": acme.bob.id, "day": (moment - timedelta(days=60)).date().isoformat()}


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


WRONG = {
    "citty=x": "citty is not a filter of this list",
    "city__after=x": "city__after is not a filter of this list",
    "status_id=x": "status_id is not an id",
    "discount__after=x": "discount__after is not a number",
    "created_at__after=yesterday": "created_at__after is not a date such as 2026-01-31",
    "created_at__after=9999-12-31": "created_at__after is not a date such as 2026-01-31",
    "company=perhaps": "company is not true or false",
    "mine=perhaps": "mine is not true or false",
    "inactive_days=0": "inactive_days is not a number that is possible here",
    "contact_list_id=1": "contact_list_id is not a filter of this list",
    "sort=city": "sort is not a column by which the list can be ordered",
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
    page = bob.get(f"{PATH}?sort=name").click("City", href="add=city")
    form = page.forms["filter"]
    form["operator"], form["value"] = "contains", "a"
    page = form.submit().follow()
    assert (row_names(page), chips(page)) == (["Adler", "Brandt"], ["City contains a"])
    form = page.click("Responsible", href="add=").forms["filter"]
    form["value"] = "me"
    page = form.submit().follow()
    assert (row_names(page), chips(page)) == (["Adler"], ["City contains a", "Responsible is me"])
    page = page.click("City contains a")
    assert (row_names(page), chips(page)) == (["Adler"], ["Responsible is me"])
    assert row_names(page.click("Clear the filters")) == ["Adler", "Brandt", "Corvus"]


def test_it_rejects_a_filter_with_a_wrong_value(acme, clients):
    page = acme.page(acme.bob).get(f"{PATH}?name__contains=a&add=created_at")
    form = page.forms["filter"]
    form["value"] = "soon"
    page = form.submit(status=422)
    assert page.html.select_one("#filter-error").get_text() == "Is not a date such as 2026-01-31"
    assert page.forms["filter"]["value"].value == "soon"
    assert chips(page) == ["Name contains a"]


def test_the_columns_are_selected(acme, clients):
    bob = acme.page(acme.bob)
    page = bob.get(f"{PATH}?sort=name")
    form = next(form for form in page.forms.values() if "Show these columns" in form.text)
    for box in form.fields["columns"][1:]:
        box.checked = box._value in ("city", "additional_fields[size]")
    page = form.submit()
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
    assert chips(page) == ["Country contains po"]


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
    assert (row_names(page), chips(page)) == (["Nora"], ["In the contact list “Readers”"])
    page = bob.get(f"/app/deals?client_id={client.id}")
    assert (row_names(page), chips(page)) == (["Roof"], ["Client is Adler"])
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
            [chip] = chips(read_in(reader).get(f"/app/deals?price__after={number}"))
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
        ["", "Brandt", "Overdue: 01/02/2026 3 p.m.", "2,000.00 EUR", "30.00 EUR"],
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
    "created_at__after=2026-01-31": "Created is after 01/31/2026",
    "discount__after=12500.5": "Discount is more than 12,500.5",
    "discount__before=99999": "Discount is less than 99,999",
    "additional_fields[since]=2026-03-01": "Customer since is 03/01/2026",
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
}


def test_every_filter_is_shown(acme, clients):
    """Values have the format of the language."""
    page = acme.page(acme.bob).get(f"{PATH}?{'&'.join(CHIPS).format(**clients)}")
    assert chips(page) == list(CHIPS.values())


def test_a_search_is_in_the_order_of_its_rank(acme, clients):
    bob = acme.page(acme.bob)
    for query, selected in (
        ("q=adler", "Best matches first"),
        ("q=adler&sort=name", "Name, A to Z"),
        ("", "Newest first"),
    ):
        [option] = bob.get(f"{PATH}?{query}").html.select("[name=sort] option[selected]")
        assert option.get_text(strip=True) == selected
