"""The first steps in a new account: a list on Home for admins. Each step finds out by itself whether it is done."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db.models import Exists, F, Q
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.brand.models import Branding
from accounts.statuses.models import Status
from accounts.users.models import User
from accounts.users.preferences import set_preference

# Home lists the steps in an account that is not older.
SHOWN_FOR = timedelta(days=90)
# The key of the preference with the names of the steps that a user has dismissed.
PREFERENCE = "first_steps"


@dataclass(frozen=True)
class FirstStep:
    name: str
    label: str | Promise
    route: str
    icon: str
    is_done: bool = False


STEPS = (
    FirstStep("look", _("Set the name and the logo"), "accounts-account", "palette"),
    FirstStep("categories", _("Add the first categories"), "forum-settings-categories", "folder"),
    FirstStep("invite", _("Invite somebody of your team"), "accounts-users", "users"),
    FirstStep("clients", _("Import your clients, or add the first one"), "team-imports", "upload"),
    FirstStep("pipeline", _("Adapt the stages of your deals"), "accounts-deals", "handshake"),
    FirstStep("shop", _("Connect your shop or another program"), "accounts-tokens", "plug"),
    FirstStep("share", _("Share the link of the forum"), "accounts-welcome", "link"),
)


def first_steps(account: Account, user: User) -> list[FirstStep]:
    """Return the steps that an admin of a new account has not dismissed, in one statement. Return none if all are done."""
    dismissed = user.preferences.get(PREFERENCE, [])
    shown = [step for step in STEPS if step.name not in dismissed]
    if not shown or not user.is_admin or account.created_at < timezone.now() - SHOWN_FOR:
        return []
    conditions = done_conditions(account, user)
    found = Account.objects.filter(id=account.id).annotate(
        **{f"has_{step.name}": conditions[step.name] for step in shown}
    )
    values = found.values(*[f"has_{step.name}" for step in shown]).get()
    steps = [replace(step, is_done=values[f"has_{step.name}"]) for step in shown]
    return [] if all(step.is_done for step in steps) else steps


def done_conditions(account: Account, user: User) -> dict[str, Any]:
    """Return the condition that each step is done. The rows that an account has from the beginning do not count."""
    is_new = Q(created_at__gt=account.created_at + timedelta(minutes=1))
    is_changed = is_new | Q(updated_at__gt=F("created_at") + timedelta(minutes=1))
    examples = [int(id) for id in account.examples.get("client", {})]
    team = account.users.team().exclude(id=user.id)
    return {
        "look": Exists(Branding.objects.filter(account_id=account.id, logo_key__isnull=False)),
        "categories": Exists(account.categories.filter(is_changed)),
        "invite": Exists(account.invitations.all()) | Exists(team),
        "clients": Exists(account.clients.live().exclude(id__in=examples)),
        "pipeline": Exists(account.statuses.filter(is_changed, kind=Status.Kind.DEAL)),
        "shop": Exists(account.tokens.filter(last_used_at__isnull=False)),
        "share": Exists(account.users.filter(role=User.Role.MEMBER)),
    }


def dismiss(user: User, name: str) -> None:
    """Hide a step from the user, or with "all" each of them."""
    names = [step.name for step in STEPS if name in (step.name, "all")]
    set_preference(user, PREFERENCE, sorted({*user.preferences.get(PREFERENCE, []), *names}))
