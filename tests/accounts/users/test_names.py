"""Confusable names and invisible characters, on every path that accepts names."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from accounts.account.models import Account
from accounts.users.models import User
from accounts.users.names import check_visible, look_alike, skeleton
from core.errors import FieldErrors
from forum.forums.models import Forum
from tests.support.assertions import errors_of
from tests.support.client import XMLClient
from tests.support.factories import PASSWORD, make_user
from tests.support.queries import capture_queries
from tests.support.settings import send
from tests.support.tables import table
from tests.support.threads import at_once
from tests.support.xml import refusal, shown

# Names that look like `boss`.
INVISIBLE = {
    "zero width space": "bo\u200bss",
    "soft hyphen": "bo\u00adss",
    "right-to-left override": "bo\u202ess",
    "left-to-right mark": "b\u200eoss",
    "isolate": "b\u2066os\u2069s",
    "byte order mark": "b\ufeffoss",
    "word joiner": "bo\u2060ss",
    "tag": "boss\U000e0041",
}
LOOKALIKES = {
    "full width": "ｂoss",
    "all full width": "ＢＯＳＳ",
    "Cyrillic": "вoss",
    "Cyrillic o": "bоss",
    "capital Cyrillic": "ВOSS",
    "mathematical": "𝐛oss",
    "Hangul filler": "boss\u3164",
    "variation selector": "bo\ufe0fss",
    "ligature-like long s": "bo\u017fs",
}
API_ERROR = "has an invisible character, or one that changes the direction of the text"
PAGE_ERROR = "Has an invisible character, or one that changes the direction of the text"
NEW_PASSWORD = "grasshopper lighthouse vinegar"


@pytest.fixture
def boss(acme) -> User:
    return make_user(acme.account, "boss", email="boss@acme.example", role="admin")


# The rule


@table("name", LOOKALIKES.values())
def test_it_works(name):
    assert look_alike("boss", name)
    assert look_alike(name, "BOSS")


@table("name", INVISIBLE.values())
def test_it_rejects_invisible_characters(name):
    values = {"login": name, "name": name, "email": f"{name}@acme.example"}
    with pytest.raises(FieldErrors) as error:
        check_visible(**values)
    assert errors_of(error.value) == {field: [API_ERROR] for field in values}
    with pytest.raises(FieldErrors):
        check_visible(email=f"dora@{name}.example")


DIFFERENT = [
    # Scripts create series of such logins.
    *(("user1", "userl"), ("user10", "userl0"), ("rnary", "mary"), ("modem", "modern")),
    # Ordinary letters.
    *(("łukasz", "lukasz"), ("zażółć", "zazolc"), ("ęwa", "ewa"), ("łódź", "lódź"), ("müller", "muller")),
    # The same letters outside ASCII, with a difference in ASCII.
    *(("użytkownik1", "użytkownikl"), ("boss", "босс")),
]
# Names in mixed alphabets.
ALIKE = [
    ("paypal", "pаypаl"),
    ("Mary", "Маrу"),
    ("jan@firma.pl", "jan@fіrma.pl"),
    ("łukasz", "ŁUKАSZ"),
    ("ivan", "ıvan"),
]


def test_which_names_look_alike():
    assert [names for names in ALIKE if not look_alike(*names)] == []
    assert [names for names in DIFFERENT if look_alike(*names)] == []


@table("text", ["", "a", "Zażółć gęślą jaźń", "вoss", "x\u0328\u0301", "🙂", "ﷺ", "가"])
def test_the_skeleton_of_a_skeleton_is_the_same(text):
    assert skeleton(skeleton(text)) == skeleton(text)


# The Forum API


def create(acme, login="dora", email="dora@acme.example"):
    body = f"<user><login>{login}</login><email>{email}</email><password>{NEW_PASSWORD}</password></user>"
    return acme.xml().send_xml("POST", "/app/users.xml", body)


def test_it_rejects_names_by_xml(acme, boss):
    hidden = INVISIBLE["zero width space"]
    assert shown(create(acme, hidden, f"{hidden}@acme.example")) == refusal(
        422, f"Login {API_ERROR}", f"Email {API_ERROR}"
    )
    for name in (LOOKALIKES["full width"], LOOKALIKES["Cyrillic"]):
        assert shown(create(acme, name)) == refusal(422, "Login is already taken")
        response = shown(create(acme, f"{name}@acme.example", f"{name}@acme.example"))
        assert response == refusal(422, "Login is already taken", "Email is already taken")
    assert shown(create(acme, email=f"boss@{'аcme'}.example")) == refusal(422, "Email is already taken")
    assert acme.account.users.count() == 4


@table("name", LOOKALIKES.values())
def test_it_rejects_a_plain_name_that_looks_like_an_existing_one(acme, other, name):
    """The plain name is created second. Another account may have both."""
    make_user(acme.account, name, email="first@acme.example")
    assert shown(create(acme, "boss")) == refusal(422, "Login is already taken")
    make_user(other.account, "boss")


def test_ordinary_names_are_accepted(acme):
    names = ["user1", "userl", "user10", "userl0", "łukasz", "lukasz", "zażółć", "Łukаsz2", "нина"]
    for number, name in enumerate(names):
        assert create(acme, name, f"u{number}@acme.example").status_code == 201
        client = XMLClient(acme.host, auth=(name.upper(), NEW_PASSWORD))
        assert client.get("/app/users/me.xml").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_only_one_of_simultaneous_lookalikes_is_created(acme):
    names = ["boss", "bоss", "ｂoss", "вoss", "𝐛oss", "BOSS"]
    requests = [lambda name=name, n=n: create(acme, name, f"boss{n}@acme.example") for n, name in enumerate(names)]
    statuses = [response.status_code for response in at_once(*requests)]
    assert sorted(statuses) == [201] + [422] * (len(names) - 1)


def test_the_check_for_lookalikes_needs_no_further_statement(acme, boss):
    create(acme, "first", "first@acme.example")
    _response, queries = capture_queries(lambda: create(acme))
    assert len([sql for sql in queries if "login_skeleton" in sql and sql.startswith("SELECT")]) == 2
    # The entries of the user and of the membership in the audit log come last.
    assert len(queries) == 8, queries


# The Account API and the command


def create_account(acme, **changes: str):
    acme.account.partner_key = "key"
    acme.account.save()
    account = {"prefix": changes.pop("prefix", "newone"), "name": changes.pop("name", "")}
    user = {"login": "ann", "email": "ann@new.example", "password": NEW_PASSWORD, **changes}
    return acme.json(acme.alice_token).post("/app/account.json", json={"account": account, "user": user})


@table("field", ["login", "email", "prefix", "name"])
def test_it_rejects_invisible_characters_in_new_accounts(acme, field):
    name = INVISIBLE["soft hyphen"]
    response = create_account(acme, **{field: f"{name}@new.example" if field == "email" else name})
    assert response.status_code == 422
    [(wrong_field, [rule])] = response.json()["errors"].items()
    assert wrong_field == f"{'account' if field in ('prefix', 'name') else 'user'}.{field}"
    assert rule == (API_ERROR if field != "prefix" else rule)
    assert Account.objects.count() == 1


@table("name", LOOKALIKES.values())
def test_it_rejects_prefixes_with_other_letters(acme, name):
    assert create_account(acme, prefix=name).status_code == 422


def test_it_rejects_invisible_characters_by_the_command(db):
    name = INVISIBLE["isolate"]
    for prefix, changes, error in (
        ("new-one", {"login": name}, API_ERROR),
        ("new-one", {"email": f"{name}@new.example"}, API_ERROR),
        (name, {}, "Prefix must be"),
    ):
        values = {"login": "ann", "email": "ann@new.example", "password": NEW_PASSWORD, **changes}
        with pytest.raises(CommandError, match=error):
            call_command("create_account", prefix, **values, stdout=io.StringIO())
    assert not Account.objects.exists()


# Pages


def submit_login(acme, path: str, login: str):
    form = acme.page().get(path).forms["join"]
    form["name"], form["login"], form["password"] = "Eve", login, NEW_PASSWORD
    return form.submit(status=422)


def invitation_path(acme) -> str:
    _row, secret = acme.account.invitations.invite(acme.account, email="eve@new.example", role="agent", by=acme.alice)
    return f"/app/invitation?secret={secret}"


# A name with an invisible character and one in another alphabet, with the error on pages.
REFUSED = [(INVISIBLE["tag"], PAGE_ERROR), (LOOKALIKES["Cyrillic o"], "Is already taken")]


@table(("name", "error"), REFUSED)
def test_it_rejects_logins_of_new_users(acme, boss, name, error):
    assert error in submit_login(acme, invitation_path(acme), name)
    assert acme.account.users.count() == 4


def test_it_rejects_logins_in_the_profile(acme, boss):
    page = acme.page(acme.carol)
    for name, error in REFUSED:
        assert error in send(page, "/app/profile", status=422, part="about", name="Carol", login=name)
    # Users may change the case of their own login.
    send(page, "/app/profile", part="about", name="Carol", login="CAROL")


# Addresses that the forms accept as e-mails and that look like boss@acme.example: with a zero width space and in Cyrillic.
@table("name", ["boss@ac\u200bme.example", "boss@аcme.example"])
def test_it_rejects_confusable_emails_in_forms(acme, boss, name):
    invisible = "\u200b" in name
    error = PAGE_ERROR if invisible else "Is of somebody who is a user here already"
    page = acme.page(acme.alice)
    assert error in send(page, "/app/account/users", status=422, do="invite", email=name, role="agent")
    assert not acme.account.invitations.exists()
    if invisible:
        assert error in send(acme.page(), "/app/sign-in/code", status=422, email=name)
        values = {"part": "email", "email": name, "current": PASSWORD}
        assert error in send(page, "/app/profile/security", status=422, **values)


def forum_values(acme, name: str, **values: str) -> dict[str, str]:
    return {"do": "save", "name": name, "host": f"host-{acme.account.forums.count()}", "access": "public", **values}


@table(("name", "error"), REFUSED)
def test_it_rejects_confusable_names_of_forums(acme, name, error):
    page, path = acme.page(acme.alice), "/app/account/forums/new"
    send(page, path, **forum_values(acme, "boss"))
    send(page, path, **forum_values(acme, "other"))
    assert error in send(page, path, status=422, **forum_values(acme, name, host="more"))
    other = Forum.objects.get(name="other")
    assert error in send(page, f"/app/account/forums/{other.id}", status=422, **forum_values(acme, name, host="host-2"))
    assert sorted(acme.account.forums.values_list("name", flat=True)) == ["Acme", "boss", "other"]


def test_an_older_forum_may_keep_a_taken_name(acme, other):
    """Older forums may share a name. Other changes still succeed, and so does another case of the name."""
    page = acme.page(acme.alice)
    send(page, "/app/account/forums/new", **forum_values(acme, "other"))
    row = Forum.objects.get(account=acme.account, name="other")
    Forum.objects.filter(pk=row.pk).update(name="ACME")
    path = f"/app/account/forums/{row.id}"
    send(page, path, **forum_values(acme, "ACME", host="host-1", description="More"))
    send(page, path, status=422, **forum_values(acme, "acme", host="host-1"))
    send(page, path, **forum_values(acme, "Ideas", host="host-1"))
    send(page, path, **forum_values(acme, "IDEAS", host="host-1"))


@table(("login", "name"), [("ann", "ann"), ("ann@example.com", "ann"), ("@ann", "@ann"), ("ann smith", "ann smith")])
def test_the_default_name_is_not_an_email(acme, login, name):
    """Everyone sees the name of a user, and only the team the login and the e-mail."""
    assert make_user(acme.account, login, email="ann@example.com").name == name


@table(
    ("name", "is_refused"),
    [
        ("Buy at https://spam.example", True),
        ("www.spam.example", True),
        ("casino-best.COM !!!", True),
        ("Win now spam.shop/a", True),
        ("Ann Smith", False),
        ("ann.smith@example.com", False),
        ("J.R. Smith, St.Pauli", False),
        ("komentarz.org.pl", True),
        ("ann.computer", False),
    ],
)
def test_a_name_holds_no_website(acme, name, is_refused):
    member = make_user(acme.account, "dave")
    for act in (
        lambda: member.change_profile(login="dave", name=name),
        lambda: User.objects.create_for(
            acme.account, login=f"x{len(name)}", email="x@e.example", password=None, name=name
        ),
    ):
        if is_refused:
            with pytest.raises(FieldErrors, match="address of a website"):
                act()
        else:
            act()


@table("email", ["\u212aims@example.com", "kim\u017f@example.com"])
def test_an_email_may_not_fold_to_another_mailbox(acme, email):
    """The KELVIN SIGN and the long s fold to `k` and `s`. Otherwise their owner would be taken for the owner of kims@example.com."""
    acts = {
        "sign-up": lambda: User.objects.sign_up(acme.account, login="new", email=email, password=None, name="New"),
        "change": lambda: acme.carol.change_email(email),
        "invitation": lambda: acme.account.invitations.invite(
            acme.account, email=email, role=User.Role.AGENT, by=acme.alice
        ),
    }
    for act in acts.values():
        with pytest.raises(FieldErrors, match="stands for an ASCII letter"), transaction.atomic():
            act()
    response = acme.xml().send_xml(
        "POST",
        "/app/users.xml",
        f"<user><login>new</login><email>{email}</email><password>{PASSWORD}</password></user>",
    )
    assert response.status_code == 422
    User.objects.sign_up(acme.account, login="new", email="żółw@example.com", password=None, name="New")
