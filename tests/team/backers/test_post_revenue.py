"""The stored revenue of suggestions, and the job that computes it."""

from decimal import Decimal

import pytest

from forum.votes.models import VoteChange
from team.backers.models import (
    BATCH_SIZE,
    PostRevenue,
    RevenueChange,
    process_batch,
    queue_voted_posts,
    update_post_revenues,
)
from tests.support.factories import make_client, make_contact, make_deal, make_forum, make_post, make_task, make_user
from tests.support.factories import make_user_link as link
from tests.support.post_revenue import computed, process, stored
from tests.support.tables import table


def test_it_works(acme, statuses):
    post, client = make_post(acme.alice), make_client(acme.alice)
    post.cast_proxy_vote(by=acme.alice, client_id=client.id)
    update_post_revenues()
    [row] = acme.account.post_revenues.all()
    assert (row.post_id, row.currency, row.clients, row.total) == (post.id, acme.account.currency, 1, 0)
    assert row.forum_id == post.forum_id
    make_deal(acme.alice, client_id=client.id, price="100.5", currency="EUR")
    make_deal(acme.alice, client_id=client.id, price="20", currency="EUR", status_id=statuses["won"])
    make_deal(acme.alice, client_id=client.id, price="7", currency="PLN", status_id=statuses["won"])
    update_post_revenues()
    columns = ("currency", "clients", "open_deals", "open_sum", "won_deals", "won_sum", "total")
    assert sorted(acme.account.post_revenues.values_list(*columns)) == [
        ("EUR", 1, 1, Decimal("100.5"), 1, 20, Decimal("120.5")),
        ("PLN", 1, 0, 0, 1, 7, 7),
    ]
    assert list(acme.account.post_backers.values_list("post_id", "client_id")) == [(post.id, client.id)]
    assert not RevenueChange.objects.exists()


def change(acme, row, **values):
    row.write(values, by=acme.alice)


def change_outcome(acme, rows, statuses):
    acme.account.statuses.get(id=statuses["new"]).write({"outcome": "won"})


def merge(acme, rows, statuses):
    rows["by_contact"].merge_into(rows["by_client"], by=acme.alice)


def trash_and_restore(acme, rows, statuses):
    rows["client"].trash(by=acme.alice)
    process()
    assert rows["by_client"].id not in stored(acme.account)
    acme.account.clients.get(id=rows["client"].id).restore()


def unmerge(acme, rows, statuses):
    merge(acme, rows, statuses)
    process()
    acme.account.posts.get(id=rows["by_contact"].id).undo_merge(by=acme.alice)


CHANGES = {
    "another client of the deal": lambda acme, rows, statuses: change(acme, rows["deal"], client_id=rows["other"].id),
    "another price": lambda acme, rows, statuses: change(acme, rows["deal"], price="1"),
    "another currency": lambda acme, rows, statuses: change(acme, rows["deal"], currency="USD"),
    "won": lambda acme, rows, statuses: change(acme, rows["deal"], status_id=statuses["won"]),
    "lost": lambda acme, rows, statuses: change(acme, rows["deal"], status_id=statuses["lost"]),
    "deal in the trash": lambda acme, rows, statuses: rows["deal"].trash(by=acme.alice),
    "outcome of the status": change_outcome,
    "client in the trash": lambda acme, rows, statuses: rows["client"].trash(by=acme.alice),
    "client restored": trash_and_restore,
    "contact in the trash": lambda acme, rows, statuses: rows["contact"].trash(by=acme.alice),
    "another client of the contact": lambda acme, rows, statuses: change(
        acme, rows["contact"], client_id=rows["other"].id
    ),
    "suggestion in the trash": lambda acme, rows, statuses: rows["by_client"].trash(by=acme.alice),
    "no customer of the suggestion": lambda acme, rows, statuses: acme.account.posts.filter(
        id=rows["for_client"].id
    ).update(client_id=None),
    "vote withdrawn": lambda acme, rows, statuses: acme.account.votes.filter(post_id=rows["by_user"].id).delete(),
    "vote": lambda acme, rows, statuses: rows["without"].vote(by=rows["user"]),
    "new suggestion": lambda acme, rows, statuses: make_post(rows["user"]),
    "proxy votes withdrawn": lambda acme, rows, statuses: acme.account.proxy_votes.all().delete(),
    "link rejected": lambda acme, rows, statuses: acme.account.user_links.update(state="rejected"),
    "link erased": lambda acme, rows, statuses: acme.account.user_links.get().erase(),
    "link to another client": lambda acme, rows, statuses: acme.account.user_links.update(client_id=rows["other"].id),
    "merge": merge,
    "undone merge": unmerge,
}


