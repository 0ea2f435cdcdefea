"""The pages of bulk changes: the selection in a list, the value, the question, the progress and undo."""

import pytest

from accounts.statuses.models import Status
from crm.clients.models import Client
from crm.contacts.models import Contact
from team.bulk import pages as pages
from team.bulk.models import BulkChange
from tests.support.factories import (
    make_client,
    make_contact,
    make_contact_list,
    make_field_definition,
    make_user,
)
from tests.support.jobs import run_jobs
from tests.support.reading import statements
from tests.support.record_lists import select_rows

NEW = "/app/bulk_changes/new"


@pytest.fixture
def clients(acme) -> list[Client]:
    return [make_client(acme.alice, f"Client {number}") for number in range(3)]


@pytest.fixture
def bob(acme):
    return acme.page(acme.bob)


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
    page = select_rows(bob, clients[:2], "set_responsible")
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
    page = sent(select_rows(bob, clients[:2], "set_responsible"))
    assert page.status_code == 422
    assert page.html.select_one(".field-error").get_text(strip=True) == "Can't be blank"
    assert not BulkChange.objects.exists()
    page = sent(page, responsible_id="none").follow()
    assert page.html.select_one("main .badge").get_text() == "Nobody"
    assert Client.objects.filter(responsible_id=None).count() == 2


def test_all_entries_of_a_filtered_list(acme, bob, clients):
    make_client(acme.alice, "Other", city="Kraków")
    page = select_rows(bob, [], "add_tags", path="/app/clients?city__empty=true", everything=True)
    assert headline(page) == "Add tags: 3 clients"
    page = sent(page, tags="vip, new").follow()
    assert facts(page) == {"Changed": "3"}
    assert acme.account.clients.filter(tags=["vip", "new"]).count() == 3
    back = page.html.find("a", string="Back to the list with its filters")["href"]
    assert back == "/app/clients?city__empty=true"


def test_a_list_that_changed_in_the_meantime_is_counted_again(acme, bob, clients):
    page = select_rows(bob, [], "add_tags", everything=True)
    make_client(acme.alice, "New")
    page = sent(page, tags="vip")
    assert page.status_code == 409
    assert "the filters now match 4 clients" in page.html.select_one(".notice").text.replace("\n", " ")
    assert not BulkChange.objects.exists()
    assert facts(sent(page).follow()) == {"Changed": "4"}


def test_many_rows_are_confirmed_and_changed_in_the_background(acme, bob, clients, monkeypatch):
    monkeypatch.setattr(BulkChange, "PART_SIZE", 2)
    status = acme.account.statuses.create(kind=Status.Kind.CLIENT, code="hot", name="Hot")
    page = sent(select_rows(bob, clients, "set_status"), status_id=str(status.id))
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
    monkeypatch.setattr(BulkChange, "PART_SIZE", 2)
    page = sent(sent(select_rows(bob, clients, "add_tags"), tags="vip")).follow()
    form = page.forms[next(key for key, form in page.forms.items() if "do" in form.fields)]
    assert form.submit("do", value="cancel").follow().html.select_one("#state").text == "Cancelled"
    assert "It is finished already." in notices(form.submit("do", value="cancel").follow())
    run_jobs()
    assert not Client.objects.exclude(tags=[]).exists()


def test_a_double_click_changes_once(acme, bob, clients):
    page = select_rows(bob, [], "add_tags", everything=True)
    first, second = sent(page, tags="vip"), sent(page, tags="vip")
    assert first.location == second.location
    assert BulkChange.objects.count() == 1
    trash = select_rows(bob, [], "trash", everything=True)
    # The second click finds another number of rows, because the first one has moved them to the trash.
    assert sent(trash).location == sent(trash).location
    assert BulkChange.objects.count() == 2


def test_contacts_are_added_to_a_list(acme, bob):
    contacts = [make_contact(acme.alice, f"Contact {number}") for number in range(2)]
    newsletter = make_contact_list(acme.alice, "Newsletter")
    page = select_rows(bob, contacts, "add_to_contact_list", path="/app/contacts")
    response = sent(page, contact_list_id="")
    assert (response.status_code, response.html.select_one(".field-error").text.strip()) == (422, "Can't be blank")
    assert facts(sent(page, contact_list_id=str(newsletter.id)).follow()) == {"Changed": "2"}
    assert Contact.objects.with_list_ids().first().contact_list_ids == [newsletter.id]


def test_rows_in_the_trash_are_named(acme, bob, clients):
    page = select_rows(bob, clients, "trash")
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
        assert "Select exactly two entries to merge." in select_rows(bob, some, "merge").follow().text
    page = select_rows(bob, clients[:2], "merge").follow()
    assert page.request.path in {f"/app/clients/{client.id}/merge" for client in clients[:2]}
    assert {clients[0].name, clients[1].name} <= set(page.html.stripped_strings)


def test_it_rejects_other_resources_and_acts(acme, bob, clients):
    page = select_rows(bob, clients, "trash")
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
    sent(select_rows(bob, clients, "add_tags"), tags="vip")
    change, alice = BulkChange.objects.get(), acme.page(acme.alice)
    sent(select_rows(alice, clients, "trash"))
    assert [link.text for link in bob.get("/app/bulk_changes").html.select("main li a")] == ["Add tags: 3 clients"]
    assert len(alice.get("/app/bulk_changes").html.select("main li")) == 2
    assert len(statements(bob, f"/app/bulk_changes/{change.id}")) == 4
    assert len(statements(bob, "/app/bulk_changes")) == 4


# The export


def test_a_field_is_chosen_in_the_form(acme, bob, clients):
    make_field_definition(acme.account, "sizes", label="Sizes", type="choices", choices=["S", "M"])
    for name, value, text in (
        ("city", "Gdynia", "City: Gdynia"),
        ("discount", "12,5", "Discount: 12.5"),
        ("consent", "true", "Agrees to be contacted: Yes"),
        ("additional_fields[sizes]", ["S", "M"], "Sizes: S, M"),
    ):
        page = select_rows(bob, clients, "set_fields")
        form = page.forms[next(key for key, form in page.forms.items() if form.action == NEW)]
        assert "client_id" not in [choice[0] for choice in form["name"].options]
        form["name"] = name
        page = form.submit()
        if name == "discount":
            form = page.forms[next(key for key, form in page.forms.items() if form.action == NEW)]
            form["value"] = "much"
            assert form.submit("do", value="apply", status=422).html.find(id="value-value_error")
        form = page.forms[next(key for key, form in page.forms.items() if form.action == NEW)]
        if isinstance(value, list):
            for field, choice in zip(form.fields["value"], value, strict=True):
                field.value = choice
        else:
            form["value"] = value
        done = form.submit("do", value="apply", status=303).follow()
        assert text in done.html.get_text()
    client = Client.objects.get(id=clients[0].id)
    assert (client.city, client.discount, client.additional_fields) == ("Gdynia", 12.5, {"sizes": ["S", "M"]})
