"""The columns of exported files: their keys and labels, which the import reads back."""

import pytest
from django.utils import translation

from core.db.tenancy import fold
from team.exports import columns
from team.exports.columns import columns_of, shown_columns
from team.exports.declarations import EXPORTS
from team.import_lines.fields import RowKind, codes_by_heading, fields_of
from tests.support.factories import make_deal, make_field_definition


def described(account, resource: str, language: str = "en") -> list[tuple[str, str]]:
    with translation.override(language):
        return [(column.key, column.label) for column in columns_of(resource, account)]


def test_it_works(acme):
    make_field_definition(acme.account, "budget", label="Budget", resource="deal", type="money")
    make_field_definition(acme.account, "name", label="NAME", resource="deal")
    make_deal(acme.bob, "Roof", external_ids={"shop": "7", "erp": "8"})
    assert described(acme.account, "deal") == [
        ("id", "Number"),
        ("name", "Name"),
        ("description", "Description"),
        ("price", "Amount"),
        ("currency", "Currency"),
        ("client_id.name", "Client"),
        ("client_id", "Client id"),
        ("status_id.name", "Status"),
        ("status_id", "Status id"),
        ("responsible_id.name", "Responsible"),
        ("responsible_id", "Responsible id"),
        ("url", "Address in another system"),
        ("origin", "Origin"),
        ("expected_close_date", "Expected close"),
        ("contact_id.name", "Contact"),
        ("contact_id", "Contact id"),
        ("won_reason", "Reason for winning"),
        ("lost_reason", "Reason for losing"),
        ("closed_at", "Closed"),
        ("stage_entered_at", "In this status since"),
        ("creator_id.name", "Created by"),
        ("creator_id", "Created by id"),
        ("created_at", "Created"),
        ("updater_id.name", "Changed by"),
        ("updater_id", "Changed by id"),
        ("updated_at", "Changed"),
        ("tags", "Tags"),
        ("additional_fields[budget]", "Budget"),
        ("additional_fields[budget].currency", "Budget currency"),
        ("additional_fields[name]", "NAME (additional_fields[name])"),
        ("last_activity_at", "Last activity"),
        ("next_task_at", "Next task"),
        ("external_ids[erp]", "External id: erp"),
        ("external_ids[shop]", "External id: shop"),
    ]
    in_polish = dict(described(acme.account, "deal", "pl"))
    assert (in_polish["client_id.name"], in_polish["client_id"]) == ("Klient", "Klient (id)")
    shown = shown_columns(columns_of("deal", acme.account), ["name", "price", "client_id"])
    assert [column.key for column in shown] == ["id", "name", "price", "currency", "client_id.name", "client_id"]


def test_the_sums_of_a_client_have_their_currency(acme):
    keys = [key for key, _label in described(acme.account, "client") if key.startswith("open_sum")]
    assert keys == ["open_sum", "open_sum.currency", "open_sum.others"]


def test_the_labels_of_a_resource_are_unique_in_each_language(acme):
    for resource in EXPORTS:
        for language in ("en", "pl"):
            found = described(acme.account, resource, language)
            assert len({fold(label) for _key, label in found}) == len({key for key, _label in found}) == len(found)


@pytest.mark.parametrize("kind", RowKind)
def test_the_import_recognizes_each_label(acme, kind):
    codes = codes_by_heading(kind, acme.account)
    for language in ("en", "pl"):
        with translation.override(language):
            wrong = [field.code for field in fields_of(kind, acme.account) if codes[fold(field.label)] != field.code]
            assert not wrong, (kind, language)


def test_many_external_ids_share_a_column(acme, monkeypatch):
    monkeypatch.setattr(columns, "MAX_EXTERNAL_KEYS", 1)
    make_deal(acme.bob, "Roof", external_ids={"shop": "7", "erp": "8"})
    assert described(acme.account, "deal")[-1] == ("external_ids", "External ids")
