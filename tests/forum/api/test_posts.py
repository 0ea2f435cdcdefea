"""Posts and tasks in the Account API: creating forum posts and comments; reading, changing and deleting posts and tasks."""

import pytest

from forum.models import Post
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import comment_as_post_body, post_body
from tests.support.factories import make_category, make_client, make_post, make_task
from tests.support.tables import table


def forum_fields(acme, **fields):
    return {"task_kind": "feedback", "category_id": acme.category.id, "forum_id": acme.forum.id, **fields}


def test_it_works(acme):
    """A body without `task_kind` creates a forum post, as the Forum API does."""
    response = acme.json().post(
        "/app/posts.json", json={"post": {"title": "A dark theme", "content": "For the night."}}
    )
    post = acme.account.posts.get()
    body = post_body(post, acme.bob, title="A dark theme", content="For the night.", **forum_fields(acme))
    assert_answered(response, 201, body, location=f"http://acme.example.test/app/posts/{post.id}.json")
    assert_answered(acme.json().get(f"/app/posts/{post.id}.json"), 200, body)
    assert "<title>A dark theme</title>" in acme.xml(acme.carol).get("/").text


@table("post", [{}, {"title": None}, {"task_kind": "feedback", "title": " "}])
def test_it_rejects_a_post_without_a_title(acme, post):
    response = acme.json().post("/app/posts.json", json={"post": post})
    assert_refused(response, 422, "validation_failed", {"title": ["can't be blank"]})


def test_it_rejects_a_category_of_another_forum(acme):
    host = acme.account.hosts.create(name="ideas.elsewhere.test")
    forum = acme.account.forums.create(host_id=host.id, name="Ideas")
    response = acme.json().post(
        "/app/posts.json", json={"post": {"title": "a", "category_id": acme.category.id, "forum_id": forum.id}}
    )
    assert_refused(response, 422, "validation_failed", {"category_id": [f"is not in forum {forum.id}"]})
    response = acme.json().post("/app/posts.json", json={"post": {"title": "a", "forum_id": forum.id}})
    assert_refused(response, 422, "validation_failed", {"forum_id": ["has no category"]})


@table("task_kind", ["feedback", None, ""])
def test_posts_are_forum_posts_by_default(acme, task_kind):
    response = acme.json().post("/app/posts.json", json={"post": {"title": "a", "task_kind": task_kind}})
    assert response.status_code == 201
    assert (read(response)["task_kind"], read(response)["category_id"]) == ("feedback", acme.category.id)


def test_a_post_in_a_given_category_or_forum(acme):
    second = make_category(acme.account, "Second")
    host = acme.account.hosts.create(name="ideas.elsewhere.test")
    forum = acme.account.forums.create(host_id=host.id, name="Ideas")
    second_of_forum = acme.account.categories.create(forum_id=forum.id, name="There", position=2)
    first_of_forum = acme.account.categories.create(forum_id=forum.id, name="First", position=1)
    for fields, category in (
        ({"category_id": second.id}, second),
        ({"category_id": second_of_forum.id}, second_of_forum),
        ({"forum_id": forum.id}, first_of_forum),
        ({"forum_id": forum.id, "category_id": second_of_forum.id}, second_of_forum),
    ):
        body = read(acme.json().post("/app/posts.json", json={"post": {"title": "a", **fields}}))
        assert (body["category_id"], body["forum_id"]) == (category.id, category.forum_id)


# Read


def test_it_rejects_reading_unknown_and_trashed_posts(acme):
    trashed = make_task(acme.alice)
    trashed.trash(by=acme.alice)
    for id in (trashed.id, 10**15):
        assert_refused(acme.json().get(f"/app/posts/{id}.json"), 404, "not_found")


def test_the_team_reads_private_and_unapproved_posts(acme):
    for fields in ({"private": True}, {"approved": False}, {"kind": "private"}):
        post = make_post(acme.carol, "Mine", **fields)
        response = acme.json().get(f"/app/posts/{post.id}.json")
        assert read(response)["title"] == "Mine"
        assert read(response)["nick"] == "Carol Member"


