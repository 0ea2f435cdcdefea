"""The audit log: what is recorded, of whom, and who reads it."""

import csv
import io
from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts.account.models import Account
from accounts.audit.actions import ACTIONS, action_label
from accounts.audit.models import AuditEntry, record
from accounts.audit.origin import Interface, Origin, called_from
from accounts.sessions import throttling
from core.db.transactions import in_transaction
from core.errors import FieldError
from core.http.spreadsheets import guard, unguard
from forum.content_reports.models import ContentReport
from tests.support.assertions import assert_answered, on_the_wire
from tests.support.factories import PASSWORD, make_client, make_comment, make_post, make_user
from tests.support.jobs import run_housekeeping
from tests.support.pages import Visitor
from tests.support.tables import table

PATH, PAGE = "/app/audit.json", "/app/account/audit"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def newest(acme, number: int = 1) -> list[AuditEntry]:
    return list(acme.account.audit_entries.order_by("-id")[:number])


def actions(acme) -> list[str]:
    """Return the actions since the creation of the cast, oldest first."""
    return list(acme.account.audit_entries.order_by("id").values_list("action", flat=True))[acme.entries :]


@pytest.fixture
def acme(acme):
    acme.entries = acme.account.audit_entries.count()
    return acme


def execute(sql: str, *parameters: object) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.rowcount


def make_old(acme, days: int) -> AuditEntry:
    """Record an entry, and date it back without the triggers."""
    record(acme.account.id, "data.recounted")
    [entry] = newest(acme)
    execute("SET LOCAL session_replication_role = replica")
    execute("UPDATE accounts_auditentry SET at = %s WHERE id = %s", timezone.now() - timedelta(days=days), entry.id)
    execute("SET LOCAL session_replication_role = origin")
    return entry


def test_it_works(acme, django_assert_num_queries):
    owner = acme.json(acme.alice_token)
    group = {"group": {"name": "Sales"}}
    row_id = owner.post("/app/groups.json", json=group, headers={"User-Agent": FIREFOX}).json()["id"]
    owner.put(f"/app/groups/{row_id}.json", json={"group": {"name": "Field sales"}})
    changed, created = newest(acme, 2)
    actor = {"kind": "token", "id": acme.alice.id, "name": "alice", "token": "First token"}
    expected = {
        "id": created.id,
        "at": on_the_wire(created.at),
        "action": "group.created",
        "actor": actor,
        "target": {"kind": "group", "id": row_id, "label": "Sales"},
        "details": {"changes": {"name": {"after": "Sales", "before": None}}},
        "address": "127.0.0.1",
        "agent": FIREFOX,
        "interface": "json",
    }
    # The token, and the entries.
    with django_assert_num_queries(2):
        response = owner.get(PATH, params={"limit": 1, "cursor": changed.id})
    assert_answered(response, 200, {"entries": [expected], "cursor": created.id})
    [entry] = owner.get(PATH, params={"limit": 1}).json()["entries"]
    assert (entry["action"], entry["details"]) == (
        "group.changed",
        {"changes": {"name": {"before": "Sales", "after": "Field sales"}}},
    )


@table(
    ("parameters", "number"),
    [
        ({"actor_id": "alice"}, 1),
        ({"actor_id": "bob"}, 0),
        ({"group": "group"}, 1),
        ({"group": "token"}, 0),
        ({"target": "SAL"}, 1),
        ({"target": "100%"}, 0),
        ({"since": "2020-01-01"}, 1),
        ({"until": "2020-01-01"}, 0),
    ],
)
def test_filters(acme, parameters, number):
    acme.json(acme.alice_token).post("/app/groups.json", json={"group": {"name": "Sales"}})
    values = {name: getattr(acme, value).id if name == "actor_id" else value for name, value in parameters.items()}
    entries = acme.json(acme.alice_token).get(PATH, params=values).json()["entries"]
    assert [entry["action"] for entry in entries if entry["action"] == "group.created"] == ["group.created"] * number


