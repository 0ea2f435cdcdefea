"""The times of the last change in narrow tables, so that updates of the wide tables are HOT."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from core.db.last_changes import last_changes_of
from crm.models import Client, Contact, Deal
from tests.support.factories import make_client, make_contact, make_deal

MODELS = {"client": (Client, make_client), "contact": (Contact, make_contact), "deal": (Deal, make_deal)}
# Values of columns without an index. Every update also changes `updated_at`.
NOT_INDEXED = {"client": {"bank": "Another bank"}, "contact": {}, "deal": {"url": "https://shop.example/1"}}
every_kind = pytest.mark.parametrize("kind", MODELS)


def entries(model, account) -> dict:
    return dict(last_changes_of(model, account).values_list("id", "updated_at"))


def hot_updates(model) -> tuple[int, int]:
    """Return the numbers of updates and of HOT updates of the transaction."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_stat_get_xact_tuples_updated(%s::regclass), pg_stat_get_xact_tuples_hot_updated(%s::regclass)",
            [table, table],
        )
        return cursor.fetchone()


@every_kind
def test_it_works(acme, kind):
    """Every row that is not in the trash has one entry."""
    model, make = MODELS[kind]
    row, other_row = make(acme.alice), make(acme.alice)
    assert entries(model, acme.account) == {row.id: row.updated_at, other_row.id: other_row.updated_at}
    later = timezone.now() + timedelta(hours=1)
    model.objects.filter(account=acme.account, id=row.id).update(updated_at=later)
    assert entries(model, acme.account)[row.id] == later
    row.trash(by=acme.alice)
    assert entries(model, acme.account) == {other_row.id: other_row.updated_at}
    # A row in the trash may change.
    model.objects.filter(account=acme.account, id=row.id).update(updated_at=later + timedelta(hours=1))
    assert row.id not in entries(model, acme.account)
    row.restore()
    assert entries(model, acme.account)[row.id] == later + timedelta(hours=1)
    model.objects.filter(account=acme.account, id=other_row.id).delete()
    assert other_row.id not in entries(model, acme.account)


@every_kind
def test_an_update_of_other_columns_than_those_of_indexes_is_hot(acme, kind):
    """If this test fails after a new index, the index has a column that frequent updates change."""
    model, make = MODELS[kind]
    rows = [make(acme.alice) for _ in range(5)]
    updates, hot = hot_updates(model)
    for row in rows:
        row.write(NOT_INDEXED[kind], by=acme.alice)
    updates_after, hot_after = hot_updates(model)
    assert updates_after == updates + 5
    # A page may have no room for another version of its last row.
    assert hot_after >= hot + 2
