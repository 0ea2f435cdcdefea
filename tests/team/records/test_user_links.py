"""The panel "Forum users" on the pages of clients and contacts, and the customer on the page of a user."""

import pytest

from tests.support.factories import make_client, make_contact, make_post, make_user, make_user_link
from tests.support.queries import capture_queries
from tests.support.team import record_path

# The session, the forum, the numbers of new suggestions and of due tasks, the client, its users, deals, contacts, tasks and suggestions, and
# its timeline.
STATEMENTS = 11


@pytest.fixture
def client(acme):
    return make_client(acme.bob, "Northwind")


def panel(page) -> str:
    return " ".join(page.html.select_one("[aria-labelledby=linked-users]").get_text(" ").split())


def suggestions(page) -> list[str]:
    return [link.get_text() for link in page.html.select("[aria-labelledby=feedback] .list a")]


def states(acme) -> list[str]:
    return list(acme.account.user_links.order_by("id").values_list("state", flat=True))


def test_it_works(acme, client):
    contact = make_contact(acme.bob, "Nora North", client_id=client.id)
    of_contact = make_user(acme.account, "nora", name="Nora of the forum")
    make_user_link(acme.alice, acme.carol, client_id=client.id, state="proposed")
    make_user_link(acme.alice, of_contact, contact_id=contact.id)
    make_user_link(acme.alice, make_user(acme.account, "eve"), client_id=client.id, state="rejected")
    make_post(of_contact, "Dark mode")
    make_post(acme.carol, "Not confirmed yet")
    voted = make_post(acme.bob, "Invoices by e-mail")
    voted.vote(by=of_contact)
    visitor = acme.page(acme.bob)
    visitor.get(record_path(client))
    page, queries = capture_queries(lambda: visitor.get(record_path(client)))
    assert len(queries) == STATEMENTS, queries
    text = panel(page)
    # A link without a creator was found by the e-mail.
    assert text.index("Proposed") < text.index("Nora of the forum") < text.index("1 rejected link")
    assert acme.carol.email not in page.text
    assert suggestions(page) == ["Invoices by e-mail", "Dark mode"]


def test_the_page_of_a_contact_shows_only_its_own_users(acme, client):
    """A link that the service proposed names the reason."""
    contact = make_contact(acme.bob, client_id=client.id, email="carol@new.example")
    make_user_link(acme.alice, make_user(acme.account, "eve"), client_id=client.id)
    acme.carol.change_email("carol@new.example")
    text = panel(acme.page(acme.bob).get(f"/app/contacts/{contact.id}"))
    assert "carol" in text.lower()
    assert "The same e-mail" in text
    assert "eve" not in text


def test_a_proposal_is_confirmed_unlinked_and_linked_again(acme, client):
    link = make_user_link(acme.alice, acme.carol, client_id=client.id, state="proposed")
    make_post(acme.carol, "Dark mode")
    page, form = acme.page(acme.bob).get(record_path(client)), f"link-{link.id}"
    for action, message, state, shown in (
        ("confirm_link", "The link is confirmed.", "confirmed", ["Dark mode"]),
        ("reject_link", "The user is not linked any more.", "rejected", []),
        ("confirm_link", "The link is confirmed.", "confirmed", ["Dark mode"]),
    ):
        page = page.forms[form].submit("do", value=action, status=303).follow()
        assert message in page.text
        assert (states(acme), suggestions(page)) == ([state], shown)


def test_a_user_is_found_and_linked(acme, client):
    path = f"{record_path(client)}?user_q=carol"
    form = acme.page(acme.bob).get(path).forms["found-users"]
    page = form.submit("user", value=str(acme.carol.id), status=303).follow()
    assert "The user is linked." in page.text
    # A second click confirms the same link.
    form.submit("user", value=str(acme.carol.id), status=303)
    assert states(acme) == ["confirmed"]
    # The search does not offer to link the user again.
    assert acme.page(acme.bob).get(path).html.select("#found-users button") == []
    assert "linked already" in panel(acme.page(acme.bob).get(path))


def test_the_search_does_not_reveal_emails(acme, client):
    make_user(acme.account, "dora", name="Dora", email="secret@elsewhere.example")
    for q, found in (("dora", "Dora"), ("secret", "Nobody was found."), ("elsewhere", "Nobody was found.")):
        assert found in panel(acme.page(acme.bob).get(f"{record_path(client)}?user_q={q}"))


def test_it_rejects_other_users(acme, client):
    """An unknown one, the team, and a user who is linked to another customer."""
    other = make_contact(acme.alice)
    link = make_user_link(acme.alice, acme.carol, contact_id=other.id)
    page = acme.page(acme.bob).get(f"{record_path(client)}?user_q=carol")
    for user in (acme.bob.id, "x", "", "9" * 30):
        page.forms["found-users"].submit("user", value=str(user), status=404)
    page = page.forms["found-users"].submit("user", value=str(acme.carol.id), status=303).follow()
    assert f"is linked to contact {other.id} already: remove that link first" in page.text
    assert states(acme) == ["confirmed"]
    # A link that was deleted meanwhile.
    page = acme.page(acme.bob).get(f"/app/contacts/{other.id}")
    link.erase()
    page = page.forms[f"link-{link.id}"].submit("do", value="reject_link", status=303).follow()
    assert "This link is gone" in page.text


def test_a_limited_agent_cannot_change_the_link_of_a_hidden_customer(acme, client):
    acme.account.agents_see = "own"
    acme.account.save()
    link = make_user_link(acme.alice, acme.carol, client_id=make_client(acme.alice).id, state="proposed")
    own = make_client(acme.alice, responsible_id=acme.bob.id)
    shown = make_user_link(acme.alice, make_user(acme.account), client_id=own.id, state="proposed")
    form = acme.page(acme.bob).get(record_path(own)).forms[f"link-{shown.id}"]
    form["link"] = str(link.id)
    assert "This link is gone" in form.submit("do", value="confirm_link", status=303).follow().text
    assert states(acme) == ["proposed", "proposed"]


def test_the_page_of_a_user_shows_the_customer(acme, client):
    path = f"/app/account/users/{acme.carol.id}"
    assert "Northwind" not in acme.page(acme.alice).get(path).text
    make_user_link(acme.alice, acme.carol, client_id=client.id)
    page = acme.page(acme.alice).get(path)
    assert page.html.find("a", href=record_path(client)).get_text(strip=True) == "Northwind"
