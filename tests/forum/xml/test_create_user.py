from accounts.users.models import User
from tests.support.client import XMLClient
from tests.support.factories import PASSWORD, make_user
from tests.support.tables import table
from tests.support.xml import CONTENT_TYPE, client_of, refusal, shown, stamp

CREATED = """<?xml version="1.0" encoding="UTF-8"?>
<user>
  <created-at type="datetime">{created}</created-at>
  <description></description>
  <email>dora@acme.example</email>
  <login>dora</login>
  <name>dora</name>
  <notification>own</notification>
  <updated-at type="datetime">{updated}</updated-at>
  <www nil="true"/>
</user>
"""

DORA = "<login>dora</login><email>dora@acme.example</email><password>a very good secret</password>"


def create(client: XMLClient, fields: str):
    return client.send_xml("POST", "/app/users.xml", f"<user>{fields}</user>")


def test_it_works(acme, django_assert_num_queries):
    client = acme.xml(acme.bob)
    client.get("/app/users/me.xml")
    # The requesting user with the account; whether login and e-mail are free; the user; a savepoint and its release. The entries of the
    # user and of the membership in the audit log.
    with django_assert_num_queries(10):
        response = create(client, DORA)
    user = acme.account.users.get(login="dora")
    expected = CREATED.format(created=stamp(user.created_at), updated=stamp(user.updated_at))
    assert shown(response) == (201, CONTENT_TYPE, expected)
    assert user.role == "member"
    assert user.password.startswith("argon2$argon2id$")
    # The new user gets the same document.
    own_response = XMLClient(acme.host, auth=("dora", "a very good secret")).get("/app/users/me.xml")
    assert shown(own_response) == (200, CONTENT_TYPE, expected)


def test_it_rejects_members_with_any_body(acme):
    for body in ("", "<user/>", f"<user>{DORA}</user>"):
        response = acme.xml(acme.carol).send_xml("POST", "/app/users.xml", body)
        assert shown(response) == refusal(403, "You may not create users")
    assert acme.account.users.count() == 3
    assert shown(acme.xml().send_xml("POST", "/app/users.xml", "<user/>")) == refusal(422, "User can't be blank")


# tests/accounts/users/test_user_permissions.py covers all combinations of roles.
def test_it_rejects_roles_that_the_user_may_not_give(acme):
    for creator_role, role, sentence in (
        ("agent", "agent", "An agent may create members only"),
        ("admin", "owner", "Only an owner can appoint or change owners."),
    ):
        response = create(client_of(acme, creator_role), f"{DORA}<role>{role}</role>")
        assert shown(response) == refusal(403, sentence)
    assert not acme.account.users.filter(login="dora").exists()


LOGIN_FORM = "Login can't have a colon, nor a space at either end"
NO_EMAIL = "Email is not an e-mail address"
SIMILAR = "Password is too similar to the login, the e-mail or the name"


def user_xml(login="dora", email="dora@acme.example", password="a very good secret", extra="") -> str:
    return f"<login>{login}</login><email>{email}</email><password>{password}</password>{extra}"


