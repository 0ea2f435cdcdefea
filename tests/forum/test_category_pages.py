"""The pages of a category's list by age: their posts after any change, and their plans."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import Q

from accounts.models import Status, User
from core.db.trash import KEPT_FOR
from forum.models import Category, Post, PostQuerySet, Visibility
from tests.support.factories import make_category, make_post, make_user
from tests.support.queries import capture_parameters, explained
from tests.support.sort_keys import assert_sort_keys_are_correct
from tests.support.tables import table
from tests.support.xml import titles

NOON = datetime(2009, 2, 2, 12, tzinfo=UTC)


def page(user: User, category: Category, start: int, size: int = 3, order: str = "new", **filters) -> list[int]:
    rows = Post.objects.page(user, ("id",), category_id=category.id, order=order, start=start, size=size, **filters)
    return [row[0] for row in rows]


def expected_ids(user: User, category: Category, order: str = "new", **filters) -> list[int]:
    visible = Q(shelf=Visibility.OPEN) | (
        Q(shelf=Visibility.CLOSED) if user.is_team else Q(shelf=Visibility.CLOSED, user_id=user.id)
    )
    posts = Post.objects.filter(visible, account_id=user.account_id, category_id=category.id, **filters)
    return list(posts.order_by(*PostQuerySet.ORDERS[order]).values_list("id", flat=True))


def fill(user: User, category: Category, number: int, **values) -> None:
    """Create posts with the same time, a thousand per statement."""
    common_values = {
        "category_id": category.id,
        "forum_id": category.forum_id,
        "account_id": user.account_id,
        "user_id": user.id,
    }
    common_values |= {"status_id": user.account.default_status("post").id, "created_at": NOON, **values}
    Post.objects.bulk_create((Post(title=str(n), **common_values) for n in range(number)), batch_size=1000)


def test_it_works(acme, django_assert_num_queries):
    fill(acme.alice, acme.category, 120)
    client = acme.xml()
    # The first request checks the password.
    client.get("/")
    # The user with the account; the page.
    with django_assert_num_queries(2):
        assert titles(client.get("/?page=4")) == [str(n) for n in range(44, 19, -1)]


def test_pages_past_the_end_are_empty(acme):
    fill(acme.alice, acme.category, 10)
    for order in PostQuerySet.ORDERS:
        for start in (9, 10, 11, 2**62):
            assert (
                page(acme.alice, acme.category, start, order=order)
                == expected_ids(acme.alice, acme.category, order)[start:]
            )
    assert page(acme.alice, make_category(acme.account), 5) == []


class Changes:
    """Random changes to posts."""

    def __init__(self, acme, seed: int):
        self.random = random.Random(seed)
        self.users = [acme.alice, acme.carol, make_user(acme.account, "erin")]
        self.categories = [acme.category, make_category(acme.account, "Second")]
        self.statuses = list(Status.objects.filter(account=acme.account, kind="post")[:3])
        self.fill()

    def sample_ids(self, max_size: int) -> list[int]:
        ids = list(Post.objects.order_by("id").values_list("id", flat=True))
        return self.random.sample(ids, min(self.random.randint(1, max_size), len(ids)))

    def random_time(self) -> datetime:
        return NOON + timedelta(minutes=self.random.randint(0, 30))

    def fill(self) -> None:
        category, user = self.random.choice(self.categories), self.random.choice(self.users)
        status, private = self.random.choice(self.statuses), self.random.random() < 0.2
        number = self.random.randint(1, 30)
        fill(user, category, number, created_at=self.random_time(), status_id=status.id, private=private)

    def create(self) -> None:
        make_post(self.random.choice(self.users), private=self.random.random() < 0.5)

    def trash(self) -> None:
        for id in self.sample_ids(5):
            Post.objects.get(id=id).trash(by=self.users[0])

    def restore(self) -> None:
        for post in Post.objects.trashed()[: self.random.randint(1, 5)]:
            post.restore()

    def erase(self) -> None:
        Post.objects.trashed().update(trashed_at=NOON)
        Post.objects.erase(before=NOON + KEPT_FOR, limit=self.random.randint(1, 5))

    def delete(self) -> None:
        # The duplicates of a deleted post appear in the lists again.
        Post.objects.filter(id__in=self.sample_ids(3)).delete()

    def update(self) -> None:
        values = {
            "category_id": self.random.choice(self.categories).id,
            "status_id": self.random.choice(self.statuses).id,
            "private": self.random.random() < 0.5,
            "approved": self.random.random() < 0.5,
            "kind": self.random.choice(["private", "question"]),
            "duplicate_from_id": self.random.choice([None, *self.sample_ids(1)]),
            "created_at": self.random_time(),
            "votes_cache": 1,
        }
        name = self.random.choice(list(values))
        Post.objects.filter(id__in=self.sample_ids(10)).update(**{name: values[name]})

    def compare_pages(self) -> None:
        user, category, order = (
            self.random.choice(self.users),
            self.random.choice(self.categories),
            self.random.choice(["new", "old"]),
        )
        filters = {"status_id": self.random.choice(self.statuses).id} if self.random.random() < 0.3 else {}
        expected, size = expected_ids(user, category, order, **filters), self.random.randint(1, 5)
        for start in range(0, len(expected) + size + 1, size):
            assert page(user, category, start, size, order, **filters) == expected[start : start + size]


@table("seed", range(3))
def test_pages_are_correct_after_random_changes(acme, seed):
    changes = Changes(acme, seed)
    actions = [
        changes.fill,
        changes.create,
        changes.trash,
        changes.restore,
        changes.erase,
        changes.delete,
        changes.update,
        changes.update,
        changes.compare_pages,
        changes.compare_pages,
        changes.compare_pages,
    ]
    for _ in range(60):
        changes.random.choice(actions)()
        assert_sort_keys_are_correct()


@pytest.mark.django_db(transaction=True)
def test_only_the_index_is_read(acme):
    fill(acme.alice, acme.category, 6000)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE forum_post")
    client = acme.xml()
    bad_nodes = []
    # The most rows that one plan node may read, for each page.
    for page_number, max_rows in ((1, 60), (2, 110), (20, 1100), (100, 5200), (240, 6000), (300, 6000)):
        for order in ("new", "old", acme.account.default_status("post").code):
            path = f"/?page={page_number}&order={order}"
            for sql, parameters in capture_parameters(lambda path=path: client.get(path))[1]:
                for node in explained(sql, parameters, []):
                    rows = node["Actual Rows"] * node["Actual Loops"] + node.get("Rows Removed by Filter", 0)
                    if node.get("Relation Name") == "forum_post" and (
                        "Index" not in node["Node Type"] or rows > max_rows
                    ):
                        bad_nodes.append((path, node["Node Type"], rows, sql))
    assert not bad_nodes, "\n".join(map(str, bad_nodes))
