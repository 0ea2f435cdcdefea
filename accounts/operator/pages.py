"""The console of the operators: accounts and their use, plans, failed jobs, and the health of each part.

Operators are the owners of the account OPERATOR_ACCOUNT who have signed in with a second factor. For everybody else the pages do not exist.
They see numbers and settings, never the rows of a tenant. Each look at an account and each act is in the audit log of that account.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.postgres.functions import TransactionNow
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.audit.origin import Interface, Origin, called_from
from accounts.confirmation.pages import ConfirmedPage
from accounts.factors.models import SecondFactor
from accounts.hosts.models import Host
from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id
from accounts.plans.models import Plan, give_plan
from accounts.users.models import User
from core.files.models import space_of
from core.health.checks import run_health_checks
from core.jobs.counts import count_jobs, heartbeat_ages
from core.jobs.queue import Job
from core.pages.base import redirect
from core.pages.navigation import render_panels
from core.registry import registry
from core.rows.trimmed import fold_email

PAGE_SIZE = 50
# Rows of an account are counted up to this number.
MAX_COUNT = 10_000
MAX_JOBS = 100


def is_operator(request: UserRequest) -> bool:
    """Return whether the user may use the console."""
    is_of_operator = bool(settings.OPERATOR_ACCOUNT) and request.account.prefix == settings.OPERATOR_ACCOUNT
    return is_of_operator and request.user is not None and request.user.is_owner and request.session.is_verified


class OperatorPage(SettingsPage):
    section = "operator"
    access = "user"

    def check_access(self) -> HttpResponse | None:
        if self.request.account is None or not is_operator(self.request):
            raise Http404
        return super().check_access()

    def allows(self, user: Any) -> bool:
        return True

    def render(self, template: str | None = None, *, http_status: int = 200, **context: object) -> HttpResponse:
        return super().render(template, http_status=http_status, section=self.section, **context)


class ConfirmedOperatorPage(OperatorPage, ConfirmedPage):
    """A page with acts: the operator has confirmed that it is they."""


def find_accounts(q: str) -> QuerySet[Account]:
    """Return the accounts whose prefix begins with the text, that have this host, or of which this e-mail is one of the owners."""
    accounts = Account.objects.select_related("plan").order_by("prefix")
    if not q:
        return accounts
    found = Q(prefix__startswith=q.lower()) | Q(id__in=Host.objects.filter(name=q.lower()).values("account_id"))
    if "@" in q:
        owners = User.objects.filter(role=User.Role.OWNER, email_key=fold_email(q))
        found |= Q(id__in=owners.values("account_id"))
    return accounts.filter(found)


def rows_by_label(account: Account) -> list[tuple[str, QuerySet[Any]]]:
    """Return the users and the resources of an account, each with its name."""
    rows = [(str(resource.plural_label), resource.rows_of(account)) for resource in registry]
    return [(_("Users"), account.users.all()), *rows]


class OperatorAccounts(OperatorPage):
    template_name = "accounts/operator/accounts.html"
    part = "accounts"

    def get(self, request: UserRequest) -> HttpResponse:
        q, page = request.GET.get("q", "").strip()[:255], self.read_page()
        rows = list(find_accounts(q)[page.start : page.start + PAGE_SIZE + 1])
        return self.render(q=q, accounts=rows[:PAGE_SIZE], page=page, more=len(rows) > PAGE_SIZE)


class PlanChoiceForm(Form):
    plan = forms.ModelChoiceField(
        label=gettext_lazy("Plan"),
        queryset=Plan.objects.order_by("name"),
        required=False,
        empty_label=gettext_lazy("None: the limits of the installation"),
    )


class SuspensionForm(Form):
    id_format = "suspend-%s"
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=Account.MAX_SUSPENDED_REASON,
        required=False,
        help_text=gettext_lazy("The owners read it."),
    )


class OperatorAccount(ConfirmedOperatorPage):
    """One account: its use, and the acts of operators."""

    template_name = "accounts/operator/account.html"
    part = "accounts"
    actions = {"suspend": "suspend", "restore": "restore", "plan": "change_plan", "reset": "reset_factor"}

    def find(self, prefix: str) -> Account:
        return get_object_or_404(Account.objects.select_related("plan"), prefix=prefix)

    def get(self, request: UserRequest, prefix: str) -> HttpResponse:
        account = self.find(prefix)
        self.act(account, lambda: record(account.id, "account.viewed", target=account))
        return self.show(account)

    def act(self, account: Account, action: Callable[[], object], *, success_message: str = "") -> bool:
        """Carry out an act as the operator, so that the audit log of the account does not name a user of another account."""
        with called_from(Origin(Interface.CONSOLE)):
            return self.perform(action, success_message=success_message)

    def show(self, account: Account, form: Form | None = None) -> HttpResponse:
        owners = account.users.filter(role=User.Role.OWNER).order_by("id")
        return self.render(
            account=account,
            owners=owners[:PAGE_SIZE],
            hosts=account.hosts.order_by("id")[:PAGE_SIZE],
            counts=[(label, rows[: MAX_COUNT + 1].count()) for label, rows in rows_by_label(account)],
            most=MAX_COUNT,
            space=space_of(account),
            panels=render_panels("operator", self.request, account),
            plan_form=PlanChoiceForm(initial={"plan": account.plan_id}),
            suspension_form=form or SuspensionForm(),
        )

    def suspend(self, request: UserRequest, prefix: str) -> HttpResponse:
        account, form = self.find(prefix), SuspensionForm(request.POST)
        if not form.is_valid():
            return self.show(account, form)
        suspend = partial(account.suspend, form.cleaned_data["reason"])
        self.act(account, suspend, success_message=_("The account is suspended."))
        return redirect("accounts-operator-account", prefix)

    def restore(self, request: UserRequest, prefix: str) -> HttpResponse:
        account = self.find(prefix)
        self.act(account, account.restore, success_message=_("The account is open."))
        return redirect("accounts-operator-account", prefix)

    def change_plan(self, request: UserRequest, prefix: str) -> HttpResponse:
        account, form = self.find(prefix), PlanChoiceForm(request.POST)
        if form.is_valid():
            give = partial(give_plan, account, form.cleaned_data["plan"])
            self.act(account, give, success_message=_("The plan is changed."))
        return redirect("accounts-operator-account", prefix)

    def reset_factor(self, request: UserRequest, prefix: str) -> HttpResponse:
        account = self.find(prefix)
        owner = get_object_or_404(account.users.filter(role=User.Role.OWNER), id=parse_id(request.POST.get("id")) or 0)
        owner.account = account
        message = _("The second factor of %(login)s is removed.") % {"login": owner.login}
        self.act(account, lambda: SecondFactor.objects.reset(owner, by=None), success_message=message)
        return redirect("accounts-operator-account", prefix)


class PlanForm(Form):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=255)
    rate_limit = forms.IntegerField(
        label=gettext_lazy("Requests per minute"),
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text=gettext_lazy("Of each token or user. Leave it empty for the limit of the installation."),
    )
    files_quota = forms.IntegerField(
        label=gettext_lazy("Bytes of files"), required=False, min_value=0, max_value=10**15
    )
    team_limit = forms.IntegerField(
        label=gettext_lazy("Users of the team"), required=False, min_value=1, max_value=100_000
    )

    def __init__(self, data: QueryDict | None = None, *, plan: Plan) -> None:
        super().__init__(data, initial={name: getattr(plan, name) for name in self.base_fields})


class OperatorPlans(ConfirmedOperatorPage):
    template_name = "accounts/operator/plans.html"
    part = "plans"
    actions = {"save": "save", "delete": "delete"}

    def find(self, id: int | None) -> Plan:
        return get_object_or_404(Plan, id=id) if id else Plan()

    def get(self, request: UserRequest) -> HttpResponse:
        plan = self.find(parse_id(request.GET.get("plan")))
        return self.show(plan, PlanForm(plan=plan))

    def show(self, plan: Plan, form: Form) -> HttpResponse:
        return self.render(plan=plan, form=form, plans=Plan.objects.order_by("name"))

    def save(self, request: UserRequest) -> HttpResponse:
        plan = self.find(parse_id(request.POST.get("plan")))
        form = PlanForm(request.POST, plan=plan)
        if not form.is_valid() or not self.submit_form(form, lambda: plan.write(**form.cleaned_data)):
            return self.show(plan, form)
        return redirect("accounts-operator-plans")

    def delete(self, request: UserRequest) -> HttpResponse:
        plan = self.find(parse_id(request.POST.get("plan")))
        self.perform(plan.remove, success_message=_("The plan is deleted."))
        return redirect("accounts-operator-plans")


class OperatorJobs(ConfirmedOperatorPage):
    """The queues, and the failed jobs, which can be tried again or deleted. Their arguments are never shown."""

    template_name = "accounts/operator/jobs.html"
    part = "jobs"
    actions = {"retry": "retry", "delete": "delete"}

    def get(self, request: UserRequest) -> HttpResponse:
        failed = list(Job.objects.filter(state=Job.State.FAILED).defer("arguments").order_by("-id")[:MAX_JOBS])
        prefixes = dict(Account.objects.filter(id__in={job.account_id for job in failed}).values_list("id", "prefix"))
        rows = [(job, prefixes.get(job.account_id, "")) for job in failed]
        return self.render(counts=count_jobs(), workers=len(heartbeat_ages()), failed=rows)

    def find(self) -> QuerySet[Job]:
        return Job.objects.filter(id=parse_id(self.request.POST.get("id")) or 0, state=Job.State.FAILED)

    def change(self, act: str, write: Callable[[QuerySet[Job]], object]) -> HttpResponse:
        """Change a failed job. The audit log of its account names the job."""
        rows = self.find()
        if (job := rows.only("name", "account_id").first()) is not None:
            with called_from(Origin(Interface.CONSOLE)), transaction.atomic():
                write(rows)
                if Account.objects.filter(id=job.account_id).exists():
                    record(job.account_id, f"account.{act}", job=job.name)
        return redirect("accounts-operator-jobs")

    def retry(self, request: UserRequest) -> HttpResponse:
        values = {"state": Job.State.WAITING, "attempts": 0, "scheduled_at": TransactionNow()}
        return self.change("job_retried", lambda rows: rows.update(**values))

    def delete(self, request: UserRequest) -> HttpResponse:
        return self.change("job_deleted", lambda rows: rows.delete())


class OperatorHealth(OperatorPage):
    template_name = "accounts/operator/health.html"
    part = "health"

    def get(self, request: UserRequest) -> HttpResponse:
        return self.render(results=run_health_checks())
