"""Merging duplicates, and undoing it."""

import pytest

from forum.follows.models import Follow
from tests.support.factories import make_client, make_contact, make_forum, make_post, make_user
from tests.support.pages import path_of_post
from tests.support.settings import button_of, send, texts
from tests.support.team import HTMX, fresh, went_to
from tests.support.threads import at_once


def path_of(post) -> str:
    return f"/app/posts/{post.id}/merge"


def merge(page, duplicate, original, *, status=303):
    return send(page, path_of(duplicate), do="merge", into=original.id, status=status)


def test_it_works(acme):
    original = make_post(acme.carol, "A dark theme for the forum")
    duplicate = make_post(acme.alice, "Dark colours please", content="My eyes.")
    original.vote(by=acme.carol)
    for user in (acme.bob, acme.carol):
        duplicate.vote(by=user)
    duplicate.comment(by=acme.carol, text="Yes!")
    bob = acme.page(acme.bob)
    [form] = [
        form for form in bob.get(path_of(duplicate)).forms.values() if "q" in form.fields and "find" not in form.action
    ]
    form["q"] = "dark"
    results = form.submit()
    assert texts(results, "#merge-found label") == [f"A dark theme for the forum #{original.id}, 1 vote"]
    [form] = [form for form in results.forms.values() if "into" in form.fields]
    form["into"] = str(original.id)
    confirmation = form.submit()
    assert texts(confirmation, "main .card > p.meta") == ["2 votes 1 comment", "1 vote 0 comments"]
    assert texts(confirmation, "main .card:last-child li")[:2] == [
        "1 + 2 votes, 1 voted for both: 2 votes afterwards.",
        "1 comment moves to the original.",
    ]
    assert fresh(duplicate).duplicate_from_id is None
    response = button_of(confirmation, "merge").submit("do")
    assert went_to(response, path_of_post(original)) == ["“Dark colours please” is merged into this suggestion."]
    original, duplicate = fresh(original), fresh(duplicate)
    assert duplicate.duplicate_from_id == original.id
    assert (original.votes_cache, original.comments_cache) == (2, 1)


def test_the_preview_counts_each_voter_once(acme, monkeypatch):
    original, duplicate = make_post(acme.carol), make_post(acme.alice)
    client, contact, dora = make_client(acme.bob), make_contact(acme.bob), make_user(acme.account, "dora")
    for post in (original, duplicate):
        post.cast_proxy_vote(by=acme.bob, client_id=client.id)
        post.vote(by=dora)
    duplicate.cast_proxy_vote(by=acme.bob, contact_id=contact.id)
    duplicate.comment(by=acme.bob, text="For us", internal=True)
    Follow.objects.choose(duplicate, by=dora, follows=True)
    page = acme.page(acme.bob).get(f"{path_of(duplicate)}?into={original.id}")
    assert texts(page, "main .card:last-child li")[:3] == [
        "2 + 3 votes, 2 voted for both: 3 votes afterwards.",
        "1 comment moves to the original.",
        "1 follower follows the original then.",
    ]
    fresh(duplicate).merge_into(fresh(original), by=acme.bob)
    assert fresh(original).votes_cache == 3
    assert "Unfollow" in acme.page(dora).get(f"/app/posts/{original.id}")
    monkeypatch.setattr("forum.posts.merging.MAX_COMPARED_VOTES", 1)
    fresh(duplicate).undo_merge(by=acme.bob)
    page = acme.page(acme.bob).get(f"{path_of(duplicate)}?into={original.id}")
    assert texts(page, "main .card:last-child li")[0] == (
        "2 + 3 votes, at least 2 voted for both: at most 3 votes afterwards."
    )


def test_a_merge_can_be_undone(acme):
    original, duplicate = make_post(acme.carol), make_post(acme.alice, "Twice")
    duplicate.comment(by=acme.carol, text="Yes!")
    bob = acme.page(acme.bob)
    for post in (original, duplicate):
        fresh(duplicate).merge_into(original, by=acme.bob)
        page = bob.get(f"/app/posts/{post.id}/team")
        assert ("Twice" in page.html.find(id="tool-merge").get_text()) is (post is original)
        form = button_of(page, "undo")
        message = "This suggestion stands on its own again, with its own votes and comments."
        assert went_to(form.submit("do"), f"/app/posts/{duplicate.id}") == [message]
        assert (fresh(duplicate).duplicate_from_id, fresh(duplicate).comments_cache) == (None, 1)
        # Send the form again from another tab.
        assert went_to(form.submit("do"), path_of(duplicate)) == ["This suggestion is not merged into another one."]


