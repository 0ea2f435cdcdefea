"""Posts and tasks in the Account API: creating forum posts and comments; reading, changing and deleting posts and tasks."""

from forum.posts.models import Post
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import post_body
from tests.support.factories import make_category, make_client, make_forum, make_post, make_task


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


def test_it_rejects_a_category_of_another_forum(acme):
    forum = make_forum(acme.account)
    fields = {"title": "a", "category_id": acme.category.id, "forum_id": forum.id}
    response = acme.json().post("/app/posts.json", json={"post": fields})
    assert_refused(response, 422, "validation_failed", {"category_id": [f"is not in forum {forum.id}"]})
    forum.account.categories.of_forum(forum.id).delete()
    response = acme.json().post("/app/posts.json", json={"post": {"title": "a", "forum_id": forum.id}})
    assert_refused(response, 422, "validation_failed", {"forum_id": ["has no category"]})


def test_posts_are_forum_posts_by_default(acme):
    for task_kind in ("feedback", None, ""):
        body = read(acme.json().post("/app/posts.json", json={"post": {"title": "a", "task_kind": task_kind}}))
        assert (body["task_kind"], body["category_id"]) == ("feedback", acme.category.id)
    response = acme.json().post("/app/posts.json", json={"post": {"task_kind": "feedback", "title": " "}})
    assert_refused(response, 422, "validation_failed", {"title": ["can't be blank"]})


def test_a_post_in_a_given_category_or_forum(acme):
    second = make_category(acme.account, "Second")
    forum = make_forum(acme.account)
    second_of_forum = acme.account.categories.of_forum(forum.id).get()
    first_of_forum = make_category(acme.account, "First", forum_id=forum.id, position=1)
    for fields, category in (
        ({"category_id": second.id}, second),
        ({"category_id": second_of_forum.id}, second_of_forum),
        ({"forum_id": forum.id}, first_of_forum),
        ({"forum_id": forum.id, "category_id": second_of_forum.id}, second_of_forum),
    ):
        body = read(acme.json().post("/app/posts.json", json={"post": {"title": "a", **fields}}))
        assert (body["category_id"], body["forum_id"]) == (category.id, category.forum_id)


# Read


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


def test_a_task_may_become_another_kind_of_task(acme):
    task = make_task(acme.alice)
    response = acme.json().patch(f"/app/posts/{task.id}.json", json={"post": {"task_kind": "phone", "priority": "2"}})
    body = read(response)
    assert (response.status_code, body["task_kind"], body["priority"]) == (200, "phone", 2)


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
    """An unchanged response keeps its author."""
    post = make_post(acme.carol)
    post.write({"response": "Planned."}, by=acme.alice)
    for response, author_id in (("Planned.", acme.alice.id), ("Done.", acme.bob.id), (None, None)):
        body = read(acme.json().put(f"/app/posts/{post.id}.json", json={"post": {"response": response}}))
        assert (body["response"], body["response_user_id"]) == (response, author_id)


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


def test_a_deleted_post_is_not_found(acme):
    for row in (make_task(acme.carol), make_post(acme.carol)):
        assert_answered(acme.json().delete(f"/app/posts/{row.id}.json"), 200, "ok")
        assert_refused(acme.json().get(f"/app/posts/{row.id}.json"), 404, "not_found")
        assert acme.xml().get(f"/app/posts/{row.id}.xml").status_code == 404
        assert_refused(acme.json().delete(f"/app/posts/{row.id}.json"), 404, "not_found")
    assert read(acme.json().get("/app/tasks.json")) == []
    assert acme.xml().get("/").text.endswith('<posts type="array"/>\n')


# Methods

METHODS = {
    "posts.json": "GET, HEAD, POST",
    "posts/{id}.json": "GET, HEAD, PUT, PATCH, DELETE",
    "posts/{id}/comments.json": "GET, HEAD, POST",
    "posts/{id}/vote.json": "POST, DELETE",
    "posts/{id}/follow.json": "POST, DELETE",
    "tasks.json": "GET, HEAD",
    "notifications.json": "GET, HEAD",
}


def test_it_rejects_other_methods(acme):
    id = make_post(acme.alice).id
    for path, allowed in METHODS.items():
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - {*allowed.split(", ")}:
            response = acme.json().request(method, f"/app/{path.format(id=id)}", json={})
            assert_refused(response, 405, "method_not_allowed", allow=allowed)


# Comment


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
