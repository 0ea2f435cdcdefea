"""Fields that an account defines for its suggestions: their values in the Account API, and that only the team sees them."""

from datetime import timedelta

import pytest

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.bodies import post_body
from tests.support.factories import make_comment, make_field_definition, make_post, make_task
from tests.support.letters import send_notifications
from tests.support.queries import capture_queries


@pytest.fixture
def definitions(acme):
    make_field_definition(acme.account, "effort", resource="suggestion", type="number")
    make_field_definition(acme.account, "areas", resource="suggestion", type="choices", choices=["Web", "App"])
    make_field_definition(acme.account, "size", type="number")


def test_it_works(acme, definitions):
    api = acme.json()
    values = {"effort": "5.0", "areas": ["App", "Web"], "other": "x"}
    response = api.post("/app/posts.json", json={"post": {"title": "A dark theme", "additional_fields": values}})
    post = acme.account.posts.get()
    assert post.additional_fields == {"effort": 5, "areas": ["Web", "App"], "other": "x"}
    path, shown = f"/app/posts/{post.id}.json", {"areas": "Web, App", "effort": 5, "other": "x"}
    place = {"task_kind": "feedback", "category_id": acme.category.id, "forum_id": acme.forum.id}
    body = post_body(post, acme.bob, title="A dark theme", **place, additional_fields=shown)
    assert_answered(response, 201, body, location=f"http://acme.example.test{path}")
    assert_answered(api.get(path), 200, body)
    # What was answered can be sent back. A null removes a value.
    sent = {"post": {"additional_fields": {**shown, "effort": None}}}
    assert read(api.put(path, json=sent))["additional_fields"] == {"areas": "Web, App", "other": "x"}


def test_it_rejects_values_that_do_not_fit(acme, definitions):
    api, post = acme.json(), make_post(acme.carol, additional_fields={"effort": "much"})
    path = f"/app/posts/{post.id}.json"
    errors = {"additional_fields": ["effort is not a number", "areas has TV, which is not one of Web, App"]}
    wrong = {"effort": "a", "areas": ["TV"], "size": "not a field of suggestions"}
    for response in (
        api.post("/app/posts.json", json={"post": {"title": "a", "task_kind": " ", "additional_fields": wrong}}),
        api.put(path, json={"post": {"additional_fields": wrong}}),
    ):
        assert_refused(response, 422, "validation_failed", errors)
    # An older value stays as long as nobody changes it.
    kept = read(api.put(path, json={"post": {"title": "b", "additional_fields": {"effort": "much"}}}))
    assert kept["additional_fields"] == {"effort": "much"}


def test_tasks_have_no_defined_fields(acme, definitions):
    task = make_task(acme.bob, "A task")
    sent = {"title": "a", "task_kind": "phone", "additional_fields": {"effort": "much"}}
    assert read(acme.json().post("/app/posts.json", json={"post": sent}))["additional_fields"] == {"effort": "much"}
    response = acme.json().put(f"/app/posts/{task.id}.json", json={"post": {"additional_fields": {"effort": "much"}}})
    assert read(response)["additional_fields"] == {"effort": "much"}


def test_they_take_at_most_one_statement(acme):
    api, body = acme.json(), {"post": {"title": "a", "additional_fields": {"effort": "5"}}}
    path = f"/app/posts/{make_post(acme.carol).id}.json"
    api.put(path, json=body)

    def count() -> list[int]:
        numbers = []
        for send in (lambda: api.put(path, json=body), lambda: api.get(path), lambda: api.get("/app/posts.json")):
            response, queries = capture_queries(send)
            assert response.status_code == 200
            numbers.append(len(queries))
        return numbers

    update, show, index = count()
    make_field_definition(acme.account, "effort", resource="suggestion", type="number")
    assert count() == [update + 1, show, index]


PATHS = (
    "/",
    "/app/suggestions",
    "/app/suggestions.json",
    "/app/roadmap",
    "/app/feed.atom",
    "/app/posts/{id}",
    "/app/posts/{id}/edit",
    "/app/posts/{id}/team",
    "/app/posts/{id}.json",
    "/app/posts.json",
    "/app/posts/new",
    "/app/notifications",
    "/app/profile/posts",
    "/sitemap.xml",
)


def test_members_and_visitors_see_nothing_of_them(acme):
    make_field_definition(acme.account, "beast", resource="suggestion", label="Walrus")
    post = make_post(acme.carol, "A quiet suggestion", additional_fields={"beast": "Mammoth"})
    make_comment(post, acme.bob, "Thanks")
    post.write({"response": "Done", "status": acme.account.statuses.get(kind="post", code="planned")}, by=acme.bob)
    for reader in (acme.page(), acme.page(acme.carol)):
        for path in PATHS:
            text = (
                reader.get(path.format(id=post.id), status="*").text.replace("q=Mammoth", "").replace('"Mammoth"', "")
            )
            assert [word for word in ("Walrus", "beast", "Mammoth") if word in text] == [], path
    for path in (f"/app/posts/{post.id}.xml", "/"):
        assert not {"Walrus", "beast", "Mammoth"} & {*acme.xml(acme.carol).get(path).text.replace(">", "<").split("<")}
    sent = [email for email in send_notifications(later=timedelta(hours=1)) if email.to == [acme.carol.email]]
    assert sent
    assert not any(word in f"{email.body} {email.alternatives}" for email in sent for word in ("Walrus", "Mammoth"))
