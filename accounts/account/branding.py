"""The look of an account in e-mails: its accent colour and its logo."""

import hashlib
import re
from dataclasses import dataclass
from io import BytesIO
from math import ceil

from django.db import models
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _
from PIL import Image, ImageOps, UnidentifiedImageError

from accounts.account.models import Account
from accounts.hosts.names import public_url
from core.errors import FieldError

DEFAULT_ACCENT = "#5f55e8"
ACCENT_PATTERN = re.compile(r"#[0-9a-f]{6}\Z")
# The backgrounds of e-mails, light and dark, and the minimum contrast of a button to each (WCAG 2.2, 1.4.11).
LIGHT, DARK = "#ffffff", "#1a1a22"
MIN_CONTRAST = 3.0
MAX_LOGO_BYTES = 512 * 1024
# The maximum number of pixels of an uploaded logo, because a small file may contain a huge image.
MAX_LOGO_PIXELS = 4_000_000
LOGO_FORMATS = ("PNG", "JPEG")
# The maximum size of the stored logo. E-mails show it 40 pixels high and at most 240 pixels wide, so it is sharp on dense screens.
LOGO_SIZE = (480, 160)
# A logo with a higher ratio of width to height gets margins above and below, because e-mails would distort it.
MAX_LOGO_RATIO = 6


def luminance(color: str) -> float:
    """Return the relative luminance of a colour `#rrggbb` (WCAG 2.2)."""
    channels = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def check_accent(color: str) -> str:
    """Return the colour in lower case. Raise FieldError if it is not a colour, or is too pale or too dark for a button."""
    color = color.strip().lower()
    if not ACCENT_PATTERN.match(color):
        raise FieldError("accent", _("is not a colour such as #5f55e8"))
    for background, message in (
        (LIGHT, _("is too pale: its contrast to white is {ratio}, and has to be at least 3 (WCAG 2.2, 1.4.11)")),
        (
            DARK,
            _(
                "is too dark: its contrast to the dark background is {ratio}, and has to be at least 3 (WCAG 2.2, 1.4.11)"
            ),
        ),
    ):
        ratio = contrast(color, background)
        if ratio < MIN_CONTRAST:
            # `number_format` rounds down, so the message never names a contrast of 3.
            raise FieldError("accent", message, "contrast", {"ratio": number_format(ratio, 1)})
    return color


def text_on(color: str) -> str:
    """Return white or black, whichever has more contrast to the colour."""
    return max("#ffffff", "#000000", key=lambda text: contrast(text, color))


def read_logo(content: bytes) -> bytes:
    """Return an uploaded PNG or JPEG as a small PNG, without metadata. Raise FieldError for other files, and for large ones."""
    if len(content) > MAX_LOGO_BYTES:
        raise FieldError("logo", _("is too large (maximum is 512 KiB)"))
    try:
        with Image.open(BytesIO(content), formats=LOGO_FORMATS) as image:
            if image.width * image.height > MAX_LOGO_PIXELS:
                raise FieldError("logo", _("has too many pixels (maximum is 4 million)"))
            picture = image.convert("RGBA")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise FieldError("logo", _("is not a PNG or a JPEG")) from None
    picture.thumbnail(LOGO_SIZE)
    if picture.width > picture.height * MAX_LOGO_RATIO:
        picture = ImageOps.pad(picture, (picture.width, ceil(picture.width / MAX_LOGO_RATIO)), color=(0, 0, 0, 0))
    output = BytesIO()
    picture.save(output, "PNG", optimize=True)
    return output.getvalue()


class BrandingQuerySet(models.QuerySet["Branding"]):
    def get_or_default(self, account: Account) -> "Branding":
        """Return the branding of an account, or a default one that is not stored."""
        return self.filter(account_id=account.id).defer("logo").first() or Branding(account_id=account.id)


class Branding(models.Model):
    """The accent colour and the logo of an account."""

    account = models.OneToOneField(Account, models.CASCADE, primary_key=True, related_name="branding")
    accent = models.CharField(max_length=255, default=DEFAULT_ACCENT)
    # A PNG, and the beginning of its digest, which is part of its URL.
    logo = models.BinaryField(null=True)
    logo_key = models.CharField(max_length=255, null=True)

    objects = BrandingQuerySet.as_manager()

    def __str__(self) -> str:
        return self.accent

    @staticmethod
    def change(account: Account, *, accent: str, logo: bytes | None = None, removes_logo: bool = False) -> None:
        """Save the branding. `logo` is an uploaded file, or None to keep the logo. Raise FieldError."""
        values: dict[str, object] = {"accent": check_accent(accent)}
        if logo is not None:
            picture = read_logo(logo)
            values |= {"logo": picture, "logo_key": hashlib.sha256(picture).hexdigest()[:20]}
        elif removes_logo:
            values |= {"logo": None, "logo_key": None}
        Branding.objects.update_or_create(account_id=account.id, defaults=values)


@dataclass(frozen=True)
class Look:
    """The name, the colours and the logo that the templates of e-mails show."""

    name: str
    accent: str = DEFAULT_ACCENT
    on_accent: str = "#ffffff"
    logo_url: str = ""

    @classmethod
    def read(cls, account: Account, *, name: str, host: str = "") -> "Look":
        """Return the look of an account. `name` is that of the sender, `host` the stored name of the host of the logo."""
        branding = Branding.objects.get_or_default(account)
        logo_url = ""
        if branding.logo_key:
            logo_url = public_url(host or account.prefix) + reverse("accounts-logo", args=[branding.logo_key])
        return cls(name, branding.accent, text_on(branding.accent), logo_url)
