"""The type of files by their content, and pictures without metadata."""

from io import BytesIO

import pytest
from PIL import Image

from accounts.attachments import reading
from accounts.attachments.reading import MAX_BYTES, read_file
from core.errors import FieldError
from tests.support.pictures import animation, huge_header, photo_with_place, picture
from tests.support.tables import table

HTML = b"<!DOCTYPE html><script>alert(1)</script>"
SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
EXE = b"MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00" + b"\x00" * 200
ZIP = b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + b"\x00" * 60


def read(content: bytes, name: str = "file"):
    sent = read_file(BytesIO(content), name)
    with sent.file:
        return sent, sent.file.read()


def test_it_works():
    sent, content = read(photo_with_place(), "IMG 1.JPG")
    assert (sent.name, sent.content_type, sent.width, sent.height) == ("IMG 1.JPG", "image/jpeg", 300, 400)
    for part in (b"Exif", b"Maker", b"a comment"):
        assert part not in content
    image = Image.open(BytesIO(content))
    assert (image.size, dict(image.getexif())) == ((300, 400), {})


@table(
    "content, name, content_type, stored_name",
    [
        (picture("PNG"), "a.png", "image/png", "a.png"),
        (picture("WEBP"), "a.webp", "image/webp", "a.webp"),
        (picture("GIF"), "a.gif", "image/gif", "a.gif"),
        (picture("JPEG"), "a.jpeg", "image/jpeg", "a.jpeg"),
        # The name says something else than the content.
        (picture("PNG"), "a.jpg", "image/png", "a.png"),
        (picture("PNG"), "a.exe", "image/png", "a.png"),
        (EXE, "a.png", "application/octet-stream", "a.bin"),
        (b"\x00\x01\x02\xff" * 50, "a.pdf", "application/octet-stream", "a.bin"),
        (b"just a text", "a.png", "text/plain", "a.txt"),
        (picture("BMP"), "a.png", "application/octet-stream", "a.bin"),
        (b"%PDF-1.7\n", "a", "application/pdf", "a.pdf"),
        (b"%PDF-1.7\n<script>", "a.html", "application/pdf", "a.pdf"),
        (b" %PDF-1.7", "a.pdf", "text/plain", "a.txt"),
        ("zażółć\r\n".encode(), "list.csv", "text/plain", "list.csv"),
        (ZIP, "a.docx", "application/octet-stream", "a.docx"),
        (b"", "empty", "application/octet-stream", "empty"),
        # What a browser would execute is data.
        (HTML, "a.html", "application/octet-stream", "a.html"),
        (b"\xef\xbb\xbf \n" + HTML, "a.txt", "application/octet-stream", "a.txt"),
        (SVG, "a.svg", "application/octet-stream", "a.svg"),
        (SVG, "a.png", "application/octet-stream", "a.bin"),
        # Names
        (b"x", "C:\\temp\\a.txt", "text/plain", "a.txt"),
        (b"x", "../../etc/passwd", "text/plain", "passwd"),
        (b"x", "a\u202egpj.txt\n", "text/plain", "agpj.txt"),
        (b"x", " . ", "text/plain", "file"),
        (b"x", "x" * 500 + ".txt", "text/plain", "x" * 150 + ".txt"),
    ],
)
def test_the_content_decides(content, name, content_type, stored_name):
    sent, _content = read(content, name)
    assert (sent.content_type, sent.name) == (content_type, stored_name)


def test_what_follows_a_picture_is_removed():
    """A file that is a GIF and a script at once, and a PNG with HTML."""
    polyglot = picture("GIF").replace(b"GIF89a", b"GIF89a", 1) + b"/*;alert(1)//*/"
    for content in (polyglot, picture("PNG") + HTML, picture("JPEG") + ZIP):
        _sent, stored = read(content)
        assert b"alert" not in stored
        assert ZIP not in stored


def test_animations_stay():
    sent, content = read(animation(), "a.gif")
    image = Image.open(BytesIO(content))
    assert (image.n_frames, image.info["duration"], sent.content_type) == (3, 100, "image/gif")
    assert b"<script>" not in content


def error_of(content: bytes) -> tuple[str, str]:
    with pytest.raises(FieldError) as caught:
        read(content)
    return caught.value.code, caught.value.text


TOO_MANY_PIXELS = ("too_many_pixels", "has too many pixels (maximum is 50 million, of all its frames)")
DAMAGED = ("damaged", "is damaged: it can't be read as a picture")


def test_it_rejects_pictures_that_cannot_be_shown(monkeypatch):
    assert error_of(huge_header()) == TOO_MANY_PIXELS
    assert error_of(huge_header(7200)) == TOO_MANY_PIXELS
    assert error_of(huge_header(3000)) == DAMAGED
    for content in (picture("PNG")[:-30], picture("JPEG", (400, 400))[:-200], animation(size=(200, 200))[:-300]):
        assert error_of(content) == DAMAGED
    monkeypatch.setattr(reading, "MAX_PIXELS", 2 * 40 * 30)
    assert error_of(animation())[0] == "too_many_pixels"


def test_it_rejects_a_file_that_is_too_large():
    class Large(BytesIO):
        def seek(self, offset, whence=0):
            return MAX_BYTES + 1 if whence == 2 else super().seek(offset, whence)

    with pytest.raises(FieldError) as caught:
        read_file(Large(b"x"), "a")
    assert (caught.value.code, caught.value.text) == ("too_large", "is too large (maximum is 25 MiB)")
