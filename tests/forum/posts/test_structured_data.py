"""The data of public pages for search engines and social networks: JSON-LD, Open Graph, and the links to other languages."""

import json
from io import BytesIO

from PIL import Image

from accounts.brand.models import Branding
from tests.support.factories import make_comment, make_post
from tests.support.pages import path_of_post


def read(page) -> dict | None:
    element = page.html.find("script", type="application/ld+json")
    return json.loads(element.string) if element else None


def test_it_works(acme):
    post = make_post(acme.carol, "A dark theme</script><b>", content="Say *why*:\n\n<!-- <script> & \u2028 -->")
    post.vote(by=acme.bob)
    make_comment(post, acme.bob, "Soon")
    post.comment(by=acme.bob, text="Not for others", internal=True)
    post.refresh_from_db()
    page = acme.page().get(path_of_post(post))
    data = read(page)
    url = f"http://{acme.host}{path_of_post(post)}"
    counter = {"@type": "InteractionCounter", "interactionType": "https://schema.org/LikeAction"}
    counters = [counter, counter | {"interactionType": "https://schema.org/CommentAction"}]
    assert data.pop("image").startswith(f"http://{acme.host}/app/posts/{post.id}/preview.png?v=")
    assert data.pop("text").startswith("Say why:")
    assert data == {
        "@context": "https://schema.org",
        "@type": "DiscussionForumPosting",
        "url": url,
        "headline": "A dark theme</script><b>",
        "author": {"@type": "Person", "name": "Carol Member"},
        "datePublished": post.created_at.isoformat(timespec="seconds"),
        "dateModified": post.updated_at.isoformat(timespec="seconds"),
        "commentCount": 1,
        "interactionStatistic": [each | {"userInteractionCount": 1} for each in counters],
    }
    assert len(page.html.select("script[type='application/ld+json']")) == 1
    # The same address has one text in any language of the interface, so there are no alternates.
    assert (page.html.html["lang"], page.headers["Content-Language"]) == ("en", "en")
    assert page.html.select("link[hreflang]") == []


def test_it_rejects_suggestions_that_are_not_public(acme):
    for fields in ({"private": True}, {"approved": False}):
        post = make_post(acme.carol, "A dark theme", **fields)
        assert read(acme.page(acme.bob).get(path_of_post(post))) is None


def test_lists_have_the_picture_of_the_brand(acme):
    output = BytesIO()
    Image.new("RGB", (1200, 630), "#336699").save(output, "PNG")
    for picture in (None, output.getvalue()):
        row = picture and Branding.change(acme.account, share_image=picture, accent="#0a7a4b")
        for path in ("/app/suggestions", "/app/roadmap"):
            tags = acme.page().get(path).html.select("meta[property], meta[name^=twitter]")
            values = {tag.get("property", tag.get("name")): tag["content"] for tag in tags}
            assert values["og:url"] == f"http://{acme.host}{path}"
            assert values.get("og:image") == (row and f"http://{acme.host}{row.url_of('share_image')}")
            assert values["twitter:card"] == ("summary_large_image" if row else "summary")