def test_numbers_of_votes_and_comments(acme):
    post = make_post(acme.carol, "Mine")
    post.comment(by=acme.bob, text="Yes")
    post.vote(by=acme.alice)
    post.vote(by=acme.bob)
    body = read(acme.json().get(f"/app/posts/{post.id}.json"))
    assert {name: body[name] for name in ("votes_cache", "comments_cache", "points")} == {
        "votes_cache": 2,
        "comments_cache": 1,
        "points": 2,
    }


# Update


def test_an_update_changes_only_the_given_fields(acme):
    post = make_post(acme.carol, "Old", content="old", tags=["a"], agent="tests/1.0")
    response = acme.json().put(f"/app/posts/{post.id}.json", json={"post": {"title": "New", "status": "planned"}})
    post.refresh_from_db()
    planned = acme.account.statuses.get(kind="post", code="planned")
    body = post_body(
        post,
        acme.carol,
        title="New",
        content="old",
        tags=["a"],
        status="planned",
        status_id=planned.id,
        **forum_fields(acme),
    )
    assert_answered(response, 200, body)
    assert_answered(acme.json().get(f"/app/posts/{post.id}.json"), 200, body)


def test_patch_is_the_same_as_put(acme):
    task = make_task(acme.alice, "Old")
    response = acme.json().patch(f"/app/posts/{task.id}.json", json={"post": {"priority": "2"}})
    assert (response.status_code, read(response)["priority"]) == (200, 2)


def test_it_rejects_invalid_changes(acme):
    task, post = make_task(acme.alice, "Task"), make_post(acme.alice, "Post")
    for row, change, errors in (
        (task, {"title": ""}, {"title": ["can't be blank"]}),
        (
            task,
            {"status": "x"},
            {"status": ["is not one of new, accepted, planned, started, completed, rejected, duplicate"]},
        ),
        (task, {"task_kind": "feedback"}, {"task_kind": ["can't be changed between a forum post and a task"]}),
        (post, {"task_kind": "phone"}, {"task_kind": ["can't be changed between a forum post and a task"]}),
        (task, {"category_id": acme.category.id}, {"category_id": ["can't be given for a task"]}),
        (
            task,
            {"task_kind": "comment"},
            {"task_kind": ["is not one of feedback, task, email, help, chat, phone, lead, error, idea"]},
        ),
    ):
        before = Post.objects.filter(id=row.id).values().get()
        response = acme.json().put(f"/app/posts/{row.id}.json", json={"post": change})
        assert_refused(response, 422, "validation_failed", errors)
        assert Post.objects.filter(id=row.id).values().get() == before


def test_it_rejects_changes_of_unknown_and_trashed_posts(acme):
    trashed = make_task(acme.alice)
    trashed.trash(by=acme.alice)
    for id in (trashed.id, 10**15):
        response = acme.json().put(f"/app/posts/{id}.json", json={"post": {"title": "a"}})
        assert_refused(response, 404, "not_found")


def test_a_task_may_become_another_kind_of_task(acme):
    task = make_task(acme.alice)
    response = acme.json().put(f"/app/posts/{task.id}.json", json={"post": {"task_kind": "phone"}})
    assert (response.status_code, read(response)["task_kind"]) == (200, "phone")


def test_null_is_ignored_for_fields_that_are_never_null(acme):
    task = make_task(acme.alice, "Task", content="c", kind="error", priority=3, private=True, closed=True)
    nulls = dict.fromkeys(("content", "task_kind", "kind", "status", "status_id", "private", "closed", "priority"))
    response = acme.json().put(f"/app/posts/{task.id}.json", json={"post": nulls})
    assert response.status_code == 200
    body = read(response)
    assert [body[name] for name in nulls] == ["c", "task", "error", "new", task.status_id, True, True, 3]


def test_the_status_opens_and_closes_a_post(acme):
    task = make_task(acme.alice)
    for change, closed in (({"status": "completed"}, True), ({"title": "a"}, True), ({"status": "new"}, False)):
        response = acme.json().put(f"/app/posts/{task.id}.json", json={"post": change})
        assert read(response)["closed"] is closed


def test_the_official_response(acme):
    post = make_post(acme.carol)
    body = read(acme.json().put(f"/app/posts/{post.id}.json", json={"post": {"response": "Planned."}}))
    assert (body["response"], body["response_user_id"]) == ("Planned.", acme.bob.id)
    body = read(acme.json().put(f"/app/posts/{post.id}.json", json={"post": {"response": None}}))
    assert (body["response"], body["response_user_id"]) == (None, None)


