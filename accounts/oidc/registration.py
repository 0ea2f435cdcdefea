from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from accounts.audit import actions
from accounts.hosts.requests import PageRequest, is_owner
from accounts.oidc.models import OIDCProvider
from core.pages.navigation import MenuEntry, register, register_panel

actions.register("oidc", _("Single sign-on"), *actions.CRUD)
register(
    "settings",
    MenuEntry("oidc", _("Single sign-on"), "accounts-oidc", "log-in", order=36, is_shown=is_owner),
)


def render_sso_button(request: PageRequest, target: str) -> SafeString | str:
    if request.address.host != request.account.prefix:
        return ""
    offered = OIDCProvider.objects.filter(account_id=request.account.id).exclude(state=OIDCProvider.State.DRAFT)
    if not offered.exists():
        return ""
    values = {"path": reverse("accounts-oidc-start", query={"next": target})}
    html = render_to_string("accounts/oidc/sso_button.html", values, request=request)
    return mark_safe(html)  # noqa: S308  # the template has escaped its values


register_panel("sign-in", render_sso_button)
