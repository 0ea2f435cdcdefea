"""Queries that the pages use to find posts: by similarity and by words."""

from accounts.statuses.models import Status
from forum.lists.whole_forum import ForumList
from forum.posts.models import Post
from tests.support.factories import make_category, make_forum, make_post, make_task, make_user
from tests.support.reading import selection_of

TITLES = [
    "A dark theme",
    "A darker theme for the night",
    "Export orders to a spreadsheet",
    "Reply to notifications by e-mail",
    "Themes for shops",
    "Ciemny motyw dla użytkowników",
]


def similar_titles(acme, text: str) -> list[str]:
    rows = Post.objects.similar_to(text, ("title",), account=acme.account, forum_id=acme.forum.id)
    return [title for (title,) in rows]


FOUND = {
    "dark": "A dark theme",
    "dark them": "A dark theme",
    "Please add a dark theme": "A dark theme",
    "drak theme": "A dark theme",
    "It would be great to export all orders": "Export orders to a spreadsheet",
    "spredsheet": "Export orders to a spreadsheet",
    "exporting of an order": "Export orders to a spreadsheet",
    "replying by email": "Reply to notifications by e-mail",
    "ciemny motyw": "Ciemny motyw dla użytkowników",
    "uzytkownik": "Ciemny motyw dla użytkowników",
}
NOT_FOUND = ["", " ", "?!", "\0", "completely unrelated", "elsewhere", "a" * 5000, "'); --", "x:*&|!('", "%_\\"]


def test_it_works(acme):
    for title in TITLES:
        make_post(acme.carol, title, content="something dark, and mailed elsewhere")
    assert {text: similar_titles(acme, text)[0] for text in FOUND} == FOUND
    assert {text: similar_titles(acme, text) for text in NOT_FOUND} == {text: [] for text in NOT_FOUND}


def test_only_open_posts_of_the_forum_are_similar(acme):
    title = "A dark theme"
    open_post = make_post(acme.carol, title)
    make_post(acme.carol, title, private=True)
    make_post(acme.carol, title, approved=False)
    make_post(acme.carol, title).merge_into(open_post, by=acme.bob)
    make_post(acme.carol, title).trash(by=acme.bob)
    make_task(acme.bob, title)
    make_post(acme.carol, title, forum_id=make_forum(acme.account).id)
    assert similar_titles(acme, title) == [title]


def test_the_number_of_similar_posts_is_limited(acme):
    for number in range(8):
        make_post(acme.carol, f"A dark theme {number}")
    assert len(similar_titles(acme, "dark theme")) == 5


def test_similar_posts_of_frequent_words(acme, monkeypatch):
    monkeypatch.setattr("core.search.queries.MAX_RESULTS", 3)
    for number in range(12):
        # The titles have the order of the ids, so that scans of either index rank the same posts.
        make_post(acme.carol, f"A dark theme {number:02}")
    assert len(similar_titles(acme, "a dark theme")) == 3


def test_posts_found_by_a_search(acme):
    category = make_category(acme.account)
    rejected = acme.account.statuses.get(kind=Status.Kind.POST, code="rejected")
    first, second = make_post(acme.carol, "A dark theme"), make_post(acme.carol, "Colours", content="a dark theme")
    hidden = make_post(acme.carol, "A dark secret", private=True)
    second.write({"category_id": category.id, "status": rejected}, by=acme.bob)
    make_post(acme.carol, "A dark theme", forum_id=make_forum(acme.account).id)
    make_task(acme.bob, "A dark theme")

    def search(text, user=None, start=0, size=10, **filters):
        selection = selection_of(**filters)
        posts = ForumList(acme.account, acme.forum.id, user, ("id",), start, size, selection)
        return [id for (id,) in posts.search(text)]

    assert search("dark") == [first.id, second.id]
    assert search("thmee") == [first.id, second.id]
    assert search("dark", start=1) == [second.id]
    assert search("dark", size=1) == [first.id]
    assert search("dark", category_id=category.id) == [second.id]
    assert search("dark", status_id=rejected.id) == [second.id]
    assert set(search("dark", acme.carol)) == set(search("dark", acme.bob)) == {first.id, second.id, hidden.id}
    assert search("dark", make_user(acme.account)) == [first.id, second.id]
    assert search("\0") == search("?") == []
