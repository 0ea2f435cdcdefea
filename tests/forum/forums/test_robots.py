"""Well-known files: robots.txt, the icon, and metadata for search engines."""

from forum.forums.models import Forum
from tests.support.client import Client
from tests.support.pages import Visitor


def test_it_works(acme):
    response = Client(acme.host).get("/robots.txt")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain"
    assert response.text == (
        "User-agent: *\nAllow: /app/suggestions\nAllow: /app/posts/\nAllow: /app/roadmap\n"
        "Allow: /app/brand/\nAllow: /app/logo/\nDisallow: /app/posts/new\nDisallow: /app/\n"
    )


def test_robots_are_excluded_from_a_private_forum(acme, monkeypatch):
    monkeypatch.setattr(Forum, "may_be_read_by", lambda forum, user: user is not None)
    for visitor in (acme.page(), acme.page(acme.alice)):
        assert visitor.get("/robots.txt").text == "User-agent: *\nDisallow: /\n"


def test_it_rejects_other_methods_and_hosts(acme):
    for path in ("/robots.txt", "/favicon.ico"):
        assert Client(acme.host).post(path).status_code in (403, 405)
        assert Client("nobody.example.test").get(path).status_code == 404
        assert Client("example.test").get(path).status_code == 404


def test_the_icon_is_served(acme):
    response = Client(acme.host).get("/favicon.ico", headers={"Accept": "image/avif,image/webp,*/*"})
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "image/x-icon"
    assert response.headers["Cache-Control"] == "public, max-age=86400"
    # An icon of 32 pixels that contains a PNG.
    assert response.content[:8] == b"\0\0\1\0\1\0\x20\x20"
    assert response.content[22:26] == b"\x89PNG"


def test_a_page_has_metadata_for_search_engines(acme):
    def meta_of(path):
        return {meta["name"]: meta["content"] for meta in Visitor(acme.host).get(path).html.select("meta[name]")}

    assert "Acme" in meta_of("/")["description"]
    assert "robots" not in meta_of("/")
    assert meta_of("/app/sign-in")["robots"] == "noindex"
