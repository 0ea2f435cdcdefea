"""The numbers of posts beside the filters, and the deltas from which they are computed."""

import pytest
from django.db import connection
from django.db.models import Sum

from forum.lists import facets
from forum.lists.facets import COUNTER, FacetCount, Facets, count_facets
from forum.posts.models import Post
from tests.support.factories import make_category, make_forum, make_post
from tests.support.reading import selection_of


def counts(acme, *, include_closed: bool = False, **values) -> Facets:
    return count_facets(acme.account.id, acme.forum.id, selection_of(**values), include_closed=include_closed)


def recounted(acme, *, include_closed: bool = False, **values) -> Facets:
    """Count the rows of posts. Values without posts are left out."""
    columns = ("category_id", "status_id", "kind", "tags")
    shelves = (1, 2) if include_closed else (1,)
    rows = list(acme.account.posts.of_forum(acme.forum.id).filter(visibility__in=shelves).values(*columns))

    def selected(**changes) -> list[dict]:
        names = (values | changes).items()
        return [
            row
            for row in rows
            if all(value in row["tags"] if name == "tag" else row[name] == value for name, value in names)
        ]

    def numbers(name: str) -> dict:
        found = {value for row in rows for value in (row["tags"] if name == "tag" else [row[name]])}
        return {value: number for value in found if (number := len(selected(**{name: value})))}

    return Facets(len(selected()), *(numbers(name) for name in ("category_id", "status_id", "kind", "tag")))


def check(acme, selections: slice = slice(None)) -> None:
    """Assert that the stored numbers equal the recounted ones, for these of several selections."""
    categories, statuses = (
        list(rows.order_by("id").values_list("id", flat=True))
        for rows in (acme.account.categories, acme.account.statuses)
    )
    found = (
        {},
        {"category_id": categories[0]},
        {"status_id": statuses[0]},
        {"kind": "error"},
        {"tag": "web"},
        {"tag": "nothing"},
        {"kind": "suggestion", "tag": "web"},
        {"category_id": categories[-1], "status_id": statuses[0], "kind": "suggestion", "tag": "ui"},
    )
    for include_closed in (False, True):
        for values in found[selections]:
            counted = counts(acme, include_closed=include_closed, **values)
            # A selected tag is shown even if no post has it.
            counted = counted._replace(tags={tag: number for tag, number in counted.tags.items() if number})
            assert counted == recounted(acme, include_closed=include_closed, **values), values


@pytest.fixture
def posts(acme):
    ideas = make_category(acme.account, "Ideas")
    planned = acme.account.statuses.get(kind="post", code="planned")
    make_post(acme.alice, kind="error", tags=["web"])
    make_post(acme.alice, tags=["web", "ui"], category_id=ideas.id)
    make_post(acme.alice, tags=["ui"], category_id=ideas.id, status=planned)
    make_post(acme.alice, private=True, tags=["web"])
    make_post(acme.alice, kind="question", approved=False)
    make_post(acme.alice, forum_id=make_forum(acme.account).id, tags=["web"])
    return list(acme.account.posts.of_forum(acme.forum.id).order_by("id"))


def test_it_works(acme, posts):
    check(acme)
    assert counts(acme).tags == {"ui": 2, "web": 2}
    assert counts(acme, tag="web").kinds == {"error": 1, "suggestion": 1}


def test_every_change_of_a_post_is_counted(acme, posts):
    error, idea, planned, private, unapproved = posts
    check_after = [
        lambda: error.write({"kind": "question", "tags": ["ui", "new"]}, by=acme.alice),
        lambda: idea.write({"category_id": acme.category.id}, by=acme.alice),
        lambda: planned.write({"status": acme.account.default_status("post"), "tags": []}, by=acme.alice),
        lambda: private.write({"private": False}, by=acme.alice),
        lambda: unapproved.approve(by=acme.alice),
        lambda: error.merge_into(idea, by=acme.alice),
        lambda: error.undo_merge(by=acme.alice),
        lambda: idea.trash(by=acme.alice),
        lambda: idea.restore(),
        lambda: Post.objects.filter(pk=idea.pk).delete(),
    ]
    for change in check_after:
        change()
        # All posts, and those with a tag. A change is counted once for each combination of values, so other selections add the same deltas.
        check(acme, slice(0, 5, 4))


def test_the_most_frequent_tags(acme, monkeypatch):
    monkeypatch.setattr(facets, "MAX_TAGS", 2)
    facets._facets_sql.cache_clear()
    for tags in (["a", "b", "c"], ["b", "c"], ["c"], ["d"]):
        make_post(acme.alice, tags=tags)
    assert counts(acme).tags == {"c": 3, "b": 2}
    # A selected tag is shown too.
    assert counts(acme, tag="d").tags == {"c": 3, "b": 2, "d": 1}
    assert counts(acme, tag="d", kind="error").tags == {"b": 0, "c": 0, "d": 0}
    facets._facets_sql.cache_clear()


def test_compaction_keeps_the_numbers(acme, posts, monkeypatch):
    monkeypatch.setattr(facets, "MAX_DELTAS", 3)
    for post in posts[:3]:
        post.trash(by=acme.alice)
        post.restore()
    rows = FacetCount.objects.filter(account=acme.account, forum_id=acme.forum.id)
    before = rows.count()
    FacetCount.objects.clean_up()
    assert rows.count() < before
    check(acme)
    # One row remains for each combination of values, and the next run has nothing to do.
    after = set(rows.values_list("number", flat=True))
    FacetCount.objects.clean_up()
    assert set(rows.values_list("number", flat=True)) == after
    Post.objects.filter(account=acme.account, forum_id=acme.forum.id).delete()
    COUNTER.compact(acme.account.id, acme.forum.id)
    assert not rows.exists()


def test_the_migration_counts_all_posts(acme, posts):
    """The migration stores the sums of the deltas."""
    columns = COUNTER.columns
    sums = list(FacetCount.objects.values_list(*columns).annotate(Sum("posts")).order_by(*columns))
    assert len(sums) > len(posts)
    FacetCount.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(COUNTER.count_all)
    assert list(FacetCount.objects.values_list(*columns, "posts").order_by(*columns)) == sums


def test_an_update_of_other_columns_writes_no_delta(acme, posts):
    before = FacetCount.objects.count()
    posts[0].vote(by=acme.bob)
    posts[0].write({"title": "Another", "kind": posts[0].kind}, by=acme.alice)
    assert FacetCount.objects.count() == before
