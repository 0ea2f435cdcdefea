"""Atom feeds and the sitemap."""

from xml.etree.ElementTree import Element

from defusedxml.ElementTree import fromstring

from forum.forums.models import Forum
from forum.lists.pages import feeds
from forum.posts.models import Post
from tests.support.factories import make_category, make_post
from tests.support.membership import add
from tests.support.pages import Visitor, path_of_post
from tests.support.reading import make_private, make_unapproved

ATOM_NAMESPACE, SITEMAP_NAMESPACE = "{http://www.w3.org/2005/Atom}", "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def read(visitor: Visitor, path: str) -> Element:
    response = visitor.get(path)
    assert response.status_code == 200
    return fromstring(response.body)


def titles(visitor: Visitor, path: str) -> list[str]:
    return [entry.findtext(f"{ATOM_NAMESPACE}title") for entry in read(visitor, path).iter(f"{ATOM_NAMESPACE}entry")]


def test_it_works(acme):
    post = make_post(acme.carol, "A <dark> theme", content="So that *one* can read", tags=["vip"])
    base = f"http://{acme.host}"
    response = acme.page().get("/app/feed.atom")
    assert response.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert response.headers["Cache-Control"] == "private, no-cache"
    feed = fromstring(response.body)
    assert feed.tag == f"{ATOM_NAMESPACE}feed"
    assert feed.findtext(f"{ATOM_NAMESPACE}title") == "Acme"
    assert feed.findtext(f"{ATOM_NAMESPACE}id") == f"{base}/app/feed.atom"
    assert {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM_NAMESPACE}link")} == {
        "alternate": f"{base}/app/suggestions?order=new",
        "self": f"{base}/app/feed.atom",
    }
    [entry] = feed.findall(f"{ATOM_NAMESPACE}entry")
    assert entry.findtext(f"{ATOM_NAMESPACE}title") == "A <dark> theme"
    assert entry.findtext(f"{ATOM_NAMESPACE}id") == f"{base}/app/posts/{post.id}"
    assert entry.find(f"{ATOM_NAMESPACE}link").get("href") == f"{base}{path_of_post(post)}"
    assert entry.findtext(f"{ATOM_NAMESPACE}author/{ATOM_NAMESPACE}name") == "Carol Member"
    assert entry.find(f"{ATOM_NAMESPACE}summary").get("type") == "html"
    assert entry.findtext(f"{ATOM_NAMESPACE}summary") == "<p>So that <em>one</em> can read</p>\n"
    assert entry.find(f"{ATOM_NAMESPACE}category").get("term") == "vip"
    updated = f"{post.updated_at:%Y-%m-%dT%H:%M:%S}"
    assert entry.findtext(f"{ATOM_NAMESPACE}updated").startswith(updated)
    assert feed.findtext(f"{ATOM_NAMESPACE}updated").startswith(updated)
    # Each list links its own feed.
    link = acme.page().get("/?order=top").html.find("link", rel="alternate")
    assert (link["type"], link["href"]) == ("application/atom+xml", "/app/feed.atom?order=top")


def test_an_empty_feed_has_a_constant_etag(acme):
    first, second = acme.page().get("/app/feed.atom"), acme.page().get("/app/feed.atom")
    assert first.body == second.body
    not_modified = acme.page().get("/app/feed.atom", headers={"If-None-Match": first.headers["ETag"]}, status=304)
    assert not_modified.body == b""


def test_a_feed_has_the_filters_of_the_list(acme):
    ideas = make_category(acme.account, "Ideas & more")
    planned = acme.account.statuses.get(kind="post", code="planned")
    make_post(acme.alice, "One").vote(by=acme.bob)
    make_post(acme.alice, "Two", status=planned)
    make_post(acme.alice, "Three", category_id=ideas.id)
    make_post(acme.alice, "Four", kind="error", tags=["a&b"])
    page = acme.page()
    assert titles(page, "/app/feed.atom") == ["Four", "Three", "Two", "One"]
    assert titles(page, "/app/feed.atom?order=top") == ["One", "Four", "Three", "Two"]
    assert titles(page, "/app/feed.atom?order=trending") == ["One", "Four", "Three", "Two"]
    assert titles(page, "/app/feed.atom?kind=error&tag=a%26b") == ["Four"]
    assert titles(page, "/app/feed.atom?status=planned") == ["Two"]
    assert titles(page, "/app/feed.atom?q=three") == ["Three"]
    for path in ("/Ideas%20%26%20more", "/?status=planned", "/?q=two", "/?order=active", "/?tag=a%26b&kind=error"):
        link = page.get(path).html.find("link", rel="alternate")["href"]
        feed = read(page, link)
        assert feed.findtext(f"{ATOM_NAMESPACE}id") == f"http://{acme.host}{link}"
    assert titles(page, page.get("/Ideas%20%26%20more").html.find("link", rel="alternate")["href"]) == ["Three"]


