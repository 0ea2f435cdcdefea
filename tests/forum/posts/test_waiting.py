"""Writes that wait for the lock of a post."""

from functools import partial

import pytest

from accounts.statuses.models import Status
from core.errors import FieldError
from forum.posts.models import Post
from tests.support.factories import make_post
from tests.support.threads import while_held

pytestmark = pytest.mark.django_db(transaction=True)


WRITES = [
    ("PUT", "/app/posts/{}.json", {"post": {"priority": 3}}, 200),
    ("POST", "/app/posts/{}/comments.json", {"comment": {"comment": "text"}}, 201),
    ("POST", "/app/posts/{}/vote.json", None, 201),
    ("DELETE", "/app/posts/{}/vote.json", None, 200),
    ("DELETE", "/app/posts/{}.json", None, 200),
    ("PUT", "/app/posts/{}.xml", "<post><content>text</content></post>", 200),
    ("DELETE", "/app/posts/{}.xml", "", 200),
]


def test_a_waiting_write_keeps_a_status_that_was_set_meanwhile(acme):
    planned = acme.account.statuses.get(kind=Status.Kind.POST, code="planned")
    json, xml = acme.json(), acme.xml()
    for method, template, body, status in WRITES:
        post = make_post(acme.alice)
        path = template.format(post.id)
        send = (
            partial(xml.send_xml, method, path, body)
            if "xml" in path
            else partial(json.request, method, path, json=body)
        )
        response = while_held(post, lambda locked_post: locked_post.write({"status": planned}, by=acme.alice), send)
        assert response.status_code == status, (method, path, response.text)
        assert Post.objects.get(pk=post.pk).status_id == planned.id, (method, path)


def test_a_post_that_became_private_is_not_merged_into_a_public_one(acme):
    post, original = make_post(acme.alice), make_post(acme.alice)
    with pytest.raises(FieldError, match="is not private"):
        while_held(
            post,
            lambda locked_post: locked_post.write({"private": True}, by=acme.alice),
            lambda: post.merge_into(original, by=acme.alice),
        )
    assert Post.objects.get(pk=post.pk).duplicate_from_id is None
