"""The erasure of a user at once."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction

from accounts.erasure.erasing import MAX_REPORTED, Receipt, erase_user, read_receipt
from accounts.erasure.pages import MAX_RECEIPT_LENGTH
from accounts.erasure.personal_data import personal_data_of
from accounts.mail.sending import send as send_mail
from accounts.sessions.cookies import CODE_COOKIE
from accounts.sign_in.models import CodeExpired, SignInCode
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.errors import FieldError
from core.jobs.queue import Job
from tests.support.codes import code_in_letter, request_code, wrong
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
from tests.support.letters import letter
from tests.support.settings import button_of, texts
from tests.support.tables import table
from tests.support.writing import sender


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
    send_mail(carol.email, "accounts/mail/sign_up.txt", account_id=account.id, language="en", sender="Acme")
    send_mail(alice.email, "accounts/mail/sign_up.txt", account_id=account.id, language="en", sender="Acme")
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
        "reported_count": 0,
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


def test_the_other_mentions_of_a_text_stay_marked(acme):
    post = make_post(acme.bob, "Dark mode")
    comment = post.comment(by=acme.bob, text="@carol and @alice, not `@alice`\n\n> @alice")
    assert "<b>@carol</b>" in comment.comment_html
    erase(acme.carol, acme.alice)
    comment = acme.account.comments.get(id=comment.id)
    assert comment.comment_html.splitlines() == [
        "<p>deleted user and <b>@alice</b>, not <code>@alice</code></p>",
        "<blockquote>",
        "<p>@alice</p>",
        "</blockquote>",
    ]


def test_a_receipt_names_the_first_rows_only(acme, other):
    receipt = Receipt(acme.account.id, "user", acme.carol.id, acme.alice.id)
    for number in range(3 * MAX_REPORTED):
        # Ids of all lengths, which no compression makes short.
        receipt.report("post", (number + 1) ** 5 * 7919 % 10**12)
    for data in personal_data_of(acme.carol):
        receipt.erased[data.key] = 99_999
    assert (len(receipt.reported), receipt.as_dict()["reported_count"]) == (MAX_REPORTED, 3 * MAX_REPORTED)
    # Proxies often accept at most 8 KB for the first line of a request.
    assert len(receipt.signed()) < MAX_RECEIPT_LENGTH
    assert read_receipt(acme.account, receipt.signed())["reported_count"] == 3 * MAX_REPORTED
    assert read_receipt(other.account, receipt.signed()) is None


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


def without_password(acme) -> None:
    acme.carol.set_unusable_password()
    acme.carol.change(password=acme.carol.password)


def test_a_user_without_a_password_confirms_with_a_code(acme):
    without_password(acme)
    page = acme.page(acme.carol)
    forms = page.get("/app/profile/security").forms
    assert "erasure" not in forms
    security = forms["code-request"].submit().follow()
    letter(acme.carol.email, about="is your code for Acme")
    code = code_in_letter()
    form = security.forms["erasure"]
    assert "current" not in form.fields
    form["code"] = wrong(code)
    refused = form.submit(status=422)
    assert "Is not the code from the newest e-mail" in refused
    form = refused.forms["erasure"]
    form["code"] = code
    receipt = form.submit().follow()
    assert f"user {acme.carol.id}" in " ".join(texts(receipt, "dd"))
    assert acme.account.users.get(id=acme.carol.id).erased_at is not None
    assert not SignInCode.objects.exists()


def test_it_rejects_a_code_for_another_purpose(acme):
    without_password(acme)
    page, path, account_id = acme.page(), "/app/profile/security", acme.account.id
    # A code to sign in erases nobody.
    request_code(page, acme.carol.email)
    page.start_session(acme.carol)
    assert "erasure" not in page.get(path).forms
    refused = sender(page)(path, {"part": "erasure", "code": code_in_letter()}, status=422)
    assert "Is not the code from the newest e-mail" in refused
    # The code for the erasure signs nobody in.
    page.get(path).forms["code-request"].submit()
    with pytest.raises(CodeExpired), transaction.atomic():
        SignInCode.objects.use(account_id, page.cookies[CODE_COOKIE].strip('"'), code_in_letter())
    assert acme.account.users.get(id=acme.carol.id).erased_at is None


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
