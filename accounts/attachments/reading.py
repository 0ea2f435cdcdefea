"""Reading sent files: their type by content, and pictures without metadata.

Pictures are written again, so that nothing remains of a file but its pixels: neither places and devices in EXIF, nor a script that follows
the picture.
"""

import mimetypes
import struct
import tempfile
import threading
import unicodedata
import warnings
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import PurePath
from typing import IO, Any

from django.utils.translation import gettext_lazy as _
from PIL import Image, ImageCms, ImageOps, ImageSequence, UnidentifiedImageError

from core.errors import FieldError
from core.files.models import MEBIBYTE
from core.files.responses import DEFAULT_TYPE

MAX_BYTES = 25 * MEBIBYTE
# The maximum number of pixels, of all frames together, because a small file may contain a huge picture.
MAX_PIXELS = 50_000_000
MAX_NAME_LENGTH = 150
CHUNK_SIZE = 256 * 1024
# Pillow refuses twice this number when it reads the header. It warns of more than half of them, which are accepted here.
Image.MAX_IMAGE_PIXELS = MAX_PIXELS // 2
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)

# The formats of pictures, with their options for saving. The first extension of each type is the one that names get.
PICTURES: dict[str, dict[str, Any]] = {
    "PNG": {"optimize": False},
    "JPEG": {"quality": 90, "optimize": True},
    "GIF": {},
    "WEBP": {"quality": 90, "method": 2},
}
# What remains of the metadata: what the pixels and the frames need.
KEPT_INFO = ("transparency", "duration", "loop", "background", "disposal")
PICTURE_TYPES = {f"image/{name.lower()}" for name in PICTURES}
EXTENSIONS = {
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "application/pdf": (".pdf",),
}
TEXT = "text/plain"
# The bytes at the beginning by which a text is recognized, and characters of a text besides printable ones.
SAMPLE_SIZE, TEXT_CONTROLS = 64 * 1024, "\t\n\r\f\v\x1b"
# A decoded picture may take 200 MB, so one is read at a time.
_decoding = threading.Lock()


@dataclass
class SentFile:
    """A file that was checked: its name, its type by content, and its bytes. `width` and `height` are those of a picture."""

    name: str
    content_type: str
    file: IO[bytes]
    width: int | None = None
    height: int | None = None


def chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(CHUNK_SIZE), b"")


def read_file(file: IO[bytes], name: str) -> SentFile:
    """Return a checked file. Raise FieldError for the field `file` if it is too large, or a picture that can't be shown."""
    if file.seek(0, 2) > MAX_BYTES:
        raise FieldError("file", _("is too large (maximum is {n} MiB)"), "too_large", {"n": MAX_BYTES // MEBIBYTE})
    file.seek(0)
    with _decoding:
        sent = read_picture(file)
    file.seek(0)
    sent = sent or SentFile("", type_of(file.read(SAMPLE_SIZE)), file)
    sent.name = name_for(name, sent)
    sent.file.seek(0)
    return sent


def read_picture(file: IO[bytes]) -> SentFile | None:
    """Return a picture without its metadata, or None for another file. Raise FieldError."""
    try:
        with Image.open(file, formats=tuple(PICTURES)) as image:
            # Some cameras add a preview to a JPEG as a second picture (MPO).
            kind = "JPEG" if image.format == "MPO" else image.format or ""
            options = dict(PICTURES[kind])
            is_animated = check_frames(image, 1 if kind == "JPEG" else None) > 1
            image.seek(0)
            shown = image if is_animated else in_sight(image, kind)
            shown.info = {name: shown.info[name] for name in KEPT_INFO if name in shown.info}
            with ExitStack() as stack:
                content = stack.enter_context(tempfile.TemporaryFile())
                shown.save(content, kind, save_all=is_animated, **options)
                stack.pop_all()
            return SentFile("", f"image/{kind.lower()}", content, *shown.size)
    except UnidentifiedImageError:
        return None
    except Image.DecompressionBombError:
        raise too_many_pixels() from None
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, OverflowError, struct.error):
        raise FieldError("file", _("is damaged: it can't be read as a picture"), "damaged") from None


def in_sight(image: Image.Image, kind: str) -> Image.Image:
    """Return a picture as viewers show it: turned as its metadata say, and with the colours of its profile as those of sRGB."""
    shown = ImageOps.exif_transpose(image)
    if kind == "JPEG" and shown.mode not in ("L", "RGB"):
        return shown.convert("RGB")
    if shown.mode == "RGB" and (profile := image.info.get("icc_profile")):
        with suppress(ImageCms.PyCMSError, OSError, ValueError):
            converted = ImageCms.profileToProfile(shown, BytesIO(profile), ImageCms.createProfile("sRGB"))
            return converted or shown
    return shown


def check_frames(image: Image.Image, limit: int | None) -> int:
    """Return the number of frames. Raise FieldError before the first frame with too many pixels is decoded."""
    number = pixels = 0
    for frame in islice(ImageSequence.Iterator(image), limit):
        number += 1
        pixels += frame.width * frame.height
        if pixels > MAX_PIXELS:
            raise too_many_pixels()
    return number


def too_many_pixels() -> FieldError:
    message = _("has too many pixels (maximum is {n} million, of all its frames)")
    return FieldError("file", message, "too_many_pixels", {"n": MAX_PIXELS // 1_000_000})


def make_thumbnail(file: IO[bytes], width: int) -> IO[bytes]:
    """Return the first frame of a stored picture as a small WebP."""
    content = tempfile.TemporaryFile()  # noqa: SIM115  # it is read after the return
    with _decoding, Image.open(file, formats=tuple(PICTURES)) as image:
        image.draft("RGB", (width * 2, width * 2))
        small = image.convert("RGBA" if image.has_transparency_data else "RGB")
        small.thumbnail((width, width * 2))
        small.save(content, "WEBP", quality=80)
    content.seek(0)
    return content


def type_of(beginning: bytes) -> str:
    """Return the type of another file than a picture: PDF, plain text, or any data. Markup that a browser would execute is data."""
    if beginning.startswith(b"%PDF-"):
        return "application/pdf"
    try:
        text = getincrementaldecoder("utf-8-sig")().decode(beginning)
    except UnicodeDecodeError:
        return DEFAULT_TYPE
    is_text = all(character.isprintable() or character.isspace() or character in TEXT_CONTROLS for character in text)
    return TEXT if text and is_text and not text.lstrip().startswith("<") else DEFAULT_TYPE


def name_for(name: str, sent: SentFile) -> str:
    """Return the name without directories and invisible characters, and with an extension that fits the content."""
    name = unicodedata.normalize("NFC", name.replace("\\", "/").rpartition("/")[2])
    name = "".join(character for character in name if unicodedata.category(character)[0] != "C").strip(" .")
    path = PurePath(name or "file")
    stem, extension = path.stem[:MAX_NAME_LENGTH], path.suffix[:20]
    claimed = mimetypes.guess_type(f"a{extension.lower()}")[0] or ""
    allowed = EXTENSIONS.get(sent.content_type)
    if allowed:
        extension = extension if extension.lower() in allowed else allowed[0]
    elif claimed != "image/svg+xml" and (claimed == "application/pdf" or claimed.startswith("image/")):
        # It is neither. An SVG is data that nothing here shows.
        extension = ".txt" if sent.content_type == TEXT else ".bin"
    return stem + extension
