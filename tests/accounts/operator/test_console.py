"""The console of operators."""

from dataclasses import replace

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.account.models import Account
from accounts.hosts.addresses import host_cache
from accounts.plans import models as plans
from accounts.plans.models import Plan, give_plan
from accounts.sessions.models import Session
from core.errors import FieldError
from core.health import checks
from core.jobs.queue import Job
from tests.support.factories import make_user
from tests.support.jobs import run_jobs
from tests.support.pages import Visitor
from tests.support.tables import table
from webhooks.models import Endpoint

PATHS = [
    "/app/operator",
    "/app/operator/accounts/acme",
    "/app/operator/plans",
    "/app/operator/jobs",
    "/app/operator/health",
]


def page_of(user, host: str, *, is_verified: bool = True) -> Visitor:
    visitor = Visitor(host)
    _row, secret = Session.objects.start(user, is_verified=is_verified)
    visitor.set_cookie("session", secret)
    return visitor


@pytest.fixture
def mallory(acme, other, settings, monkeypatch) -> Visitor:
    """Return a browser of the owner of the operator's account."""
    settings.OPERATOR_ACCOUNT = "other"
    for name, each in list(checks._checks.items()):
        monkeypatch.setitem(checks._checks, name, replace(each, check=lambda: [("ok", "replaced")]))
    return page_of(other.mallory, other.host)


def test_it_works(acme, mallory):
    page = mallory.get("/app/operator", {"q": "alice@acme.example"})
    page = page.click("acme")
    assert "alice@acme.example" in page.text
    form = page.forms["suspend"]
    form["reason"] = "Spam from a new member"
    form.submit("do", value="suspend").follow()
    host_cache.clear()
    # The owner's audit log tells of the look and of the act, and of no user of the operator.
    alice = acme.page(acme.alice)
    assert "Spam from a new member" in alice.get("/app/account/closing").text
    mallory.get("/app/operator/accounts/acme").forms["restore"].submit("do", value="restore")
    host_cache.clear()
    log = alice.get("/app/account/audit").text
    for text in ("An operator of the service", "suspended", "viewed", "opened again"):
        assert text in log
    assert "mallory" not in log
    entries = acme.account.audit_entries.filter(interface="console")
    assert [entry.action for entry in entries.order_by("id")] == [
        *("account.viewed", "account.suspended", "account.viewed"),
        *("account.viewed", "account.restored"),
    ]
    assert {entry.address for entry in entries} == {""}


@table("path", PATHS)
def test_it_exists_for_nobody_else(acme, other, settings, path):
    mallory = page_of(other.mallory, other.host)
    assert mallory.get(path, expect_errors=True).status_code == 404, "without the setting"
    settings.OPERATOR_ACCOUNT = "other"
    without = page_of(other.mallory, other.host, is_verified=False)
    assert without.get(path, expect_errors=True).status_code == 404, "without a second factor"
    admin = make_user(other.account, "adam", role="admin")
    for visitor in (
        page_of(admin, other.host),
        page_of(acme.alice, acme.host),
        Visitor(other.host),
        Visitor(acme.host),
    ):
        assert visitor.get(path, expect_errors=True).status_code == 404
    # The operator uses it only at the operator's own account.
    settings.OPERATOR_ACCOUNT = "acme"
    assert mallory.get(path, expect_errors=True).status_code == 404


def test_acts_need_a_fresh_confirmation(acme, mallory):
    Session.objects.update(confirmed_at=timezone.now() - Session.CONFIRMED_FOR)
    assert mallory.get("/app/operator/accounts/acme").location.startswith("/app/profile/confirm?")
    assert mallory.get("/app/operator").status_code == 200


