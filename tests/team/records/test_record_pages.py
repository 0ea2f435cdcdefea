from datetime import UTC, datetime

import pytest

from tests.support.factories import make_client, make_contact, make_deal, make_post, make_task
from tests.support.queries import capture_queries
from tests.support.team import main_text, record_path

# The session, the forum, the numbers of new suggestions and of due tasks, the team, the client, its users, deals, contacts, tasks,
# suggestions and votes, and its timeline.
STATEMENTS = 11


@pytest.fixture
def client(acme):
    return make_client(acme.bob, "Northwind", email="office@northwind.example", phone="+48 123 456", tags=["vip"])


def test_it_works(acme, client):
    deal = make_deal(acme.bob, "Roof", client_id=client.id, price="12000", currency="EUR")
    contact = make_contact(acme.bob, "Nora North", client_id=client.id, position="Buyer")
    make_task(acme.bob, "Call back", client_id=client.id, responsible_id=acme.bob.id)
    post = make_post(acme.bob, "Dark mode", client_id=client.id)
    voted = make_post(acme.carol, "Invoices by e-mail")
    voted.cast_proxy_vote(by=acme.bob, client_id=client.id)
    visitor = acme.page(acme.bob)
    visitor.get(record_path(client))
    page, queries = capture_queries(lambda: visitor.get(record_path(client)))
    assert len(queries) == STATEMENTS, queries
    shown = main_text(page)
    for text in (
        "Northwind",
        "office@northwind.example",
        "vip",
        "Roof",
        "12,000.00 EUR",
        "Nora North",
        "Buyer",
        "Call back",
    ):
        assert text in shown
    links = {link["href"] for link in page.html.find("main").find_all("a")}
    assert {
        "mailto:office@northwind.example",
        "tel:+48123456",
        f"/app/deals/{deal.id}",
        f"/app/contacts/{contact.id}",
        f"/app/posts/{post.id}",
        f"/app/posts/{voted.id}",
        f"/app/clients/{client.id}/edit?field=email",
    } <= links


def test_times_are_those_of_the_reader(acme):
    deal = make_deal(acme.bob, "Roof", status_id=acme.account.statuses.get(kind="deal", code="won").id)
    acme.account.deals.filter(id=deal.id).update(closed_at=datetime(2026, 11, 5, 23, 30, tzinfo=UTC))
    acme.bob.time_zone = "Europe/Warsaw"
    acme.bob.save()
    assert "Closed Nov. 6, 2026, 12:30 a.m." in main_text(acme.page(acme.bob).get(f"/app/deals/{deal.id}"))


def test_panels_show_that_there_is_more(acme, client):
    for _ in range(6):
        make_deal(acme.bob, client_id=client.id)
    page = acme.page(acme.bob).get(record_path(client))
    link = next(
        link for link in page.html.select("[aria-labelledby=deals] a") if link.get_text(strip=True) == "All deals"
    )
    assert link["href"] == f"/app/deals?client_id={client.id}"
    assert len(page.html.select("[aria-labelledby=deals] .list > li")) == 5


def test_tasks_of_contacts_and_deals_are_shown_too(acme, client):
    contact = make_contact(acme.bob, "Nora North", client_id=client.id)
    deal = make_deal(acme.bob, "Roof", client_id=client.id, contact_id=contact.id)
    make_deal(acme.bob, "Barn")
    make_task(acme.bob, "Of the client", client_id=client.id)
    make_task(acme.bob, "Of the contact", contact_id=contact.id)
    make_task(acme.bob, "Of the deal", deal_id=deal.id, contact_id=contact.id)
    make_task(acme.bob, "Of another client", client_id=make_client(acme.bob, "Kowalski").id)
    visitor = acme.page(acme.bob)
    for path, expected in (
        (record_path(client), ["Of the client", "Of the contact", "Of the deal"]),
        (f"/app/contacts/{contact.id}", ["Of the contact", "Of the deal"]),
        (f"/app/deals/{deal.id}", ["Of the deal"]),
    ):
        page = visitor.get(path)
        assert [link.get_text() for link in page.html.select("[aria-labelledby=tasks] .list a")] == expected
    page, queries = capture_queries(lambda: visitor.get(f"/app/contacts/{contact.id}"))
    assert [link["href"] for link in page.html.select("[aria-labelledby=deals] .list a")] == [f"/app/deals/{deal.id}"]
    # Without contacts, and with contact lists.
    assert len(queries) == STATEMENTS, queries


