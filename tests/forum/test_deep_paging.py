"""Deep pages contain the same posts as pages read with OFFSET, after any change to the posts."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import Q, Sum

from accounts.models import Status, User
from core.db.trash import KEPT_FOR
from forum import deep_paging
from forum.models import Category, Post, PostCount, PostQuerySet, Visibility
from tests.support.factories import make_category, make_post, make_task, make_user
from tests.support.jobs import run_housekeeping
from tests.support.queries import capture_parameters, explained
from tests.support.sort_keys import assert_sort_keys_are_correct
from tests.support.tables import table
from tests.support.threads import at_once
from tests.support.xml import titles

NOON = datetime(2009, 2, 2, 12, tzinfo=UTC)

# Select the segments whose counts differ from the number of their posts. A single statement reads one snapshot.
WRONG_COUNTS = """
WITH places AS (
    SELECT category_id, created_at, id, is_mark, shelf, status_id, posts FROM forum_postcount
    UNION ALL SELECT category_id, created_at, id, false, shelf, status_id, -1 FROM forum_post WHERE shelf > 0
), segments AS (
    SELECT *, count(*) FILTER (WHERE is_mark) OVER (PARTITION BY category_id ORDER BY created_at, id) AS segment,
        bool_or(is_mark) OVER (PARTITION BY category_id) AS is_counted
    FROM places
)
SELECT category_id, segment, shelf, status_id, sum(posts) FROM segments WHERE is_counted
GROUP BY 1, 2, 3, 4 HAVING sum(posts) <> 0
"""


def wrong_counts() -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(WRONG_COUNTS)
        return cursor.fetchall()


@pytest.fixture
def small_limits(monkeypatch):
    """Set limits so small that nearly every page is deep and segments have three posts."""
    for name, value in {"SEGMENT_LENGTH": 3, "MAX_DELTAS": 4, "MIN_OFFSET": 1}.items():
        monkeypatch.setattr(deep_paging, name, value)


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


def test_it_works(acme, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(deep_paging, "MIN_OFFSET", 50)
    monkeypatch.setattr(deep_paging, "SEGMENT_LENGTH", 10)
    fill(acme.alice, acme.category, 120)
    client = acme.xml()
    # The first deep page creates the counts.
    first = titles(client.get("/?page=4"))
    assert first == [str(n) for n in range(44, 19, -1)]
    assert PostCount.objects.filter(is_mark=True).count() == 12
    assert PostCount.objects.aggregate(Sum("posts")) == {"posts__sum": 120}
    # The user with the account; the start of the page; the page.
    with django_assert_num_queries(3):
        assert titles(client.get("/?page=4")) == first
    # A page that is not deep needs no counts.
    with django_assert_num_queries(2):
        assert titles(client.get("/?page=2")) == [str(n) for n in range(94, 69, -1)]


def test_pages_past_the_end_are_empty(acme, small_limits):
    fill(acme.alice, acme.category, 10)
    for order in ("new", "old"):
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
        self.lists_with_checkpoints = 0
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

    def clean_up(self) -> None:
        PostCount.objects.clean_up()

    def delete_counts(self) -> None:
        if self.random.random() < 0.2:
            PostCount.objects.all().delete()

    def compare_pages(self) -> None:
        user, category, order = (
            self.random.choice(self.users),
            self.random.choice(self.categories),
            self.random.choice(["new", "new", "old"]),
        )
        filters = {"status_id": self.random.choice(self.statuses).id} if self.random.random() < 0.3 else {}
        self.lists_with_checkpoints += PostCount.objects.filter(category_id=category.id, is_mark=True).exists()
        expected, size = expected_ids(user, category, order, **filters), self.random.randint(1, 5)
        for start in range(0, len(expected) + size + 1, size):
            assert page(user, category, start, size, order, **filters) == expected[start : start + size]


@table("seed", range(10))
def test_pages_are_correct_after_random_changes(acme, small_limits, seed):
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
        changes.clean_up,
        changes.delete_counts,
        changes.compare_pages,
        changes.compare_pages,
        changes.compare_pages,
    ]
    for _ in range(80):
        changes.random.choice(actions)()
        assert wrong_counts() == []
        assert_sort_keys_are_correct()
    # Many of the compared lists had checkpoints.
    assert changes.lists_with_checkpoints > 5


@pytest.mark.django_db(transaction=True)
def test_pages_are_correct_during_writes_and_compactions(acme, small_limits):
    """The counts match the posts in every snapshot, and writers and readers do not block each other."""
    fill(acme.alice, acme.category, 60)
    ids = list(Post.objects.order_by("id").values_list("id", flat=True))

    def write(number: int) -> None:
        generator = random.Random(number)
        for _ in range(15):
            make_post(acme.alice)
            Post.objects.filter(id__in=generator.sample(ids, 4)).update(private=generator.random() < 0.5)
            Post.objects.filter(id=generator.choice(ids)).first().trash(by=acme.alice)

    def read() -> list[tuple]:
        differences = []
        for start in range(40):
            page(acme.alice, acme.category, start)
            deep_paging.compact(acme.account.id, acme.category.id)
            differences += wrong_counts()
        return differences

    *_, first, second = at_once(*(lambda n=n: write(n) for n in range(4)), read, read)
    assert first + second == wrong_counts() == []
    assert_sort_keys_are_correct()
    expected = expected_ids(acme.alice, acme.category)
    assert len(expected) > 60
    for start in range(len(expected) + 1):
        assert page(acme.alice, acme.category, start) == expected[start : start + 3]


@pytest.mark.django_db(transaction=True)
def test_the_index_is_read_from_the_checkpoint(acme, monkeypatch):
    monkeypatch.setattr(deep_paging, "SEGMENT_LENGTH", 200)
    monkeypatch.setattr(deep_paging, "MIN_OFFSET", 500)
    fill(acme.alice, acme.category, 6000)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE forum_post")
    client = acme.xml()
    # The first deep page creates the counts.
    client.get("/?page=200")
    bad_nodes = []
    # The most rows that one plan node may read, for each page.
    for page_number, max_rows in ((1, 60), (2, 110), (20, 520), (100, 260), (200, 260), (240, 260), (300, 260)):
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


def test_a_reader_skips_a_compaction_that_another_one_runs(acme, small_limits, monkeypatch):
    fill(acme.alice, acme.category, 20)
    monkeypatch.setattr("core.db.locks.try_acquire", lambda name: False)
    assert page(acme.alice, acme.category, 10) == expected_ids(acme.alice, acme.category)[10:13]
    assert not PostCount.objects.filter(is_mark=True).exists()


def test_writers_only_insert_deltas(acme, small_limits):
    """Each change inserts a row of its own, so writers do not wait for each other."""
    fill(acme.alice, acme.category, 10)
    page(acme.alice, acme.category, 7)
    checkpoints = list(PostCount.objects.filter(is_mark=True).order_by("pk").values())
    post = make_post(acme.alice)
    post.trash(by=acme.alice)
    post.refresh_from_db()
    post.vote(by=acme.carol)
    assert list(PostCount.objects.filter(is_mark=True).order_by("pk").values()) == checkpoints
    deltas = PostCount.objects.filter(is_mark=False).order_by("number")
    assert [(delta.id, delta.posts) for delta in deltas] == [(post.id, 1), (post.id, -1)]


def test_housekeeping_compacts_many_deltas(acme, small_limits):
    fill(acme.alice, acme.category, 3)
    run_housekeeping()
    assert PostCount.objects.filter(is_mark=False).exists()
    fill(acme.alice, acme.category, 3)
    run_housekeeping()
    assert not PostCount.objects.filter(is_mark=False).exists()
    assert PostCount.objects.aggregate(Sum("posts")) == {"posts__sum": 6}


def test_tasks_have_no_counts(acme):
    make_task(acme.alice)
    assert not PostCount.objects.exists()


def test_the_counts_of_a_deleted_category_are_deleted(acme, small_limits):
    first, second = acme.category, make_category(acme.account, "Second")
    for category in (first, second):
        fill(acme.alice, category, 10)
        page(acme.alice, category, 5)
    Post.objects.filter(category_id=second.id).delete()
    second.delete()
    assert set(PostCount.objects.values_list("category_id", flat=True)) == {first.id}