def test_an_unchanged_response_keeps_its_author(acme):
    post = make_post(acme.alice, response="Planned.")
    for response, author in (("Planned.", acme.alice), ("Done.", acme.bob)):
        body = read(acme.json().put(f"/app/posts/{post.id}.json", json={"post": {"response": response}}))
        assert (body["response"], body["response_user_id"]) == (response, author.id)


def test_a_post_may_move_to_another_category(acme):
    post = make_post(acme.carol)
    second = make_category(acme.account, "Second")
    body = read(acme.json().put(f"/app/posts/{post.id}.json", json={"post": {"category_id": second.id}}))
    assert (body["category_id"], body["forum_id"]) == (second.id, acme.forum.id)
    # A null is ignored, because every forum post has a category.
    body = read(acme.json().put(f"/app/posts/{post.id}.json", json={"post": {"category_id": None}}))
    assert (body["category_id"], body["forum_id"]) == (second.id, acme.forum.id)


def test_the_whole_response_may_be_sent_back(acme):
    client = make_client(acme.alice)
    for row in (make_task(acme.bob, client_id=client.id, tags=["a"]), make_post(acme.bob, response="r")):
        body = read(acme.json().get(f"/app/posts/{row.id}.json"))
        response = acme.json().put(f"/app/posts/{row.id}.json", json={"post": body})
        assert response.status_code == 200
        assert read(response) == {**body, "updated_at": read(response)["updated_at"]}


# Delete


@pytest.mark.parametrize("make", [make_task, make_post])
def test_a_deleted_post_is_not_found(acme, make):
    row = make(acme.carol)
    assert_answered(acme.json().delete(f"/app/posts/{row.id}.json"), 200, "ok")
    assert_refused(acme.json().get(f"/app/posts/{row.id}.json"), 404, "not_found")
    assert acme.xml().get(f"/app/posts/{row.id}.xml").status_code == 404
    assert read(acme.json().get("/app/tasks.json")) == []
    assert acme.xml().get("/").text.endswith('<posts type="array"/>\n')
    assert_refused(acme.json().delete(f"/app/posts/{row.id}.json"), 404, "not_found")


# Comment


@pytest.mark.parametrize("make", [make_task, make_post])
def test_a_post_of_kind_comment_creates_a_comment(acme, make):
    post = make(acme.carol, "Mine")
    response = acme.json().post(
        "/app/posts.json",
        json={"post": {"task_kind": "comment", "post_id": post.id, "title": "left alone", "content": "Yes & soon."}},
    )
    comment = acme.account.comments.get()
    assert_answered(
        response,
        201,
        comment_as_post_body(comment, acme.bob, "Yes & soon."),
        location=f"http://acme.example.test/app/posts/{comment.id}.json",
    )
    body = read(acme.json().get(f"/app/posts/{post.id}.json"))
    assert (body["title"], body["comments_cache"]) == ("Mine", 1)


def test_the_forum_api_shows_the_comment(acme):
    post = make_post(acme.carol)
    acme.json().post(
        "/app/posts.json", json={"post": {"task_kind": "comment", "post_id": str(post.id), "content": "Yes & soon."}}
    )
    assert "<comment>Yes &amp; soon.</comment>" in acme.xml(acme.carol).get(f"/app/posts/{post.id}.xml").text


def test_it_rejects_invalid_comments(acme):
    post = make_post(acme.alice)
    for fields, errors in (
        ({}, {"content": ["can't be blank"], "post_id": ["can't be blank"]}),
        ({"content": " ", "post_id": None}, {"content": ["can't be blank"], "post_id": ["can't be blank"]}),
        ({"content": "a", "post_id": 10**15}, {"post_id": ["can't be found"]}),
        ({"content": "a", "post_id": "x"}, {"post_id": ["is not an id"]}),
        ({"content": "a" * 65_537, "post_id": post.id}, {"content": ["is too long (maximum is 65536 characters)"]}),
        ({"content": [], "post_id": post.id}, {"content": ["must be a single value"]}),
    ):
        response = acme.json().post("/app/posts.json", json={"post": {"task_kind": "comment", **fields}})
        assert_refused(response, 422, "validation_failed", errors)
    assert not acme.account.comments.exists()
