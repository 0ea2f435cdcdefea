"""The erasure of a client or a contact at once."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction

from accounts.erasure.erasing import erase_row
from team.timeline.models import TimelineEntry
from tests.support.factories import (
    make_attachment,
    make_client,
    make_contact,
    make_deal,
    make_note,
    make_post,
    make_user_link,
)
from tests.support.followers import run_followers
from tests.support.settings import button_of, texts


def test_it_works(acme):
    account, alice = acme.account, acme.alice
    client = make_client(alice, name="Oak Ltd", email="ann@oak.example")
    contact, deal = make_contact(alice, client_id=client.id), make_deal(alice, client_id=client.id)
    make_note(alice, "They called", client_id=client.id)
    make_attachment(alice, "client", client)
    make_user_link(alice, acme.carol, client_id=client.id)
    post = make_post(acme.bob, "Wood")
    post.cast_proxy_vote(by=acme.bob, client_id=client.id)
    task = make_post(acme.bob, "For Oak", client_id=client.id)

    answer = acme.json(acme.alice_token).delete(f"/app/clients/{client.id}.json", params={"erase": "true"})
    assert answer.status_code == 200
    receipt = answer.json()
    assert receipt["reported"] == [{"resource": "client", "id": client.id, "change": "deleted"}]
    counts = receipt["erased"]
    assert {
        key: counts[key] for key in ("attachments", "client", "notes", "proxy_votes", "user_links")
    } == dict.fromkeys(("attachments", "client", "notes", "proxy_votes", "user_links"), 1)
    for rows in (account.clients, account.notes, account.user_links, account.proxy_votes, account.attachments):
        assert not rows.exists()
    assert not TimelineEntry.objects.filter(account_id=account.id, client_id=client.id).exists()
    assert account.contacts.get(id=contact.id).client_id is None
    assert account.deals.get(id=deal.id).client_id is None
    assert account.posts.get(id=task.id).client_id is None
    run_followers()
    entry = account.audit_entries.filter(action="trash.erased").get()
    assert "Oak" not in str(entry.details) + entry.target_label


def test_it_works_on_the_pages(acme):
    page = acme.page(acme.alice)
    live, trashed = make_contact(acme.alice, name="Ann Oak"), make_client(acme.alice, name="Elm Ltd")
    form = button_of(page.get(f"/app/contacts/{live.id}"), "erase")
    receipt = form.submit().follow()
    assert f"Contact {live.id}" in " ".join(texts(receipt, "dd"))
    trashed.trash(by=acme.alice)
    form = button_of(page.get("/app/account/trash"), "erase", id=trashed.id)
    receipt = form.submit().follow()
    assert f"Client {trashed.id}" in " ".join(texts(receipt, "dd"))
    assert not acme.account.clients.exists()
    again = form.submit().follow()
    assert "It is no longer in the trash." in again


def test_it_rejects_agents_other_accounts_and_unknown_values(acme, other):
    client, foreign = make_client(acme.bob), make_client(other.mallory)
    bob, alice = acme.json(), acme.json(acme.alice_token)
    assert bob.delete(f"/app/clients/{client.id}.json?erase=true").status_code == 403
    assert set(bob.delete(f"/app/clients/{client.id}.json?erase=maybe").json()["errors"]) == {"erase"}
    assert alice.delete(f"/app/clients/{foreign.id}.json?erase=true").status_code == 404
    with pytest.raises(PermissionDenied), transaction.atomic():
        erase_row(client, by=acme.bob)
    assert "Erase now" not in acme.page(acme.bob).get(f"/app/clients/{client.id}")
    assert acme.account.clients.live().filter(id=client.id).exists()
    assert other.account.clients.exists()
