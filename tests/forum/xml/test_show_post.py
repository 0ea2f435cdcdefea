from datetime import UTC, datetime

from django.utils import timezone

from forum.comments.models import Comment
from forum.posts.models import Post
from tests.support.factories import make_forum, make_post, make_task, make_user
from tests.support.xml import (
    NOT_FOUND,
    document,
    refusal,
    shown,
    single,
    stamp,
)


def with_comments(post: Post, *comments: Comment) -> tuple[int, str, str]:
    """Return the expected response for a post with these comments. Their texts must not need escaping."""
    elements = "".join(
        f"""\
    <comment>
      <agent>{comment.agent}</agent>
      <comment>{comment.comment}</comment>
      <created-at type="datetime">{stamp(comment.created_at)}</created-at>
      <id type="integer">{comment.id}</id>
      <kind nil="true"/>
      <updated-at type="datetime">{stamp(comment.updated_at)}</updated-at>
    </comment>
"""
        for comment in comments
    )
    listed = f'  <comments type="array">\n{elements}  </comments>\n' if comments else '  <comments type="array"/>\n'
    indented = "".join(f"  {line}\n" for line in single(post).splitlines())
    return document(200, "<hash>\n", listed, indented, "</hash>\n")


def test_it_works(acme, django_assert_num_queries):
    """All comments are included, oldest first. tests/test_fast_reads.py compares all values and time zones."""
    post = make_post(acme.carol, "A dark theme", content="So that one can read at night.")
    comments = [post.comment(by=acme.bob, text=f"comment {number}", agent="Mozilla/5.0") for number in range(30)]
    newest = [comment.id for comment in comments[25:]]
    Comment.objects.filter(id__in=newest).update(created_at=datetime(2009, 2, 3, 8, tzinfo=UTC))
    post.refresh_from_db()
    client = acme.xml()
    client.get("/app/users/me.xml")
    # The user with the account; the post with its status; the comments.
    with django_assert_num_queries(3):
        response = client.get(f"/app/posts/{post.id}.xml")
    assert shown(response) == with_comments(post, *Comment.objects.order_by("created_at", "id"))
    assert [comment.id for comment in Comment.objects.order_by("created_at", "id")][:5] == newest


def test_it_rejects_unknown_ids(acme):
    client = acme.xml()
    ids = ["0", "999999999", "9" * 18, "9" * 19, "9" * 5000, "-1", "1.0", "one", "", "%00", "%FF", "1%0A", "²", "1e3"]
    for id in (*ids, str(make_task(acme.alice).id)):
        assert shown(client.get(f"/app/posts/{id}.xml")) == refusal(404, NOT_FOUND), id


def test_two_accounts_may_have_posts_with_the_same_id(acme, other):
    post, other_post = make_post(acme.alice), make_post(other.mallory)
    while other_post.id < post.id:
        other_post = make_post(other.mallory)
    while post.id < other_post.id:
        post = make_post(acme.alice)
    assert post.id == other_post.id
    post.comment(by=acme.bob, text="of acme")
    assert shown(other.xml().get(f"/app/posts/{other_post.id}.xml")) == with_comments(other_post)


def test_it_rejects_posts_of_another_forum(acme):
    first, second = make_post(acme.alice), make_post(acme.alice, forum_id=make_forum(acme.account, "ideas").id)
    client = acme.xml()
    for host, shown_post, hidden in (("acme.example.test", first, second), ("ideas.example.org", second, first)):
        assert shown(client.get(f"http://{host}/app/posts/{shown_post.id}.xml")) == with_comments(shown_post)
        assert shown(client.get(f"http://{host}/app/posts/{hidden.id}.xml")) == refusal(404, NOT_FOUND)


def test_a_post_without_comments_has_an_empty_list(acme):
    post = make_post(acme.alice, responsible_id=acme.bob.id, kind="question")
    response = acme.xml(acme.carol).get(f"/app/posts/{post.id}.xml")
    assert shown(response) == with_comments(post)
    assert f'<responsible-id type="integer">{acme.bob.id}</responsible-id>' in response.text


# The states of a post of carol, and who sees it.
STATES = [
    ({}, "team, author, another member"),
    ({"closed": True}, "team, author, another member"),
    ({"private": True}, "team, author"),
    ({"kind": "private"}, "team, author"),
    ({"approved": False}, "team, author"),
    ({"trashed_at": timezone.now()}, ""),
]


def test_who_sees_which_posts(acme):
    """Duplicates are seen like other posts."""
    users = {"team": acme.bob, "author": acme.carol, "another member": make_user(acme.account, "erin")}
    original = make_post(acme.carol)
    for values, readers in STATES:
        for duplicate_from_id in (None, original.id) if readers else (None,):
            post = make_post(acme.carol)
            Post.objects.filter(pk=post.pk).update(**values, duplicate_from_id=duplicate_from_id)
            post.refresh_from_db()
            answers = {name: acme.xml(user).get(f"/app/posts/{post.id}.xml") for name, user in users.items()}
            for name, answer in answers.items():
                expected = with_comments(post) if name in readers.split(", ") else refusal(404, NOT_FOUND)
                assert shown(answer) == expected, (values, duplicate_from_id, name)
