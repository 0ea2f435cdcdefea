"""Reports of suggestions and comments by members, and the team's list of them."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction

from forum.blocking import actions
from forum.comments.models import Comment
from forum.content_reports.models import ContentReport
from forum.forums.models import Forum
from forum.posts.models import Post
from tests.support.factories import make_comment, make_forum, make_post, make_user
from tests.support.membership import add
from tests.support.settings import send, texts
from tests.support.team import messages_of, went_to

QUEUE = "/app/inbox/reported"


@pytest.fixture
def post(acme):
    return make_post(acme.carol, "Buy pills", content="Very cheap")


@pytest.fixture
def comment(acme):
    return make_comment(make_post(acme.bob, "Dark mode"), acme.carol, "Cheap pills")


@pytest.fixture
def dora(acme):
    return make_user(acme.account, "dora", name="Dora Reader")


def path(row: Post | Comment) -> str:
    return f"/app/posts/{row.post_id}/comments/{row.id}" if isinstance(row, Comment) else f"/app/posts/{row.id}"


def report(acme, user, row, **values):
    """Send the form for a report, which the page of the text links to."""
    page = acme.page(user).get(path(row))
    page = page.follow() if page.status_code == 303 else page
    form = page.click("Report", href=f"{path(row)}/report$").forms["report"]
    for name, value in {"reason": "spam", "note": "", **values}.items():
        form[name] = value
    return form.submit()


def reported(acme, query: str = "") -> list[str]:
    """Return the titles of the list, and assert that the tab counts them."""
    page = acme.page(acme.bob).get(QUEUE + query)
    titles = texts(page, "main li h2")
    assert texts(page, '.tabs [aria-current="page"]:has(.chip)') == [f"Reported {len(titles)}"]
    return titles


def decide(acme, do: str, number: int = 0):
    page = acme.page(acme.bob).get(QUEUE)
    forms = [form for form in page.forms.values() if "version" in form.fields and form.html.find(value=do)]
    return forms[number].submit("do", value=do) if do == "keep" else forms[number].submit("do")


@pytest.mark.parametrize("name", ["post", "comment"])
def test_it_works(acme, request, dora, name):
    row = request.getfixturevalue(name)
    response = report(acme, dora, row, reason="abuse", note="He *shouts*")
    page = response.follow()
    page = page.follow() if page.status_code == 303 else page
    assert messages_of(page) == ["Thank you. The team will look at it."]
    stored = acme.account.content_reports.get()
    assert (stored.user_id, stored.reason, stored.note) == (dora.id, "abuse", "He *shouts*")
    assert reported(acme) == ["Buy pills" if name == "post" else "Comment on “Dark mode”"]
    entry = texts(acme.page(acme.bob).get(QUEUE), "main ol > li")[0]
    for text in ("Carol Member", "1 report", "Insults or threats: 1", "Dora Reader", "“He *shouts*”", "heap"):
        assert text in entry
    # Nobody else sees the report.
    for user in (None, acme.carol, dora):
        page = acme.page(user).get(path(row))
        page = page.follow() if page.status_code == 303 else page
        assert "shouts" not in page


def test_a_text_is_reported_once_until_it_is_edited(acme, post, dora):
    assert report(acme, dora, post).status_code == 303
    second = report(acme, dora, post, reason="other").follow()
    assert messages_of(second) == ["You have already reported this, and the team knows."]
    assert acme.account.content_reports.get().reason == "spam"
    assert went_to(decide(acme, "keep"), QUEUE) == ["It stays as it is."]
    assert reported(acme) == []
    report(acme, dora, post)
    assert reported(acme) == []
    post.write({"content": "Even cheaper"}, by=acme.carol)
    report(acme, dora, post, reason="other")
    assert acme.account.content_reports.get().reason == "other"
    assert reported(acme) == ["Buy pills"]


def test_the_team_deletes_what_was_reported(acme, post, comment, dora):
    report(acme, dora, post)
    assert went_to(decide(acme, "delete"), QUEUE) == ["The suggestion is in the trash."]
    assert reported(acme) == []
    assert Post.objects.get(pk=post.pk).trashed_at is not None
    # A comment is deleted with its reports.
    report(acme, dora, comment)
    assert went_to(decide(acme, "delete"), QUEUE) == ["The comment is deleted."]
    assert reported(acme) == []
    assert [row.post_id for row in acme.account.content_reports.all()] == [post.id]
    assert Post.objects.get(id=comment.post_id).comments_cache == 0


def test_what_was_changed_meanwhile_is_read_again(acme, post, comment, dora):
    for row in (post, comment):
        ContentReport.objects.file(row, by=dora, reason="spam")
    page = acme.page(acme.bob).get(QUEUE)
    forms = [form for form in page.forms.values() if "version" in form.fields]
    post.write({"content": "Harmless"}, by=acme.carol)
    Post.objects.get(id=comment.post_id).erase_comment(comment)
    kept, deleted = forms[0].submit("do", value="keep"), forms[-1].submit("do")
    assert went_to(kept, QUEUE) == [
        "This text was changed after you opened the page. Read it as it is now.",
        "This text was deleted in the meantime.",
    ]
    assert deleted.headers["Location"] == QUEUE
    assert reported(acme) == ["Buy pills"]
    assert send(acme.page(acme.bob), QUEUE, do="keep", post="x").status_code == 303


def test_the_reasons_are_counted(acme, post, monkeypatch):
    monkeypatch.setattr("forum.inbox.pages.moderation.MAX_REPORTS_SHOWN", 2)
    for reason in ("spam", "other", "spam", "spam"):
        ContentReport.objects.file(post, by=make_user(acme.account), reason=reason)
    entry = texts(acme.page(acme.bob).get(QUEUE), "main ol > li")[0]
    for text in ("4 reports", "Spam or advertising: 3", "Something else: 1", "and 2 more"):
        assert text in entry


def test_withdrawn_texts_and_reports_of_blocked_members_are_left_out(acme, post, comment, dora):
    for row in (post, comment):
        ContentReport.objects.file(row, by=dora, reason="spam")
    actions.block(acme.carol, by=acme.bob, takes_texts=True)
    assert reported(acme) == []
    acme.carol.unblock(by=acme.bob)
    assert len(reported(acme)) == 2
    actions.block(dora, by=acme.bob, takes_texts=True)
    assert reported(acme) == []


def test_a_merge_keeps_the_reports_of_comments(acme, comment, dora):
    ContentReport.objects.file(comment, by=dora, reason="spam")
    Post.objects.get(id=comment.post_id).merge_into(make_post(acme.bob, "Themes"), by=acme.bob)
    assert reported(acme) == ["Comment on “Themes”"]


def test_the_list_has_the_texts_of_all_forums_or_of_one(acme, post, dora):
    ContentReport.objects.file(post, by=dora, reason="spam")
    forum = make_forum(acme.account)
    ContentReport.objects.file(make_post(acme.carol, "Elsewhere", forum_id=forum.id), by=dora, reason="spam")
    assert reported(acme) == ["Buy pills", "Elsewhere"]
    assert reported(acme, f"?forum={forum.id}") == ["Elsewhere"]


def test_it_rejects_authors_and_the_team(acme, post, comment):
    for user in (acme.carol, acme.bob, acme.alice):
        visitor = acme.page(user)
        for row in (post, comment):
            page = visitor.get(path(row))
            page = page.follow() if page.status_code == 303 else page
            assert f"{path(row)}/report" not in page
            visitor.get(f"{path(row)}/report", status=403)
            send(visitor, f"{path(row)}/report", reason="spam", status=403)
            with pytest.raises(PermissionDenied), transaction.atomic():
                ContentReport.objects.file(row, by=user, reason="spam")
    assert not acme.account.content_reports.exists()


def test_it_rejects_texts_that_the_user_may_not_see(acme, comment, dora):
    hidden = [make_post(acme.carol, private=True), make_post(acme.carol, approved=False)]
    internal = Post.objects.get(id=comment.post_id).comment(by=acme.bob, text="For us", internal=True)
    waiting = make_comment(make_post(acme.bob), acme.carol, "See https://spam.example/a")
    trashed = make_post(acme.carol)
    trashed.trash(by=acme.bob)
    page = acme.page(dora)
    for row in (*hidden, internal, waiting, trashed):
        page.get(f"{path(row)}/report", status=404)
        send(page, f"{path(row)}/report", reason="spam", status=404)
    assert not acme.account.content_reports.exists()


def test_it_rejects_readers_who_are_not_members(acme, post, dora):
    acme.account.forums.update(access=Forum.Access.MEMBERS)
    page = acme.page(dora)
    assert f"{path(post)}/report" not in page.get(path(post))
    page.get(f"{path(post)}/report", status=403)
    add(acme.forum, dora)
    assert report(acme, dora, post).status_code == 303


def test_it_rejects_invalid_forms(acme, post, dora):
    page = acme.page(dora)
    for values in ({}, {"reason": "boring"}, {"reason": "spam", "note": "a" * 501}):
        response = send(page, f"{path(post)}/report", status=422, **values)
        assert response.html.select(".field-error")
    assert not acme.account.content_reports.exists()


def test_a_session_that_ended_shows_no_text_of_the_suggestion(acme, post, dora):
    form = acme.page(dora).get(f"{path(post)}/report").forms["report"]
    acme.account.users.get(login="dora").sessions.all().delete()
    assert "Buy pills" not in form.submit(status=403).html.select_one("main").get_text()


def test_reports_of_a_day_are_limited(acme, dora, settings, monkeypatch):
    settings.RATE_LIMIT = 1000
    assert ContentReport.MAX_PER_DAY == 20
    monkeypatch.setattr(ContentReport, "MAX_PER_DAY", 2)
    posts = [make_post(acme.carol, f"Post {number}") for number in range(3)]
    page = acme.page(dora)
    for post in posts[:-1]:
        send(page, f"{path(post)}/report", reason="spam")
    response = send(page, f"{path(posts[-1])}/report", reason="spam", note="My text", status=429)
    assert int(response.headers["Retry-After"]) > 80_000
    assert response.forms["report"]["note"].value.strip() == "My text"
    response.mustcontain("You can send 2 reports a day. Try again tomorrow.")
    assert acme.account.content_reports.count() == 2
