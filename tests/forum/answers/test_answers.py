"""Answers of the team: response, status, customers and time in one act."""

from datetime import timedelta

from django.utils import timezone

from forum.answers.jobs import publish_answers
from forum.answers.models import Answer
from tests.support.factories import make_client, make_post
from tests.support.team import HTMX, fresh, went_to


def answer_path(post) -> str:
    return f"/app/posts/{post.id}/answer"


def planned(acme):
    return acme.account.statuses.get(kind="post", code="planned")


def make_customer(acme, post, **fields):
    client = make_client(acme.bob, "Northwind", email="ann@northwind.example", consent=True, **fields)
    post.cast_proxy_vote(by=acme.bob, client_id=client.id)
    return client


def test_it_works(acme):
    post = make_post(acme.carol, "A dark theme")
    make_customer(acme, post)
    bob = acme.page(acme.bob)
    assert bob.get(f"/app/posts/{post.id}").html.find("a", href=answer_path(post)) is not None
    page = bob.get(answer_path(post))
    assert "It notifies 2 people who follow it, voted or commented." in " ".join(page.html.text.split())
    assert "Also tell 1 customer by e-mail" in page
    form = page.forms["answer-form"]
    form["status_id"], form["response"] = str(planned(acme).id), "In the **autumn**."
    told = ["The answer is published, and 1 customer gets it by e-mail."]
    assert went_to(form.submit(), f"/app/posts/{post.id}-a-dark-theme") == told
    post = fresh(post)
    assert (post.status_id, post.response, post.response_user_id) == (
        planned(acme).id,
        "In the **autumn**.",
        acme.bob.id,
    )
    [message] = acme.account.customer_messages.all()
    assert (message.state, message.total, "In the **autumn**." in message.text) == ("sending", 1, True)
    # The same form once more, after a double click, changes nothing.
    form.submit()
    assert acme.account.answers.count() == 1


def test_earlier_answers_stay_in_the_history(acme):
    post = make_post(acme.carol)
    for response in ("First.", "Second."):
        Answer(account=acme.account, post_id=post.id).write({"response": response}, by=acme.bob)
    fresh(post).write({"status": planned(acme)}, by=acme.bob)
    changes = acme.account.status_changes.of_post(post.id)
    assert list(changes.values_list("response", "name")) == [
        ("First.", "New"),
        ("Second.", "New"),
        (None, "Planned"),
    ]
    page = acme.page(None).get(f"/app/posts/{post.id}")
    assert "Second." in page.html.find(id="response").text
    assert "New" in page.html.find(id="response").text
    assert "First." in page.html.find("aside").text
    responses = acme.page(None).get(f"/app/posts/{post.id}/answers").html.find_all("article")
    assert [article.find("div").text.strip() for article in responses] == ["First.", "Second."]
    # A correction replaces the newest answer, and a withdrawal removes it.
    fresh(post).write({"response": "Second!"}, by=acme.bob, corrects_answer=True)
    assert list(changes.answers().values_list("response", flat=True)) == ["First.", "Second!"]
    fresh(post).write({"response": None}, by=acme.bob)
    assert list(changes.answers().values_list("response", flat=True)) == ["First."]


def test_a_silent_answer_tells_nobody(acme):
    post = make_post(acme.carol)
    make_customer(acme, post)
    values = {"response": "Quietly.", "silent": True, "tell_customers": True}
    Answer(account=acme.account, post_id=post.id).write(values, by=acme.bob)
    assert fresh(post).response == "Quietly."
    assert not acme.account.activities.filter(post_id=post.id, kind="response").exists()
    assert not acme.account.customer_messages.exists()


