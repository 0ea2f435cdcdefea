"""The times of the last change in narrow tables."""

from datetime import timedelta

from django.utils import timezone

from core.rows.last_changes import last_changes_of
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from tests.support.factories import make_client, make_contact, make_deal
from tests.support.indexes import columns_changed_by, indexed_columns
from tests.support.tables import table

MODELS = {"client": (Client, make_client), "contact": (Contact, make_contact), "deal": (Deal, make_deal)}
# Values of columns without an index. Every update also changes `updated_at`.
NOT_INDEXED = {"client": {"bank": "Another bank"}, "contact": {}, "deal": {"url": "https://shop.example/1"}}
every_kind = table("kind", MODELS)


def entries(model, account) -> dict:
    return dict(last_changes_of(model, account).values_list("id", "updated_at"))


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
def test_no_index_has_a_column_that_changes_often(acme, kind):
    """If this test fails after a new index, the index has a column that frequent updates change."""
    model, make = MODELS[kind]
    row = make(acme.alice)
    changed = columns_changed_by(lambda: row.write(NOT_INDEXED[kind], by=acme.alice), row)
    assert {*NOT_INDEXED[kind], "updated_at"} <= changed
    assert changed.isdisjoint(indexed_columns(model))
