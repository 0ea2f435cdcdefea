"""Deep pages equal those of plain OFFSET after any changes to the posts."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import Q, Sum

from accounts.models import Status, User
from core.db.trash import KEPT_FOR
from forum import deep_paging
from forum.models import Category, Post, PostCount, PostQuerySet, Visibility
from tests.support.factories import make_category, make_post, make_task, make_user
from tests.support.queries import capture_parameters, explained
from tests.support.threads import at_once
from tests.support.xml import titles

pytestmark = pytest.mark.slow

NOON = datetime(2009, 2, 2, 12, tzinfo=UTC)

# Where the counts of a segment are not the posts in it, by one snapshot.
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
def shallow(monkeypatch):
    """Nearly everything is deep, and segments are short."""
    for name, value in {"SEGMENT_LENGTH": 3, "MAX_DELTAS": 4, "MIN_OFFSET": 1}.items():
        monkeypatch.setattr(deep_paging, name, value)


def page(user: User, category: Category, start: int, size: int = 3, order: str = "new", **which) -> list[int]:
    rows = Post.objects.page(user, ("id",), category_id=category.id, order=order, start=start, size=size, **which)
    return [row[0] for row in rows]


def whole(user: User, category: Category, order: str = "new", **which) -> list[int]:
    seen = Q(shelf=Visibility.OPEN) | (
        Q(shelf=Visibility.CLOSED) if user.is_team else Q(shelf=Visibility.CLOSED, user_id=user.id)
    )
    posts = Post.objects.filter(seen, account_id=user.account_id, category_id=category.id, **which)
    return list(posts.order_by(*PostQuerySet.ORDERS[order]).values_list("id", flat=True))


def fill(user: User, category: Category, number: int, **values) -> None:
    """Create posts with the same time, a thousand in a statement."""
    given = {
        "category_id": category.id,
        "forum_id": category.forum_id,
        "account_id": user.account_id,
        "user_id": user.id,
    }
    given |= {"status_id": user.account.default_status("post").id, "created_at": NOON, **values}
    Post.objects.bulk_create((Post(title=str(n), **given) for n in range(number)), batch_size=1000)


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


def test_pages_past_the_end_are_empty(acme, shallow):
    fill(acme.alice, acme.category, 10)
    for order in ("new", "old"):
        for start in (9, 10, 11, 2**62):
            assert (
                page(acme.alice, acme.category, start, order=order) == whole(acme.alice, acme.category, order)[start:]
            )
    assert page(acme.alice, make_category(acme.account), 5) == []


class Changes:
    """Random changes to posts."""

    def __init__(self, acme, seed: int):
        self.chance = random.Random(seed)
        self.users = [acme.alice, acme.carol, make_user(acme.account, "erin")]
        self.categories = [acme.category, make_category(acme.account, "Second")]
        self.statuses = list(Status.objects.filter(account=acme.account, kind="post")[:3])
        self.entered = 0
        self.fill()

    def some(self, most: int) -> list[int]:
        ids = list(Post.objects.order_by("id").values_list("id", flat=True))
        return self.chance.sample(ids, min(self.chance.randint(1, most), len(ids)))

    def moment(self) -> datetime:
        return NOON + timedelta(minutes=self.chance.randint(0, 30))

    def fill(self) -> None:
        category, user = self.chance.choice(self.categories), self.chance.choice(self.users)
        status, private = self.chance.choice(self.statuses), self.chance.random() < 0.2
        number = self.chance.randint(1, 30)
        fill(user, category, number, created_at=self.moment(), status_id=status.id, private=private)

    def create(self) -> None:
        make_post(self.chance.choice(self.users), private=self.chance.random() < 0.5)

    def trash(self) -> None:
        for id in self.some(5):
            Post.objects.get(id=id).trash(by=self.users[0])

    def restore(self) -> None:
        for post in Post.objects.trashed()[: self.chance.randint(1, 5)]:
            post.restore()

    def erase(self) -> None:
        Post.objects.trashed().update(trashed_at=NOON)
        Post.objects.erase(before=NOON + KEPT_FOR, limit=self.chance.randint(1, 5))

    def delete(self) -> None:
        # Those that were merged into it are in the lists again.
        Post.objects.filter(id__in=self.some(3)).delete()

    def change(self) -> None:
        values = {
            "category_id": self.chance.choice(self.categories).id,
            "status_id": self.chance.choice(self.statuses).id,
            "private": self.chance.random() < 0.5,
            "approved": self.chance.random() < 0.5,
            "kind": self.chance.choice(["private", "question"]),
            "duplicate_from_id": self.chance.choice([None, *self.some(1)]),
            "created_at": self.moment(),
            "votes_cache": 1,
        }
        name = self.chance.choice(list(values))
        Post.objects.filter(id__in=self.some(10)).update(**{name: values[name]})

    def clean_up(self) -> None:
        PostCount.objects.clean_up()

    def forget(self) -> None:
        if self.chance.random() < 0.2:
            PostCount.objects.all().delete()

    def look(self) -> None:
        user, category, order = (
            self.chance.choice(self.users),
            self.chance.choice(self.categories),
            self.chance.choice(["new", "new", "old"]),
        )
        which = {"status_id": self.chance.choice(self.statuses).id} if self.chance.random() < 0.3 else {}
        self.entered += PostCount.objects.filter(category_id=category.id, is_mark=True).exists()
        expected, size = whole(user, category, order, **which), self.chance.randint(1, 5)
        for start in range(0, len(expected) + size + 1, size):
            assert page(user, category, start, size, order, **which) == expected[start : start + size]


@pytest.mark.parametrize("seed", range(10))
def test_pages_are_correct_after_random_changes(acme, shallow, seed):
    changes = Changes(acme, seed)
    acts = [
        changes.fill,
        changes.create,
        changes.trash,
        changes.restore,
        changes.erase,
        changes.delete,
        changes.change,
        changes.change,
        changes.clean_up,
        changes.forget,
        changes.look,
        changes.look,
        changes.look,
    ]
    for _ in range(80):
        changes.chance.choice(acts)()
        assert wrong_counts() == []
    # Mostly, lists started at a checkpoint.
    assert changes.entered > 5


@pytest.mark.django_db(transaction=True)
def test_pages_are_correct_during_writes_and_compactions(acme, shallow):
    """In every snapshot the counts are those of the posts in it, and no writer or reader waits for ever."""
    fill(acme.alice, acme.category, 60)
    old = list(Post.objects.order_by("id").values_list("id", flat=True))

    def write(number: int) -> None:
        chance = random.Random(number)
        for _ in range(15):
            make_post(acme.alice)
            Post.objects.filter(id__in=chance.sample(old, 4)).update(private=chance.random() < 0.5)
            Post.objects.filter(id=chance.choice(old)).first().trash(by=acme.alice)

    def read() -> list[tuple]:
        wrong = []
        for start in range(40):
            page(acme.alice, acme.category, start)
            deep_paging.compact(acme.account.id, acme.category.id)
            wrong += wrong_counts()
        return wrong

    *_, first, second = at_once(*(lambda n=n: write(n) for n in range(4)), read, read)
    assert first + second == wrong_counts() == []
    expected = whole(acme.alice, acme.category)
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
    wrong = []
    for number, most in ((1, 60), (2, 110), (20, 520), (100, 260), (200, 260), (240, 260), (300, 260)):
        for order in ("new", "old", acme.account.default_status("post").code):
            path = f"/?page={number}&order={order}"
            for sql, parameters in capture_parameters(lambda path=path: client.get(path))[1]:
                for node in explained(sql, parameters, []):
                    rows = node["Actual Rows"] * node["Actual Loops"] + node.get("Rows Removed by Filter", 0)
                    if node.get("Relation Name") == "forum_post" and ("Index" not in node["Node Type"] or rows > most):
                        wrong.append((path, node["Node Type"], rows, sql))
    assert not wrong, "\n".join(map(str, wrong))


def test_a_reader_skips_a_compaction_that_another_one_runs(acme, shallow, monkeypatch):
    fill(acme.alice, acme.category, 20)
    monkeypatch.setattr("core.db.locks.try_acquire", lambda name: False)
    assert page(acme.alice, acme.category, 10) == whole(acme.alice, acme.category)[10:13]
    assert not PostCount.objects.filter(is_mark=True).exists()


def test_writers_only_insert_deltas(acme, shallow):
    """A row each, of their own: there is nothing that they could wait for."""
    fill(acme.alice, acme.category, 10)
    page(acme.alice, acme.category, 7)
    checkpoints = list(PostCount.objects.filter(is_mark=True).order_by("pk").values())
    post = make_post(acme.alice)
    post.trash(by=acme.alice)
    post.vote(by=acme.carol)
    assert list(PostCount.objects.filter(is_mark=True).order_by("pk").values()) == checkpoints
    deltas = PostCount.objects.filter(is_mark=False).order_by("number")
    assert [(delta.id, delta.posts) for delta in deltas] == [(post.id, 1), (post.id, -1)]


def test_housekeeping_compacts_many_deltas(acme, shallow):
    fill(acme.alice, acme.category, 3)
    call_command("housekeeping")
    assert PostCount.objects.filter(is_mark=False).exists()
    fill(acme.alice, acme.category, 3)
    call_command("housekeeping")
    assert not PostCount.objects.filter(is_mark=False).exists()
    assert PostCount.objects.aggregate(Sum("posts")) == {"posts__sum": 6}


def test_tasks_have_no_counts(acme):
    make_task(acme.alice)
    assert not PostCount.objects.exists()


def test_the_counts_of_a_deleted_category_are_deleted(acme, shallow):
    first, second = acme.category, make_category(acme.account, "Second")
    for category in (first, second):
        fill(acme.alice, category, 10)
        page(acme.alice, category, 5)
    Post.objects.filter(category_id=second.id).delete()
    second.delete()
    assert set(PostCount.objects.values_list("category_id", flat=True)) == {first.id}
