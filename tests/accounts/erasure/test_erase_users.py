"""The erasure of a user at once."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction

from accounts.erasure.erasing import erase_user, read_receipt
from accounts.mail.sending import send
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.errors import FieldError
from core.jobs.queue import Job
from tests.support.factories import (
    PASSWORD,
    make_client,
    make_comment,
    make_note,
    make_post,
    make_token,
    make_user,
    make_user_link,
)
from tests.support.settings import button_of, texts
from tests.support.tables import table


def erase(user: User, by: User, **options):
    return in_transaction(lambda: erase_user(user, by=by, **options))


def test_it_works(acme):
    account, alice, carol = acme.account, acme.alice, acme.carol
    make_token(carol)
    post = make_post(carol, "Dark mode", content="At night.")
    other = make_post(acme.bob, "Hey @carol", content="See @Carol, and @caroline, and @carol's idea")
    note = make_note(acme.bob, "Ask @carol")
    make_comment(other, carol, "I agree")
    make_user_link(alice, carol, client_id=make_client(alice).id)
    account.follows.choose(other, by=carol, follows=True)
    send(carol.email, "accounts/mail/sign_up.txt", account_id=account.id, language="en", sender="Acme")
    send(alice.email, "accounts/mail/sign_up.txt", account_id=account.id, language="en", sender="Acme")
    carol.change(description="A person", www="https://carol.example", language="pl")

    receipt = erase(carol, alice)

    carol = account.users.get(id=carol.id)
    assert (carol.name, carol.is_active, carol.description, carol.www, carol.language) == (
        "Deleted user",
        False,
        "",
        None,
        None,
    )
    assert carol.login.startswith(f"deleted-{carol.id}-")
    assert carol.email == f"{carol.login}@deleted.invalid"
    assert not carol.has_usable_password()
    assert carol.erased_at is not None
    assert receipt.as_dict() == {
        "account_id": account.id,
        "resource": "user",
        "id": carol.id,
        "erased_at": receipt.at,
        "erased_by_id": alice.id,
        "erased": {"follows": 1, "mentions": 3, "queued_emails": 1, "tokens": 1, "user_links": 1},
        "kept": {"comments": 1, "posts": 1},
        "reported": [],
        "audit_log_days": 400,
    }
    assert read_receipt(account, receipt.signed()) == receipt.as_dict()
    assert read_receipt(account, receipt.signed() + "x") is None
    other.refresh_from_db()
    assert (other.title, other.content) == (
        "Hey deleted user",
        "See deleted user, and @caroline, and deleted user's idea",
    )
    assert "deleted user" in other.content_html
    assert account.notes.get(id=note.id).excerpt == "Ask deleted user"
    assert account.posts.get(id=post.id).user_id == carol.id
    assert Job.objects.filter(account_id=account.id, name="accounts.mail.sending.send_email").count() == 1
    entry = account.audit_entries.order_by("-id").first()
    assert (entry.action, entry.target_label, entry.details["receipt"]["id"]) == (
        "user.erased",
        "Deleted user",
        carol.id,
    )
    # The names are free again.
    make_user(account, "carol", email="carol@acme.example")


def test_it_deletes_their_texts_if_asked(acme):
    account, carol = acme.account, acme.carol
    alone, answered = make_post(carol, "Alone"), make_post(carol, "Answered")
    make_comment(answered, acme.bob, "Thanks")
    make_comment(answered, carol, "You are welcome")
    receipt = erase(carol, acme.alice, deletes_texts=True)
    assert receipt.as_dict()["erased"] == {"comments": 1, "posts": 1}
    assert receipt.reported == [{"resource": "post", "id": alone.id, "change": "deleted"}]
    assert list(account.posts.values_list("title", flat=True)) == ["Answered"]
    assert list(account.comments.values_list("comment", flat=True)) == ["Thanks"]
    assert account.posts.get().comments_cache == 1


def test_it_rejects_the_only_owner(acme):
    with pytest.raises(FieldError) as caught:
        erase(acme.alice, acme.alice)
    assert caught.value.code == "only_owner"
    other = make_user(acme.account, "olga", role="owner")
    assert erase(acme.alice, other).kept is not None
    with pytest.raises(FieldError):
        erase(other, other)


def test_it_works_by_json_and_on_the_pages(acme):
    account, alice = acme.account, acme.alice
    answer = acme.json(acme.alice_token).delete(f"/app/users/{acme.carol.id}.json", params={"texts": "true"})
    assert answer.status_code == 200
    assert (answer.json()["resource"], answer.json()["id"]) == ("user", acme.carol.id)
    assert acme.json(acme.alice_token).delete(f"/app/users/{acme.carol.id}.json").status_code == 404
    assert set(acme.json(acme.alice_token).delete(f"/app/users/{alice.id}.json").json()["errors"]) == {"user"}
    assert set(acme.json(acme.alice_token).delete(f"/app/users/{acme.bob.id}.json?texts=maybe").json()["errors"]) == {
        "texts"
    }

    page = acme.page(alice)
    form = button_of(page.get(f"/app/account/users/{acme.bob.id}"), "erase")
    receipt = form.submit().follow()
    assert f"User {acme.bob.id}" in " ".join(texts(receipt, "dd"))
    file = page.get(receipt.html.select_one("a.button[href*=json]")["href"])
    assert (file.json["id"], file.json["erased_by_id"]) == (acme.bob.id, alice.id)
    assert account.users.get(id=acme.bob.id).erased_at is not None
    page.get(f"/app/account/users/{acme.bob.id}", status=404)
    assert "Deleted user" not in page.get("/app/account/users")
    page.get("/app/erasure?receipt=x", status=404)


def test_a_user_erases_themselves(acme):
    page = acme.page(acme.carol)
    form = page.get("/app/profile/security").forms["erasure"]
    form["current"] = "a wrong password"
    refused = form.submit(status=422)
    assert "Is wrong" in refused
    form = refused.forms["erasure"]
    form["current"] = PASSWORD
    receipt = form.submit().follow()
    assert f"user {acme.carol.id}" in " ".join(texts(receipt, "dd"))
    assert acme.account.users.get(id=acme.carol.id).erased_at is not None
    assert page.get("/app/profile").status_code == 303


def test_it_rejects_the_only_owner_on_the_page(acme):
    form = acme.page(acme.alice).get("/app/profile/security").forms["erasure"]
    form["current"] = PASSWORD
    assert "only owner" in form.submit(status=422)


ROLES = ("owner", "admin", "agent", "member")
MAY_ERASE = {"owner": {*ROLES}, "admin": {"admin", "agent", "member"}, "agent": set(), "member": set()}


@table(
    ("actor", "target", "allowed"),
    [(actor, target, target in MAY_ERASE[actor]) for actor in ROLES for target in ROLES],
)
def test_it_rejects_roles_that_may_not_manage_the_user(acme, actor, target, allowed):
    by = make_user(acme.account, f"by-{actor}-{target}", role=actor)
    user = make_user(acme.account, f"of-{actor}-{target}", role=target)
    try:
        erase(user, by)
    except PermissionDenied:
        assert not allowed
        assert user.login == acme.account.users.get(id=user.id).login
    else:
        assert allowed


def test_it_rejects_acts_on_an_erased_user(acme):
    erase(acme.carol, acme.alice)
    with pytest.raises(FieldError) as caught:
        erase(acme.carol, acme.alice)
    assert caught.value.code == "erased"
    with pytest.raises(PermissionDenied), transaction.atomic():
        acme.carol.reactivate(by=acme.alice)
    assert acme.carol.id not in acme.account.users.members().values_list("id", flat=True)
