"""The pages of bulk changes: the selection in a list, the value, the question, the progress and undo."""

import csv
import io
import re

import pytest
from django.db import OperationalError

from accounts.models import Status
from crm.models import Client, Contact
from tests.support.factories import (
    make_client,
    make_contact,
    make_contact_list,
    make_deal,
    make_field_definition,
    make_user,
)
from tests.support.jobs import run_jobs
from tests.support.reading import statements
from tests.support.tables import table
from workspace import bulk, export
from workspace.bulk import BulkChange
from workspace.pages import bulk as pages

NEW = "/app/bulk_changes/new"


@pytest.fixture
def clients(acme) -> list[Client]:
    return [make_client(acme.alice, f"Client {number}") for number in range(3)]


@pytest.fixture
def bob(acme):
    return acme.page(acme.bob)


def select(visitor, rows, action: str, *, path: str = "/app/clients", everything: bool = False):
    """Select rows of a list, choose an action and continue. Return the page with the form of the value."""
    form = visitor.get(path).forms["selection"]
    ids = {str(row.id) for row in rows}
    for box in form.fields["id"]:
        box.checked = box._value in ids
    form["all"].checked = everything
    form["action"] = action
    return form.submit(expect_errors=True)


def sent(page, **values):
    """Send the form of the value. Return the response."""
    form = page.forms[next(key for key, form in page.forms.items() if form.action == NEW)]
    for name, value in values.items():
        form[name] = value
    return form.submit("do", value="apply", expect_errors=True)


def headline(page) -> str:
    return page.html.h1.get_text(" ", strip=True)


def notices(page) -> str:
    return " ".join(page.html.select_one("#messages").get_text(" ", strip=True).split())


def facts(page) -> dict[str, str]:
    return {fact.dt.text: fact.dd.text for fact in page.html.select("#progress .fact")}


def test_it_works(acme, bob, clients):
    page = select(bob, clients[:2], "set_responsible")
    assert headline(page) == "Change responsible: 2 clients"
    assert sorted(item.text for item in page.html.select(".names li")) == ["Client 0", "Client 1"]
    response = sent(page, responsible_id=str(acme.alice.id))
    assert response.status_code == 303
    page = response.follow()
    assert headline(page) == "Change responsible: 2 clients"
    assert page.html.select_one("#state").text == "Done"
    assert facts(page) == {"Changed": "2"}
    assert list(Client.objects.order_by("id").values_list("responsible_id", flat=True)) == [
        acme.alice.id,
        acme.alice.id,
        None,
    ]
    page = page.forms[next(iter(key for key, form in page.forms.items() if "do" in form.fields))].submit(
        "do", value="undo"
    )
    page = page.follow()
    assert page.html.select_one("#state").text == "Undone"
    assert facts(page) == {"Changed": "2", "Got the previous value back": "2", "Left alone by undo": "0"}
    assert not Client.objects.exclude(responsible_id=None).exists()


def test_a_field_is_emptied_only_on_request(acme, bob, clients):
    Client.objects.update(responsible_id=acme.alice.id)
    page = sent(select(bob, clients[:2], "set_responsible"))
    assert page.status_code == 422
    assert page.html.select_one(".field-error").get_text(strip=True) == "Can't be blank"
    assert not BulkChange.objects.exists()
    page = sent(page, responsible_id="none").follow()
    assert page.html.select_one("main .badge").get_text() == "Nobody"
    assert Client.objects.filter(responsible_id=None).count() == 2


def test_all_entries_of_a_filtered_list(acme, bob, clients):
    make_client(acme.alice, "Other", city="Kraków")
    page = select(bob, [], "add_tags", path="/app/clients?city__empty=true", everything=True)
    assert headline(page) == "Add tags: 3 clients"
    page = sent(page, tags="vip, new").follow()
    assert facts(page) == {"Changed": "3"}
    assert acme.account.clients.filter(tags=["vip", "new"]).count() == 3
    back = page.html.find("a", string="Back to the list with its filters")["href"]
    assert back == "/app/clients?city__empty=true"


def test_a_list_that_changed_in_the_meantime_is_counted_again(acme, bob, clients):
    page = select(bob, [], "add_tags", everything=True)
    make_client(acme.alice, "New")
    page = sent(page, tags="vip")
    assert page.status_code == 409
    assert "the filters now match 4 clients" in page.html.select_one(".notice").text.replace("\n", " ")
    assert not BulkChange.objects.exists()
    assert facts(sent(page).follow()) == {"Changed": "4"}


