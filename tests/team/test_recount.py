"""The command `recount`, which compares the stored values with the rows."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from team.backers.models import PostRevenue, RevenueChange
from team.management.commands import recount as recount_command
from team.summaries.recount import recount_summaries
from tests.support import post_revenue
from tests.support.factories import make_client, make_contact, make_deal, make_note, make_post, make_task, make_user
from tests.support.factories import make_user_link as link
from tests.support.summaries import recounted, stored


def run(*arguments: str) -> tuple[str, int]:
    """Return the output and the exit status."""
    output = StringIO()
    try:
        call_command("recount", *arguments, stdout=output)
    except SystemExit as error:
        return output.getvalue(), error.code
    return output.getvalue(), 0


@pytest.fixture
def rows(acme):
    client = make_client(acme.alice)
    contact = make_contact(acme.alice, client_id=client.id)
    deal = make_deal(acme.alice, client_id=client.id, contact_id=contact.id, price=5)
    make_task(acme.alice, contact_id=contact.id, scheduled_at=timezone.now())
    return client, contact, deal


def test_it_works(acme, rows):
    client, contact, deal = rows
    assert run() == ("No values differ.\n", 0)
    acme.account.deal_summaries.update(price=4)
    acme.account.contact_summaries.update(next_task_at=None)
    acme.account.client_summaries.update(open_sum=4)
    acme.account.client_revenues.create(
        client_id=client.id, currency="PLN", open_deals=1, open_sum=1, won_deals=0, won_sum=0
    )
    found = (
        f"acme: 1 deals ({deal.id})\nacme: 1 clients with other sums of deals ({client.id})\n"
        f"acme: 1 contacts ({contact.id})\nacme: 1 clients ({client.id})\n"
    )
    advice = "Repair them with: python manage.py recount --repair\n"
    assert run("acme") == (found + advice, 1)
    output, status = run("--repair")
    assert (output.splitlines()[-1], status) == ("The values are repaired.", 0)
    assert stored(acme.account) == recounted(acme.account)
    assert run() == ("No values differ.\n", 0)


def test_entries_of_the_timeline(acme, rows):
    client, _contact, deal = rows
    note, task = make_note(acme.alice, client_id=client.id), acme.account.posts.get()
    make_post(acme.alice).cast_proxy_vote(by=acme.alice, client_id=client.id)
    vote = acme.account.proxy_votes.get()
    entries = acme.account.timeline_entries
    expected = list(entries.order_by("resource", "resource_id").values("kind", "client_id", "contact_id", "deal_id"))
    entries.filter(resource="note").update(kind="call")
    entries.filter(resource="post").update(client_id=None)
    entries.filter(resource="deal").delete()
    entries.filter(resource="vote").update(resource_id=10**9)
    ids = ", ".join(map(str, (deal.id, note.id, task.id, vote.id, 10**9)))
    line = f"acme: 5 deals, notes, suggestions, tasks and votes with other entries of the timeline ({ids})"
    assert run()[0].splitlines()[0] == line
    assert run("--repair")[0].splitlines()[-1] == "The values are repaired."
    assert run() == ("No values differ.\n", 0)
    assert (
        list(entries.order_by("resource", "resource_id").values("kind", "client_id", "contact_id", "deal_id"))
        == expected
    )


def test_it_rejects_an_unknown_account(acme):
    with pytest.raises(CommandError, match=r"There is no account nobody\."):
        run("acme", "nobody")


def test_it_has_no_time_limit(acme, monkeypatch):
    """The statements of an account with many rows take longer than a request may."""
    timeouts = []

    def read_timeout(account_id, *, repair):
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            timeouts.append(cursor.fetchone()[0])
        return {}

    monkeypatch.setattr(recount_command, "recount", read_timeout)
    assert run() == ("No values differ.\n", 0)
    assert timeouts == ["0"]


def test_all_summaries_can_be_written_again(acme, rows):
    expected = stored(acme.account)
    for summaries in ("client_summaries", "contact_summaries", "deal_summaries", "client_revenues"):
        getattr(acme.account, summaries).all().delete()
    recount_summaries(acme.account.id, repair=True)
    assert stored(acme.account) == expected == recounted(acme.account)
    # Those without rows are removed.
    acme.account.client_summaries.create(client_id=10**9, last_activity_at=timezone.now())
    assert run("--repair")[1] == 0
    assert not acme.account.client_summaries.filter(client_id=10**9).exists()


@pytest.fixture
def posts(acme, rows):
    """Suggestions of which the client is the customer, a contact voted for, a linked user voted for, and one in the trash."""
    client, contact, _deal = rows
    posts = {name: make_post(acme.alice, name) for name in ("customer", "contact", "user", "trashed", "of nobody")}
    acme.account.posts.filter(id=posts["customer"].id).update(client_id=client.id)
    posts["contact"].cast_proxy_vote(by=acme.alice, contact_id=contact.id)
    member = make_user(acme.account)
    link(acme.alice, member, client_id=client.id)
    posts["user"].vote(by=member)
    posts["trashed"].cast_proxy_vote(by=acme.alice, client_id=client.id)
    post_revenue.process()
    posts["trashed"].trash(by=acme.alice)
    return posts


LOSSES = {
    "clients and figures that are missing": lambda account: (
        account.post_backers.all().delete(),
        account.post_revenues.all().delete(),
    ),
    "clients that are missing": lambda account: account.post_backers.all().delete(),
    "other sums": lambda account: account.post_revenues.update(open_sum=3),
    "another forum": lambda account: account.post_revenues.update(forum_id=account.forums.order_by("-id")[0].id),
}


def test_suggestions(acme, posts):
    # The suggestion in the trash is still queued, which is no error.
    assert run() == ("No values differ.\n", 0)
    assert not RevenueChange.objects.filter(kind="post").exists()
    host = acme.account.hosts.create(name="other-forum.example.test")
    acme.account.forums.create(host_id=host.id, name="Other")
    ids = ", ".join(str(posts[name].id) for name in ("customer", "contact", "user"))
    line = f"acme: 3 suggestions with other clients or sums of deals ({ids})"
    expected = post_revenue.computed(acme.account)
    for name, lose in LOSSES.items():
        lose(acme.account)
        assert run("--repair")[0].splitlines() == [line, "The values are repaired."], name
        assert post_revenue.stored(acme.account) == expected, name
    # Figures of a suggestion without clients are removed.
    post = posts["of nobody"]
    PostRevenue.objects.create(account=acme.account, post_id=post.id, forum_id=post.forum_id, currency="EUR", clients=1)
    assert run("--repair")[1] == 0
    assert post_revenue.stored(acme.account) == expected
    assert run() == ("No values differ.\n", 0)


def test_sort_keys_of_posts(acme, rows):
    other, missing, erased = (make_post(acme.alice) for _ in range(3))
    keys = acme.account.post_sort_keys
    keys.filter(id=other.id).update(votes_cache=3)
    keys.filter(id=missing.id).delete()
    keys.filter(id=erased.id).update(id=10**9)
    erased.delete()
    assert_repaired(f"3 suggestions and tasks with other sort keys ({other.id}, {missing.id}, {10**9})")
    assert keys.count() == acme.account.posts.count()


def test_last_changes(acme, rows):
    other, missing = (make_client(acme.alice) for _ in range(2))
    entries = acme.account.client_last_changes
    entries.filter(id=other.id).update(updated_at=acme.account.created_at)
    entries.filter(id=missing.id).delete()
    # The entry of a client that was erased without triggers.
    entries.create(account=acme.account, id=10**9, updated_at=other.updated_at)
    assert_repaired(f"3 clients, contacts and deals with another last change ({other.id}, {missing.id}, {10**9})")
    assert entries.count() == acme.account.clients.live().count()


def assert_repaired(difference: str) -> None:
    """Assert that the command finds the difference and repairs it."""
    line = f"acme: {difference}"
    assert run() == (f"{line}\nRepair them with: python manage.py recount --repair\n", 1)
    assert run("--repair")[0].splitlines() == [line, "The values are repaired."]
    assert run() == ("No values differ.\n", 0)