@table(
    ("parameters", "errors"),
    [
        ({"limit": 0}, {"limit": ["must be greater than or equal to 1"]}),
        ({"cursor": "a"}, {"cursor": ["is not a number"]}),
        ({"since": "yesterday"}, {"since": ["is not a time"]}),
    ],
)
def test_it_rejects_invalid_parameters(acme, parameters, errors):
    response = acme.json(acme.alice_token).get(PATH, params=parameters)
    assert response.status_code == 422
    assert set(response.json()["errors"]) == set(errors)


def test_it_rejects_everyone_but_owners(acme, other):
    admin = make_user(acme.account, "admin", role="admin")
    for user in (admin, acme.bob, acme.carol):
        for path in (PAGE, "/app/audit.csv"):
            assert acme.page(user).get(path, expect_errors=True).status_code == 403
    assert "Audit log" not in acme.page(admin).get("/app/account").html.find("nav").get_text()
    acme.account.user_groups.create(name="Field sales")
    assert "Field sales" not in other.json().get(PATH).text


# The rules of the database


@table(
    "sql",
    [
        "UPDATE accounts_auditentry SET actor_name = 'x'",
        "UPDATE accounts_auditentry SET at = at - interval '401 days'",
        "DELETE FROM accounts_auditentry",
        "TRUNCATE accounts_auditentry",
    ],
)
def test_the_database_refuses_to_change_entries(acme, sql):
    make_old(acme, 399)
    with pytest.raises(IntegrityError, match="cannot be changed"), transaction.atomic():
        execute(sql)


def test_nobody_dates_an_entry_back(acme):
    values = dict.fromkeys(("action", "action_group", "actor_kind", "actor_name", "target_kind"), "")
    values |= dict.fromkeys(("target_label", "address", "agent", "interface"), "")
    acme.account.audit_entries.create(**values, details={}, id=1, at=timezone.now() - timedelta(days=500))
    [stored] = newest(acme)
    assert stored.at > timezone.now() - timedelta(minutes=1)
    assert stored.id == int(stored.at.timestamp() * 1_000_000)


def test_old_entries_are_erased(acme):
    old, kept = make_old(acme, 401), make_old(acme, 399)
    run_housekeeping()
    ids = set(acme.account.audit_entries.values_list("id", flat=True))
    assert old.id not in ids
    assert kept.id in ids
    assert not execute("DELETE FROM accounts_auditentry WHERE at < now() - interval '400 days'")


def test_an_account_is_deleted_with_its_entries(db):
    account = Account.objects.create(prefix="gone")
    assert account.audit_entries.count() == 1
    execute("DELETE FROM account_ids.counter WHERE account_id = %s", account.id)
    execute("DELETE FROM accounts_account WHERE id = %s", account.id)
    assert AuditEntry.objects.count() == 0


# What is recorded


def test_an_entry_is_rolled_back_with_its_act(acme):
    with pytest.raises(PermissionDenied), transaction.atomic():
        acme.bob.change_role("owner", by=acme.carol)

    def act() -> None:
        acme.bob.change_role("admin", by=acme.alice)
        raise FieldError("role", "is wrong")

    with pytest.raises(FieldError):
        in_transaction(act)
    assert actions(acme) == []


def test_users(acme):
    acme.bob.change_role("admin", by=acme.alice)
    acme.bob.deactivate(by=acme.alice)
    acme.bob.reactivate(by=acme.alice)
    acme.carol.block(by=acme.alice)
    acme.carol.unblock(by=acme.alice)
    acme.bob.change_email("bob2@acme.example")
    acme.bob.change_password("another long pass phrase")
    invitation, _secret = acme.account.invitations.invite(
        acme.account, email="new@b.example", role="agent", by=acme.alice
    )
    invitation.revoke()
    token = acme.bob.tokens.get()
    acme.bob.revoke_token(token.id, by=acme.alice)
    acme.bob.revoke_token(token.id, by=acme.alice)
    assert actions(acme) == [
        *("user.role_changed", "user.deactivated", "user.reactivated", "user.blocked", "user.unblocked"),
        *("user.email_changed", "user.password_reset", "invitation.sent", "invitation.revoked", "token.revoked"),
    ]
    entries = {entry.action: entry for entry in acme.account.audit_entries.all()}
    assert entries["user.role_changed"].details == {"before": "agent", "after": "admin"}
    assert (entries["user.blocked"].actor_name, entries["user.blocked"].target_label) == ("alice", "Carol Member")
    assert entries["token.revoked"].details == {"user": acme.bob.id}


