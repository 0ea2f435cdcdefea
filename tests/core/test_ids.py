"""The ids of an account: `account_ids.reserve`, which the trigger `take_id` and `next_ids` call."""

import itertools
import random
import time

import psycopg
import pytest
from django.db import connection, transaction

from core.db.tenancy import next_ids
from tests.support.factories import make_client
from tests.support.tables import table
from tests.support.threads import at_once

BLOCK = 64
WRITERS = 6


def reserve(other: psycopg.Connection, account_id: int, number: int = 1) -> int:
    return other.execute("SELECT account_ids.reserve(%s, %s)", [account_id, number]).fetchone()[0]


def counters(account_id: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT last FROM account_ids.counter WHERE account_id = %s ORDER BY last", [account_id])
        return [last for (last,) in cursor.fetchall()]


@pytest.fixture
def connect(transactional_db):
    """Return a function that opens another connection, which rolls back unless it is committed."""
    opened = []

    def open_connection() -> psycopg.Connection:
        parameters = connection.get_connection_params()
        parameters = {name: parameters[name] for name in ("dbname", "user", "host", "port") if name in parameters}
        # A writer that waited for another one would fail.
        opened.append(psycopg.connect(**parameters, options="-c lock_timeout=2s"))
        return opened[-1]

    yield open_connection
    for each in opened:
        each.close()


def test_it_works(acme):
    first = next_ids(acme.account.id, 1)[0]
    assert [next_ids(acme.account.id, 1)[0] for _ in range(3 * BLOCK)] == list(range(first + 1, first + 1 + 3 * BLOCK))
    assert make_client(acme.alice).id == first + 1 + 3 * BLOCK
    # Rows that no longer count are deleted.
    assert len(counters(acme.account.id)) <= 2


@table("number", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 1000])
def test_several_ids_follow_each_other(acme, number):
    before = next_ids(acme.account.id, 1)[0]
    ids = next_ids(acme.account.id, number)
    assert list(ids) == list(range(ids[0], ids[0] + number))
    assert ids[0] > before
    assert next_ids(acme.account.id, 1)[0] > ids[-1]


def test_no_ids_take_no_query(acme, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert list(next_ids(acme.account.id, 0)) == []


def test_ids_that_were_rolled_back_leave_no_trace(acme):
    first = next_ids(acme.account.id, 1)[0]
    with transaction.atomic():
        next_ids(acme.account.id, 2 * BLOCK)
        transaction.set_rollback(True)
    assert first < next_ids(acme.account.id, 1)[0]


def test_advance_skips_the_ids_of_imported_rows(acme):
    for past in (5000, 3000):
        with connection.cursor() as cursor:
            cursor.execute("SELECT account_ids.advance(%s, %s)", [acme.account.id, past])
    assert next_ids(acme.account.id, 1)[0] == 5001


def test_open_transactions_do_not_wait_for_each_other(acme, connect):
    account_id = acme.account.id
    writers = [connect() for _ in range(WRITERS)]
    ids = [reserve(writer, account_id) for _ in range(2) for writer in writers]
    assert len(set(ids)) == 2 * WRITERS
    # Whatever is taken after a commit is higher, in the open transactions as well.
    writers[3].commit()
    for writer in (*writers, connect()):
        assert reserve(writer, account_id) > ids[3 + WRITERS]


def test_a_transaction_that_is_slow_to_commit_gets_no_id_twice(acme, connect):
    """A second transaction takes a block while the first has the main lock. A third one continues it before both have ended."""
    account_id = acme.account.id
    first, second, third = connect(), connect(), connect()
    ids = [reserve(first, account_id), reserve(second, account_id)]
    second.commit()
    ids += [reserve(third, account_id), reserve(first, account_id, 3), reserve(second, account_id, BLOCK)]
    first.commit()
    ids += [reserve(first, account_id)]
    third.commit()
    second.commit()
    first.commit()
    ids += [reserve(first, account_id)]
    taken = [*ids[:3], *range(ids[3], ids[3] + 3), *range(ids[4], ids[4] + BLOCK), *ids[5:]]
    assert len(taken) == len(set(taken))
    assert ids[-1] == max(taken)


def test_an_aborted_savepoint_releases_its_ids(acme, connect):
    account_id = acme.account.id
    first, second = connect(), connect()
    before = reserve(first, account_id)
    with first.transaction(force_rollback=True):
        reserve(first, account_id, 3 * BLOCK)
    other, own = reserve(second, account_id), reserve(first, account_id)
    assert len({before, own, other}) == 3


@pytest.mark.soak
def test_random_transactions(acme, connect):
    """No id is taken twice, and a transaction that begins after another was committed gets higher ids."""
    account_id = acme.account.id

    def write(seed):
        generator, writer, committed = random.Random(seed), connect(), []
        for _ in range(150):
            began, taken = time.monotonic(), []
            for _ in range(generator.choice([1, 1, 1, 3])):
                number = generator.choice([1, 1, 1, 5, 70])
                first = reserve(writer, account_id, number)
                taken.append((first, first + number))
            if generator.random() < 0.2:
                writer.rollback()
            else:
                writer.commit()
                committed += [(*ids, began, time.monotonic()) for ids in taken]
        return committed

    rows = sorted(row for result in at_once(*(lambda n=n: write(n) for n in range(WRITERS))) for row in result)
    assert all(end <= start for (_, end, *_), (start, *_) in itertools.pairwise(rows))
    by_start, by_commit, highest = sorted(rows, key=lambda row: row[2]), sorted(rows, key=lambda row: row[3]), 0
    for first, _, began, _ in by_start:
        while by_commit[0][3] < began:
            highest = max(highest, by_commit.pop(0)[1])
        assert first >= highest
