"""Links from users of the forums to clients and contacts."""

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.users.models import User
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import user_link_body
from tests.support.factories import make_client, make_contact, make_user, make_user_link
from tests.support.followers import run_followers
from tests.support.jobs import run_jobs
from tests.support.lists import link_to_first_page
from tests.support.queries import capture_queries
from tests.support.tables import table

PATH = "/app/user_links.json"


def create(acme, **fields):
    return acme.json().post(PATH, json={"user_link": fields})


def links(account) -> list[tuple]:
    return list(account.user_links.order_by("id").values_list("user_id", "client_id", "contact_id", "state"))


def join(account, email: str, **fields) -> User:
    """Create a user as a sign-up does."""
    login = email.partition("@")[0]
    return User.objects.sign_up(account, login=login, email=email, password=None, name=login, **fields)


def test_it_works(acme):
    client = make_client(acme.alice)
    response = create(acme, user_id=acme.carol.id, client_id=client.id)
    link = acme.account.user_links.get()
    expected = user_link_body(link, acme.bob, user_id=acme.carol.id, client_id=client.id)
    assert_answered(response, 201, expected, location=f"http://acme.example.test/app/user_links/{link.id}.json")
    path = f"/app/user_links/{link.id}.json"
    assert_answered(acme.json().get(path), 200, expected)

    response = acme.json().put(path, json={"user_link": {"state": "rejected", "client_id": client.id}})
    link.refresh_from_db()
    expected = user_link_body(link, acme.bob, user_id=acme.carol.id, client_id=client.id, state="rejected")
    assert_answered(response, 200, expected)
    response, queries = capture_queries(lambda: acme.json().get(PATH))
    assert_answered(response, 200, [expected], link=link_to_first_page(PATH))
    assert len(queries) == 2, queries  # the token and the links

    assert_answered(acme.json().delete(path), 200, "ok")
    assert_refused(acme.json().get(path), 404, "not_found")


def test_filters(acme):
    client, contact = make_client(acme.alice), make_contact(acme.alice)
    first = make_user_link(acme.alice, acme.carol, client_id=client.id)
    second = make_user_link(acme.alice, make_user(acme.account), contact_id=contact.id, state="proposed")
    for query, expected in (
        ("", [first, second]),
        (f"user_id={acme.carol.id}", [first]),
        (f"client_id={client.id}", [first]),
        (f"contact_id={contact.id}", [second]),
        ("state=proposed", [second]),
        (f"state=proposed&client_id={client.id}", []),
        ("per_page=1&page=2", [second]),
    ):
        assert [row["id"] for row in read(acme.json().get(f"{PATH}?{query}"))] == [link.id for link in expected], query
    errors = {
        "page": ["must be a whole number, 1 or more"],
        "state": ["is not one of proposed, confirmed, rejected"],
    }
    assert_refused(acme.json().get(f"{PATH}?state=maybe&page=0"), 422, "validation_failed", errors)


def test_it_rejects_invalid_links(acme):
    client, contact = make_client(acme.alice), make_contact(acme.alice)
    link = make_user_link(acme.alice, acme.carol, client_id=client.id, state="rejected")
    carol, one_target = {"user_id": acme.carol.id}, "must be given, or else a contact_id, but not both"
    for fields, errors in (
        (
            {"user_id": 10**15, "client_id": "x", "contact_id": 10**15, "state": "maybe"},
            {
                "user_id": "can't be found",
                "client_id": "is not an id",
                "contact_id": "can't be found",
                "state": "is not one of proposed, confirmed, rejected",
            },
        ),
        (carol, {"client_id": one_target}),
        (carol | {"client_id": client.id, "contact_id": contact.id}, {"client_id": one_target}),
        ({"client_id": client.id}, {"user_id": "can't be blank"}),
        (
            {"user_id": acme.bob.id, "client_id": client.id},
            {"user_id": "belongs to the team, and only members can be linked"},
        ),
        (carol | {"client_id": client.id}, {"user_id": f"has this link already: change link {link.id} instead"}),
    ):
        expected = {name: [rule] for name, rule in errors.items()}
        assert_refused(create(acme, **fields), 422, "validation_failed", expected)
    # The user and the target of a link are fixed.
    ids = {"user_id": make_user(acme.account).id, "client_id": make_client(acme.alice).id}
    response = acme.json().put(f"/app/user_links/{link.id}.json", json={"user_link": ids})
    errors = {name: ["can't be changed: create another link"] for name in ids}
    assert_refused(response, 422, "validation_failed", errors)


def test_a_user_has_one_confirmed_link(acme):
    client, contact = make_client(acme.alice), make_contact(acme.alice)
    make_user_link(acme.alice, acme.carol, client_id=client.id)
    errors = {"user_id": [f"is linked to client {client.id} already: remove that link first"]}
    assert_refused(create(acme, user_id=acme.carol.id, contact_id=contact.id), 422, "validation_failed", errors)
    proposal = make_user_link(acme.alice, acme.carol, contact_id=contact.id, state="proposed")
    response = acme.json().put(f"/app/user_links/{proposal.id}.json", json={"user_link": {"state": "confirmed"}})
    assert_refused(response, 422, "validation_failed", errors)


def test_a_confirmed_link_replaces_proposals(acme):
    client, contact = make_client(acme.alice), make_contact(acme.alice)
    make_user_link(acme.alice, acme.carol, client_id=client.id, state="proposed")
    make_user_link(acme.alice, acme.carol, contact_id=contact.id)
    assert links(acme.account) == [
        (acme.carol.id, client.id, None, "rejected"),
        (acme.carol.id, None, contact.id, "confirmed"),
    ]


