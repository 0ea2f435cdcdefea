"""The pictures of a brand. They are drawn anew, so that nothing remains of a file but its pixels."""

from collections.abc import Callable
from io import BytesIO
from math import ceil

from django.utils.translation import gettext_lazy as _
from PIL import Image, ImageOps, UnidentifiedImageError

from core.errors import FieldError
from core.files.models import MEBIBYTE

MAX_PICTURE_BYTES = MEBIBYTE
# The maximum number of pixels of an uploaded picture, because a small file may contain a huge image.
MAX_PICTURE_PIXELS = 4_000_000
FORMATS = ("PNG", "JPEG", "WEBP")
# The maximum size of the stored logo. E-mails show it 40 pixels high and at most 240 pixels wide, so it is sharp on dense screens.
LOGO_SIZE = (480, 160)
# A logo with a higher ratio of width to height gets margins above and below, because e-mails would distort it.
MAX_LOGO_RATIO = 6
# A size that systems which install web apps accept.
ICON_SIZE = (192, 192)
# The size that social networks recommend, and the one from which on they show a large picture.
SHARE_SIZE, MIN_SHARE_SIZE = (1200, 630), (600, 315)


def read_picture(content: bytes, field: str) -> Image.Image:
    """Return an uploaded PNG, JPEG or WebP. Raise FieldError for other files, and for large ones."""
    if len(content) > MAX_PICTURE_BYTES:
        raise FieldError(field, _("is too large (maximum is {n} MiB)"), "too_large", {"n": 1})
    try:
        with Image.open(BytesIO(content), formats=FORMATS) as image:
            if image.width * image.height > MAX_PICTURE_PIXELS:
                raise FieldError(field, _("has too many pixels (maximum is 4 million)"))
            return ImageOps.exif_transpose(image).convert("RGBA")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        if b"<svg" in content[:1000]:
            raise FieldError(field, _("is an SVG, which may contain scripts: send a PNG, JPEG or WebP")) from None
        raise FieldError(field, _("is not a PNG, a JPEG or a WebP")) from None


def make_logo(content: bytes) -> bytes:
    """Return an uploaded logo as a small PNG. Raise FieldError."""
    picture = read_picture(content, "logo")
    picture.thumbnail(LOGO_SIZE)
    if picture.width > picture.height * MAX_LOGO_RATIO:
        picture = ImageOps.pad(picture, (picture.width, ceil(picture.width / MAX_LOGO_RATIO)), color=(0, 0, 0, 0))
    return save(picture, "PNG")


def make_icon(content: bytes) -> bytes:
    """Return an uploaded icon as a square PNG. Raise FieldError."""
    return save(ImageOps.pad(read_picture(content, "icon"), ICON_SIZE, color=(0, 0, 0, 0)), "PNG")


def make_share_image(content: bytes) -> bytes:
    """Return an uploaded picture for links as a JPEG, cut to the size that is shown. Raise FieldError."""
    picture = read_picture(content, "share_image")
    if picture.width < MIN_SHARE_SIZE[0] or picture.height < MIN_SHARE_SIZE[1]:
        message = _("is too small (minimum is {width} by {height} pixels)")
        size = dict(zip(("width", "height"), MIN_SHARE_SIZE, strict=True))
        raise FieldError("share_image", message, "too_small", size)
    opaque = Image.new("RGBA", picture.size, "white")
    opaque.alpha_composite(picture)
    return save(ImageOps.fit(opaque.convert("RGB"), SHARE_SIZE), "JPEG")


def save(picture: Image.Image, kind: str) -> bytes:
    output = BytesIO()
    picture.save(output, kind, optimize=True)
    return output.getvalue()


# By the column of `Branding`.
MAKERS: dict[str, Callable[[bytes], bytes]] = {
    "logo": make_logo,
    "icon": make_icon,
    "share_image": make_share_image,
}
