"""The declarations that a model of the JSON API needs. Each failing test names the missing step."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.core.exceptions import FieldError
from django.db import connection, models
from django.urls import NoReverseMatch, get_resolver, resolve, reverse

from core.api.fields import TextField
from core.api.lists import Listing
from core.api.resources import ResourceSerializer, ResourceViewSet, depends_on_access
from core.db.access import ALL_ROWS
from core.db.limited_rows import LimitedQuerySet
from core.db.tenancy import AccountIdField, account_of
from core.db.trash import Trashable
from core.registry import registry
from core.search.declaration import Search
from tests.support.tables import table

# Fields of a model that only the pages serve.
ONLY_ON_PAGES = {
    ("Post", "due_day"): "`scheduled_at` is a date without a time of day then",
    ("Post", "approved"): "posts are approved on the pages only",
    ("Post", "contact_id"): "the team chooses the contact of a post on the pages only",
}
FIELD_IS_MISSING = "{model}.{field} is not in {serializer}: declare it there, in the order of the response"


def viewsets(base: type = ResourceViewSet) -> Iterator[type[ResourceViewSet]]:
    # The URLs import all viewsets.
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


def triggers_of(function: str) -> set[tuple[str, str, str]]:
    """Return the table, name and definition of each trigger that calls a function."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger
            WHERE NOT tgisinternal AND tgfoid = %s::regproc
            """,
            [function],
        )
        return set(cursor.fetchall())


every_viewset = table("viewset", list(viewsets()))
every_model = table(
    "serializer",
    [serializer for serializer in serializers() if serializer.model],
)


@every_viewset
def test_every_field_of_a_model_is_serialized(viewset):
    model, serializer = viewset.model, viewset.serializer_class
    for field in model._meta.concrete_fields:
        if field.editable and field.name != "account" and (model.__name__, field.name) not in ONLY_ON_PAGES:
            message = FIELD_IS_MISSING.format(model=model.__name__, field=field.name, serializer=serializer.__name__)
            assert field.name in {*serializer.columns, *serializer._declared_fields}, message


@every_viewset
def test_every_serialized_field_is_read_from_the_rows(viewset):
    try:
        viewset.for_account(account_of(1), ALL_ROWS).get_queryset().values_list(*viewset.serializer_class.columns)
    except FieldError as error:
        pytest.fail(f"{viewset.serializer_class.__name__} has a field that {viewset.model.__name__} lacks: {error}")


@every_viewset
def test_every_queryset_is_limited_to_the_access(viewset):
    rows = viewset.for_account(account_of(1), ALL_ROWS).get_queryset()
    assert not isinstance(rows, LimitedQuerySet) or depends_on_access(viewset), (
        f"some users access only a part of these rows: add `limited_to(self.access)` to get_queryset of {viewset.__name__}"
    )


@every_viewset
def test_every_listed_model_declares_a_search(viewset):
    model = viewset.model.__name__
    assert not issubclass(viewset, Listing) or isinstance(getattr(viewset.model, "search", None), Search), (
        f"the list of {viewset.__name__} is searched and ordered by name: declare `search = Search(…)` on {model}"
    )


@every_viewset
def test_text_fields_have_the_limit_of_their_columns(viewset):
    serializer, model = viewset.serializer_class, viewset.model
    fields = {field.name: field for field in model._meta.concrete_fields if isinstance(field, models.CharField)}
    for name, field in serializer._declared_fields.items():
        column = fields.get(serializer.sources.get(name, name))
        if isinstance(field, TextField) and not field.read_only and column is not None:
            assert field.max_length == column.max_length, f"{serializer.__name__}.{name}"


@every_model
def test_copies_of_text_fields_keep_the_limit(serializer):
    """DRF validates with copies of the declared fields, so a copy must keep the limit."""
    copies = serializer(data=dict.fromkeys(serializer.writable), context={"account": None}).fields
    for name, field in copies.items():
        if isinstance(field, TextField):
            assert field.max_length == serializer._declared_fields[name].max_length


# No interface shows the ids of these tables. They come from a sequence of the table.
HIDDEN_IDS = {"forum_activity"}


def test_every_table_takes_ids_from_its_account(db):
    tables = {table for table, _, _ in triggers_of("account_ids.take")} | HIDDEN_IDS
    for model in apps.get_models():
        if any(isinstance(field, AccountIdField) for field in model._meta.local_fields):
            table = model._meta.db_table
            assert table in tables, f"a row of {table} gets no id: add the trigger `take_id` to a migration"


@every_viewset
def test_every_resource_is_registered(viewset):
    app, key = viewset.model._meta.app_label, viewset.key
    resource = registry.get(key)
    assert resource is not None, (
        f"{viewset.__name__} is not registered: add a `Resource({key!r}, …)` to {app}/resources.py"
    )
    assert issubclass(viewset, resource.viewset)


@every_viewset
def test_every_resource_has_a_route(viewset):
    app = viewset.model._meta.app_label
    try:
        path = reverse(viewset.route, args=[1])
    except NoReverseMatch:
        pytest.fail(f"{viewset.__name__} has no route {viewset.route!r}: add its paths to {app}/api/urls.py")
    assert issubclass(resolve(path).func.cls, viewset)


@every_viewset
def test_the_change_feed_contains_every_resource(db, viewset):
    model, key = viewset.model, viewset.key
    table = model._meta.db_table
    definitions = {definition for trigger_table, _, definition in triggers_of("note_change") if trigger_table == table}
    argument = ", 'trashable'" if issubclass(model, Trashable) else ""
    assert len(definitions) == 1, f"the feed misses {table}: add the trigger `note_change` to a migration"
    [definition] = definitions
    assert "AFTER INSERT OR DELETE OR UPDATE" in definition
    assert f"note_change('{key}'{argument}" in definition