def test_plans_give_limits(acme, mallory, settings, monkeypatch):
    settings.RATE_LIMIT = 600
    form = mallory.get("/app/operator/plans").forms["plan"]
    form["name"], form["rate_limit"], form["team_limit"], form["files_quota"] = "Small", "2", "2", "1000000"
    form.submit("do", value="save")
    plan = Plan.objects.get()
    form = mallory.get("/app/operator/accounts/acme").forms["plan"]
    form["plan"] = str(plan.id)
    form.submit("do", value="plan")
    assert acme.json().get("/app/clients.json").headers["RateLimit-Limit"] == "2"
    acme.account.refresh_from_db()
    assert (acme.account.files_quota, acme.account.team_limit) == (1_000_000, 2)
    assert acme.account.audit_entries.latest("id").details == {"before": None, "after": "Small"}
    # A change of the plan reaches its accounts.
    plan.write(name="Small", rate_limit=3, files_quota=None, team_limit=None)
    acme.account.refresh_from_db()
    assert (acme.account.rate_limit, acme.account.files_quota, acme.account.team_limit) == (3, None, None)
    assert run_jobs() == 1
    entry = acme.account.audit_entries.latest("id")
    assert (entry.action, entry.actor_kind) == ("account.limits_changed", "operator")
    assert entry.details["before"] == {"rate_limit": 2, "files_quota": 1_000_000, "team_limit": 2}
    assert entry.details["after"] == {"rate_limit": 3, "files_quota": None, "team_limit": None}
    # The job goes on after the last account that it has recorded.
    plans.record_limits(plan_id=plan.id, before={}, after={}, last_id=acme.account.id)
    assert acme.account.audit_entries.latest("id") == entry
    has_time_left = iter([False, True])
    monkeypatch.setattr(plans, "has_time_left", lambda: next(has_time_left))
    plans.record_limits(plan_id=plan.id, before={}, after={"rate_limit": 9})
    assert acme.account.audit_entries.latest("id") == entry
    assert run_jobs() == 1
    assert acme.account.audit_entries.latest("id").details["after"] == {"rate_limit": 9}
    # A new name changes no limit.
    plan.write(name="Little", **plan.limits)
    assert run_jobs() == 0
    # A plan in use stays.
    mallory.get("/app/operator/plans").forms[0].submit("do", value="delete")
    assert Plan.objects.count() == 1
    give_plan(acme.account, None)
    plan.remove()


def test_it_rejects_a_team_that_is_too_large(acme):
    acme.account.team_limit = 2
    acme.account.save()
    carol = acme.carol
    carol.account = acme.account
    for call in (
        lambda: carol.change_role("agent", by=acme.alice),
        lambda: make_user(acme.account, "dan", role="admin"),
    ):
        with pytest.raises(FieldError, match="has 2 users in the team"), transaction.atomic():
            call()
    make_user(acme.account, "eve", role="member")
    # Another role within the team needs no further place.
    acme.bob.account = acme.account
    acme.bob.change_role("admin", by=acme.alice)


def test_it_rejects_plans_with_the_same_name(mallory):
    Plan.objects.create(name="Small")
    form = mallory.get("/app/operator/plans").forms["plan"]
    form["name"] = "Small"
    assert "Is already taken" in form.submit("do", value="save", status=422).text


def test_failed_jobs_are_tried_again_or_deleted(acme, mallory):
    now = timezone.now()
    values = {"queue": "default", "state": "failed", "scheduled_at": now, "error": "KeyError"}
    values["name"] = "webhooks.owners.tell_owners"
    first, second = (Job.objects.create(account_id=id, **values) for id in (0, acme.account.id))
    page = mallory.get("/app/operator/jobs")
    assert "KeyError" in page.text
    forms = {form["id"].value: form for form in page.forms.values() if "id" in form.fields}
    forms[str(first.id)].submit("do", value="retry")
    forms[str(second.id)].submit("do", value="delete")
    assert list(Job.objects.values_list("id", "state")) == [(first.id, "waiting")]
    entry = acme.account.audit_entries.latest("id")
    assert (entry.action, entry.actor_kind, entry.actor_name) == ("account.job_deleted", "operator", "")
    assert entry.details == {"job": "webhooks.owners.tell_owners"}
    # Its account is deleted.
    third = Job.objects.create(account_id=10**9, **values)
    forms[str(second.id)]["id"] = str(third.id)
    forms[str(second.id)].submit("do", value="retry")
    third.refresh_from_db()
    assert third.state == "waiting"


def test_it_shows_failing_webhooks_without_their_secrets(acme, mallory):
    endpoint, _secret = Endpoint.objects.add(acme.account, url="https://hooks.example.com/secret-path")
    Endpoint.objects.filter(pk=endpoint.pk).update(failing_since=timezone.now())
    text = mallory.get("/app/operator/accounts/acme").text
    assert "hooks.example.com" in text
    assert "secret-path" not in text


def test_the_health_of_each_part_is_shown(mallory):
    assert "replaced" in mallory.get("/app/operator/health").text


def test_lists_take_the_same_statements_for_any_number_of_accounts(acme, mallory, django_assert_num_queries):
    mallory.get("/app/operator")
    Account.objects.bulk_create(Account(prefix=f"more-{number}") for number in range(60))
    # The session, the site, the numbers in the menus, and the accounts with their plans.
    with django_assert_num_queries(4):
        page = mallory.get("/app/operator")
    assert page.text.count("/app/operator/accounts/") == 50
    assert "Next" in page.text