def test_a_client_in_the_trash_can_be_restored_by_the_user_who_deleted_it(acme, client):
    visitor = acme.page(acme.bob)
    deleted = visitor.get(record_path(client)).forms["trash"].submit("do", value="trash", status=303).follow()
    assert "This client is in the trash." in main_text(deleted)
    client.refresh_from_db()
    assert client.trashed_by_id == acme.bob.id
    restored = deleted.forms["restore"].submit("do", value="restore", status=303).follow()
    assert "It is restored." in main_text(restored)
    client.refresh_from_db()
    assert client.trashed_at is None
    # Another agent cannot restore it.
    client.trash(by=acme.alice)
    page = visitor.get(record_path(client))
    assert "An admin can restore it within 30 days." in main_text(page)
    token = page.html.find("input", {"name": "csrfmiddlewaretoken"})["value"]
    visitor.post(record_path(client), {"do": "restore", "csrfmiddlewaretoken": token}, status=403)


def test_the_customer_votes_for_another_suggestion(acme, client):
    post = make_post(acme.carol, "Invoices by e-mail")
    page = acme.page(acme.bob).get(f"{record_path(client)}?vote_q=invoices")
    [form] = [form for form in page.forms.values() if "post" in form.fields]
    page = form.submit("post", value=str(post.id), status=303).follow()
    assert "The vote of Northwind counts." in main_text(page)
    assert list(acme.account.proxy_votes.values_list("post_id", "client_id")) == [(post.id, client.id)]


# Agents who see only their own rows


def test_a_row_that_was_handed_over(acme):
    """The agent returns to the list, with a message."""
    acme.account.change(agents_see="own")
    row = make_client(acme.bob, "Nova", responsible_id=acme.bob.id)
    task = make_task(acme.bob, "Call", responsible_id=acme.bob.id)
    page = acme.page(acme.bob)
    forms = page.get(f"{record_path(row)}/edit?field=responsible_id").forms.values()
    form = next(form for form in forms if "value" in form.fields)
    form["value"] = str(acme.alice.id)
    response = form.submit().follow()
    assert response.request.path == "/app/clients"
    assert "Nova is saved. You do not see it any more." in response
    form = next(form for form in page.get(f"/app/tasks/{task.id}/edit").forms.values() if "title" in form.fields)
    form["responsible_id"] = str(acme.alice.id)
    response = form.submit("do", value="save").follow()
    assert response.request.path == "/app/tasks"
    assert "Call is saved. You do not see it any more." in response
    form = next(form for form in page.get("/app/clients/new").forms.values() if "name" in form.fields)
    form["name"], form["responsible_id"] = "Terra", str(acme.alice.id)
    response = form.submit("do", value="save").follow()
    assert response.request.path == "/app/clients"
    assert "Terra is added. You do not see it any more." in response


def test_hidden_rows(acme):
    acme.account.change(agents_see="own")
    hidden = make_client(acme.alice, "Canary", responsible_id=acme.alice.id)
    own = make_contact(acme.bob, "Nora", client_id=hidden.id, responsible_id=acme.bob.id)
    bob = acme.page(acme.bob)
    for path in (f"/app/contacts/{own.id}", f"/app/contacts/{own.id}/edit?field=client_id&q=canary"):
        assert "Canary" not in bob.get(path)
    assert "Canary" in acme.page(acme.alice).get(record_path(hidden))


def test_the_header_shows_the_stored_values(acme, client):
    won = acme.account.statuses.get(kind="deal", code="won")
    make_deal(acme.bob, client_id=client.id, price=12000)
    make_deal(acme.bob, client_id=client.id, price=7, currency="PLN", status_id=won.id)
    make_task(acme.bob, client_id=client.id, scheduled_at=datetime(2026, 1, 2, 15, tzinfo=UTC))
    header = " ".join(acme.page(acme.bob).get(record_path(client)).html.select_one(".head").get_text(" ").split())
    assert "Open deals 12,000.00 EUR Won deals 7.00 PLN Last activity just now Next task Jan. 2, 2026, 3 p.m." in header


def test_previous_and_next_of_the_list(acme):
    """The links of a list carry its query and the position. Forms of the page keep it."""
    names = ("Ann", "Bea", "Cid", "Dan")
    rows = {name: make_client(acme.bob, name, city="Warszawa" if name != "Bea" else "Kraków") for name in names}
    page = acme.page(acme.bob)
    listed = page.get("/app/clients?city=Warszawa&sort=name")
    record = listed.click("Cid")
    assert record.request.path == f"/app/clients/{rows['Cid'].id}"
    following = record.click("Next").follow()
    assert following.request.path == f"/app/clients/{rows['Dan'].id}"
    assert not following.click("Next").follow().html.find("nav", class_="neighbors")
    first = following.click("Previous").follow().click("Previous").follow()
    assert first.request.path == f"/app/clients/{rows['Ann'].id}"
    assert not first.html.find("a", rel="prev")
    form = first.forms["composer"]
    form["kind"], form["content"] = "note", "Hello"
    kept = form.submit("do", value="compose", status=303).follow()
    assert kept.click("Next").follow().request.path == f"/app/clients/{rows['Cid'].id}"
    assert page.get("/app/clients?at=-1", status=303).location.endswith("/app/clients?")
    assert not page.get(f"/app/clients/{rows['Ann'].id}?at=x&list=%00").html.find("nav", class_="neighbors")
