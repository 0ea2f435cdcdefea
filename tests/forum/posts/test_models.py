"""Rules of the models. The tests of the endpoints cover how these appear in responses."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from accounts.statuses.models import Status
from forum.categories.models import Category
from forum.forums.models import Forum
from forum.lists.queries import Visibility
from forum.posts.models import Post
from tests.support.factories import make_category, make_client, make_contact, make_post, make_task, make_user


def test_it_works(acme):
    post = make_post(acme.carol, "A dark theme")
    assert str(post) == "A dark theme"
    assert (post.forum_id, post.category_id, post.kind) == (acme.forum.id, acme.category.id, "suggestion")
    assert (post.status_code, post.nick, post.user_id) == ("new", "Carol Member", acme.carol.id)
    assert (post.votes_cache, post.comments_cache, post.closed, post.tags) == (0, 0, False, [])


# Constraints


def raises_integrity_error(name: str):
    return pytest.raises(IntegrityError, match=name)


TASK_VALUES = [
    {"category_id": None},
    {"forum_id": None},
    {"task_kind": "task"},
    {"forum_id": None, "category_id": None},
]
LINKS = "forum_id category_id user_id status_id responsible_id client_id duplicate_from_id response_user_id"


def test_it_rejects_values_of_tasks_and_links_to_missing_rows(acme):
    post = make_post(acme.alice)
    cases = [*(("post_of_forum_or_task", values) for values in TASK_VALUES)]
    cases += [(f"forum_post_{column}_fk", {column: 999_999}) for column in LINKS.split()]
    for constraint, values in cases:
        with raises_integrity_error(constraint), transaction.atomic():
            Post.objects.filter(pk=post.pk).update(**values)


def test_it_rejects_links_to_another_account_and_a_second_vote(acme, other):
    post, other_post = make_post(acme.alice), make_post(other.mallory)
    # Each account numbers its own rows. No post of acme may have this id.
    while other_post.id <= post.id:
        other_post = make_post(other.mallory)
    acme.account.votes.create(post_id=post.id, user_id=acme.bob.id)
    for constraint, write in (
        ("_fk", lambda: Post.objects.filter(pk=post.pk).update(duplicate_from_id=other_post.id)),
        ("_fk", lambda: acme.account.comments.create(post_id=other_post.id, user_id=acme.bob.id, comment="x")),
        ("_fk", lambda: acme.account.votes.create(post_id=other_post.id, user_id=acme.bob.id)),
        ("forum_vote_pkey", lambda: acme.account.votes.create(post_id=post.id, user_id=acme.bob.id)),
    ):
        with raises_integrity_error(constraint), transaction.atomic():
            write()


def test_it_rejects_a_second_default_forum_and_two_forums_with_one_host(acme, other):
    host = acme.account.hosts.create(name="ideas.example.org")
    with raises_integrity_error("forum_one_default"), transaction.atomic():
        acme.account.forums.create(name="x", host_id=host.id, is_default=True)
    acme.account.forums.create(name="x", host_id=host.id)
    with raises_integrity_error("forum_host_unique"), transaction.atomic():
        acme.account.forums.create(name="y", host_id=host.id)
    with raises_integrity_error("forum_forum_host_id_fk"), transaction.atomic():
        other.account.forums.create(name="y", host_id=host.id)


# Statuses


def test_the_status_opens_and_closes_a_post(acme):
    statuses = {status.code: status for status in acme.account.statuses.filter(kind=Status.Kind.POST)}
    post = make_post(acme.alice, status=statuses["rejected"])
    assert (post.closed, post.status_code) == (True, "rejected")
    post.write({"status": statuses["planned"]}, by=acme.alice)
    assert (post.closed, post.status_code) == (False, "planned")
    post.write({"status": statuses["rejected"], "closed": False}, by=acme.alice)
    assert (post.closed, post.status_code) == (False, "rejected")
    post.write({"title": "other"}, by=acme.alice)
    assert (post.closed, post.status_code) == (False, "rejected")


# Participants and permissions


def test_only_other_users_are_participants(acme):
    """A customer whose vote the team has added is one, too."""
    post = make_post(acme.carol)
    post.comment(by=acme.carol, text="mine")
    post.vote(by=acme.carol)
    client, contact = make_client(acme.bob), make_contact(acme.bob)
    stranger = make_user(acme.account)

    def rights() -> tuple[bool, bool, bool, bool]:
        changes = [post.may_be_changed_by(user) for user in (acme.carol, acme.bob, stranger)]
        return post.has_other_participants(), *changes

    for act, undo in (
        (partial(post.vote, by=acme.bob), partial(post.withdraw_vote, by=acme.bob)),
        *(
            (partial(post.cast_proxy_vote, by=acme.bob, **voter), partial(post.withdraw_proxy_vote, **voter))
            for voter in ({"client_id": client.id}, {"contact_id": contact.id})
        ),
    ):
        assert rights() == (False, True, True, False)
        act()
        assert rights() == (True, False, True, False)
        undo()
    assert rights() == (False, True, True, False)


def test_a_merge_adds_participants(acme):
    """After a merge both posts have another participant: the author of the merged post, and the author of the moved comment."""
    original, duplicate = make_post(acme.carol), make_post(acme.alice)
    duplicate.comment(by=acme.carol, text="mine")
    duplicate.merge_into(original, by=acme.bob)
    assert original.has_other_participants()
    assert not original.may_be_changed_by(acme.carol)
    assert Post.objects.get(pk=duplicate.pk).has_other_participants()
    own_duplicate = make_post(acme.carol)
    own_duplicate.comment(by=acme.carol, text="mine")
    own_original = make_post(acme.carol)
    own_duplicate.merge_into(own_original, by=acme.bob)
    assert not own_original.has_other_participants()
    assert not Post.objects.get(pk=own_duplicate.pk).has_other_participants()


def test_users_of_another_account_are_not_participants(acme, other):
    post, other_post = make_post(acme.alice), make_post(other.mallory)
    # Each account numbers its own rows, so both posts can have the same id.
    while other_post.id < post.id:
        other_post = make_post(other.mallory)
    while post.id < other_post.id:
        post = make_post(acme.alice)
    other_post.comment(by=other.mallory, text="x")
    assert not post.has_other_participants()


# Votes and comments


def test_a_comment_is_activity_but_a_vote_is_not(acme):
    post = make_post(acme.alice)
    Post.objects.filter(pk=post.pk).update(updated_at=timezone.now() - timedelta(days=1))
    post.refresh_from_db()
    before = post.updated_at
    post.vote(by=acme.bob)
    assert post.updated_at == before
    comment = post.comment(by=acme.bob, text="yes", agent="x")
    assert post.updated_at == comment.created_at > before
    assert (comment.comment, comment.agent, comment.kind) == ("yes", "x", None)


def test_a_failed_comment_is_rolled_back(acme):
    post = make_post(acme.alice)

    # The count of comments does not fit into its column.
    Post.objects.filter(pk=post.pk).update(comments_cache=2**31 - 1)
    with pytest.raises(DataError), transaction.atomic():
        post.comment(by=acme.bob, text="x")
    assert not acme.account.comments.exists()


# Visibility partitions


def test_the_database_computes_the_visibility(acme):
    post, original, task = make_post(acme.alice), make_post(acme.alice), make_task(acme.alice)
    for values, visibility in (
        ({}, Visibility.OPEN),
        ({"closed": True}, Visibility.OPEN),
        ({"private": True}, Visibility.CLOSED),
        ({"private": False, "kind": "private"}, Visibility.CLOSED),
        ({"kind": "suggestion", "approved": False}, Visibility.CLOSED),
        ({"trashed_at": timezone.now()}, Visibility.NONE),
        ({"approved": True}, Visibility.NONE),
        ({"trashed_at": None, "duplicate_from_id": original.id}, Visibility.NONE),
    ):
        Post.objects.filter(pk=post.pk).update(**values)
        post.refresh_from_db()
        assert post.visibility == visibility, values
    task.refresh_from_db()
    assert task.visibility == Visibility.NONE


# Categories and forums


def test_categories_are_found_in_any_case_and_normal_form(acme):
    category = make_category(acme.account, "Żółw")
    for name in ("Żółw", "żółw", "ŻÓŁW", "z\u0307o\u0301łw"):
        assert Category.objects.find_by_name(acme.account.id, acme.forum.id, name) == category
    for name in ("", "zolw", "Żółw ", "\0", "Żółw\0"):
        assert Category.objects.find_by_name(acme.account.id, acme.forum.id, name) is None


def test_a_host_without_a_forum_belongs_to_the_default_forum(acme):
    host = acme.account.hosts.create(name="ideas.example.org")
    default = acme.forum
    assert acme.account.forums.for_host(host.id).first() == default
    forum = acme.account.forums.create(name="Ideas", host_id=host.id)
    assert acme.account.forums.for_host(host.id).first() == forum
    assert acme.account.forums.for_host(default.host_id).first() == default
    assert str(forum) == "Ideas"


def test_string_representations(acme):
    post = make_post(acme.alice)
    assert str(post.comment(by=acme.bob, text="yes")) == "yes"
    assert str(Category(name="Ideas")) == "Ideas"
    assert str(Forum(name="Forum")) == "Forum"


# Trash


def test_a_restored_post_is_unchanged(acme):
    post = make_post(acme.carol, "A dark theme", tags=["ui"])
    post.vote(by=acme.bob)
    post.comment(by=acme.bob, text="yes")
    post.trash(by=acme.bob)
    assert list(acme.account.tags.in_use("post")) == []
    assert not acme.account.posts.live().exists()
    assert acme.account.posts.trashed().get() == post
    post.restore()
    post.refresh_from_db()
    assert (post.title, post.trashed_at, post.trashed_by_id, post.visibility) == (
        "A dark theme",
        None,
        None,
        Visibility.OPEN,
    )
    assert (post.votes_cache, post.comments_cache, post.tags) == (1, 1, ["ui"])
    assert [row["count"] for row in acme.account.tags.in_use("post")] == [1]