@pytest.fixture
def rows(acme, statuses) -> dict:
    client, other = make_client(acme.alice), make_client(acme.alice)
    contact, user = make_contact(acme.alice, client_id=client.id), make_user(acme.account)
    posts = {name: make_post(acme.alice) for name in ("by_client", "by_contact", "by_user", "without")}
    posts["for_client"] = make_post(acme.alice, client_id=client.id)
    posts["by_client"].cast_proxy_vote(by=acme.alice, client_id=client.id)
    posts["by_contact"].cast_proxy_vote(by=acme.alice, contact_id=contact.id)
    link(acme.alice, user, client_id=client.id)
    posts["by_user"].vote(by=user)
    make_deal(acme.alice, client_id=other.id, price="5000")
    deal = make_deal(acme.alice, client_id=client.id, price="100", status_id=statuses["new"])
    make_task(acme.alice, client_id=client.id)
    process()
    return {"client": client, "other": other, "contact": contact, "user": user, "deal": deal, **posts}


@pytest.fixture
def before(acme, rows) -> dict:
    """Return the figures of the rows."""
    figures = stored(acme.account)
    assert figures == computed(acme.account)
    assert len(figures) == 4
    return figures


@table("name", CHANGES)
def test_every_change_reaches_the_figures(acme, rows, before, statuses, name):
    CHANGES[name](acme, rows, statuses)
    process()
    after = stored(acme.account)
    assert after == computed(acme.account)
    assert (after == before) == (name in ("client restored", "undone merge"))


def test_another_currency_of_the_account(acme, rows):
    acme.account.change(currency="USD")
    process()
    assert set(PostRevenue.objects.values_list("currency", flat=True)) == {"EUR", "USD"}
    assert PostRevenue.objects.filter(currency="USD").count() == 4


def test_another_forum_and_an_erased_suggestion(acme, rows):
    """The figures follow the suggestion."""
    forum, post = make_forum(acme.account), rows["by_client"]
    category = acme.account.categories.get(forum_id=forum.id)
    acme.account.posts.filter(id=post.id).update(forum_id=forum.id, category_id=category.id)
    process()
    assert set(acme.account.post_revenues.filter(forum_id=forum.id).values_list("post_id")) == {(post.id,)}
    acme.account.posts.get(id=post.id).trash(by=acme.alice)
    acme.account.posts.filter(id=post.id).erase_one()
    process()
    assert post.id not in stored(acme.account)
    assert not acme.account.post_backers.filter(post_id=post.id).exists()


def test_a_vote_that_the_link_did_not_see(acme, rows):
    """The second run of a link counts what a concurrent transaction wrote without seeing the link, even without a queued vote."""
    member, post = make_user(acme.account), rows["without"]
    post.vote(by=member)
    link(acme.alice, member, client_id=rows["client"].id)
    # The first run is over before the vote is committed.
    later = RevenueChange.objects.filter(kind="user").order_by("-due_at")[:1].get()
    RevenueChange.objects.exclude(pk=later.pk).delete()
    VoteChange.objects.all().delete()
    update_post_revenues()
    assert post.id not in stored(acme.account)
    process()
    assert stored(acme.account) == computed(acme.account)
    assert post.id in stored(acme.account)


def test_it_ignores_rows_that_no_suggestion_depends_on(acme):
    post = make_post(acme.carol)
    post.vote(by=acme.bob)
    make_deal(acme.alice)
    post.write({"title": "Another title"}, by=acme.alice)
    make_task(acme.alice, client_id=make_client(acme.alice).id)
    queue_voted_posts()
    assert not RevenueChange.objects.exists()


def test_a_batch_has_a_limit(acme):
    ids = range(1, BATCH_SIZE + 6)
    RevenueChange.objects.bulk_create(RevenueChange(account=acme.account, kind="post", row_id=id) for id in ids)
    assert [process_batch(acme.account.id) for _ in range(3)] == [BATCH_SIZE, 5, 0]


def test_a_queued_row_of_a_deleted_account(acme, db):
    RevenueChange.objects.create(account_id=987654, kind="client", row_id=1)
    process()