def test_sign_ins(acme):
    visitor = Visitor(acme.host, HTTP_USER_AGENT=FIREFOX, REMOTE_ADDR="203.0.113.7")
    form = visitor.get("/app/sign-in?password=1").forms["sign-in"]
    for login, password in (("bob", "wrong"), ("nobody", "hunter2"), ("bob", PASSWORD)):
        form["login"], form["password"] = login, password
        form.submit(expect_errors=True)
    forms = visitor.get("/app/profile").forms
    next(form for form in forms.values() if form.action == "/app/sign-out").submit()
    wrong, unknown = reversed(newest(acme, 4)[2:])
    assert [(entry.action, entry.actor_kind, entry.actor_name, entry.target_label) for entry in newest(acme, 4)] == [
        ("sign_in.signed_out", "user", "Bob Nowak", ""),
        ("sign_in.succeeded", "user", "Bob Nowak", ""),
        ("sign_in.failed", "visitor", "", ""),
        ("sign_in.failed", "visitor", "", "Bob Nowak"),
    ]
    assert wrong.details == {"way": "password", "reason": "wrong_password", "name_hash": None}
    assert (unknown.details["reason"], len(unknown.details["name_hash"])) == ("unknown_name", 16)
    assert {(entry.address, entry.agent, entry.interface) for entry in newest(acme, 4)} == {
        ("203.0.113.7", FIREFOX, "page")
    }
    assert "hunter2" not in str(list(acme.account.audit_entries.values()))


def test_failed_sign_ins_cannot_fill_the_log(acme, settings, monkeypatch):
    settings.FAILED_LOGIN_LIMIT = 100
    monkeypatch.setattr(throttling, "MAX_RECORDED_REFUSALS", 2)
    for _ in range(4):
        assert acme.xml(acme.bob).get("/app/users/me.xml").status_code == 200
        assert Visitor(acme.host).get("/app/password/new?user=1&token=a", expect_errors=True)
    assert actions(acme) == ["sign_in.failed", "sign_in.failed"]


def test_moderation(acme):
    acme.account.forums.update(approval=True)
    post = make_post(acme.carol)
    post.approve(by=acme.bob)
    post.refresh_from_db()
    comment = make_comment(post, acme.carol, "Buy now")
    post.reject_comment(comment)
    ContentReport.objects.file(post, by=make_user(acme.account), reason="spam")
    ContentReport.objects.dismiss(post)
    make_post(acme.carol).reject(by=acme.bob)
    assert [action for action in actions(acme) if not action.startswith("user.")] == [
        *("post.approved", "comment.rejected", "report.dismissed", "post.rejected"),
    ]
    assert "Buy now" not in str(list(acme.account.audit_entries.values()))


def test_settings_keep_secrets(acme):
    json = acme.json(acme.alice_token)
    webhook = json.post("/app/webhooks.json", json={"webhook": {"url": "https://hooks.example.com/secret"}}).json()
    json.put(f"/app/webhooks/{webhook['id']}.json", json={"webhook": {"url": "https://hooks.example.com/secret2"}})
    json.post(f"/app/webhooks/{webhook['id']}/secret.json")
    assert actions(acme) == ["webhook.created", "webhook.changed", "webhook.secret_rotated"]
    text = str(list(acme.account.audit_entries.values()))
    assert "hooks.example.com" in text
    assert "/secret" not in text
    assert webhook["secret"] not in text


