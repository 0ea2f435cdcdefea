"""The declaration `search = Search(…)` of a model, and the migrations made from it."""

import pytest
from django.db import connection, migrations, models
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.state import ModelState, ProjectState

from core.models import Word
from core.search.declaration import Search, searched_models
from crm.models import Client
from tests.support.factories import make_client
from tests.support.lists import values_of

# All database objects that a declaration creates for a table.
OBJECTS = """
SELECT attname, format_type(atttypid, atttypmod), attcollation::regcollation::text, pg_get_expr(adbin, adrelid)
FROM pg_attribute JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = %(table)s::regclass AND attname LIKE 'search\\_%%'
UNION ALL
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), '', '' FROM pg_index
WHERE indrelid = %(table)s::regclass AND pg_get_indexdef(indexrelid) LIKE '%%search\\_%%'
UNION ALL
SELECT tgname, pg_get_triggerdef(oid), '', '' FROM pg_trigger
WHERE tgrelid = %(table)s::regclass AND tgfoid::regproc::text LIKE 'search.%%'
"""
FIELD_IS_MISSING = (
    "{model}.{field} is neither searched nor excluded: name it in {model}.search, in `short`, `words` or `long`, or in `not_searched`"
    " with the reason, and run `manage.py makemigrations`"
)
every_model = pytest.mark.parametrize("model", searched_models(), ids=lambda model: model.__name__)


def objects(model: type[models.Model]) -> set[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(OBJECTS, {"table": model._meta.db_table})
        return set(cursor.fetchall())


def text_fields(model: type[models.Model]) -> list[str]:
    """Return the text fields that people write, and the name, which may be derived. Other derived columns and choices are left out."""
    kinds = (models.CharField, models.TextField, models.JSONField)
    return [
        field.name
        for field in model._meta.concrete_fields
        if isinstance(field, kinds) and (field.editable or field.name == model.search.name_field) and not field.choices
    ]


def replace(model: type[models.Model], old: Search, new: Search) -> None:
    """Replace the declaration of a model as a migration does."""
    # Run the deferred triggers of the rows of the test.
    connection.check_constraints()
    with connection.schema_editor() as editor:
        editor.remove_constraint(model, old)
        editor.add_constraint(model, new)


def make_search(**fields) -> Search:
    return Search(name="client_search", filters=Client.search.filters, **fields)


def words(account) -> set[str]:
    return set(Word.objects.filter(account=account, kind="crm_client").values_list("word", flat=True))


@every_model
def test_every_text_field_is_searched_or_excluded_with_a_reason(model):
    search = model.search
    for field in text_fields(model):
        message = FIELD_IS_MISSING.format(model=model.__name__, field=field)
        assert field in search.searched | search.not_searched.keys(), message
    assert search.searched & search.not_searched.keys() == set()
    assert search.searched | search.not_searched.keys() == set(text_fields(model))
    assert all(search.not_searched.values())


@every_model
def test_the_database_has_the_declared_objects(db, model):
    before = objects(model)
    # The columns, the indexes, and the triggers.
    name_objects = 2 if model.search.is_ordered_by_name else 0
    assert len(before) == 2 + 1 + len(model.search.more_indexes) + 3 + name_objects
    replace(model, model.search, model.search)
    assert objects(model) == before


def test_a_search_can_be_removed(db):
    with connection.schema_editor() as editor:
        editor.remove_constraint(Client, Client.search)
    assert objects(Client) == set()


def test_a_search_can_be_created_again(db):
    before = objects(Client)
    with connection.schema_editor() as editor:
        editor.add_constraint(Client, Client.search)
    assert objects(Client) == before


def test_a_changed_search_includes_existing_rows(acme):
    make_client(acme.alice, "Kowalski", shortcut="Abbreviated", country="Portugal", note="in passing")
    changed = make_search(short=("country",), long=("note",))
    replace(Client, Client.search, changed)
    assert words(acme.account) == {"kowalski", "portugal"}
    json = acme.json()
    for query, expected in {"ortuga": 1, "potrugal": 1, "passing": 1, "abbreviated": 0}.items():
        assert len(values_of(json.get("/app/clients.json", params={"q": query}))) == expected, query
    replace(Client, changed, Client.search)
    assert words(acme.account) == {"kowalski", "abbreviated"}


def test_the_first_migration_of_a_table_may_create_its_search(acme):
    """The migration optimizer merges the creation of a model with its search into one operation."""
    fields = [
        ("id", models.BigIntegerField(primary_key=True)),
        ("account_id", models.BigIntegerField()),
        ("name", models.CharField(max_length=255)),
        ("trashed_at", models.DateTimeField(null=True)),
    ]
    operation = migrations.CreateModel("Specimen", fields, {"constraints": [Search(name="specimen_search")]})
    before, state = ProjectState(), ProjectState()
    operation.state_forwards("crm", state)
    with connection.schema_editor() as editor:
        operation.database_forwards("crm", editor, before, state)
    assert len(objects(state.apps.get_model("crm", "Specimen"))) == 8
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO crm_specimen VALUES (1, %s, 'Wheelbarrow')", [acme.account.id])
    assert Word.objects.filter(account=acme.account, kind="crm_specimen", word="wheelbarrow").exists()


def changes(new: Search) -> list[str]:
    """Return the operations of `makemigrations` for a changed declaration of clients."""
    before, after = (ProjectState(real_apps={"accounts"}) for _ in range(2))
    for state, search in ((before, Client.search), (after, new)):
        client = ModelState.from_model(Client)
        client.options["constraints"] = [search]
        state.add_model(client)
    detected = MigrationAutodetector(before, after)._detect_changes()
    return [type(operation).__name__ for migration in detected.get("crm", []) for operation in migration.operations]


def test_makemigrations_detects_a_change():
    assert changes(Client.search.clone()) == []
    assert changes(make_search(short=("country",))) == ["RemoveConstraint", "AddConstraint"]


def test_reasons_for_exclusion_need_no_migration():
    other = Client.search.clone()
    other.not_searched = {"country": "another reason"}
    assert changes(other) == []
    assert "not_searched" not in other.deconstruct()[2]
