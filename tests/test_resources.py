"""The declarations that a resource of the JSON API needs. Each fault in a failing test names the missing step."""

from collections.abc import Iterator

from django.apps import apps
from django.core.exceptions import FieldError
from django.db import connection, models
from django.urls import NoReverseMatch, get_resolver, resolve, reverse

from core.api.fields import TextField
from core.api.lists import Listing
from core.api.resources import ResourceSerializer, ResourceViewSet, depends_on_access
from core.db.fields import AccountIdField
from core.db.tenancy import account_of
from core.registry import registry
from core.rows.access import ALL_ROWS
from core.rows.trash import LimitedQuerySet, Trashable
from core.search.declaration import Search

# Fields of a model that only the pages serve.
ONLY_ON_PAGES = {
    ("Post", "due_day"): "`scheduled_at` is a date without a time of day then",
    ("Post", "approved"): "posts are approved on the pages only",
    ("Post", "contact_id"): "the team chooses the contact of a post on the pages only",
}


def subclasses(base: type) -> Iterator[type]:
    # The URLs import all viewsets.
    assert get_resolver().url_patterns
    for each in base.__subclasses__():
        yield each
        yield from subclasses(each)


VIEWSETS = [viewset for viewset in subclasses(ResourceViewSet) if "model" in vars(viewset)]


def triggers_of(function: str) -> set[tuple[str, str]]:
    """Return the table and the definition of each trigger that calls a function."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger
            WHERE NOT tgisinternal AND tgfoid = %s::regproc
            """,
            [function],
        )
        return set(cursor.fetchall())


def test_it_works():
    faults = [f"{viewset.__name__}: {fault}" for viewset in VIEWSETS for fault in faults_of(viewset)]
    assert faults == [], "\n".join(faults)
    assert len(VIEWSETS) > 10


def faults_of(viewset: type[ResourceViewSet]) -> Iterator[str]:
    model, serializer, key = viewset.model, viewset.serializer_class, viewset.key
    subject = "/".join(model.__module__.split(".")[:-1])
    resource = registry.get(key)
    if resource is None or not issubclass(viewset, resource.viewset) or resource.model is not model:
        yield f"it is not registered: add a `Resource({key!r}, …)` to {subject}/registration.py"
    try:
        if not issubclass(resolve(reverse(viewset.route, args=[1])).func.cls, viewset):
            yield f"the route {viewset.route!r} belongs to another viewset"
    except NoReverseMatch:
        yield f"it has no route {viewset.route!r}: add its paths to {subject}/urls.py"
    rows = viewset.for_account(account_of(1), ALL_ROWS).get_queryset()
    try:
        rows.values_list(*serializer.columns)
    except FieldError as error:
        yield f"{serializer.__name__} has a field that the rows lack: {error}"
    if isinstance(rows, LimitedQuerySet) and not depends_on_access(viewset):
        yield "some users access only a part of these rows: add `limited_to(self.access)` to get_queryset"
    if issubclass(viewset, Listing) and not isinstance(getattr(model, "search", None), Search):
        yield f"its list is searched and ordered by name: declare `search = Search(…)` on {model.__name__}"
    columns = {field.name: field for field in model._meta.concrete_fields}
    expected = {name for name, column in columns.items() if column.editable and name != "account"}
    for name in expected - {*serializer.columns, *serializer._declared_fields}:
        if (model.__name__, name) not in ONLY_ON_PAGES:
            yield f"{name} is not in {serializer.__name__}: declare it there, in the order of the response"
    for name, field in serializer._declared_fields.items():
        column = columns.get(serializer.sources.get(name, name))
        is_text = isinstance(field, TextField) and not field.read_only and isinstance(column, models.CharField)
        if is_text and field.max_length != column.max_length:
            yield f"{serializer.__name__}.{name} has another limit than its column"


def test_copies_of_text_fields_keep_the_limit():
    """DRF validates with copies of the declared fields, so a copy must keep the limit."""
    for serializer in [each for each in subclasses(ResourceSerializer) if each.model]:
        copies = serializer(data=dict.fromkeys(serializer.writable), context={"account": None}).fields
        for name, field in copies.items():
            if isinstance(field, TextField):
                assert field.max_length == serializer._declared_fields[name].max_length, (serializer, name)


# No interface shows the ids of these tables. They come from a sequence of the table.
HIDDEN_IDS = {"forum_activity"}
# A trigger of the table sets the ids from the time, so that other rows get the same ids with and without entries.
IDS_FROM_TIME = {"accounts_auditentry"}


def test_every_table_takes_ids_from_its_account(db):
    tables = {table for table, _ in triggers_of("account_ids.take")} | HIDDEN_IDS | IDS_FROM_TIME
    for model in apps.get_models():
        if any(isinstance(field, AccountIdField) for field in model._meta.local_fields):
            table = model._meta.db_table
            assert table in tables, f"a row of {table} gets no id: add the trigger `take_id` to a migration"


def test_the_change_feed_contains_every_resource(db):
    """The arguments of each trigger are the name of the resource in the feed, and whether its rows can be in the trash."""
    expected = {
        (
            resource.model._meta.db_table,
            f"core_record_change('{resource.key}'" + (", 'trashable'" if issubclass(resource.model, Trashable) else ""),
        )
        for resource in registry
    }
    definitions = triggers_of("core_record_change")
    assert all("AFTER INSERT OR DELETE OR UPDATE" in definition for _, definition in definitions)
    calls = {(table, definition.partition("FUNCTION ")[2]) for table, definition in definitions}
    found = {
        (table, call) for table, call in expected for name, text in calls if name == table and text.startswith(call)
    }
    assert expected - found == set(), "the feed misses these: add the trigger `record_change` to a migration"
    assert len(calls) == len(expected), "a trigger belongs to no registered resource"