@table(
    ("origin", "kind"),
    [
        (None, "system"),
        (Origin(Interface.JOB), "system"),
        (Origin(Interface.COMMAND), "operator"),
        (Origin(Interface.PAGE), "visitor"),
    ],
)
def test_acts_without_a_user(acme, origin, kind):
    if origin is None:
        record(acme.account.id, "data.recounted")
    else:
        with called_from(origin):
            record(acme.account.id, "data.recounted")
    [entry] = newest(acme)
    assert (entry.actor_kind, entry.actor_id, entry.actor_name) == (kind, None, "")


def test_a_user_of_another_account_is_not_named(acme, other):
    record(acme.account.id, "data.recounted", by=other.mallory)
    [entry] = newest(acme)
    assert (entry.actor_kind, entry.actor_id, entry.actor_name) == ("system", None, "")


def test_it_rejects_an_unknown_action(acme):
    with pytest.raises(LookupError, match="not registered"):
        record(acme.account.id, "user.renamed")
    assert all(": " in action_label(action) for action in ACTIONS)


def test_erasures_are_recorded(acme):
    for _ in range(2):
        make_client(acme.bob).trash(by=acme.bob)
    acme.account.clients.update(trashed_at=timezone.now() - timedelta(days=8))
    run_housekeeping()
    assert acme.account.clients.count() == 2
    acme.account.change(trash_days=7)
    run_housekeeping()
    assert acme.account.clients.count() == 0
    erased, changed = newest(acme, 2)
    assert changed.details == {"changes": {"trash_days": {"before": 30, "after": 7}}}
    assert (erased.action, erased.details) == ("trash.erased", {"resource": "client", "rows": 2})


# The page and the file


def test_the_page(acme, django_assert_num_queries):
    page = acme.page(acme.alice)
    for number in range(60):
        record(acme.account.id, "export.started", by=acme.bob, rows=number)
    page.get(PAGE)
    # The session, the forum, the team of the filter, the entries, and the numbers in the menu.
    with django_assert_num_queries(5):
        response = page.get(PAGE)
    assert len(response.html.select("#main details:not(.aside)")) == 50
    acme.account.change(trash_days=90, won_reasons=["Price", "Speed"], confirms_user_links=True)
    texts = [element.get_text(" ", strip=True) for element in page.get(PAGE).html.find(id="main")("dd", class_="break")]
    assert texts[:3] == ["30 → 90", "Price, Features, Recommendation → Price, Speed", "No → Yes"]
    response = response.click("Older")
    assert len(response.html.select("#main details:not(.aside)")) >= 10
    form = response.forms["filters"]
    form["actor"], form["group"] = str(acme.alice.id), "export"
    response = form.submit()
    assert "Nothing is recorded that fits." in response.text
    form["since"] = "yesterday"
    for values in ({"since": "yesterday"}, {"until": "9999-12-31"}, {"group": "nothing"}, {"actor": "0"}):
        assert page.get(PAGE, values, expect_errors=True).status_code == 422
        assert page.get("/app/audit.csv", values, expect_errors=True).status_code == 404


def test_the_file(acme):
    record(acme.account.id, "export.started", by=acme.bob, note="=1+1")
    make_user(acme.account, name="=HYPERLINK(1)")
    response = acme.page(acme.alice).get("/app/audit.csv")
    rows = list(csv.DictReader(io.StringIO(response.text.removeprefix("\ufeff"))))
    assert rows[0]["action"] == "export.started"
    assert rows[1]["target_label"] == "'=HYPERLINK(1)"
    assert len(rows) == acme.account.audit_entries.count()
    assert newest(acme)[0].details == {"resource": "audit"}


@table("text", ["=1", "'=1", "''=1", " +1", "-", "@a", "\ta", "plain", "'plain", ""])
def test_guarded_texts(text):
    assert unguard(guard(text)) == text
    assert not guard(text).startswith(("=", "+", "-", "@", "\t"))
