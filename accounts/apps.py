from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "accounts"
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
        "responsible": _("responsible"),
        "role": _("role"),
        "rot_days": _("days"),
        "status": _("status"),
        "tags": _("tags"),
        "tokens": _("tokens"),
        "user": _("user"),
        "won_reasons": _("reasons for winning"),
    }

    def ready(self) -> None:
        from accounts import domains, mail  # noqa: F401
        from accounts.pages.navigation import register_entries
        from accounts.resources import RESOURCES
        from core.registry import newest_id, registry

        registry.register(*RESOURCES)
        registry.register_sample("users", "team_user", lambda request: newest_id(request.account.users.team()))
        register_entries()