def test_it_rejects_unknown_filters(acme):
    make_post(acme.alice)
    visitor = acme.page()
    for query in ("category=0", "category=abc", f"category={10**30}", "category=²", "order=old", "status=none"):
        visitor.get(f"/app/feed.atom?{query}", status=404)
    assert titles(visitor, "/app/feed.atom?q=%00") == []


def test_feeds_contain_only_public_posts(acme):
    make_post(acme.carol, "Open")
    make_private(acme.carol)
    make_unapproved(acme.carol)
    for user in (None, acme.carol, acme.alice):
        assert titles(acme.page(user), "/app/feed.atom") == ["Open"]
        assert titles(acme.page(user), "/app/feed.atom?q=secret") == []


def test_the_feed_of_a_private_forum_requires_a_session(acme):
    Forum.objects.update(access=Forum.Access.PRIVATE)
    add(acme.forum, acme.carol)
    make_post(acme.alice, "Open")
    assert acme.page().get("/app/feed.atom").status_code == 303
    assert titles(acme.page(acme.carol), "/app/feed.atom") == ["Open"]


def test_long_texts_are_shortened(acme):
    make_post(acme.alice, content="word " * 10_000)
    make_post(acme.alice, content="&#12; *a*")
    Post.objects.filter(content__startswith="&").update(content_html="<p>\x0c</p>")
    short, long = (
        entry.findtext(f"{ATOM_NAMESPACE}summary")
        for entry in read(acme.page(), "/app/feed.atom").iter(f"{ATOM_NAMESPACE}entry")
    )
    assert short == "<p>\ufffd</p>"
    assert long == f"<p>{'word ' * 39}word…</p>"


# The sitemap


def addresses(visitor: Visitor) -> list[str]:
    return [location.text for location in read(visitor, "/sitemap.xml").iter(f"{SITEMAP_NAMESPACE}loc")]


def test_a_sitemap_contains_public_pages(acme):
    make_category(acme.account, "Ideas & more", position=100)
    first, second = make_post(acme.alice), make_post(acme.alice)
    make_private(acme.alice)
    make_unapproved(acme.alice)
    base = f"http://{acme.host}"
    response = acme.page().get("/sitemap.xml")
    assert response.headers["Content-Type"] == "application/xml"
    assert addresses(acme.page()) == [
        f"{base}/app/suggestions",
        f"{base}/General",
        f"{base}/Ideas%20%26%20more",
        f"{base}{path_of_post(second)}",
        f"{base}{path_of_post(first)}",
    ]
    change_times = [element.text for element in fromstring(response.body).iter(f"{SITEMAP_NAMESPACE}lastmod")]
    assert change_times[0].startswith(f"{second.updated_at:%Y-%m-%dT%H:%M:%S}")


def test_a_sitemap_contains_the_newest_posts(acme, monkeypatch):
    monkeypatch.setattr(feeds, "MAX_SITEMAP_POSTS", 2)
    ideas = make_category(acme.account, "Ideas")
    posts = [make_post(acme.alice, category_id=id) for id in (acme.category.id, ideas.id) * 2]
    assert addresses(acme.page())[3:] == [f"http://{acme.host}{path_of_post(post)}" for post in (posts[3], posts[2])]


def test_a_private_forum_has_no_sitemap(acme):
    make_post(acme.alice)
    Forum.objects.update(access=Forum.Access.PRIVATE)
    for user in (None, acme.alice):
        acme.page(user).get("/sitemap.xml", status=404)
    Forum.objects.update(access=Forum.Access.MEMBERS)
    assert len(addresses(acme.page())) == 3
