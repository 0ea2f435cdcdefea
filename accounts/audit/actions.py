"""The actions that the audit log records. An action is the key of a group and that of an act, such as `user.role_changed`.

The acts are all in one table here. The module `registration` of each subject registers its group with the acts of it.
"""

from django.utils.functional import Promise
from django.utils.translation import pgettext_lazy

ACTS: dict[str, Promise] = {
    "accepted": pgettext_lazy("act", "accepted: the text is deleted"),
    "addresses_changed": pgettext_lazy("act", "list of addresses changed"),
    "app_added": pgettext_lazy("act", "authenticator app added"),
    "approved": pgettext_lazy("act", "approved"),
    "blocked": pgettext_lazy("act", "blocked"),
    "cancelled": pgettext_lazy("act", "cancelled"),
    "changed": pgettext_lazy("act", "changed"),
    "created": pgettext_lazy("act", "created"),
    "deactivated": pgettext_lazy("act", "deactivated"),
    "deleted": pgettext_lazy("act", "deleted"),
    "deletion_asked": pgettext_lazy("act", "deletion asked for"),
    "disabled": pgettext_lazy("act", "turned off"),
    "dismissed": pgettext_lazy("act", "dismissed"),
    "email_changed": pgettext_lazy("act", "e-mail changed"),
    "erased": pgettext_lazy("act", "erased for good"),
    "factor_removed": pgettext_lazy("act", "second factor removed"),
    "factors_reset": pgettext_lazy("act", "second factor reset"),
    "failed": pgettext_lazy("act", "failed"),
    "group_changed": pgettext_lazy("act", "group changed"),
    "helpful": pgettext_lazy("act", "marked as helpful"),
    "job_deleted": pgettext_lazy("act", "failed job deleted"),
    "job_retried": pgettext_lazy("act", "failed job tried again"),
    "kept": pgettext_lazy("act", "deletion cancelled"),
    "lapsed": pgettext_lazy("act", "proof lost"),
    "limits_changed": pgettext_lazy("act", "limits of the plan changed"),
    "links_proposed": pgettext_lazy("act", "links of users proposed"),
    "login_changed": pgettext_lazy("act", "login changed"),
    "members_added": pgettext_lazy("act", "members added"),
    "members_removed": pgettext_lazy("act", "members removed"),
    "merged": pgettext_lazy("act", "merged"),
    "moved": pgettext_lazy("act", "moved"),
    "not_helpful": pgettext_lazy("act", "mark “helpful” removed"),
    "not_pinned": pgettext_lazy("act", "unpinned"),
    "passkey_added": pgettext_lazy("act", "passkey added"),
    "password_changed": pgettext_lazy("act", "password changed"),
    "password_reset": pgettext_lazy("act", "password reset by a link"),
    "pinned": pgettext_lazy("act", "pinned"),
    "plan_changed": pgettext_lazy("act", "plan changed"),
    "proven": pgettext_lazy("act", "proven"),
    "reactivated": pgettext_lazy("act", "reactivated"),
    "recounted": pgettext_lazy("act", "stored values repaired"),
    "recovery_codes_made": pgettext_lazy("act", "recovery codes made"),
    "rejected": pgettext_lazy("act", "rejected"),
    "restored": pgettext_lazy("act", "opened again"),
    "revoked": pgettext_lazy("act", "revoked"),
    "role_changed": pgettext_lazy("act", "role changed"),
    "secret_rotated": pgettext_lazy("act", "secret replaced"),
    "sent": pgettext_lazy("act", "sent"),
    "sessions_ended": pgettext_lazy("act", "sessions ended"),
    "signed_out": pgettext_lazy("act", "signed out"),
    "started": pgettext_lazy("act", "started"),
    "succeeded": pgettext_lazy("act", "succeeded"),
    "suspended": pgettext_lazy("act", "suspended"),
    "unblocked": pgettext_lazy("act", "unblocked"),
    "undone": pgettext_lazy("act", "undone"),
    "viewed": pgettext_lazy("act", "viewed"),
}
CRUD = ("created", "changed", "deleted")

GROUPS: dict[str, str | Promise] = {}
ACTIONS: set[str] = set()


def register(group: str, label: str | Promise, *acts: str) -> None:
    """Register a group of actions. `label` is the name of what they concern, such as "Token"."""
    if unknown := set(acts) - ACTS.keys():
        raise LookupError(f"ACTS has no label for {', '.join(sorted(unknown))}")
    GROUPS[group] = label
    ACTIONS.update(f"{group}.{act}" for act in acts)


def action_label(action: str) -> str:
    """Return the name of an action for people. An entry of an earlier version may have one that is no longer registered."""
    group, _dot, act = action.partition(".")
    return f"{GROUPS.get(group, group)}: {ACTS.get(act, act)}"
