from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.hosts.requests import PageRequest, UserRequest, is_owner
from accounts.second_factor.passkeys import serves_passkeys
from accounts.users.models import User
from core.pages.navigation import MenuEntry, register, register_panel

register("profile", MenuEntry("factors", _("Second factor"), "accounts-second-factors", "key-round", order=22))
register(
    "settings",
    MenuEntry("sign-in-rules", _("Sign-in"), "accounts-sign-in-rules", "key-round", order=34, is_shown=is_owner),
)


def render_passkey_button(request: PageRequest, target: str) -> SafeString | str:
    if not serves_passkeys(request):
        return ""
    values = {"action": reverse("accounts-passkey"), "next": target, "has_script": True}
    html = render_to_string("accounts/second_factor/passkey_form.html", values, request=request)
    return mark_safe(html)  # noqa: S308  # the template has escaped its values


def render_reset_link(request: UserRequest, user: User) -> SafeString | str:
    if user.second_factor_at is None or user.id == request.user.id or not request.user.may_manage(user):
        return ""
    path, text = reverse("accounts-reset-second-factor", args=[user.id]), gettext("Reset the second factor")
    return format_html('<p class="small"><a href="{}">{}</a></p>', path, text)


register_panel("sign-in", render_passkey_button)
register_panel("user", render_reset_link)