@pytest.mark.parametrize(("make", "target"), [(make_client, "client"), (make_contact, "contact")])
def test_a_link_stays_while_its_target_is_in_the_trash(acme, make, target):
    row, other = make(acme.alice), make_client(acme.alice)
    link = make_user_link(acme.alice, acme.carol, **{f"{target}_id": row.id})
    row.trash(by=acme.alice)
    body = read(acme.json().get(f"/app/user_links/{link.id}.json"))
    assert (body[f"{target}_id"], body["state"]) == (None, "confirmed")
    # Another link may be confirmed meanwhile, and wins.
    make_user_link(acme.alice, acme.carol, client_id=other.id)
    row.restore()
    body = read(acme.json().get(f"/app/user_links/{link.id}.json"))
    assert (body[f"{target}_id"], body["state"]) == (row.id, "rejected")


def test_a_link_is_erased_with_its_target(acme):
    client = make_client(acme.alice)
    make_user_link(acme.alice, acme.carol, client_id=client.id)
    client.trash(by=acme.alice)
    acme.account.clients.filter(id=client.id).erase(before=timezone.now(), limit=1)
    assert not acme.account.user_links.exists()


def test_a_limited_agent_sees_the_links_of_their_customers(acme):
    acme.account.change(agents_see="own")
    own, hidden = make_client(acme.alice, responsible_id=acme.bob.id), make_client(acme.alice)
    link = make_user_link(acme.alice, acme.carol, client_id=own.id)
    other = make_user_link(acme.alice, make_user(acme.account), client_id=hidden.id)
    assert [row["id"] for row in read(acme.json().get(PATH))] == [link.id]
    for method in ("GET", "PUT", "DELETE"):
        response = acme.json().request(method, f"/app/user_links/{other.id}.json", json={})
        assert_refused(response, 404, "not_found")
    errors = {"client_id": ["can't be found"]}
    response = create(acme, user_id=make_user(acme.account).id, client_id=hidden.id)
    assert_refused(response, 422, "validation_failed", errors)


# Proposals


def test_a_link_is_proposed_at_sign_up_and_for_a_new_email(acme):
    clients = {name: make_client(acme.alice, email=f"{name}@Example.com") for name in ("Ann", "Dora", "Eve")}
    contact = make_contact(acme.alice, email="new@example.com")
    ann = join(acme.account, "ann@example.com")
    link = acme.account.user_links.get()
    assert (link.creator_id, link.updater_id) == (None, None)
    # Not for the team.
    join(acme.account, "dora@example.com", role="agent")
    acme.carol.change_email("new@example.com")
    # An account may confirm links at once.
    acme.account.confirms_user_links = True
    eve = join(acme.account, "eve@example.com")
    assert links(acme.account) == [
        (ann.id, clients["Ann"].id, None, "proposed"),
        (acme.carol.id, None, contact.id, "proposed"),
        (eve.id, clients["Eve"].id, None, "confirmed"),
    ]


def test_no_link_is_proposed_for_another_account_or_the_trash(acme, other):
    make_client(other.mallory, email="ann@example.com")
    make_client(acme.alice, email="ann@example.com").trash(by=acme.alice)
    join(acme.account, "ann@example.com")
    assert links(acme.account) == links(other.account) == []


@table("belongs_to_a_client", [False, True])
def test_the_row_that_leads_to_a_client_is_proposed(acme, belongs_to_a_client):
    """The oldest contact if it belongs to a client, or else the oldest client."""
    email = {"email": "ann@example.com"}
    client_id = make_client(acme.alice).id if belongs_to_a_client else None
    contact = make_contact(acme.alice, client_id=client_id, **email)
    client, _another = (make_client(acme.alice, **email) for _ in range(2))
    user = join(acme.account, "ann@example.com")
    target = (None, contact.id) if belongs_to_a_client else (client.id, None)
    assert links(acme.account) == [(user.id, *target, "proposed")]


def test_links_are_proposed_to_new_and_changed_customers(acme):
    client, contact = make_client(acme.alice), make_contact(acme.alice, email="dora@example.com")
    dora = make_user(acme.account, "dora", email="dora@example.com")
    make_user(acme.account, "gone", email="gone@example.com", is_active=False)
    make_client(acme.alice, email="gone@example.com")
    run_followers()
    client.write({"email": acme.carol.email.upper()}, by=acme.alice)
    run_followers()
    assert links(acme.account) == [
        (dora.id, None, contact.id, "proposed"),
        (acme.carol.id, client.id, None, "proposed"),
    ]
    # The same changes again propose nothing new.
    client.write({"note": "x"}, by=acme.alice)
    run_followers()
    assert len(links(acme.account)) == 2


def test_a_rejected_link_is_not_proposed_again(acme):
    client = make_client(acme.alice, email=acme.carol.email)
    make_user_link(acme.alice, acme.carol, client_id=client.id, state="rejected")
    run_followers()
    assert links(acme.account) == [(acme.carol.id, client.id, None, "rejected")]


def test_the_command_proposes_links_of_existing_users(acme, monkeypatch):
    monkeypatch.setattr("crm.user_links.jobs.BATCH_SIZE", 2)
    users = [make_user(acme.account, f"u{n}", email=f"u{n}@example.com") for n in range(5)]
    clients = [make_client(acme.alice, email=user.email) for user in users]
    call_command("propose_user_links", "acme")
    run_jobs()
    expected = [(user.id, client.id, None, "proposed") for user, client in zip(users, clients, strict=True)]
    assert links(acme.account) == expected
    with pytest.raises(CommandError, match="There is no account nobody"):
        call_command("propose_user_links", "nobody")
