"""The field catalogue, and writes by its names."""

from datetime import date

import pytest

from accounts.fields.catalogue import GROUPS, builtin_fields, fields_of, grouped
from core.errors import FieldErrors
from core.registry import registry
from crm.clients.models import Client
from crm.resources.api.views import write_row
from tests.support.factories import make_client, make_field_definition
from tests.support.tables import table

# Fields that the API reads and writes, and that pages show in another way.
NOT_IN_CATALOGUE = {
    "client": {"external_ids", "additional_fields", "try_update"},
    "contact": {"external_ids", "additional_fields", "contact_list_ids"},
    "deal": {"external_ids", "additional_fields", "client", "try_update"},
}


def test_it_works(acme):
    make_field_definition(acme.account, "size", type="choice", choices=["S", "M"], label="Size", in_lists=True)
    make_field_definition(acme.account, "since", type="date", required=True)
    make_field_definition(acme.account, "other", resource="deal")
    size, since = fields_of(acme.account, "client")[len(builtin_fields("client")) :]
    assert (size.name, size.label, size.type, size.choices) == ("additional_fields[size]", "Size", "choice", ["S", "M"])
    assert (size.in_lists, size.required, since.in_lists, since.required) == (True, False, False, True)

    values = {"name": "Ann", size.name: "M", since.name: "1.12.2026"}
    client = write_row(Client(account=acme.account), values, by=acme.alice)
    client.refresh_from_db()
    assert client.additional_fields == {"size": "M", "since": "2026-12-01"}
    assert (size.value_of(client), since.value_of(client)) == ("M", date(2026, 12, 1))

    with pytest.raises(FieldErrors) as caught:
        write_row(client, {size.name: "XL", since.name: "", "discount": "x"}, by=acme.alice)
    errors = {error.field: error.text for error in caught.value.errors}
    assert errors == {size.name: "is not one of S, M", since.name: "can't be blank", "discount": "is not a number"}


def test_an_account_without_definitions_reads_none(acme, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert fields_of(acme.account, "client") == [*builtin_fields("client")]


@table("resource", NOT_IN_CATALOGUE)
def test_every_field_of_the_api_is_in_the_catalogue(resource):
    serializer = registry[resource].viewset.serializer_class
    writable = serializer.writable.keys() - serializer.typed.keys() - NOT_IN_CATALOGUE[resource]
    fields = {field.name for field in builtin_fields(resource) if not field.read_only}
    assert fields == writable, "add the field to BUILTIN of accounts/fields/catalogue.py"


@table("resource", NOT_IN_CATALOGUE)
def test_names_are_unique_and_groups_are_known(resource):
    fields = builtin_fields(resource)
    assert len({field.name for field in fields}) == len(fields)
    assert {field.group for field in fields} <= GROUPS.keys()
    assert sum(len(members) for _, members in grouped(fields)) == len(fields)


def test_a_value_that_does_not_fit_is_shown_as_it_is(acme):
    client = make_client(acme.alice, additional_fields={"since": "soon", "sizes": "S"})
    make_field_definition(acme.account, "since", type="date")
    make_field_definition(acme.account, "sizes", type="choices", choices=["M"])
    since, sizes = fields_of(acme.account, "client")[-2:]
    assert (since.value_of(client), sizes.value_of(client)) == ("soon", ["S"])
