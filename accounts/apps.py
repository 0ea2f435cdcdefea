from django.utils.translation import gettext_lazy as _

from core import rooms


class AccountsConfig(rooms.Room):
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
        super().ready()
        from accounts.hosts import domains  # noqa: F401
        from accounts.layout.navigation import register_entries
        from accounts.mail import sending as mail  # noqa: F401
        from accounts.resources import RESOURCES
        from core.registry import newest_id, registry

        registry.register(*RESOURCES)
        registry.register_sample("users", "team_user", lambda request: newest_id(request.account.users.team()))
        register_entries()
