"""A field is declared on its model; here is what else has to know it, and how a test fails that misses it."""

from collections.abc import Iterator

import pytest
from django.core.exceptions import FieldError
from django.db import models
from django.urls import get_resolver

from core.api.fields import TextField
from core.api.resources import ResourceSerializer, ResourceViewSet
from core.db.tenancy import account_of

# Fields of a model that the JSON interface leaves to the pages.
LEFT_TO_PAGES = {
    ("Post", "approved"): "what waits for approval is handled on the pages",
    ("Post", "contact_id"): "the team names a contact on the pages, on whose behalf it writes",
}
FORGOTTEN = "{model}.{field} is not in {serializer}: declare it there, in the order of the wire"


def viewsets(base: type = ResourceViewSet) -> Iterator[type[ResourceViewSet]]:
    # The URLs import them all.
    assert get_resolver().url_patterns
    for viewset in base.__subclasses__():
        if "model" in vars(viewset):
            yield viewset
        yield from viewsets(viewset)


def serializers(base: type = ResourceSerializer) -> Iterator[type[ResourceSerializer]]:
    assert get_resolver().url_patterns
    for serializer in base.__subclasses__():
        yield serializer
        yield from serializers(serializer)


every_viewset = pytest.mark.parametrize("viewset", list(viewsets()), ids=lambda viewset: viewset.__name__)
every_model = pytest.mark.parametrize(
    "serializer", [one for one in serializers() if one.model], ids=lambda serializer: serializer.__name__
)


@every_viewset
def test_every_field_of_a_model_is_on_the_wire(viewset):
    model, serializer = viewset.model, viewset.serializer_class
    for field in model._meta.concrete_fields:
        if field.editable and field.name != "account" and (model.__name__, field.name) not in LEFT_TO_PAGES:
            forgotten = FORGOTTEN.format(model=model.__name__, field=field.name, serializer=serializer.__name__)
            assert field.name in {*serializer.columns, *serializer._declared_fields}, forgotten


@every_viewset
def test_every_field_on_the_wire_is_read_from_the_rows(viewset):
    try:
        viewset.rows_of(account_of(1)).values_list(*viewset.serializer_class.columns)
    except FieldError as error:
        pytest.fail(f"{viewset.serializer_class.__name__} has a field that {viewset.model.__name__} lacks: {error}")


@every_viewset
def test_a_text_is_no_longer_than_its_column(viewset):
    serializer, model = viewset.serializer_class, viewset.model
    fields = {field.name: field for field in model._meta.concrete_fields if isinstance(field, models.CharField)}
    for name, field in serializer._declared_fields.items():
        column = fields.get(serializer.sources.get(name, name))
        if isinstance(field, TextField) and not field.read_only and column is not None:
            assert field.max_length == column.max_length, f"{serializer.__name__}.{name}"


@every_model
def test_a_copy_of_a_field_has_the_limit_of_its_column(serializer):
    """DRF copies the fields of a serializer; the copies are what reads."""
    copies = serializer(data=dict.fromkeys(serializer.writable), context={"account": None}).fields
    for name, field in copies.items():
        if isinstance(field, TextField):
            assert field.max_length == serializer._declared_fields[name].max_length