def test_an_answer_waits_for_its_time(acme):
    post, bob = make_post(acme.carol), acme.page(acme.bob)
    tomorrow = timezone.localtime() + timedelta(days=1)
    form = bob.get(answer_path(post)).forms["answer-form"]
    form["response"], form["publish_at"] = "Tomorrow.", tomorrow.strftime("%Y-%m-%dT%H:%M")
    form.submit()
    [answer] = acme.account.answers.scheduled()
    publish_answers()
    assert fresh(post).response is None
    form = bob.get(answer_path(post)).click(href=f"/app/answers/{answer.id}$").forms["answer-form"]
    assert form["response"].value.strip() == "Tomorrow."
    form["response"] = "Today."
    form.submit()
    acme.account.answers.update(publish_at=timezone.now() - timedelta(seconds=1))
    publish_answers()
    assert fresh(post).response == "Today."
    assert bob.get(f"/app/answers/{answer.id}", status=404)
    answer = acme.account.answers.get()
    assert (answer.response, answer.failure, answer.published_at is not None) == ("Today.", "", True)
    # A deleted suggestion is not answered.
    values = {"response": "Late.", "publish_at": tomorrow}
    late = Answer(account=acme.account, post_id=post.id)
    late.write(values, by=acme.bob)
    fresh(post).trash(by=acme.bob)
    acme.account.answers.filter(id=late.id).update(publish_at=timezone.now() - timedelta(seconds=1))
    publish_answers()
    assert acme.account.answers.get(id=late.id).failure == "post"


def test_a_scheduled_answer_can_be_cancelled(acme):
    post = make_post(acme.carol)
    answer = Answer(account=acme.account, post_id=post.id)
    answer.write({"response": "No.", "publish_at": timezone.now() + timedelta(days=1)}, by=acme.bob)
    form = acme.page(acme.bob).get(f"/app/answers/{answer.id}").forms["answer-form"]
    form.fields["do"][0].value = "cancel"
    assert went_to(form.submit(), answer_path(post)) == ["The answer is cancelled. Nobody has seen it."]
    assert not acme.account.answers.exists()


def test_it_works_in_json(acme):
    post, json = make_post(acme.carol), acme.json(acme.bob_token)
    at = (timezone.now() + timedelta(days=1)).isoformat()
    created = json.post(
        "/app/answers.json", json={"answer": {"post_id": post.id, "response": "Soon.", "publish_at": at}}
    )
    assert created.status_code == 201
    path = f"/app/answers/{created.json()['id']}.json"
    assert json.get("/app/answers.json", params={"published": "false"}).json() == [created.json()]
    assert json.get(path).json() == created.json()
    published = json.put(path, json={"answer": {"publish_at": None, "status_id": planned(acme).id}}).json()
    assert published["published_at"] is not None
    assert (fresh(post).response, fresh(post).status_id) == ("Soon.", planned(acme).id)
    assert json.put(path, json={"answer": {"response": "No."}}).status_code == 409
    assert json.delete(path).status_code == 409


def test_it_rejects_what_can_not_be_published(acme):
    post, bob = make_post(acme.carol), acme.page(acme.bob)
    form = bob.get(answer_path(post)).forms["answer-form"]
    response = form.submit(status=422)
    assert "unless the status changes" in response
    old = bob.get(answer_path(post)).forms["answer-form"]
    Answer(account=acme.account, post_id=post.id).write({"response": "Mine."}, by=acme.alice)
    old["response"] = "Mine too."
    response = old.submit(status=422)
    assert "Somebody else has answered in the meantime." in response
    response.forms["answer-form"].submit(status=303)
    assert fresh(post).response == "Mine too."
    json = acme.json(acme.bob_token)
    wrong = {"post_id": post.id, "response": "x", "publish_at": "2020-01-01T10:00:00Z"}
    assert set(json.post("/app/answers.json", json={"answer": wrong}).json()["errors"]) == {"publish_at"}


def test_htmx_gets_the_form_without_the_page(acme):
    response = acme.page(acme.bob).get(answer_path(make_post(acme.carol)), headers=HTMX)
    assert response.html.find("main") is None
    assert "answer-form" in response.forms
