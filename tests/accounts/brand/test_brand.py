"""The brand: its colours, pictures and links, on pages, in e-mails and in the API."""

import base64
import colorsys
from io import BytesIO
from itertools import product

import pytest
from django.core import mail
from PIL import Image
from webtest import Upload

from accounts.audit.models import AuditEntry
from accounts.brand.colors import MIN_CONTRAST, check_accent, contrast, dark_palette, light_palette
from accounts.brand.models import Branding, check_links
from accounts.brand.pictures import MAX_PICTURE_BYTES, make_icon, make_logo, make_share_image
from core.errors import FieldError
from tests.support.assertions import assert_answered, assert_refused
from tests.support.factories import make_token
from tests.support.tables import table

HELP = {"label": "Help", "url": "https://help.example.com/"}


def picture(size=(1000, 500), format="PNG", color="#336699") -> bytes:
    output = BytesIO()
    Image.new("RGB", size, color).save(output, format)
    return output.getvalue()


def test_it_works(acme):
    """The forum, the pages of the team and the sign-in page show the brand, without a further statement."""
    form = acme.page(acme.alice).get("/app/account/brand").forms["brand"]
    form["accent"], form["logo"] = "#0A7A4B", Upload("logo.jpg", picture(format="JPEG"), "image/jpeg")
    form["icon"], form["share_image"] = Upload("a.webp", picture(format="WEBP")), Upload("b.png", picture((1200, 700)))
    form["header_links"], form["shows_powered_by"] = "Help  https://help.example.com/\n", False
    page = form.submit("do").follow()
    row = Branding.objects.get(account=acme.account)
    assert (row.accent, row.header_links, row.shows_powered_by) == ("#0a7a4b", [HELP], False)
    urls = [row.url_of(name) for name in ("logo", "icon", "share_image")]
    assert [image["src"] for image in page.html.select("#brand img")] == urls
    sizes = [("PNG", (320, 160)), ("PNG", (192, 192)), ("JPEG", (1200, 630))]
    for url, (kind, size) in zip(urls, sizes, strict=True):
        response = acme.page().get(url)
        with Image.open(BytesIO(response.body)) as stored:
            assert (stored.format, stored.size) == (kind, size)
        assert response.content_type == f"image/{kind.lower()}"
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    paths = {"/app/suggestions": None, "/app/sign-in": None, "/app/clients": acme.alice, "/app/account": acme.alice}
    for path, user in paths.items():
        html = acme.page(user).get(path).html
        styles = [link["href"] for link in html.select("link[rel=stylesheet]")]
        assert "/app/brand/0a7a4b-1.css" in styles
        assert (html.select_one(".brand img")["src"], html.select_one("link[rel=icon]")["href"]) == tuple(urls[:2])
        assert "Powered by" not in html.footer.get_text()
        links = [(link.get_text(), link["href"]) for link in html.select("nav.links a")]
        assert links == ([("Help", HELP["url"])] if path == "/app/suggestions" else [])
    style = acme.page().get("/app/brand/0a7a4b-1.css")
    assert style.content_type == "text/css"
    assert style.text.startswith(":root{--accent:#0a7a4b;")
    assert acme.page().get("/favicon.ico", status=302).headers["Location"] == urls[1]
    form = page.forms["brand"]
    form["removes_logo"] = True
    assert len(form.submit("do").follow().html.select("#brand img")) == 2
    acme.page().get(urls[0], status=404)


def test_the_api(acme):
    body = {
        "accent": "#5f55e8",
        "light_accent": "#5f55e8",
        "dark_accent": "#918aef",
        "logo_url": None,
        "icon_url": None,
        "share_image_url": None,
        "header_links": [],
        "shows_powered_by": True,
    }
    api = acme.json(make_token(acme.alice))
    assert_answered(api.get("/app/account/brand.json"), 200, body)
    sent = {"accent": "#ffcc00", "logo": base64.b64encode(picture()).decode(), "header_links": [HELP], "icon": None}
    response = api.put("/app/account/brand.json", json={"brand": sent})
    url = f"http://acme.example.test/app/logo/{Branding.objects.get(account=acme.account).logo_key}.png"
    changed = {"accent": "#ffcc00", "light_accent": "#856a00", "dark_accent": "#ffcc00", "logo_url": url}
    assert_answered(response, 200, body | changed | {"header_links": [HELP]})
    entry = AuditEntry.objects.filter(account_id=acme.account.id).latest("id")
    assert (entry.action, entry.details["changes"]["accent"]["after"]) == ("branding.created", "#ffcc00")
    response = api.put("/app/account/brand.json", json={"brand": {"logo": None, "shows_powered_by": False}})
    removed = {"logo_url": None, "shows_powered_by": False, "header_links": [HELP]}
    assert_answered(response, 200, body | changed | removed)
    api.put("/app/account/brand.json", json={"brand": sent})
    assert_answered(api.put("/app/account/brand.json", json={"brand": {"logo": ""}}), 200, body | changed | removed)


