"""The brand of an account: its colour, its pictures and the links in the header, on pages and in e-mails."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import Audited
from accounts.brand.colors import ON_DARK, ON_LIGHT, Palette, check_accent, dark_palette, light_palette
from accounts.brand.pictures import MAKERS
from accounts.hosts.names import public_url
from core.db.text import is_xml_text
from core.errors import FieldError
from core.rows.trimmed import is_blank, trim

# With it, pages have the colours of `rostrum.css`.
DEFAULT_ACCENT = "#5f55e8"
MAX_LINKS, MAX_LABEL_LENGTH, MAX_ADDRESS_LENGTH = 6, 40, 500
# Change this if `stylesheet` writes other CSS, so that the addresses of the style sheets change.
STYLE_VERSION = 1

check_address = URLValidator(schemes=["http", "https"])


class HeaderLink(TypedDict):
    label: str
    url: str


def check_links(links: object) -> list[HeaderLink]:
    """Return the links with trimmed labels. Raise FieldError for the first one that the header cannot show."""
    if not isinstance(links, list) or not all(map(is_link, links)):
        raise FieldError("header_links", _("must be a list of objects with the texts label and url"), "objects")
    if len(links) > MAX_LINKS:
        raise FieldError("header_links", _("are too many (maximum is {most})"), "too_many", {"most": MAX_LINKS})
    checked: list[HeaderLink] = []
    for number, link in enumerate(links, 1):
        label, url = " ".join(trim(link["label"]).split()), link["url"].strip()
        if is_blank(label) or len(label) > MAX_LABEL_LENGTH or not is_xml_text(label):
            message = _("has a label in line {n} that is empty or too long (maximum is {most} characters)")
            raise FieldError("header_links", message, "label", {"n": number, "most": MAX_LABEL_LENGTH})
        if not is_address(url):
            message = _("has in line {n} no address with http:// or https:// (maximum is {most} characters)")
            raise FieldError("header_links", message, "url", {"n": number, "most": MAX_ADDRESS_LENGTH})
        checked.append({"label": label, "url": url})
    return checked


def is_link(link: object) -> bool:
    return (
        isinstance(link, dict)
        and link.keys() == {"label", "url"}
        and all(isinstance(text, str) for text in link.values())
    )


def is_address(url: str) -> bool:
    """Return whether a link may lead to this URL. One with a user name would hide its host."""
    try:
        check_address(url)
        return len(url) <= MAX_ADDRESS_LENGTH and "@" not in urlsplit(url).netloc
    except (ValidationError, ValueError):
        return False


# The names of the routes of the pictures.
PICTURE_ROUTES: Mapping[str, str] = {
    "logo": "accounts-logo",
    "icon": "accounts-icon",
    "share_image": "accounts-share-image",
}


class BrandingQuerySet(models.QuerySet["Branding"]):
    def get_or_default(self, account: Account) -> "Branding":
        """Return the brand of an account without its pictures, or a default one that is not stored."""
        return self.filter(account_id=account.id).defer(*MAKERS).first() or Branding(account_id=account.id)


class Branding(Audited):
    """A brand. Each picture has a column with the beginning of its digest, which is part of its URL."""

    audit_group = "branding"
    audited = ("accent", "logo_key", "icon_key", "share_image_key", "header_links", "shows_powered_by")

    account = models.OneToOneField(Account, models.CASCADE, primary_key=True, related_name="branding")
    accent = models.CharField(max_length=255, default=DEFAULT_ACCENT)
    logo = models.BinaryField(null=True)
    logo_key = models.CharField(max_length=255, null=True)
    icon = models.BinaryField(null=True)
    icon_key = models.CharField(max_length=255, null=True)
    share_image = models.BinaryField(null=True)
    share_image_key = models.CharField(max_length=255, null=True)
    # Objects with `label` and `url`.
    header_links = models.JSONField(default=list, db_default=[])
    shows_powered_by = models.BooleanField(default=True, db_default=True)

    objects = BrandingQuerySet.as_manager()

    def __str__(self) -> str:
        return self.accent

    @property
    def light(self) -> Palette:
        return light_palette(self.accent)

    @property
    def dark(self) -> Palette:
        return dark_palette(self.accent)

    @property
    def style_key(self) -> str:
        """The part of the address of the style sheet that names its colours, or "" for the colours of all pages."""
        return "" if self.accent == DEFAULT_ACCENT else f"{self.accent[1:]}-{STYLE_VERSION}"

    def url_of(self, picture: str) -> str:
        """Return the path of a picture, or "" without one."""
        key = getattr(self, f"{picture}_key")
        return reverse(PICTURE_ROUTES[picture], args=[key]) if key else ""

    @staticmethod
    def loaded(account: Account | None) -> "Branding":
        """Return the brand that was read with the account of a request, or a default one. It takes no statement."""
        found = None if account is None else account._state.fields_cache.get("branding")
        return found if isinstance(found, Branding) else Branding()

    @staticmethod
    def change(account: Account, **values: Any) -> "Branding":
        """Save the values that are given. A picture is an uploaded file, or None to remove it. Raise FieldError."""
        if "accent" in values:
            values["accent"] = check_accent(values["accent"])
        if "header_links" in values:
            values["header_links"] = check_links(values["header_links"])
        for name in MAKERS.keys() & values.keys():
            picture = None if values[name] is None else MAKERS[name](values[name])
            values |= {name: picture, f"{name}_key": picture and hashlib.sha256(picture).hexdigest()[:20]}
        row, _is_new = Branding.objects.update_or_create(account_id=account.id, defaults=values)
        return row


@dataclass(frozen=True)
class Look:
    """The name, the colours and the logo that the templates of e-mails show."""

    name: str
    accent: str = DEFAULT_ACCENT
    on_accent: str = ON_LIGHT
    # In mail programs that show a dark theme.
    dark_accent: str = dark_palette(DEFAULT_ACCENT).accent
    on_dark_accent: str = ON_DARK
    logo_url: str = ""

    @classmethod
    def read(cls, account: Account, *, name: str, host: str = "") -> "Look":
        """Return the look of an account. `name` is that of the sender, `host` the stored name of the host of the logo."""
        branding = Branding.objects.get_or_default(account)
        logo_url = ""
        if branding.logo_key:
            logo_url = public_url(host or account.prefix) + branding.url_of("logo")
        return cls(name, branding.light.accent, ON_LIGHT, branding.dark.accent, ON_DARK, logo_url)
