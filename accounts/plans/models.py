"""Plans: named sets of limits, which operators give to accounts.

The limits of a plan are copied to the account, so that a request reads them with the account and needs no further statement. Null stands for
the setting of the installation, or for no limit.
"""

from typing import Any

from django.db import models, transaction
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.origin import Interface, Origin, called_from
from core.errors import Conflict, FieldError
from core.jobs.registry import MAX_TIME_SLICE, has_time_left, job

LIMITS = ("rate_limit", "files_quota", "team_limit")


class Plan(models.Model):
    """A named set of limits."""

    name = models.CharField(max_length=255)
    # Requests per minute of each token or user, bytes of stored files, and users of the team.
    rate_limit = models.IntegerField(null=True, blank=True)
    files_quota = models.BigIntegerField(null=True, blank=True)
    team_limit = models.IntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name"], name="plan_name_unique"),
            models.CheckConstraint(
                condition=models.Q(rate_limit__gt=0) | models.Q(rate_limit=None), name="plan_rate_limit_positive"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def limits(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in LIMITS}

    @transaction.atomic
    def write(self, **values: Any) -> None:
        """Save the plan, and give its limits to the accounts that have it. Raise FieldError for a name that is taken."""
        if Plan.objects.filter(name=values["name"]).exclude(pk=self.pk).exists():
            raise FieldError("name", _("is already taken"), "taken")
        before = self.limits
        for name, value in values.items():
            setattr(self, name, value)
        self.save()
        if self.limits != before and Account.objects.filter(plan_id=self.pk).update(**self.limits):
            record_limits.defer(plan_id=self.pk, before=before, after=self.limits)

    @transaction.atomic
    def remove(self) -> None:
        """Delete the plan. Raise Conflict if accounts have it."""
        if Account.objects.filter(plan_id=self.pk).exists():
            raise Conflict(_("Accounts have this plan: give them another one first"))
        self.delete()


@job(time_slice=MAX_TIME_SLICE)
def record_limits(
    *, plan_id: int, before: dict[str, int | None], after: dict[str, int | None], last_id: int = 0
) -> None:
    """Record the new limits of a plan in the audit logs of the accounts that have it, which can be many, after the one with `last_id`."""
    with called_from(Origin(Interface.CONSOLE)):
        for account in Account.objects.filter(plan_id=plan_id, id__gt=last_id).order_by("id").only("id", "prefix"):
            if not has_time_left():
                record_limits.defer(plan_id=plan_id, before=before, after=after, last_id=last_id)
                return
            account.record("limits_changed", before=before, after=after)
            last_id = account.id


@transaction.atomic(savepoint=False)
def give_plan(account: Account, plan: Plan | None) -> None:
    """Give an account a plan and its limits, or for None the limits of the installation."""
    limits: dict[str, Any] = plan.limits if plan else dict.fromkeys(LIMITS)
    former = account.plan.name if account.plan else None
    account.plan = plan
    for name, value in limits.items():
        setattr(account, name, value)
    Account.objects.filter(pk=account.pk).update(plan=plan, **limits)
    account.record("plan_changed", before=former, after=plan and plan.name)
