"""Moves from Canny and Nolt by an API key, from fakes that answer as their documentation describes."""

import pytest
from django.core.management import CommandError, call_command

from core.errors import FieldErrors
from forum.comments.models import Comment
from forum.posts.models import Post
from forum.votes.models import Vote
from team.move_in import client
from team.move_in.client import BusyError
from team.move_in.models import MoveIn, process_page
from team.move_in.services import Canny, Nolt
from tests.support.jobs import run_jobs
from tests.support.pages import Visitor
from tests.support.receiver import LOOPBACK
from tests.support.services import ANN, BEN, KEY, FakeCanny, FakeNolt


@pytest.fixture(autouse=True)
def reachable(settings, monkeypatch):
    settings.WEBHOOK_ALLOW = LOOPBACK
    for service in (client.OldServer, Nolt):
        monkeypatch.setattr(service, "interval", 0)


@pytest.fixture
def canny(monkeypatch):
    fake = FakeCanny()
    with fake.running() as url:
        monkeypatch.setattr(Canny, "ADDRESS", url)
        yield fake


@pytest.fixture
def nolt(monkeypatch):
    fake = FakeNolt()
    with fake.running() as url:
        monkeypatch.setattr(Nolt, "ADDRESS", url)
        yield fake


def start(other, url="canny", *, in_job=True, **values):
    other.mallory.account = other.account
    return MoveIn.start(other.account, by=other.mallory, url=url, in_job=in_job, **{"token": KEY, **values})


def finished(row):
    run_jobs()
    row.refresh_from_db()
    return row


def move_pages(row):
    while process_page(row.account_id, row.id):
        pass


def posts_of(other):
    rows = Post.objects.filter(account=other.account).select_related("status", "user").order_by("created_at")
    return {row.title[:13]: row for row in rows}


def comments_of(post, name):
    comments = Comment.objects.filter(account_id=post.account_id, post_id=post.id).order_by("created_at")
    return list(comments.values_list("comment", "user__name", name))


def test_it_works(other, canny):
    row = start(other)
    assert KEY not in row.credentials
    finished(row)
    assert (row.state, row.failure, row.credentials) == ("done", "", "")
    assert row.counts == {
        "category": {"created": 2},
        "status": {"created": 2, "present": 1},
        "user": {"created": 3},
        "suggestion": {"created": 3},
        "comment": {"created": 3},
        "vote": {"created": 2},
    }
    assert row.report == {
        "private": {"Inside": 1},
        "pictures": {"text": 2},
        "roles": {"ada": 1},
        "links": {"suggestion.user_id": 1, "comment.user_id": 1},
        "people": {"vote": 1},
        "refused": [],
        "kept": [],
    }
    posts = posts_of(other)
    dark, night, secret = posts["Dark mode"], posts["Night colours"], posts["x" * 13]
    assert (dark.content, dark.response) == ("Please\n\nhttps://canny.io/images/1.png", "In the **next** release")
    assert (dark.user.name, dark.status.code, dark.closed, dark.private) == ("Ann", "started", False, False)
    assert (dark.votes_cache, dark.comments_cache, dark.internal_comments_cache) == (2, 2, 1)
    assert (sorted(dark.tags), dark.additional_fields) == (["Design", "UI"], {"Effort": 3})
    assert dark.created_at.isoformat() == "2019-05-06T07:08:09+00:00"
    assert other.account.users.get(id=dark.responsible_id).email == "ada@example.com"
    assert (night.duplicate_from_id, night.status.name, night.closed) == (dark.id, "Closed", True)
    assert (secret.private, secret.user, secret.status.name, secret.closed) == (True, other.mallory, "On ice", False)
    assert (secret.title, secret.additional_fields) == ("x" * 255, {"author": "Guest"})
    assert {other.account.categories.get(id=post.category_id).name for post in (dark, secret)} == {"Ideas", "Inside"}
    assert comments_of(dark, "internal") == [
        ("Me too\n\nhttps://canny.io/images/2.png", "Ben", False),
        ("Costs a lot", "Ada", True),
        ("And me", other.mallory.name, False),
    ]
    assert other.account.users.get(email_key="ann@example.com").role == "member"
    assert Vote.objects.get(user__email_key="ben@example.com").created_at.isoformat() == "2020-03-02T00:00:00+00:00"
    assert not other.account.notifications.exists()

    # A further run takes over what is new or has changed there, and keeps what was changed here.
    dark_there, post = canny.lists["posts"][0], canny.lists["votes"][0]["post"]
    dark_there |= {"title": "Dark theme", "status": "complete", "details": "There"}
    canny.lists["items"].append(canny.comment(4, ANN, post, "Thanks"))
    own = {"post": {"content": "Here"}}
    assert other.json().put(f"/app/posts/{dark.id}.json", json=own).status_code == 200
    Vote.objects.filter(post_id=dark.id, user__email_key=BEN["email"]).delete()
    row = finished(start(other))
    assert row.counts == {
        "category": {"unchanged": 2},
        "status": {"present": 1},
        "suggestion": {"changed": 1, "unchanged": 2},
        "comment": {"created": 1, "unchanged": 3},
        "vote": {"unchanged": 2},
    }
    assert row.report["kept"] == [{"kind": "suggestion", "id": dark_there["id"], "fields": ["content"]}]
    dark.refresh_from_db()
    assert (dark.title, dark.content, dark.closed, dark.votes_cache) == ("Dark theme", "Here", True, 1)