def test_many_rows_are_confirmed_and_changed_in_the_background(acme, bob, clients, monkeypatch):
    monkeypatch.setattr(bulk, "BATCH_SIZE", 2)
    monkeypatch.setattr(pages, "BATCH_SIZE", 2)
    status = acme.account.statuses.create(kind=Status.Kind.CLIENT, code="hot", name="Hot")
    page = sent(select(bob, clients, "set_status"), status_id=str(status.id))
    assert headline(page) == "Change the status of 3 clients to Hot?"
    page = sent(page).follow()
    assert page.html.select_one("#state").text == "Running"
    assert page.html.select_one("progress")["value"] == "0"
    assert page.html.select_one("noscript a")["href"] == page.request.path
    fragment = bob.get(page.request.path, headers={"HX-Request": "true", "HX-Target": "progress"})
    assert fragment.html.find("h1") is None
    assert fragment.html.section["hx-get"] == page.request.path
    run_jobs()
    page = bob.get(page.request.path)
    assert page.html.select_one("#state").text == "Done"
    assert page.html.select_one("noscript") is None
    assert page.html.section.get("hx-get") is None


def test_cancel(acme, bob, clients, monkeypatch):
    monkeypatch.setattr(bulk, "BATCH_SIZE", 2)
    page = sent(select(bob, clients, "add_tags"), tags="vip").follow()
    form = page.forms[next(key for key, form in page.forms.items() if "do" in form.fields)]
    assert form.submit("do", value="cancel").follow().html.select_one("#state").text == "Cancelled"
    assert "It is finished already." in notices(form.submit("do", value="cancel").follow())
    run_jobs()
    assert not Client.objects.exclude(tags=[]).exists()


def test_a_double_click_changes_once(acme, bob, clients):
    page = select(bob, [], "add_tags", everything=True)
    first, second = sent(page, tags="vip"), sent(page, tags="vip")
    assert first.location == second.location
    assert BulkChange.objects.count() == 1
    trash = select(bob, [], "trash", everything=True)
    # The second click finds another number of rows, because the first one has moved them to the trash.
    assert sent(trash).location == sent(trash).location
    assert BulkChange.objects.count() == 2


def test_contacts_are_added_to_a_list(acme, bob):
    contacts = [make_contact(acme.alice, f"Contact {number}") for number in range(2)]
    newsletter = make_contact_list(acme.alice, "Newsletter")
    page = select(bob, contacts, "add_to_contact_list", path="/app/contacts")
    response = sent(page, contact_list_id="")
    assert (response.status_code, response.html.select_one(".field-error").text.strip()) == (422, "Can't be blank")
    assert facts(sent(page, contact_list_id=str(newsletter.id)).follow()) == {"Changed": "2"}
    assert Contact.objects.with_list_ids().first().contact_list_ids == [newsletter.id]


def test_rows_in_the_trash_are_named(acme, bob, clients):
    page = select(bob, clients, "trash")
    clients[1].trash(by=acme.alice)
    page = sent(page).follow()
    assert facts(page) == {"Changed": "2", "Left alone": "1"}
    row = page.html.select_one("#progress .list li")
    assert " ".join(row.text.split()) == "Client 1 is in the trash"
    # The author and admins undo the change.
    other = make_user(acme.account, "dora", role="agent")
    assert acme.page(other).get(page.request.path, status=404)
    form = page.forms[next(key for key, form in page.forms.items() if "do" in form.fields)]
    assert form.submit("do", value="undo").follow().html.select_one("#state").text == "Undone"


def test_two_selected_entries_are_merged(acme, bob, clients):
    for some in (clients[:1], clients):
        assert "Select exactly two entries to merge." in select(bob, some, "merge").follow().text
    page = select(bob, clients[:2], "merge").follow()
    assert page.request.path in {f"/app/clients/{client.id}/merge" for client in clients[:2]}
    assert {clients[0].name, clients[1].name} <= set(page.html.stripped_strings)


