"""The look of e-mails: contrast, logos, and the form in the settings."""

from io import BytesIO

import pytest
from PIL import Image
from webtest import Upload

from accounts.account.models import MAX_LOGO_BYTES, Branding, check_accent, contrast, read_logo, text_on
from core.errors import FieldError
from tests.support.tables import table


def picture(size=(1000, 500), format="PNG") -> bytes:
    output = BytesIO()
    Image.new("RGB", size, "#336699").save(output, format)
    return output.getvalue()


def test_it_works(acme):
    alice = acme.page(acme.alice)
    form = alice.get("/app/account").forms["branding"]
    form["accent"], form["logo"] = "#0A7A4B", Upload("logo.jpg", picture(format="JPEG"), "image/jpeg")
    page = form.submit("do").follow()
    row = Branding.objects.get(account=acme.account)
    assert row.accent == "#0a7a4b"
    with Image.open(BytesIO(bytes(row.logo))) as stored:
        assert (stored.format, stored.size) == ("PNG", (320, 160))
    [image] = page.html.select("#branding img")
    response = acme.page().get(image["src"])
    assert response.content_type == "image/png"
    assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response.body == bytes(row.logo)
    form = page.forms["branding"]
    form["accent"] = "#ffee88"
    form.submit("do", status=422)
    form["accent"], form["removes_logo"] = "#0a7a4b", True
    assert form.submit("do").follow().html.select("#branding img") == []
    acme.page().get(image["src"], status=404)


@table(
    ("color", "message"),
    [
        ("#ffee88", "is too pale: its contrast to white is 1.1, and has to be at least 3 (WCAG 2.2, 1.4.11)"),
        (
            "#101030",
            "is too dark: its contrast to the dark background is 1.0, and has to be at least 3 (WCAG 2.2, 1.4.11)",
        ),
        ("red", "is not a colour such as #5f55e8"),
        ("#fff;x: y", "is not a colour such as #5f55e8"),
    ],
)
def test_it_rejects_colours_without_contrast(color, message):
    with pytest.raises(FieldError) as error:
        check_accent(color)
    assert error.value.text == message


@table(
    "content",
    [
        b"",
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        picture((3000, 3000)),
        bytes(MAX_LOGO_BYTES + 1),
    ],
)
def test_it_rejects_other_files(content):
    with pytest.raises(FieldError):
        read_logo(content)


def test_a_wide_logo_gets_margins():
    with Image.open(BytesIO(read_logo(picture((1000, 50))))) as stored:
        assert stored.size == (480, 80)
        assert [stored.getpixel((240, y))[3] for y in (0, 40, 79)] == [0, 255, 0]


def test_the_text_of_a_button_is_readable():
    assert contrast("#000000", "#ffffff") == 21
    for color in ("#5f55e8", "#767676", "#e07000", "#8888ff"):
        assert contrast(color, text_on(color)) >= 4.5


def test_it_rejects_the_logo_of_another_account(acme, other):
    Branding.change(other.account, accent="#5f55e8", logo=picture())
    key = Branding.objects.get(account=other.account).logo_key
    acme.page().get(f"/app/logo/{key}.png", status=404)


def test_a_rejected_address_can_be_tried_again(acme):
    for _ in range(3):
        acme.carol.record_bounce()
    page = acme.page(acme.carol).get("/app/profile")
    assert "rejected carol@acme.example three times" in " ".join(page.html.find(id="bounced").get_text().split())
    page.forms["bounced"].submit().follow()
    carol = acme.account.users.get(login="carol")
    assert (carol.bounces, carol.bounced_at) == (0, None)
    for _ in range(3):
        carol.record_bounce()
    page = acme.page(acme.alice).get(f"/app/account/users/{carol.id}")
    page.forms["bounced"].submit("do").follow()
    assert acme.account.users.get(login="carol").bounced_at is None