def test_it_moves_a_board_of_nolt(other, nolt):
    row = finished(start(other, "nolt", login="admin-1"))
    assert (row.state, row.failure) == ("done", "")
    assert row.counts == {
        "category": {"created": 1},
        "status": {"present": 2},
        "user": {"created": 1},
        "suggestion": {"created": 2},
        "comment": {"created": 2},
    }
    assert row.report == {
        "fields": {"suggestion.properties": 1},
        "links": {"comment.user_id": 1},
        "people": {"user": 1},
        "votes": {"suggestion": 5},
        "refused": [],
        "kept": [],
    }
    posts = posts_of(other)
    dark, done = posts["Dark mode"], posts["Done"]
    assert (dark.content, dark.user.name, dark.status.code) == ("So that my eyes rest", "Zoe", "started")
    assert (done.content, done.user, done.status.code) == ("", other.mallory, "new")
    assert comments_of(dark, "approved") == [
        ("Me too", other.mallory.name, True),
        ("Soon", "Zoe", False),
    ]
    assert [query["variables"].get("cursor") for query in nolt.queries] == [None, None, "2", "n2"]


def test_it_waits_and_continues_where_it_was_interrupted(other, canny, monkeypatch):
    monkeypatch.setattr(Canny, "PAGE_SIZE", 1)
    row = start(other, in_job=False)
    assert process_page(other.account.id, row.id)
    canny.failures = [(429, {"Retry-After": "7"}, "")]
    with pytest.raises(BusyError, match=r"^Canny is busy\.$") as caught:
        process_page(other.account.id, row.id)
    assert caught.value.seconds == 7
    with monkeypatch.context() as killed:
        killed.setattr(MoveIn, "finish", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            move_pages(row)
    requests = canny.requests.total()
    move_pages(row)
    row.refresh_from_db()
    assert canny.requests.total() == requests + 1
    assert (row.state, row.counts["comment"], row.counts["vote"]) == ("done", {"created": 3}, {"created": 2})
    assert posts_of(other)["Dark mode"].votes_cache == 2


def test_it_rejects_what_it_cannot_read(other, canny, nolt, monkeypatch):
    refused = "{} refuses the credentials. Enter them again."
    for url, values, failure, message in (
        ("canny", {"token": "wrong"}, None, refused.format("Canny")),
        ("canny", {}, (401, {}, ""), refused.format("Canny")),
        ("canny", {}, (400, {}, '{"error": "invalid\\u0001 limit"}'), "Canny answers with an error: invalid limit"),
        ("canny", {}, (302, {"Location": "http://169.254.169.254/"}, ""), "Canny answers with an error."),
        ("canny", {}, (200, {}, "<html>"), "Canny does not answer in JSON."),
        ("canny", {}, (200, {}, "{}"), "Canny does not answer in JSON."),
        ("canny", {}, (200, {}, "[" * 100_000), "Canny does not answer in JSON."),
        ("nolt", {"token": "wrong", "login": "admin-1"}, None, refused.format("Nolt")),
        ("nolt", {}, None, "Nolt answers with an error: ssotype is required in headers"),
    ):
        (canny if url == "canny" else nolt).failures = [failure] if failure else []
        row = finished(start(other, url, **values))
        assert (row.state, row.failure, row.credentials) == ("failed", message, ""), (values, failure)
    monkeypatch.setattr(client, "MAX_BODY_BYTES", 100)
    assert finished(start(other)).failure == "Canny sends too large an answer."
    for values in ({"token": ""}, {"token": "ä"}, {"token": "a\nb"}, {"token": "a" * 256}):
        with pytest.raises(FieldErrors) as errors:
            start(other, **values)
        assert [error.field for error in errors.value.errors] == ["token"], values


def test_the_command(other, canny, tmp_path, capsys):
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    call_command("move_in", "--from", "canny", "--account", "other", "--key-file", str(file))
    output = capsys.readouterr().out
    for line in (
        "category Ideas: will be created",
        "status In progress: Started",
        "status Closed: will be created, closed",
        "vote: 2 created",
    ):
        assert f"{line}\n" in output
    file.write_text("wrong")
    with pytest.raises(CommandError, match="Canny refuses the credentials"):
        call_command("move_in", "--from", "canny", "--account", "other", "--key-file", str(file))
    with pytest.raises(CommandError, match="can't be read"):
        call_command("move_in", "--from", "canny", "--account", "other", "--key-file", str(tmp_path / "none"))


def test_an_owner_moves_on_the_page(other, canny):
    page = Visitor(other.host).start_session(other.mallory).get("/app/account/move-in")
    form = page.click("Canny").forms["move-in"]
    assert "Can&#39;t be blank" in form.submit("do", value="test", status=422)
    form["token"] = KEY
    tested = form.submit("do", value="test")
    assert KEY not in tested
    for text in (
        "The connection works",
        "<bdi>Ideas</bdi>",
        "<bdi>In progress</bdi>",
        "<bdi>Started</bdi>",
        "will be created, closed",
    ):
        assert text in tested
    form = tested.forms["move-in"]
    form["token"] = "wrong"
    assert "Canny refuses the credentials." in form.submit("do", value="test", status=422)
    form["token"] = KEY
    started = form.submit("do", value="start").follow()
    run_jobs()
    report = started.click("Refresh")
    for text in ("Done", "Pictures, which are links now", "Move again", "API key"):
        assert text in report


def test_it_reports_values_of_other_types(other, canny):
    """A move that raised another error would be tried again without end."""
    odd = [1.5, ["a"], {"a": 1}, "\x00 \ud800", "x" * 70_000]
    user = {"id": "u", "email": "u@example.com", "name": "U"}
    for name, fields in (
        ("boards", ("id", "name")),
        ("posts", ("id", "author", "customFields", "mergeHistory", "status", "title")),
        ("items", ("author", "value", "created", "imageURLs")),
        ("votes", ("id", "voter", "post")),
    ):
        first = canny.lists[name][0]
        canny.lists[name] += [
            {**first, "id": f"{field}{n}", field: value} for field in fields for n, value in enumerate(odd)
        ]
    people = [{**user, "id": f"{name}{n}", name: value} for name in user for n, value in enumerate(odd)]
    canny.lists["votes"] += [{**canny.vote(9, who, {"id": "a1".zfill(24)}), "id": who["id"]} for who in people]
    canny.lists["posts"] += [
        {**canny.lists["posts"][0], "id": f"f{n}", "customFields": [{"name": value, "value": value}]}
        for n, value in enumerate(odd)
    ]
    row = finished(start(other))
    assert (row.state, row.failure) == ("done", "")
    assert {entry["kind"] for entry in row.report["refused"]} >= {"category", "suggestion", "comment", "vote", "user"}
    assert Comment.objects.filter(account=other.account, comment__startswith="\ufffd \ufffd").exists()