def test_it_rejects_other_resources_and_acts(acme, bob, clients):
    page = select(bob, clients, "trash")
    token = page.html.select_one("[name=csrfmiddlewaretoken]")["value"]
    bob.post(NEW, {"resource": "post", "csrfmiddlewaretoken": token}, status=400)
    page = sent(page).follow()
    bob.post(page.request.path, {"do": "nonsense", "csrfmiddlewaretoken": token}, status=400)
    bob.get("/app/bulk_changes/999999", status=404)


SELECTIONS = [
    ({"action": "trash"}, "Select at least one entry."),
    ({"action": "trash", "id": "x"}, "Select at least one entry."),
    ({"action": "nonsense", "id": "1"}, "Choose what to do with the selected entries."),
    ({"action": "add_to_contact_list", "id": "1"}, "Choose what to do with the selected entries."),
    ({"action": "trash", "all": "1", "query": "shoe=7"}, "A filter of this list can't be read."),
    ({"action": "trash", "all": "1", "query": "name=nobody"}, "Nothing matches these filters."),
    ({"action": "trash", "all": "1", "query": ""}, "At most 2 entries are possible at a time. Add a filter."),
]


def test_it_rejects_selections_that_cannot_be_changed(acme, bob, clients, monkeypatch):
    monkeypatch.setattr(pages, "MAX_ROWS", 2)
    token = bob.get("/app/clients/new").html.select_one("[name=csrfmiddlewaretoken]")["value"]
    for values, message in SELECTIONS:
        response = bob.post(NEW, {"resource": "client", "csrfmiddlewaretoken": token, **values})
        assert response.status_code == 303
        assert message in notices(response.follow(expect_errors=True))


def test_earlier_changes_are_listed(acme, bob, clients):
    sent(select(bob, clients, "add_tags"), tags="vip")
    change, alice = BulkChange.objects.get(), acme.page(acme.alice)
    sent(select(alice, clients, "trash"))
    assert [link.text for link in bob.get("/app/bulk_changes").html.select("main li a")] == ["Add tags: 3 clients"]
    assert len(alice.get("/app/bulk_changes").html.select("main li")) == 2
    assert len(statements(bob, f"/app/bulk_changes/{change.id}")) == 5
    assert len(statements(bob, "/app/bulk_changes")) == 5


# The export


def exported(visitor, path: str, **options: str) -> list[list[str]]:
    response = visitor.get(path)
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(response.body.decode("utf-8-sig")), **options))


def test_export(acme, bob):
    make_field_definition(acme.account, "since", label="Customer since", type="date")
    status = acme.account.statuses.create(kind=Status.Kind.CLIENT, code="hot", name="Hot")
    adler = make_client(
        acme.bob,
        "Adler",
        city="Łódź",
        discount="12.50",
        company=True,
        status_id=status.id,
        responsible_id=acme.bob.id,
        tags=["a", "b"],
        additional_fields={"since": "2026-03-01"},
    )
    brandt = make_client(acme.bob, "=1+1", city='Say "hi", twice', discount=-3)
    columns = "city,discount,company,status_id,responsible_id,tags,additional_fields[since]"
    rows = exported(bob, f"/app/clients/export.csv?sort=-name&columns={columns}")
    labels = ["Number", "Name", "City", "Discount", "Is a company", "Status", "Responsible", "Tags", "Customer since"]
    assert rows == [
        labels,
        [str(adler.id), "Adler", "Łódź", "12.5", "Yes", "Hot", "Bob Nowak", "a, b", "2026-03-01"],
        [str(brandt.id), "'=1+1", 'Say "hi", twice', "-3", "", "", "", "", ""],
    ]
    response = bob.get("/app/clients/export.csv")
    assert response.body.startswith(b"\xef\xbb\xbf")
    name = response.headers["Content-Disposition"]
    assert re.fullmatch(r'attachment; filename="clients-\d{4}-\d\d-\d\d\.csv"', name)


def raw_export(acme, path: str, **user) -> list[str]:
    acme.account.users.filter(id=acme.bob.id).update(**user)
    return acme.page(acme.bob).get(path).body.decode("utf-8-sig").splitlines()


