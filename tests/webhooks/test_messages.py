"""The messages about named events, and those for chats."""

import json

from django.db import connection
from django.utils import timezone

from core.changes import events
from tests.support.assertions import read
from tests.support.factories import make_comment, make_deal, make_forum, make_post, make_task
from tests.support.fill import fill
from tests.support.receiver import add_endpoint, deliver
from webhooks import messages
from webhooks.messages import Event, make_message
from webhooks.models import Delivery

HOST = "http://acme.example.test"
DISCORD = "https://discord.com/api/webhooks/1/x"


def bodies(receiver, *types) -> list[dict]:
    deliver()
    return [request.json for request in receiver.requests if request.json["type"] in types]


def test_it_works(acme, receiver):
    post = make_post(acme.carol, "Dark theme")
    planned, new = acme.account.statuses.get(kind="post", code="planned"), acme.account.statuses.get(id=post.status_id)
    add_endpoint(acme.account, receiver.url)
    post.write({"status": planned}, by=acme.bob)
    [body] = bodies(receiver, "post.status_changed")
    bob = {"id": acme.bob.id, "name": acme.bob.name, "role": "agent"}
    assert {name: body[name] for name in ("url", "actor", "before", "after")} == {
        "url": f"{HOST}/app/posts/{post.id}",
        "actor": bob,
        "before": {"status_id": new.id, "status": new.name},
        "after": {"status_id": planned.id, "status": planned.name},
    }
    assert body["data"] == read(acme.json().get(f"/app/posts/{post.id}.json"))
    assert Delivery.objects.filter(event="post.status_changed").exists()


def test_comments_and_votes(acme, receiver):
    """Only the texts of public comments are sent."""
    post = make_post(acme.carol, "Dark theme")
    add_endpoint(acme.account, receiver.url)
    public = make_comment(post, acme.carol, "Yes")
    internal = post.comment(by=acme.bob, text="Too expensive", internal=True)
    gone = make_comment(post, acme.carol)
    post.erase_comment(gone)
    post.vote(by=acme.carol)
    found = bodies(receiver, "comment.created", "comment.deleted", "vote.created")
    assert [(body["type"], body["data"].get("comment"), body["url"]) for body in found] == [
        ("comment.created", "Yes", f"{HOST}/app/posts/{post.id}/comments/{public.id}"),
        ("comment.created", None, f"{HOST}/app/posts/{post.id}/comments/{internal.id}"),
        ("comment.created", None, None),
        ("comment.deleted", None, None),
        ("vote.created", None, f"{HOST}/app/posts/{post.id}"),
    ]
    assert found[0]["data"]["post_title"] == "Dark theme"
    assert found[3]["data"] == {"id": gone.id, "deleted": True}
    voter = {"user_id": acme.carol.id, "client_id": None, "contact_id": None}
    of_post = {"post_id": post.id, "post_title": "Dark theme", "forum_id": post.forum_id, "votes_cache": 1}
    assert found[4]["data"] == of_post | voter
    assert "Too expensive" not in str([request.body for request in receiver.requests])


def test_a_forum_and_a_task_have_their_own_addresses(acme):
    endpoint, _secret = add_endpoint(acme.account, "https://hooks.example.com/")
    forum = make_forum(acme.account, "Shop")
    post, task = make_post(acme.carol, forum_id=forum.id), make_task(acme.bob)
    urls = {}
    for row in (post, task):
        body = make_message(endpoint, Event("post.updated", timezone.now(), 1, row.id)).body
        urls[row] = json.loads(body)["url"]
    assert urls[post].endswith(f"/app/posts/{post.id}")
    assert not urls[post].startswith(HOST)
    assert urls[task] == f"{HOST}/app/tasks/{task.id}"


def test_every_event_has_a_message(acme, subtests):
    """For each kind of rows of the feed, in each format."""
    fill(acme.account, acme.alice, "filled")
    connection.check_constraints()
    comment = acme.account.comments.first()
    found = {(change.resource, change.change): change for change in acme.account.changes.all()}
    endpoints = [
        add_endpoint(acme.account, url, format=format)[0]
        for url, format in (("https://a.example/", "standard"), (DISCORD, "slack"), ("https://b.example/", "teams"))
    ]
    last = {resource: change for (resource, _name), change in found.items()}
    for type in {f"{resource}.{name}" for resource, name in found} | events.kinds.keys():
        key = type.partition(".")[0]
        if (change := last.get(key) or last.get("post")) is None:
            continue
        for endpoint in endpoints:
            with subtests.test(type, format=endpoint.format):
                event = Event(type, change.at, 1, change.id, acme.bob.id, change.data or {"post_id": comment.post_id})
                assert make_message(endpoint, event).body


def chat_of(acme, url, format, event) -> dict:
    endpoint, _secret = add_endpoint(acme.account, url, format=format)
    return json.loads(make_message(endpoint, event).body)


def test_chats(acme):
    acme.carol.name = "Carol_C"
    acme.carol.save()
    post = make_post(acme.carol, "<!channel> @here & [x](y)")
    comment = make_comment(post, acme.carol, "Look @everyone\n*now*")
    event = Event("comment.created", timezone.now(), 1, comment.id, acme.carol.id, {"post_id": post.id})
    url = f"{HOST}/app/posts/{post.id}/comments/{comment.id}"
    assert chat_of(acme, "https://chat.example/", "slack", event) == {
        "text": (
            f"<{url}|Comment: &lt;!channel&gt; @\u200bhere &amp; [x]\u200b(y) (new)>"
            "\nCarol_C\n> Look @\u200beveryone *now*"
        )
    }
    assert chat_of(acme, DISCORD, "slack", event) == {
        "content": (
            f"[Comment: \\<!channel\\> @here & \\[x\\]\\(y\\) \\(new\\)](<{url}>)"
            "\nCarol\\_C\n> Look @everyone \\*now\\*"
        ),
        "allowed_mentions": {"parse": []},
    }
    [attachment] = chat_of(acme, "https://teams.example/", "teams", event)["attachments"]
    card = attachment["content"]
    assert [block["inlines"][0]["text"] for block in card["body"]] == [
        "Comment: <!channel> @here & [x](y) (new)",
        "Carol_C",
        "Look @everyone *now*",
    ]
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open", "url": url}]


def test_a_chat_shows_the_status(acme):
    deal = make_deal(acme.bob, "Fair", status_id=acme.account.default_status("deal").id)
    data = {"before": {"status": "New"}, "after": {"status": "Won"}}
    event = Event("deal.won", timezone.now(), 1, deal.id, acme.bob.id, data)
    text = chat_of(acme, "https://chat.example/", "slack", event)["text"]
    assert text == f"<{HOST}/app/deals/{deal.id}|Deal: Fair (won)>\nBob Nowak · New → Won"
    test = Event(messages.TEST_EVENT, timezone.now())
    assert chat_of(acme, "https://chat.example/", "slack", test) == {"text": "Rostrum: this is a test message."}
