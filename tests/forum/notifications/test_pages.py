"""The page of notifications, the number in the header, and the button to follow a suggestion."""

import pytest
from django.utils import timezone

from accounts.users.models import User
from forum.notifications.recipients import remind
from tests.support.factories import make_comment, make_forum, make_post, make_task
from tests.support.followers import run_followers
from tests.support.pages import path_of_post
from tests.support.queries import capture_queries
from tests.support.writing import sender

PATH = "/app/notifications"


@pytest.fixture
def notified(acme):
    acme.post = make_post(acme.carol, "Dark mode")
    acme.comment = make_comment(acme.post, acme.bob, "In *spring*")
    run_followers()
    return acme


def items(page) -> list[str]:
    return [" ".join(item.get_text(" ").split()) for item in page.html.select(".notification")]


def number_in_header(page) -> str:
    return "".join(page.html.select_one(".bell .count") or [])


def test_it_works(notified):
    carol = notified.page(notified.carol)
    page = carol.get(PATH)
    [item] = items(page)
    assert item.startswith("Dark mode (unread) Bob Nowak commented In spring just now you wrote this suggestion")
    assert number_in_header(page) == "1"
    [row] = notified.account.notifications.of_user(notified.carol)
    form = next(form for form in page.forms.values() if "open" in form.fields)
    response = form.submit("open", value=str(row.id))
    assert response.status_code == 303
    assert response.headers["Location"] == f"/app/posts/{notified.post.id}/comments/{notified.comment.id}"
    page = carol.get(PATH)
    assert items(page)[0].startswith("Dark mode Bob Nowak commented")
    assert number_in_header(page) == ""
    assert items(carol.get(f"{PATH}?show=unread")) == []


def test_all_are_marked_at_once(notified):
    make_comment(notified.post, notified.bob)
    run_followers()
    carol = notified.page(notified.carol)
    page = carol.get(PATH)
    assert number_in_header(page) == "2"
    next(form for form in page.forms.values() if "all" in form.fields).submit("all")
    page = carol.get(PATH)
    assert number_in_header(page) == ""
    assert "All notifications are marked as read." in page


def test_one_is_marked_as_read(notified):
    User.objects.filter(login="carol").update(language="pl")
    carol = notified.page(notified.carol)
    page = carol.get(f"{PATH}?show=unread")
    [item] = items(page)
    assert item.startswith("Dark mode (nieprzeczytane) Bob Nowak komentuje In spring")
    response = next(form for form in page.forms.values() if "read" in form.fields).submit("read")
    assert response.headers["Location"] == f"{PATH}?show=unread"
    assert items(response.follow()) == []


def test_a_suggestion_of_another_forum_opens_at_its_own_host(notified):
    forum = make_forum(notified.account, "second")
    post = make_post(notified.carol, "Elsewhere", forum_id=forum.id)
    make_comment(post, notified.bob)
    run_followers()
    links = [link["href"] for link in notified.page(notified.carol).get(PATH).html.select(".notification a")]
    assert len(links) == 1
    assert links[0].startswith(f"http://second.example.org/app/posts/{post.id}/comments/")


def test_opening_the_suggestion_marks_its_notifications_as_read(notified):
    other = make_post(notified.carol, "Another")
    make_comment(other, notified.bob)
    make_comment(notified.post, notified.carol)
    run_followers()
    path = f"/app/posts/{notified.post.id}"
    carol = notified.page(notified.carol)
    carol.get(path, headers={"Sec-Purpose": "prefetch"})
    notified.page(notified.alice).get(path)
    assert number_in_header(carol.get(PATH)) == "2"
    assert number_in_header(carol.get(path)) == "1"
    assert [item.split(" (")[0] for item in items(carol.get(f"{PATH}?show=unread"))] == ["Another"]
    _response, queries = capture_queries(lambda: carol.get(f"/app/posts/{other.id}"))
    assert len([query for query in queries if "forum_notification" in query]) == 1
    _response, queries = capture_queries(lambda: carol.get(path))
    assert not [query for query in queries if "forum_notification" in query]


def test_a_reminder_opens_the_task(notified):
    task = make_task(notified.bob, "Call Nova", responsible_id=notified.bob.id, scheduled_at=timezone.now())
    remind()
    page = notified.page(notified.bob).get(PATH)
    item, _suggestion = items(page)
    assert item.startswith("Call Nova (unread) A reminder of your task just now you are responsible for this task")
    form = next(form for form in page.forms.values() if "open" in form.fields)
    assert form.submit("open").headers["Location"] == f"/app/tasks/{task.id}"


def test_it_shows_nothing_that_the_user_may_no_longer_see(notified):
    notified.post.trash(by=notified.bob)
    assert items(notified.page(notified.carol).get(PATH)) == []


def test_it_rejects_notifications_of_others(notified):
    make_comment(notified.post, notified.alice)
    run_followers()
    row = notified.account.notifications.of_user(notified.bob).first()
    send = sender(notified.page(notified.carol))
    for value in (str(row.id), "x", "", "9" * 30):
        assert send(PATH, {"open": value}, expect_errors=True).status_code == 404
    row.refresh_from_db()
    assert row.read_at is None


# Following


def follow_form(page, post):
    return next(form for form in page.forms.values() if form.action == f"/app/posts/{post.id}/follow")


def test_a_user_follows_and_unfollows(acme):
    post = make_post(acme.bob, "Dark mode")
    carol = acme.page(acme.carol)
    page = follow_form(carol.get(f"/app/posts/{post.id}"), post).submit("follow").follow()
    assert "You follow “Dark mode”." in page
    page = follow_form(page, post).submit("follow").follow()
    assert "You no longer follow “Dark mode”." in page
    assert follow_form(page, post)["follow"].value_if_submitted() == "1"


def test_those_who_take_part_follow(acme):
    author, voter, commenter = make_post(acme.carol), make_post(acme.bob), make_post(acme.bob)
    voter.vote(by=acme.carol)
    make_comment(commenter, acme.carol)
    carol = acme.page(acme.carol)
    for post in (author, voter, commenter):
        assert carol.get(f"/app/posts/{post.id}").html.select_one("#follow button")["value"] == "0"
    # Visitors have no button.
    assert acme.page().get(f"/app/posts/{author.id}").html.find(id="follow") is None


def test_a_suggestion_that_was_merged_or_became_private(acme):
    post, original = make_post(acme.bob), make_post(acme.bob)
    form = follow_form(acme.page(acme.carol).get(f"/app/posts/{post.id}"), post)
    post.merge_into(original, by=acme.bob)
    assert form.submit("follow").headers["Location"] == path_of_post(original)
    post.undo_merge(by=acme.bob)
    post.write({"private": True}, by=acme.bob)
    assert form.submit("follow", expect_errors=True).status_code == 404
    assert not acme.account.follows.exists()