def test_the_export_has_the_format_of_the_language(acme):
    price = {"price": "1234.5", "currency": "PLN"}
    roof = make_deal(acme.bob, "Roof", **price, additional_fields={"area": "10.5"})
    make_field_definition(acme.account, "area", label="Area", resource="deal", type="number")
    wall = make_deal(acme.bob, "Wall", price="12345", currency="JPY", additional_fields={"area": 2.25})
    path = "/app/deals/export.csv?sort=id&columns=price,additional_fields[area],expected_close_date"
    assert raw_export(acme, path) == [
        "Number,Name,Amount,Currency,Area,Expected close",
        f"{roof.id},Roof,1234.50,PLN,10.5,",
        f"{wall.id},Wall,12345,JPY,2.25,",
    ]
    assert raw_export(acme, path, language="pl")[1:] == [
        f"{roof.id};Roof;1234,50;PLN;10,5;",
        f"{wall.id};Wall;12345;JPY;2,25;",
    ]
    path = "/app/deals/export.csv?sort=id&columns=currency,price"
    assert raw_export(acme, path, language="en")[1] == f"{roof.id},Roof,PLN,1234.50"


CELLS = [
    ("+48 601 234 567", "+48 601 234 567"),
    ("+48601234567", "+48601234567"),
    ("+1 (555) 010-99.88", "+1 (555) 010-99.88"),
    ("+48 22 123 45 67 wew. 12", "+48 22 123 45 67 wew. 12"),
    ("+1+1", "'+1+1"),
    ("+48 cmd|' /C calc'!A0", "'+48 cmd|' /C calc'!A0"),
    ("+A1", "'+A1"),
    ("=1+1", "'=1+1"),
    ("-1", "'-1"),
]


def test_telephone_numbers_are_exported_as_they_are(acme):
    rows = [f"{make_client(acme.bob, 'Nova', phone=phone).id},Nova,{cell}" for phone, cell in CELLS]
    assert raw_export(acme, "/app/clients/export.csv?columns=phone&sort=id")[1:] == rows


@table("text", ["=1", "+48 600", "-1", "@a", "\t=1", "\r=1", " =1"])
def test_formulas_are_guarded(text):
    assert export.guarded(text) == f"'{text}"
    assert export.guarded(f"a{text}") == f"a{text}"


def test_the_export_has_the_rows_of_the_list_and_no_others(acme, bob, clients, monkeypatch):
    monkeypatch.setattr(export, "CHUNK_SIZE", 2)
    make_client(acme.alice, "Mine", responsible_id=acme.bob.id)
    make_contact(acme.bob, "Ann")
    make_deal(acme.bob, "Roof", price=5)

    def names(path: str) -> list[str]:
        [labels, *rows] = exported(bob, path)
        assert labels[1] == "Name"
        return [row[1] for row in rows]

    clients[0].trash(by=acme.alice)
    assert names("/app/clients/export.csv?sort=id") == ["Client 1", "Client 2", "Mine"]
    assert names("/app/clients/export.csv?mine=true") == ["Mine"]
    assert names("/app/clients/export.csv?q=Client&sort=name") == ["Client 1", "Client 2"]
    assert (names("/app/contacts/export.csv"), names("/app/deals/export.csv")) == (["Ann"], ["Roof"])
    # The selected rows alone, or all rows of a list.
    response = select(bob, clients[1:2], "export")
    assert [row[1] for row in csv.reader(io.StringIO(response.body.decode("utf-8-sig")))] == ["Name", "Client 1"]
    response = select(bob, [], "export", path="/app/clients?sort=name", everything=True)
    assert response.location == "/app/clients/export.csv?sort=name"
    acme.account.change(agents_see="own")
    assert names("/app/clients/export.csv") == ["Mine"]
    # The language of the user lasts until the end of the file.
    acme.account.users.filter(id=acme.bob.id).update(language="pl")
    assert exported(bob, "/app/clients/export.csv", delimiter=";")[0][:2] == ["Numer", "Nazwa"]


def test_the_export_refuses_too_many_rows_and_unknown_filters(acme, bob, clients, monkeypatch):
    assert bob.get("/app/clients/export.csv?shoe=7").location == "/app/clients?shoe=7"
    monkeypatch.setattr(pages, "MAX_EXPORTED", 2)
    response = bob.get("/app/clients/export.csv?sort=name")
    assert response.location == "/app/clients?sort=name"
    assert "At most 2 entries are possible at a time." in notices(response.follow())


def test_a_file_that_is_cut_off_says_so(acme, bob, clients, monkeypatch):
    def fail(*arguments):
        raise OperationalError

    monkeypatch.setattr(export, "rows_of", fail)
    assert exported(bob, "/app/clients/export.csv")[-1][0].startswith("The file is incomplete")
