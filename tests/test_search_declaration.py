"""The declaration `search = Search(…)` of a model, and the objects that migrations create for it."""

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, models

from core.search.declaration import Search, searched_models
from core.search.spelling import Word
from crm.clients.models import Client
from tests.support.factories import make_client
from tests.support.lists import values_of
from tests.support.squawk import find_long_locks
from tests.support.tables import table

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
    " with the reason. If it is searched, write a migration with the statements that `manage.py search_sql {model}` prints"
)
every_model = table("model", searched_models())


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


def create(model: type[models.Model], search: Search) -> None:
    """Create the search of a model, in place of an existing one, as a migration does."""
    # Run the deferred triggers of the rows of the test.
    connection.check_constraints()
    with connection.cursor() as cursor:
        for statement in search.create_statements(model):
            cursor.execute(statement)


def make_search(**fields) -> Search:
    return Search(filters=Client.search.filters, **fields)


def words(account) -> set[str]:
    return set(Word.objects.filter(account=account, kind="crm_client").values_list("word", flat=True))


def test_every_text_field_is_searched_or_excluded_with_a_reason():
    for model in searched_models():
        search, fields = model.search, set(text_fields(model))
        missing = [field for field in fields if field not in search.searched | search.not_searched.keys()]
        assert missing == [], FIELD_IS_MISSING.format(model=model.__name__, field=missing)
        assert search.searched & search.not_searched.keys() == set(), model
        assert search.searched | search.not_searched.keys() == fields, model
        assert all(search.not_searched.values()), model


@every_model
def test_the_database_has_the_declared_objects(db, model):
    before = objects(model)
    # The columns, the indexes, and the triggers.
    name_objects = 2 if model.search.is_ordered_by_name else 0
    assert len(before) == 2 + 1 + len(model.search.more_indexes) + 2 + name_objects
    create(model, model.search)
    assert objects(model) == before, (
        f"write a migration with the statements that `manage.py search_sql {model.__name__}` prints"
    )


def test_a_changed_search_includes_existing_rows(acme):
    make_client(acme.alice, "Kowalski", shortcut="Abbreviated", country="Portugal", note="in passing")
    create(Client, make_search(short=("country",), long=("note",)))
    assert words(acme.account) == {"kowalski", "portugal"}
    json = acme.json()
    for query, expected in {"ortuga": 1, "potrugal": 1, "passing": 1, "abbreviated": 0}.items():
        assert len(values_of(json.get("/app/clients.json", params={"q": query}))) == expected, query
    create(Client, Client.search)
    assert words(acme.account) == {"kowalski", "abbreviated"}


def test_the_statements_are_printed():
    """They build the indexes without blocking writes, and are otherwise those of the declaration."""
    out = StringIO()
    call_command("search_sql", "Client", stdout=out)
    printed = out.getvalue()
    assert find_long_locks(printed) == []
    assert printed.count(" CONCURRENTLY") == 2
    printed = printed.replace(" CONCURRENTLY", "").replace("-- squawk-ignore adding-field-with-default\n", "")
    assert printed == "".join(
        re.sub(r"\n\s*", " ", f"{statement.strip()};") + "\n" for statement in Client.search.create_statements(Client)
    )


def test_an_unknown_model_is_rejected():
    with pytest.raises(CommandError, match=r"Comment declares no search\. The models that do: Client, Contact"):
        call_command("search_sql", "Comment")
