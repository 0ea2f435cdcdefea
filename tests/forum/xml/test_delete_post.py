from django.utils import timezone

from forum.models import Post
from tests.support.factories import make_post, make_task, make_user
from tests.support.tables import table
from tests.support.xml import NOT_FOUND, UNAUTHENTICATED, client_of, document, posts, refusal, shown, single

FORBIDDEN = "Only the team may delete this post"


def test_it_works(acme, django_assert_num_queries):
    post = make_post(acme.carol, "A dark theme", content="So that one can read at night.")
    client = acme.xml()
    client.get("/app/users/me.xml")
    # The user with the account; the locked post with its status; its update; the queue of figures; a savepoint and its release.
    with django_assert_num_queries(6):
        response = client.delete(f"/app/posts/{post.id}.xml")
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


def test_it_rejects_anonymous_requests(acme):
    post = make_post(acme.carol)
    response = client_of(acme, "anonymous").delete(f"/app/posts/{post.id}.xml")
    assert shown(response) == refusal(401, UNAUTHENTICATED)
    post.refresh_from_db()
    assert post.trashed_at is None


PARTICIPATIONS = {
    "none": lambda post, acme, erin: None,
    "own comment": lambda post, acme, erin: post.comment(by=acme.carol, text="mine"),
    "own vote": lambda post, acme, erin: post.vote(by=acme.carol),
    "comment": lambda post, acme, erin: post.comment(by=erin, text="of erin"),
    "vote": lambda post, acme, erin: post.vote(by=erin),
    "vote of the team": lambda post, acme, erin: post.vote(by=acme.bob),
}
PARTICIPATIONS_OF_OTHERS = ("comment", "vote", "vote of the team")


@table("participation", PARTICIPATIONS)
@table("role", ["owner", "admin", "agent", "author", "another member"])
def test_who_may_delete_a_post(acme, role, participation):
    erin = make_user(acme.account, "erin")
    post = make_post(acme.carol)
    PARTICIPATIONS[participation](post, acme, erin)
    clients = {"author": lambda: acme.xml(acme.carol), "another member": lambda: acme.xml(erin)}
    client = clients.get(role, lambda: client_of(acme, role))()
    response = client.delete(f"/app/posts/{post.id}.xml")
    post.refresh_from_db()
    if role == "another member" or (role == "author" and participation in PARTICIPATIONS_OF_OTHERS):
        assert shown(response) == refusal(403, FORBIDDEN)
        assert post.trashed_at is None
    else:
        assert shown(response) == document(200, single(post))
        assert post.trashed_at is not None


def test_comments_and_votes_of_a_deleted_post_are_kept(acme):
    post = make_post(acme.carol)
    post.comment(by=acme.bob, text="kept")
    post.vote(by=acme.bob)
    response = acme.xml(acme.bob).delete(f"/app/posts/{post.id}.xml")
    post.refresh_from_db()
    assert shown(response) == document(200, single(post))
    assert (post.comments_cache, post.votes_cache) == (1, 1)
    assert acme.account.comments.get().comment == "kept"
    assert acme.account.votes.count() == 1


@table("state", [{"private": True}, {"kind": "private"}, {"approved": False}])
def test_it_rejects_posts_that_the_user_may_not_see(acme, state):
    post = make_post(acme.alice, **state)
    assert shown(acme.xml(acme.carol).delete(f"/app/posts/{post.id}.xml")) == refusal(404, NOT_FOUND)
    assert shown(acme.xml(acme.bob).delete(f"/app/posts/{post.id}.xml")) == document(200, single(post))


def test_authors_may_delete_their_private_posts(acme):
    post = make_post(acme.carol, private=True)
    assert shown(acme.xml(acme.carol).delete(f"/app/posts/{post.id}.xml")) == document(200, single(post))


def test_it_rejects_posts_of_another_account(acme, other):
    post, other_post = make_post(acme.alice), make_post(other.mallory)
    # Each account numbers its own rows. No post of acme may have this id.
    while other_post.id <= post.id:
        other_post = make_post(other.mallory)
    assert shown(acme.xml().delete(f"/app/posts/{other_post.id}.xml")) == refusal(404, NOT_FOUND)
    assert not Post.objects.trashed().exists()


def test_it_rejects_posts_of_another_forum_and_tasks(acme):
    forum = acme.account.forums.create(name="Second", host_id=acme.account.hosts.create(name="ideas.example.org").id)
    category = acme.account.categories.create(forum_id=forum.id, name="General")
    post_of_other_forum = make_post(acme.alice, forum_id=forum.id, category_id=category.id)
    for id in (post_of_other_forum.id, make_task(acme.alice).id, 999_999):
        assert shown(acme.xml().delete(f"/app/posts/{id}.xml")) == refusal(404, NOT_FOUND)
    assert not Post.objects.trashed().exists()


def test_the_body_is_ignored(acme):
    post = make_post(acme.carol)
    response = acme.xml().send_xml("DELETE", f"/app/posts/{post.id}.xml", "<broken")
    assert shown(response) == document(200, single(post))
