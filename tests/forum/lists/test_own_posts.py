"""The pages of a user's own posts and votes."""

from tests.support.factories import make_post

PATH = "/app/profile/posts"


def titles(page) -> list[str]:
    return [heading.get_text().strip() for heading in page.html.select(".list h2")]


def test_it_works(acme, other):
    posts_of_carol = [make_post(acme.carol, title) for title in ("First", "Second")]
    make_post(acme.carol, "Private", private=True)
    post_of_bob = make_post(acme.bob, "Dark mode")
    post_made_private = make_post(acme.bob, "Secret")
    make_post(other.mallory, "Of other")
    for post in (post_of_bob, posts_of_carol[0], post_made_private):
        post.vote(by=acme.carol)
    post_made_private.write({"private": True}, by=acme.bob)
    carol = acme.page(acme.carol)
    page = carol.get(PATH)
    assert titles(page) == ["Private", "Second", "First"]
    page = page.click("Votes")
    assert titles(page) == ["First", "Dark mode"]
    form = next(form for form in page.forms.values() if form.action == f"/app/posts/{post_of_bob.id}/vote")
    page = form.submit("vote", headers={"Referer": f"http://{acme.host}{PATH}?list=votes"}).follow()
    assert titles(page) == ["First"]


def test_votes_for_merged_posts_are_listed_with_the_original(acme):
    duplicate, original = make_post(acme.carol, "Duplicate"), make_post(acme.bob, "Original")
    duplicate.vote(by=acme.carol)
    duplicate.merge_into(original, by=acme.bob)
    assert titles(acme.page(acme.carol).get(f"{PATH}?list=votes")) == ["Original"]


def test_empty_lists(acme):
    carol = acme.page(acme.carol)
    assert "You have not suggested anything yet." in carol.get(PATH)
    assert "You have not voted for anything yet." in carol.get(f"{PATH}?list=votes")
    assert "There is nothing more." in carol.get(f"{PATH}?page=2")
    for query in ("list=x", "page=0", "page=x"):
        carol.get(f"{PATH}?{query}", status=404)


def test_pages(acme):
    for number in range(26):
        make_post(acme.carol, f"Post {number}").vote(by=acme.carol)
    carol = acme.page(acme.carol)
    for path in (PATH, f"{PATH}?list=votes"):
        first = carol.get(path)
        assert len(titles(first)) == 25
        assert titles(first.click("Next")) == ["Post 0"]