def test_search_while_typing(acme):
    post, match = make_post(acme.carol, "One dark thing"), make_post(acme.carol, "Another dark thing")
    numbered = make_post(acme.carol, "Take 987654 into account")
    bob = acme.page(acme.bob)
    response = bob.get(path_of(post), {"q": "dark"}, headers=HTMX)
    assert response.html.find("main") is None
    assert texts(response, "label") == [f"Another dark thing #{match.id}, 0 votes"]
    assert "Nothing was found." in bob.get(path_of(post), {"q": "qqqq"}, headers=HTMX)
    # A number is an id, or a word of a title.
    for q, row in ((f"#{match.id}", match), (str(match.id), match), ("987654", numbered)):
        found = texts(bob.get(path_of(post), {"q": q}, headers=HTMX), "label")
        assert found == [f"{row.title} #{row.id}, 0 votes"]
    for q in (f"#{post.id}", "\u0001", "'", "%", "#", "9" * 300, "  "):
        assert texts(bob.get(path_of(post), {"q": q}, headers=HTMX), "label") == []


def test_it_rejects_originals_that_do_not_exist(acme):
    post, trashed, merged = make_post(acme.carol), make_post(acme.carol), make_post(acme.carol)
    merged.merge_into(make_post(acme.carol), by=acme.bob)
    trashed.trash(by=acme.alice)
    bob = acme.page(acme.bob)
    for into in (post.id, trashed.id, merged.id, 10**17, "x", ""):
        response = bob.get(path_of(post), {"into": into})
        assert "There is no such suggestion to merge it into." in response


def test_it_rejects_posts_that_cannot_be_merged(acme):
    post, trashed, merged, original = (make_post(acme.carol) for _ in range(4))
    private_post = make_post(acme.carol, private=True)
    merged.merge_into(original, by=acme.bob)
    trashed.trash(by=acme.alice)
    elsewhere = make_post(acme.carol, forum_id=make_forum(acme.account).id)
    bob = acme.page(acme.bob)
    for duplicate, into, expected in [
        (post, post, "A suggestion can't be merged into itself."),
        (post, trashed, "The suggestion that you chose was deleted. Choose another one."),
        (post, merged, "The suggestion that you chose was itself merged into another one. Choose that one."),
        (post, elsewhere, "Choose the suggestion to merge it into."),
        (private_post, post, "A private suggestion can't be merged into one that everyone sees"),
        (merged, post, "This suggestion was merged into another one. Go on there, or undo that first."),
    ]:
        [message] = went_to(merge(bob, duplicate, into), path_of(duplicate))
        assert message.startswith(expected)
    assert fresh(post).duplicate_from_id is None
    [message] = went_to(merge(bob, trashed, post), "/app/suggestions")
    assert message == "This suggestion was deleted. An admin can restore it from the trash."
    fresh(original).merge_into(post, by=acme.bob)
    [message] = went_to(send(bob, path_of(merged), do="undo"), path_of(merged))
    assert message == "The suggestion that it was merged into was itself merged into another one. Undo that first."


@pytest.mark.django_db(transaction=True)
def test_simultaneous_merges_in_two_tabs(acme):
    """Of two simultaneous merges one succeeds. The other has the same result, or is rejected with a message."""
    pages = [acme.page(acme.bob), acme.page(acme.alice)]
    a, b, c = (make_post(acme.carol) for _ in range(3))
    for post in (a, b):
        post.vote(by=acme.carol)
    # The same merge twice.
    responses = at_once(*(lambda page=page: merge(page, a, b) for page in pages))
    assert [response.headers["Location"] for response in responses] == [path_of_post(b)] * 2
    assert (fresh(a).duplicate_from_id, fresh(b).votes_cache) == (b.id, 1)
    assert acme.account.status_changes.of_post(a.id).count() == 1

    # Merges in opposite directions.
    fresh(a).undo_merge(by=acme.bob)
    responses = at_once(lambda: merge(pages[0], a, b), lambda: merge(pages[1], b, a))
    assert sorted(fresh(post).duplicate_from_id is None for post in (a, b)) == [False, True]
    merged, other = (a, b) if fresh(a).duplicate_from_id else (b, a)
    assert sorted(response.headers["Location"] for response in responses) == sorted(
        [path_of_post(other), path_of(other)]
    )

    # Merges into different originals.
    fresh(merged).undo_merge(by=acme.bob)
    responses = at_once(lambda: merge(pages[0], a, b), lambda: merge(pages[1], a, c))
    [location] = {path_of_post(b), path_of_post(c)} & {response.headers["Location"] for response in responses}
    assert location == path_of_post(b if fresh(a).duplicate_from_id == b.id else c)
    assert path_of(a) in {response.headers["Location"] for response in responses}
    # The voter had already voted for `b`.
    assert (fresh(b).votes_cache, fresh(c).votes_cache) == (1, int(location == path_of_post(c)))

    # The merge is undone twice.
    responses = at_once(*(lambda page=page: send(page, path_of(a), do="undo") for page in pages))
    assert sorted(response.headers["Location"] for response in responses) == [f"/app/posts/{a.id}", path_of(a)]
