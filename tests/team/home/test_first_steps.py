"""The first steps in a new account, and its examples."""

from datetime import timedelta

import pytest

from accounts.account.models import Account
from team.home.first_steps import STEPS, first_steps
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_category, make_client, make_note

PATH = "/app/home"


def press(page, do: str, **values: str):
    form = next(
        form
        for form in page.forms.values()
        if f'value="{do}"' in form.text and all(form[name].value == value for name, value in values.items())
    )
    return form.submit("do", value=do, status=303).follow()


def open_steps(page) -> list[str]:
    return [item.a.get_text() for item in page.html.select(".first-steps li:not(.done)")]


@pytest.fixture
def new(acme):
    """Return acme as an account with its owner alone."""
    acme.account.users.exclude(id=acme.alice.id).update(is_active=False, role="agent")
    return acme


def test_it_works(new):
    page = new.page(new.alice).get(PATH)
    assert open_steps(page) == [str(step.label) for step in STEPS]
    make_category(new.account, "Ideas")
    new.account.categories.update(created_at=new.account.created_at + timedelta(hours=1))
    make_client(new.alice, "Northwind")
    page = press(new.page(new.alice).get(PATH), "dismiss", step="shop")
    assert open_steps(page) == [
        "Set the name and the logo",
        "Invite somebody of your team",
        "Adapt the stages of your deals",
        "Share the link of the forum",
    ]
    page = press(page, "dismiss", step="all")
    assert not page.html.select(".first-steps")


def test_only_admins_of_new_accounts_see_them(acme):
    assert len(first_steps(acme.account, acme.alice)) == len(STEPS)
    assert first_steps(acme.account, acme.bob) == []
    acme.account.created_at -= timedelta(days=91)
    assert first_steps(acme.account, acme.alice) == []
    acme.page(acme.bob).get(PATH)
    for do in ("add_examples", "remove_examples"):
        form = next(form for form in acme.page(acme.bob).get("/app/tasks/new").forms.values() if form.method == "post")
        token = form["csrfmiddlewaretoken"].value
        acme.page(acme.bob).post(PATH, {"do": do, "csrfmiddlewaretoken": token}, expect_errors=True)
    assert Account.objects.get(id=acme.account.id).examples == {}


def test_examples_are_added_and_removed(acme):
    alice, account = acme.page(acme.alice), acme.account
    page = press(alice.get(PATH), "add_examples")
    numbers = [getattr(account, name).live().count() for name in ("clients", "contacts", "deals", "posts")]
    assert numbers == [2, 2, 2, 2]
    own = make_client(acme.bob, "Northwind")
    page = press(page, "remove_examples")
    assert [row.name for row in account.clients.live()] == [own.name]
    assert not account.deals.live().exists()
    assert not account.posts.live().exists()
    assert "The examples are in the trash." in page.text


def test_changed_and_linked_examples_stay(acme):
    alice, account = acme.page(acme.alice), acme.account
    page = press(alice.get(PATH), "add_examples")
    linked, changed = account.clients.order_by("id")
    make_note(acme.bob, "They called.", client_id=linked.id)
    deal = account.deals.get(client_id=changed.id)
    deal.write({"price": "7"}, by=acme.bob)
    page = press(page, "remove_examples")
    assert {row.name for row in account.clients.live()} == {linked.name, changed.name}
    assert [row.name for row in account.deals.live()] == [deal.name]
    for name in (linked.name, changed.name, deal.name):
        assert name in page.html.select_one("#messages").get_text()


def test_the_same_in_json(acme):
    owner = acme.json(acme.alice_token)
    steps = read(owner.get("/app/first_steps.json"))
    assert steps["has_examples"] is False
    assert steps["first_steps"][0] == {
        "name": "look",
        "label": "Set the name and the logo",
        "done": False,
        "url": f"http://{acme.host}/app/account",
    }
    assert [step["name"] for step in steps["first_steps"]] == [step.name for step in STEPS]
    assert read(acme.json().get("/app/first_steps.json")) == {"first_steps": [], "has_examples": False}
    added = read(owner.post("/app/examples.json"))
    assert {name: len(ids) for name, ids in added.items()} == {"clients": 2, "contacts": 2, "deals": 2, "posts": 2}
    assert_refused(
        owner.post("/app/examples.json"), 409, "conflict", message="The examples are there already", retry_after="1"
    )
    deal = acme.account.deals.get(id=added["deals"][0])
    deal.write({"price": "7"}, by=acme.bob)
    client = acme.account.clients.get(id=deal.client_id)
    contact = acme.account.contacts.get(id=deal.contact_id)
    kept = read(owner.delete("/app/examples.json"))["kept"]
    assert kept == [deal.name, contact.name, client.name]
    assert_refused(
        owner.delete("/app/examples.json"), 409, "conflict", message="There are no examples", retry_after="1"
    )
    assert list(acme.account.audit_entries.order_by("id").values_list("action", flat=True))[-2:] == [
        "examples.created",
        "examples.deleted",
    ]
