"""The pictures of suggestions for previews of links."""

import io
from urllib.parse import urlsplit

from PIL import Image

from forum.forums.models import Forum
from forum.previews import pages as previews
from forum.previews.pages import Preview, drawable, load_font, wrap
from tests.support.client import Client
from tests.support.factories import make_post
from tests.support.reading import make_private, make_unapproved


def properties(page) -> dict[str, str]:
    tags = page.html.select("meta[property], meta[name^=twitter]")
    return {tag.get("property") or tag["name"]: tag["content"] for tag in tags}


def image_path(page) -> str:
    url = urlsplit(properties(page)["og:image"])
    return f"{url.path}?{url.query}"


def test_it_works(acme):
    post = make_post(acme.alice, "A dark theme")
    page = acme.page().get(f"/app/posts/{post.id}")
    metadata = properties(page)
    path = image_path(page)
    assert metadata["og:image"] == f"http://{acme.host}{path}"
    assert path.startswith(f"/app/posts/{post.id}/preview.png?v=")
    assert metadata["twitter:card"] == "summary_large_image"
    assert metadata["og:image:alt"] == "A dark theme"
    response = Client(acme.host).get(path)
    assert (response.status_code, response.headers["Content-Type"]) == (200, "image/png")
    assert response.headers["Cache-Control"] == "public, max-age=3600"
    image = Image.open(io.BytesIO(response.content))
    assert image.size == (1200, 630) == (int(metadata["og:image:width"]), int(metadata["og:image:height"]))
    assert len(response.content) < 30_000
    assert "set-cookie" not in response.headers
    # A second request with the ETag is answered without a picture.
    again = Client(acme.host).get(path, headers={"If-None-Match": response.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    # The address and the ETag of the picture change with its content.
    post.vote(by=acme.bob)
    assert image_path(acme.page().get(f"/app/posts/{post.id}")) != path
    assert Client(acme.host).get(path).headers["ETag"] != response.headers["ETag"]


def test_a_picture_is_drawn_once(acme, monkeypatch):
    post = make_post(acme.alice)
    drawn = []
    image = Image.new
    monkeypatch.setattr(previews.Image, "new", lambda *args: drawn.append(1) or image(*args))
    previews.draw.cache_clear()
    for _ in range(3):
        assert Client(acme.host).get(f"/app/posts/{post.id}/preview.png").status_code == 200
    assert len(drawn) == 1


def test_it_rejects_posts_that_visitors_may_not_read(acme):
    trashed, original, duplicate = (make_post(acme.alice) for _ in range(3))
    trashed.trash(by=acme.alice)
    duplicate.merge_into(original, by=acme.alice)
    posts = [make_private(acme.carol), make_unapproved(acme.carol), trashed, duplicate]
    for visitor in (acme.page(), acme.page(acme.carol), acme.page(acme.bob)):
        for id in (*(post.id for post in posts), 10**6):
            visitor.get(f"/app/posts/{id}/preview.png", status=404)
    page = acme.page(acme.bob).get(f"/app/posts/{posts[0].id}")
    assert "og:image" not in properties(page)
    assert properties(page)["twitter:card"] == "summary"
    Forum.objects.update(access=Forum.Access.PRIVATE)
    acme.page(acme.bob).get(f"/app/posts/{original.id}/preview.png", status=404)
    assert "og:image" not in properties(acme.page(acme.bob).get(f"/app/posts/{original.id}"))


def test_it_rejects_too_many_pictures(acme, settings):
    settings.RATE_LIMIT = 2
    post = make_post(acme.alice)
    client = Client(acme.host)
    responses = [client.get(f"/app/posts/{post.id}/preview.png") for _ in range(3)]
    assert [response.status_code for response in responses] == [200, 200, 429]
    # A request that needs no picture is not counted.
    etag = responses[0].headers["ETag"]
    assert client.get(f"/app/posts/{post.id}/preview.png", headers={"If-None-Match": etag}).status_code == 304


def test_any_title_can_be_drawn():
    for title in ("", "W" * 255, "word " * 51, "🦄" * 255, "漢字\u202eback\ta\nb<b>&amp;", "\u0301" * 255, "ﷺ" * 255):
        preview = Preview(title, 10**9, title, title, title, "en", "#4f46e5")
        assert Image.open(io.BytesIO(previews.draw(preview))).size == (1200, 630)


def test_texts_are_wrapped_and_shortened():
    font = load_font(40)
    lines = wrap("one two three four five six seven eight", font, 260, 3)
    assert len(lines) == 3
    assert lines[0].startswith("one two")
    assert lines[-1].endswith("…")
    assert all(font.getlength(line) <= 260 for line in lines)
    assert wrap("short", font, 260, 3) == ["short"]
    assert wrap("", font, 260, 3) == []
    assert drawable("a  b\n c", 10) == "a b c"
    assert drawable("abcdef", 3) == "abc…"