@table(
    ("fields", "sentences"),
    [
        ("<x/>", ["Login can't be blank", "Email can't be blank", "Password can't be blank"]),
        (user_xml("", "", ""), ["Login can't be blank", "Email can't be blank", "Password can't be blank"]),
        (user_xml(" "), ["Login can't be blank"]),
        (user_xml("a:b"), [LOGIN_FORM]),
        (user_xml(" dora"), [LOGIN_FORM]),
        (user_xml("dora "), [LOGIN_FORM]),
        (user_xml("x" * 256), ["Login is too long (maximum is 255 characters)"]),
        (user_xml("alice"), ["Login is already taken"]),
        (user_xml("ALICE"), ["Login is already taken"]),
        (user_xml("<x/>"), ["Login must be a single value"]),
        (user_xml(email="dora"), [NO_EMAIL]),
        (user_xml(email="dora@"), [NO_EMAIL]),
        (user_xml(email="@acme.example"), [NO_EMAIL]),
        (user_xml(email="do ra@acme.example"), [NO_EMAIL]),
        (user_xml(email="dora@acme..example"), [NO_EMAIL]),
        (user_xml(email="a@b@c"), [NO_EMAIL]),
        (user_xml(email="x" * 255 + "@acme.example"), ["Email is too long (maximum is 255 characters)"]),
        (user_xml(email="alice@acme.example"), ["Email is already taken"]),
        (user_xml(email="Alice@ACME.example"), ["Email is already taken"]),
        # Users can sign in with either, so a login must not equal the e-mail of another user.
        (user_xml("Alice@ACME.example"), ["Login is already taken"]),
        (user_xml("alice@acme.example", "alice@acme.example"), ["Login is already taken", "Email is already taken"]),
        (user_xml(password="f4&amp;g"), ["Password is too short (minimum is 8 characters)"]),
        (user_xml(password="password1"), ["Password is too common"]),
        (user_xml(password="8135813581"), ["Password can't be entirely numeric"]),
        (
            user_xml(password="123456"),
            [
                "Password is too short (minimum is 8 characters)",
                "Password is too common",
                "Password can't be entirely numeric",
            ],
        ),
        (user_xml("dorothea.k", password="dorothea.k"), [SIMILAR]),
        (user_xml(email="dorothea@acme.example", password="dorothea@acme"), [SIMILAR]),
        (user_xml(password="Dora Kowalska", extra="<name>Dora Kowalska</name>"), [SIMILAR]),
        (user_xml(password="x" * 256), ["Password is too long (maximum is 255 characters)"]),
        (user_xml(extra=f"<name>{'x' * 256}</name>"), ["Name is too long (maximum is 255 characters)"]),
        (user_xml(extra="<role>root</role>"), ["Role is not one of owner, admin, agent, member"]),
        (user_xml(extra="<role><x/></role>"), ["Role must be a single value"]),
        (
            user_xml("alice", "dora", "short", extra="<role>root</role>"),
            [
                "Login is already taken",
                NO_EMAIL,
                "Password is too short (minimum is 8 characters)",
                "Role is not one of owner, admin, agent, member",
            ],
        ),
    ],
)
def test_it_rejects_invalid_fields(acme, fields, sentences):
    response = create(acme.xml(), fields)
    assert shown(response) == refusal(422, *sentences)
    assert acme.account.users.count() == 3


def test_it_rejects_an_email_that_is_a_login(acme):
    make_user(acme.account, "dora@acme.example", email="other@acme.example")
    response = create(acme.xml(), user_xml(email="Dora@acme.example"))
    assert shown(response) == refusal(422, "Email is already taken")


def test_it_rejects_text_that_xml_cannot_carry(acme):
    for field in ("login", "email", "password", "name"):
        values = {"login": "dora", "email": "dora@acme.example", "password": "a very good secret", "name": "Dora"}
        values[field] += "\x07"
        response = create(acme.xml(), "".join(f"<{name}>{value}</{name}>" for name, value in values.items()))
        sentence = "has a character that can't be used (a control character or half of a surrogate pair)"
        assert shown(response) == refusal(422, f"{field.capitalize()} {sentence}")
    assert acme.account.users.count() == 3


def test_logins_and_emails_are_unique_within_an_account(acme, other):
    make_user(other.account, "dora", email="dora@acme.example")
    assert create(acme.xml(), DORA).status_code == 201


def test_read_only_and_unknown_fields_are_ignored(acme):
    fields = (
        "<id>1</id><is-active>false</is-active><notification>all</notification><account-id>1</account-id><x><y/></x>"
    )
    assert create(acme.xml(), f'{fields}{DORA}<role nil="true"/><name>Dora &lt;3</name>').status_code == 201
    created = acme.account.users.get(login="dora")
    assert (created.role, created.is_active, created.account_id) == ("member", True, acme.account.id)
    assert (created.name, created.notification) == ("Dora <3", "own")


def test_no_response_and_no_log_record_contains_the_password(acme, caplog):
    secret = "hunter2-and-more"
    responses = [
        create(acme.xml(), user_xml(password=secret)),
        create(acme.xml(), user_xml(password=secret)),
        acme.xml().send_xml("POST", "/app/users.xml", f"<user><password>{secret}</password"),
        acme.xml(acme.carol).send_xml("POST", "/app/users.xml", f"<user>{user_xml(password=secret)}</user>"),
    ]
    assert [response.status_code for response in responses] == [201, 422, 400, 403]
    assert not any(secret in response.text or secret in str(response.headers) for response in responses)
    assert secret not in caplog.text
    assert PASSWORD not in caplog.text
    assert not User.objects.filter(password__contains=secret).exists()
