"""The declaration `search = Search(…)` of a model, and the objects that migrations create for it."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, models

from core.changes.models import Change
from core.management.commands.fill_search import fill
from core.search.declaration import Search, searched_models
from core.search.spelling import StaleWord, Word
from crm.clients.models import Client
from tests.support.factories import make_client
from tests.support.lists import values_of
from tests.support.tables import table

# All database objects that a declaration creates for a table.
OBJECTS = """
SELECT attname, format_type(atttypid, atttypmod), attcollation::regcollation::text, attnotnull::text
FROM pg_attribute
WHERE attrelid = %(table)s::regclass AND attname LIKE 'search\\_%%'
UNION ALL
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), '', '' FROM pg_index
WHERE indrelid = %(table)s::regclass AND pg_get_indexdef(indexrelid) LIKE '%%search\\_%%'
UNION ALL
SELECT tgname, pg_get_triggerdef(pg_trigger.oid), regexp_replace(prosrc, '\\s+', ' ', 'g'), '' FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE tgrelid = %(table)s::regclass AND tgname IN ('add_words', %(table)s || '_update_search')
"""
FIELD_IS_MISSING = (
    "{model}.{field} is neither searched nor excluded: name it in {model}.search, in `short`, `words` or `long`, or in `not_searched`"
    " with the reason. If it is searched, run `manage.py makemigrations`"
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
    assert objects(model) == before, "run `manage.py makemigrations`"


@pytest.mark.django_db(transaction=True)
def test_a_changed_search_includes_existing_rows(acme):
    """New rows are found by the changed search at once. The columns of existing rows are computed in batches."""
    make_client(acme.alice, "Kowalski", shortcut="Abbreviated", country="Portugal", note="in passing")
    deleted = make_client(acme.alice, "Nobody", country="Spain")
    deleted.trash(by=acme.alice)
    json = acme.json()

    def found() -> dict[str, int]:
        queries = ("ortuga", "potrugal", "passing", "abbreviated")
        return {query: len(values_of(json.get("/app/clients.json", params={"q": query}))) for query in queries}

    changes = Change.objects.filter(account=acme.account).count()
    create(Client, make_search(short=("country",), long=("note",)))
    try:
        assert found() == {"ortuga": 0, "potrugal": 0, "passing": 1, "abbreviated": 1}
        assert list(fill(Client, batch_rows=1)) == [1, 1]
        assert found() == {"ortuga": 1, "potrugal": 1, "passing": 1, "abbreviated": 0}
        assert {"kowalski", "portugal"} <= words(acme.account)
        # The rows look as before.
        assert Change.objects.filter(account=acme.account).count() == changes
    finally:
        create(Client, Client.search)
    out = StringIO()
    call_command("fill_search", "Client", stdout=out)
    assert out.getvalue() == "\rClient: 2\rClient: 2 rows\n"
    assert found() == {"ortuga": 0, "potrugal": 0, "passing": 1, "abbreviated": 1}


def test_the_words_of_a_row_follow_its_changes(acme):
    """A row in the trash has no words. A word that no row has becomes stale, and a job removes it."""
    client = make_client(acme.alice, "Kowalski")
    for name, expected in {
        "Nowakowski": {"kowalski", "nowakowski"},
        "Zieliński": {"kowalski", "nowakowski", "zielinski"},
    }.items():
        client.write({"name": name}, by=acme.alice)
        assert words(acme.account) == expected
    assert stale_words(acme.account) == {"kowalski", "nowakowski"}
    client.trash(by=acme.alice)
    assert stale_words(acme.account) == {"kowalski", "nowakowski", "zielinski"}


def stale_words(account) -> set[str]:
    return set(StaleWord.objects.filter(account=account, kind="crm_client").values_list("word", flat=True))


def test_an_unknown_model_is_rejected():
    with pytest.raises(
        CommandError, match=r"Comment: no search is declared\. The models that have one: Client, Contact"
    ):
        call_command("fill_search", "Comment")
