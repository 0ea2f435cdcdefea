"""The settings page of the brand, its pictures and style sheet, and the manifest of the web app (W3C)."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.templatetags.static import static
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from accounts.brand.colors import ACCENT_PATTERN, LIGHT_SURFACES, stylesheet
from accounts.brand.models import Branding, HeaderLink
from accounts.brand.pictures import ICON_SIZE, MAKERS
from accounts.hosts.requests import PageRequest, UserRequest
from accounts.layout.forms import ColorInput, Form
from accounts.layout.settings import SettingsPage
from core.files.models import MEBIBYTE
from core.pages.base import Page, redirect
from core.pages.navigation import home_path

FOREVER = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


def picture_field(label: object, help_text: object) -> forms.FileField:
    widget = forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/webp"})
    return forms.FileField(label=label, required=False, widget=widget, help_text=help_text)  # type: ignore[arg-type]  # lazy texts


class BrandForm(Form):
    accent = forms.CharField(
        label=_("Accent colour"),
        widget=ColorInput(),
        help_text=_("Of links and buttons. Where it can't be read, a darker or a lighter shade of it is used."),
    )
    logo = picture_field(
        _("Logo"), _("A PNG, JPEG or WebP of up to 1 MiB. Pages show it 32 pixels high, e-mails 40 pixels.")
    )
    removes_logo = forms.BooleanField(label=_("Remove the logo"), required=False)
    icon = picture_field(_("Icon"), _("For the tabs of browsers and the home screens of phones, best a square."))
    removes_icon = forms.BooleanField(label=_("Remove the icon"), required=False)
    share_image = picture_field(
        _("Picture for links"),
        _(
            "Shown where somebody shares a link to the forum, best 1200 by 630 pixels. Suggestions have pictures of their own."
        ),
    )
    removes_share_image = forms.BooleanField(label=_("Remove the picture for links"), required=False)
    header_links = forms.CharField(
        label=_("Links in the header"),
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=_(
            "Up to 6, each on a line of its own: the label and the address, such as: Help https://help.example.com"
        ),
    )
    shows_powered_by = forms.BooleanField(label=_("Show “Powered by Rostrum” at the foot of pages"), required=False)

    def __init__(self, *submitted: Any, branding: Branding) -> None:
        links = "\n".join(f"{link['label']} {link['url']}" for link in branding.header_links)
        initial = {"accent": branding.accent, "shows_powered_by": branding.shows_powered_by, "header_links": links}
        super().__init__(*submitted, initial=initial)
        for name in MAKERS:
            if not getattr(branding, f"{name}_key"):
                del self.fields[f"removes_{name}"]

    @property
    def values(self) -> dict[str, Any]:
        sent = self.cleaned_data
        values = {name: sent[name] for name in ("accent", "shows_powered_by")}
        values["header_links"] = [read_link(line) for line in sent["header_links"].splitlines() if line.strip()]
        for name in MAKERS:
            if sent[name]:
                values[name] = sent[name].read()
            elif sent.get(f"removes_{name}"):
                values[name] = None
        return values


def read_link(line: str) -> HeaderLink:
    """Return the link of a line, whose last word is the address."""
    *words, url = line.split()
    return {"label": " ".join(words), "url": url}


class BrandPage(SettingsPage):
    """The colour, the pictures and the links that pages and e-mails of the account show."""

    template_name = "accounts/brand/brand.html"
    part = "brand"
    actions = {"save": "save"}
    max_body_bytes = 4 * MEBIBYTE

    def show(self, form: BrandForm, branding: Branding) -> HttpResponse:
        return self.render(form=form, palettes=[branding.light, branding.dark])

    def get(self, request: UserRequest) -> HttpResponse:
        branding = Branding.loaded(request.account)
        return self.show(BrandForm(branding=branding), branding)

    def save(self, request: UserRequest) -> HttpResponse:
        branding = Branding.loaded(request.account)
        form = BrandForm(request.POST, request.FILES, branding=branding)
        if not form.is_valid():
            return self.show(form, branding)
        values = form.values
        if not self.submit_form(form, lambda: Branding.change(request.account, **values)):
            return self.show(form, branding)
        messages.success(request, gettext("The brand is saved."))
        return redirect("accounts-brand")


class PicturePage(Page):
    """A picture of a brand. The key is derived from the content, so the response never changes."""

    name = ""

    def get(self, request: PageRequest, key: str) -> HttpResponse:
        row = Branding.objects.filter(account_id=request.account.id, **{f"{self.name}_key": key})
        content = row.values_list(self.name, flat=True).first()
        if content is None:
            raise Http404
        kind = "image/jpeg" if self.name == "share_image" else "image/png"
        return HttpResponse(bytes(content), content_type=kind, headers=FOREVER)


class StylePage(Page):
    """The style sheet with the colours of a brand. Its key names the colour, so the response never changes."""

    def get(self, request: PageRequest, key: str) -> HttpResponse:
        color = f"#{key[:6]}"
        if not ACCENT_PATTERN.match(color) or Branding(accent=color).style_key != key:
            raise Http404
        return HttpResponse(stylesheet(color), content_type="text/css; charset=utf-8", headers=FOREVER)


class ManifestPage(Page):
    """The manifest with which a phone adds the forum to its home screen."""

    def get(self, request: PageRequest) -> HttpResponse:
        branding, account = Branding.loaded(request.account), request.account
        name = account.name or request.site.name
        icon = {"src": static("core/pages/icon.svg"), "sizes": "any", "type": "image/svg+xml"}
        if url := branding.url_of("icon"):
            icon = {"src": url, "sizes": "{}x{}".format(*ICON_SIZE), "type": "image/png"}
        manifest = {
            "id": home_path(),
            "name": name,
            "short_name": name[:30],
            "lang": get_language(),
            "start_url": home_path(),
            "scope": home_path(),
            "display": "standalone",
            "theme_color": branding.light.accent,
            "background_color": LIGHT_SURFACES[1],
            "icons": [icon],
        }
        return JsonResponse(manifest, content_type="application/manifest+json", headers={"Cache-Control": "no-cache"})
