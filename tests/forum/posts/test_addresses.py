"""The addresses of suggestions: the id, and the title in ASCII letters."""

from forum.texts.slugs import MAX_SLUG_LENGTH, post_path, slug_of
from tests.support.client import Client
from tests.support.factories import make_post
from tests.support.pages import path_of_post
from tests.support.tables import table


def test_it_works(acme):
    """The id alone and every other title lead to the page, with the query."""
    post = make_post(acme.carol, "Ciemny motyw: żółć & łoś")
    path = f"/app/posts/{post.id}-ciemny-motyw-zolc-los"
    page = acme.page().get(path)
    assert page.html.find("link", rel="canonical")["href"] == f"http://{acme.host}{path}"
    for other in ("", "-dark-theme", "-CIEMNY-MOTYW-ZOLC-LOS"):
        for query in ("", "?page=1&q=%C5%82"):
            response = acme.page().get(f"/app/posts/{post.id}{other}{query}", status=301)
            assert response.headers["Location"] == path + query
            assert response.headers["Cache-Control"] == "private, no-store"
    response = acme.page().head(f"/app/posts/{post.id}", status=301)
    assert response.headers["Location"] == path
    for address in (path, f"/app/posts/{post.id}"):
        acme.page().post(address, status=403)
    for end in (".xml", ".json"):
        assert Client(acme.host).get(f"/app/posts/{post.id}{end}").status_code == 401
        assert Client(acme.host).get(f"{path}{end}").status_code == 404


def test_links_have_the_title(acme):
    post = make_post(acme.carol, "Dark theme")
    path = f"/app/posts/{post.id}-dark-theme"
    address = f"http://{acme.host}{path}"
    for list_path in ("/app/suggestions", "/app/roadmap?status=new"):
        assert acme.page().get(list_path).html.select(f'h2 a[href="{path}"]') != []
    assert f"<loc>{address}</loc>" in acme.page().get("/sitemap.xml").text
    # The id of an entry does not change with its title.
    feed = acme.page().get("/app/feed.atom").text
    assert f'<link href="{address}" rel="alternate"' in feed
    assert f"<id>http://{acme.host}/app/posts/{post.id}</id>" in feed


def test_a_merged_suggestion_leads_to_its_original(acme):
    original, post = make_post(acme.carol, "Dark theme"), make_post(acme.carol, "Night mode")
    post.merge_into(original, by=acme.bob)
    stub = acme.page().get(f"/app/posts/{post.id}-night-mode")
    assert stub.html.find("link", rel="canonical")["href"].endswith(path_of_post(original))
    page = stub.click("Dark theme", index=0)
    assert page.request.path_qs == f"/app/posts/{original.id}-dark-theme?from={post.id}"
    assert "was merged into this suggestion" in page.html.get_text()


@table(
    ("title", "slug"),
    [
        ("Dark theme", "dark-theme"),
        ("  Zażółć GĘŚLĄ jaźń, Łódź! ", "zazolc-gesla-jazn-lodz"),
        ("Straße nach Ærø", "strasse-nach-aero"),
        ("a_b -- c__", "a_b-c"),
        ("a" * 70, "a" * MAX_SLUG_LENGTH),
        ("word " * 20, "word-" * 11 + "word"),
        ("?!… 🦄", ""),
        ("漢字", ""),
        ("", ""),
    ],
)
def test_the_slug_of_a_title(title, slug):
    assert slug_of(title) == slug
    assert len(slug) <= MAX_SLUG_LENGTH
    assert post_path(18, title) == ("/app/posts/18" + (f"-{slug}" if slug else ""))


def test_a_title_without_letters_gives_the_id(acme):
    post = make_post(acme.carol, "?!…")
    acme.page().get(f"/app/posts/{post.id}", status=200)
    acme.page().get(f"/app/posts/{post.id}-dark-theme", status=301)


def test_it_rejects_a_suggestion_that_a_reader_may_not_see(acme):
    """The redirect does not reveal the title."""
    post = make_post(acme.carol, "Secret", private=True)
    for path in (f"/app/posts/{post.id}", f"/app/posts/{post.id}-secret", f"/app/posts/{post.id}-other"):
        acme.page().get(path, status=404)
    acme.page(acme.bob).get(f"/app/posts/{post.id}", status=301)