@table(
    ("values", "errors"),
    [
        ({"accent": "red"}, {"accent": ["is not a colour such as #5f55e8"]}),
        ({"logo": "PHN2Zz4="}, {"logo": ["is an SVG, which may contain scripts: send a PNG, JPEG or WebP"]}),
        ({"icon": "R0lGODlh"}, {"icon": ["is not a PNG, a JPEG or a WebP"]}),
        ({"icon": "%"}, {"icon": ["is neither a file of a form nor Base64"]}),
        (
            {"share_image": base64.b64encode(picture((500, 400))).decode()},
            {"share_image": ["is too small (minimum is 600 by 315 pixels)"]},
        ),
        (
            {"header_links": [{"label": "Help"}]},
            {"header_links": ["must be a list of objects with the texts label and url"]},
        ),
        ({"header_links": [HELP] * 7}, {"header_links": ["are too many (maximum is 6)"]}),
    ],
)
def test_it_rejects_other_values(acme, values, errors):
    response = acme.json(make_token(acme.alice)).put("/app/account/brand.json", json={"brand": values})
    assert_refused(response, 422, "validation_failed", errors)


@table(
    "link",
    [
        ["", "https://example.com"],
        ["a" * 41, "https://example.com"],
        ["a\u200b"[1:], "https://example.com"],
        ["Help", "example.com"],
        ["Help", "javascript:alert(1)"],
        ["Help", "ftp://example.com"],
        ["Help", "https://example.com@evil.example"],
        ["Help", "https://[::1"],
        ["Help", "https://example.com/" + "a" * 500],
    ],
)
def test_it_rejects_other_links(link):
    with pytest.raises(FieldError):
        check_links([dict(zip(("label", "url"), link, strict=True))])


def test_a_form_may_have_several_large_pictures(acme):
    noise = BytesIO()
    Image.effect_noise((1100, 800), 80).save(noise, "PNG")
    assert 700_000 < len(noise.getvalue()) <= MAX_PICTURE_BYTES
    form = acme.page(acme.alice).get("/app/account/brand").forms["brand"]
    for name in ("logo", "icon", "share_image"):
        form[name] = Upload("noise.png", noise.getvalue(), "image/png")
    assert len(form.submit("do").follow().html.select("#brand img")) == 3


def test_a_form_with_an_error_keeps_what_was_typed(acme):
    form = acme.page(acme.alice).get("/app/account/brand").forms["brand"]
    form["header_links"] = "Help https://help.example.com\nhttps://no.label.example"
    page = form.submit("do", status=422)
    assert "Has a label in line 2 that is empty or too long" in page.html.get_text()
    assert "https://no.label.example" in page.forms["brand"]["header_links"].value


def test_every_colour_gets_shades_that_can_be_read():
    steps = (0, 0.2, 0.5, 0.8, 1)
    for hls in product((0, 0.08, 0.16, 0.33, 0.5, 0.66, 0.83), steps, steps):
        color = "#" + "".join(f"{round(part * 255):02x}" for part in colorsys.hls_to_rgb(*hls))
        assert check_accent(color.upper()) == color
        for palette in (light_palette(color), dark_palette(color)):
            assert palette.is_readable
            assert contrast(palette.strong, palette.on_accent) >= MIN_CONTRAST
    assert contrast("#000000", "#ffffff") == 21
    # A colour that can be read stays as it is.
    assert (light_palette("#4338ca").accent, dark_palette("#a9a9ff").accent) == ("#4338ca", "#a9a9ff")


@table("content", [b"", b"\x89PNG\r\n\x1a\n", picture((3000, 3000)), bytes(MAX_PICTURE_BYTES + 1)])
def test_it_rejects_other_files(content):
    for make in (make_logo, make_icon, make_share_image):
        with pytest.raises(FieldError):
            make(content)


def test_a_wide_logo_gets_margins():
    with Image.open(BytesIO(make_logo(picture((1000, 50))))) as stored:
        assert stored.size == (480, 80)
        assert [stored.getpixel((240, y))[3] for y in (0, 40, 79)] == [0, 255, 0]


def test_it_rejects_the_pictures_of_another_account(acme, other):
    row = Branding.change(other.account, logo=picture(), icon=picture(), share_image=picture())
    for name in ("logo", "icon", "share_image"):
        acme.page().get(row.url_of(name), status=404)
    for key in ("0a7a4b-0", "0a7a4b", "zzzzzz-1", "0A7A4B-1"):
        acme.page().get(f"/app/brand/{key}.css", status=404)


def test_emails_have_the_brand(acme):
    """The button of an e-mail can be read in both themes."""
    row = Branding.change(acme.account, accent="#ffcc00", logo=picture())
    form = acme.page().get("/app/password").forms["password"]
    form["login"] = "carol"
    form.submit()
    [(html, _type)] = mail.outbox[-1].alternatives
    assert f"http://acme.example.test{row.url_of('logo')}" in html
    assert "background-color: #856a00" in html
    assert ".accent { background-color: #ffcc00 !important" in html


def test_the_manifest(acme):
    page = acme.page().get("/app/suggestions")
    [link] = page.html.select("link[rel=manifest]")
    response = acme.page().get(link["href"])
    assert response.content_type == "application/manifest+json"
    manifest = response.json
    icon = manifest.pop("icons")
    assert icon[0]["type"] == "image/svg+xml"
    assert manifest == {
        "id": "/",
        "name": "Acme",
        "short_name": "Acme",
        "lang": "en",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "theme_color": "#5f55e8",
        "background_color": "#f7f7f9",
    }
    row = Branding.change(acme.account, icon=picture())
    icon = {"src": row.url_of("icon"), "sizes": "192x192", "type": "image/png"}
    assert acme.page().get(link["href"]).json["icons"] == [icon]
