from django.utils.translation import gettext_lazy as _

from core import rooms


class Accounts(rooms.Room):
    name = "accounts"
    subjects = (
        "audit",
        "hosts",
        "roles",
        "layout",
        "tags",
        "account",
        "mail",
        "users",
        "mentions",
        "attachments",
        "sessions",
        "sign_in",
        "confirmation",
        "closing",
        "tokens",
        "statuses",
        "account_creation",
        "access",
        "erasure",
        "profile",
        "examples",
        "reference",
        "trash",
        "audit_log",
    )
    field_labels = {
        "accent": _("accent"),
        "code": _("code"),
        "color": _("color"),
        "email": _("email"),
        "group": _("group"),
        "host": _("host"),
        "kind": _("kind"),
        "login": _("login"),
        "logo": _("logo"),
        "lost_reasons": _("reasons for losing"),
        "on_roadmap": _("on the roadmap"),
        "outcome": _("outcome"),
        "pipeline": _("pipeline"),
        "pipeline_id": _("pipeline"),
        "probability": _("probability"),
        "resource": _("resource"),
        "responsible": _("responsible"),
        "role": _("role"),
        "rot_days": _("days"),
        "status": _("status"),
        "tags": _("tags"),
        "tokens": _("tokens"),
        "user": _("user"),
        "won_reasons": _("reasons for winning"),
    }
