"""Pictures and other files, as people attach them."""

import struct
import zlib
from io import BytesIO

from PIL import Image


def picture(format: str = "PNG", size: tuple[int, int] = (40, 30), color: str = "#5f55e8", **options) -> bytes:
    content = BytesIO()
    Image.new("RGB", size, color).save(content, format, **options)
    return content.getvalue()


def animation(frames: int = 3, size: tuple[int, int] = (40, 30)) -> bytes:
    content = BytesIO()
    first, *others = [Image.new("RGB", size, (80 * number, 0, 0)) for number in range(frames)]
    first.save(content, "GIF", save_all=True, append_images=others, duration=100, loop=0, comment=b"<script>")
    return content.getvalue()


def huge_header(side: int = 100_000) -> bytes:
    """Return a small PNG whose header says that it is huge."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


def photo_with_place() -> bytes:
    """Return a photo whose metadata have a place, and say that it was taken upright."""
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    exif[0x010F] = "Maker of the camera"
    exif.get_ifd(0x8825)[2] = (52.0, 13.0, 47.0)
    return picture("JPEG", (400, 300), exif=exif, comment=b"a comment")
