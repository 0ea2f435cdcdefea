"""The number of statements of the forum's pages.

The pages show several rows of each kind, so a statement for each row would be counted. What the session and the host need is cached.
"""

import pytest

from forum.content_reports.models import ContentReport
from forum.forums.models import Forum
from tests.support.factories import make_category, make_client, make_comment, make_contact, make_post, make_user
from tests.support.followers import run_followers
from tests.support.pages import path_of_post
from tests.support.queries import capture_queries
from tests.support.team import HTMX


@pytest.fixture
def ids(acme) -> dict[str, int]:
    """Create several rows for each list of the pages, and return the ids for the paths."""
    ideas = make_category(acme.account, "Ideas")
    agents = [make_user(acme.account, role="agent") for _ in range(2)]
    planned = acme.account.statuses.get(kind="post", code="planned")
    posts = [make_post(acme.carol, f"One post {number}", tags=["a", "b"], category_id=ideas.id) for number in range(3)]
    for post in posts:
        post.write({"status": planned, "response": "Soon", "responsible_id": acme.bob.id}, by=acme.bob)
        for user in agents:
            comment = make_comment(post, user, "Yes")
            post.comment(by=user, text="For us", internal=True)
            post.vote(by=user)
        post.vote(by=acme.carol)
        for number in range(2):
            client = make_client(acme.bob, f"Northwind {number}")
            contact = make_contact(acme.bob, f"North {number}", client_id=client.id)
            post.cast_proxy_vote(by=acme.bob, client_id=client.id)
            post.cast_proxy_vote(by=acme.bob, contact_id=contact.id)
            make_post(acme.bob, f"Post for {number}", client_id=client.id, contact_id=contact.id)
        make_post(acme.carol).merge_into(post, by=acme.bob)
    for number in range(2):
        make_post(acme.carol, "Waiting", approved=False)
        make_post(acme.carol, "Private", private=True)
        ContentReport.objects.file(make_post(acme.carol, "Bad"), by=make_user(acme.account), reason="spam")
        forum = Forum.objects.create_for(acme.account, name=f"Forum {number}", host=f"forum-{number}")
    run_followers()
    own = make_post(acme.carol)
    return {
        "titled": path_of_post(post).rpartition("/")[2],
        "match": posts[0].id,
        "post": post.id,
        "own": own.id,
        "comment": comment.id,
        "category": ideas.id,
        "forum": forum.id,
    }


VISITOR = {
    # The forum; its categories; the statuses; the numbers beside the filters; the posts.
    "/": 5,
    "/?kind=suggestion&tag=a&status=planned&order=top": 5,
    "/ideas?order=top": 5,
    # The search: the planner setting, the words, an estimate, the matches, the rows. Without matches, it tries looser readings.
    "/?q=post": 7,
    "/?q=post+pony": 13,
    # The forum; the categories; the statuses; the ids of the posts; the posts.
    "/app/roadmap": 5,
    "/app/roadmap?status=planned": 3,
    # The forum; the post; comments; history; merged posts; voters.
    "/app/posts/{titled}": 6,
    "/app/posts/{post}/vote/first": 3,
    "/app/posts/{post}/preview.png": 2,
    "/app/feed.atom": 2,
    "/app/feed.atom?category={category}&status=planned": 4,
    "/sitemap.xml": 1,
    "/robots.txt": 1,
}
# Also: the session; the votes of the user.
MEMBER = {
    "/": 7,
    "/app/roadmap": 7,
    # Also: whether they follow the post; its notifications, which are marked as read.
    "/app/posts/{titled}": 10,
    "/app/posts/{post}/comments/{comment}": 5,
    "/app/posts/{post}/mentions?q=b": 6,
    "/app/posts/{own}/edit": 5,
    "/app/posts/new": 3,
    "/app/posts/similar?title=post": 7,
    "/app/notifications": 4,
    "/app/profile/posts": 4,
    "/app/profile/posts?list=votes": 4,
}
# Also: the clients and contacts of the posts; the saved views; the numbers of the inbox and of the tasks that are due.
TEAM = {
    "/": 10,
    "/?kind=suggestion&order=new": 10,
    "/app/roadmap": 8,
    "/app/posts/{titled}": 10,
    "/app/inbox": 10,
    "/app/inbox?tab=unanswered": 10,
    "/app/inbox?tab=mine": 10,
    # Also: the waiting comments.
    "/app/inbox?tab=unapproved": 11,
    "/app/inbox/reported": 8,
    "/app/moderation": 5,
    "/app/posts/{post}/team": 9,
    "/app/posts/{post}/merge": 4,
    "/app/posts/{post}/merge?into={match}": 8,
    "/app/posts/{post}/merge?q=post": 8,
    "/app/posts/{post}/behalf": 5,
    "/app/posts/behalf": 4,
}
FRAGMENTS = {"/app/posts/{post}/team": 8, "/app/posts/{post}/merge?q=post": 6, "/app/posts/{post}/behalf?q=north": 8}
SETTINGS = {
    "/app/account/forums": 6,
    "/app/account/forums/new": 4,
    "/app/account/forums/{forum}": 7,
    "/app/account/categories": 5,
    "/app/account/categories?forum={forum}": 5,
    "/app/account/categories/{category}": 6,
}


def test_it_works(acme, ids):
    for user, pages, headers in (
        (None, VISITOR, {}),
        (acme.carol, MEMBER, {}),
        (acme.bob, TEAM, {}),
        (acme.bob, FRAGMENTS, HTMX),
        (acme.alice, SETTINGS, {}),
    ):
        visitor, counted = acme.page(user), {}
        for path in pages:
            address = path.format(**ids)
            visitor.get(address, headers=headers)
            _response, queries = capture_queries(lambda: visitor.get(address, headers=headers))  # noqa: B023
            # The pages of a list do not count its rows.
            assert path != "/" or not any("COUNT(" in sql for sql in queries)
            counted[path] = len(queries)
        assert counted == pages
