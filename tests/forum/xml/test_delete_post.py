from django.utils import timezone

from forum.posts.models import Post
from tests.support.factories import make_forum, make_post, make_task
from tests.support.tables import table
from tests.support.xml import NOT_FOUND, document, posts, refusal, shown, single

FORBIDDEN = "Only the team may delete this post"


def test_it_works(acme, django_assert_num_queries):
    post = make_post(acme.carol, "A dark theme", content="So that one can read at night.")
    client = acme.xml()
    client.get("/app/users/me.xml")
    # The user with the account; the locked post with its status; its update; the queue of figures; a savepoint and its release.
    with django_assert_num_queries(6):
        # The body is ignored.
        response = client.send_xml("DELETE", f"/app/posts/{post.id}.xml", "<broken")
    assert shown(response) == document(200, single(post))
    # The post is in the trash with all its values.
    post.refresh_from_db()
    assert (post.title, post.trashed_by_id) == ("A dark theme", acme.alice.id)
    assert post.trashed_at <= timezone.now()
    path = f"/app/posts/{post.id}.xml"
    for _ in range(2):
        assert shown(client.get(path)) == refusal(404, NOT_FOUND)
        assert shown(client.delete(path)) == refusal(404, NOT_FOUND)
    assert shown(client.get("/")) == posts()


@table(
    ("author", "participant", "status"),
    [
        ("carol", None, 200),
        ("carol", "carol", 200),
        ("carol", "bob", 403),
        ("bob", None, 403),
    ],
)
@table("kind", ["comment", "vote"])
def test_authors_may_delete_posts_without_other_participants(acme, author, participant, status, kind):
    """The team may delete any post."""
    post = make_post(getattr(acme, author))
    if participant:
        user = getattr(acme, participant)
        post.vote(by=user) if kind == "vote" else post.comment(by=user, text="a")
    path = f"/app/posts/{post.id}.xml"
    response = acme.xml(acme.carol).delete(path)
    post.refresh_from_db()
    assert (post.trashed_at is None) == (status == 403)
    assert shown(response) == (refusal(403, FORBIDDEN) if status == 403 else document(200, single(post)))
    assert acme.xml(acme.bob).delete(path).status_code == (200 if status == 403 else 404)


def test_it_rejects_posts_that_the_user_may_not_see(acme):
    for state in ({"private": True}, {"kind": "private"}, {"approved": False}):
        post, own = make_post(acme.alice, **state), make_post(acme.carol, **state)
        for user, row in ((acme.bob, post), (acme.carol, own)):
            assert shown(acme.xml(acme.carol).delete(f"/app/posts/{post.id}.xml")) == refusal(404, NOT_FOUND)
            assert shown(acme.xml(user).delete(f"/app/posts/{row.id}.xml")) == document(200, single(row))


def test_it_rejects_posts_of_another_forum_and_tasks(acme):
    elsewhere = make_post(acme.alice, forum_id=make_forum(acme.account).id)
    for id in (elsewhere.id, make_task(acme.alice).id, 999_999):
        assert shown(acme.xml().delete(f"/app/posts/{id}.xml")) == refusal(404, NOT_FOUND)
    assert not Post.objects.trashed().exists()
