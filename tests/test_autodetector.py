"""The SQL that `makemigrations` writes: of new tables, and of changed searches."""

from io import StringIO

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations import RunSQL
from django.db.migrations.loader import MigrationLoader

from core.management.autodetector import foreign_keys, links
from core.rows.trash import Trashable
from core.search.declaration import Search
from crm.clients.models import Client
from crm.notes.models import Note


def migrations(*rooms: str) -> str:
    """Return what `makemigrations` would write."""
    out = StringIO()
    call_command("makemigrations", *rooms, dry_run=True, verbosity=3, stdout=out)
    return out.getvalue()


def test_it_works(db, monkeypatch):
    """A changed search is a function and the columns of its trigger, which lock nothing for long. The reverse is the search before."""
    assert "No changes" in migrations()
    monkeypatch.setattr(
        Note,
        "search",
        Search(name_field="excerpt", long=("content", "kind"), filters=("creator_id",), is_ordered_by_name=False),
    )
    written = migrations("crm")
    operation = written[written.index("migrations.RunSQL") :]
    assert operation.count("CREATE OR REPLACE FUNCTION crm_note_update_search() RETURNS trigger") == 2
    sql, reverse = operation.split("reverse_sql=")
    assert "BEFORE INSERT OR DELETE OR UPDATE OF excerpt, content, kind, trashed_at, search_text ON crm_note" in sql
    assert "BEFORE INSERT OR DELETE OR UPDATE OF excerpt, content, trashed_at, search_text ON crm_note" in reverse
    # Fewer columns by which a list is filtered are another index, which a developer writes concurrently.
    assert "CREATE INDEX IF NOT EXISTS note_found ON crm_note USING gin (account_id, creator_id, search_words" in sql
    assert "add_words" not in operation
    assert "ADD COLUMN" not in operation


def test_a_search_can_change_back(db, monkeypatch):
    """The last definition counts, not any of them."""
    before = Client.search.create_statements(Client)
    changed = Search(short=("city",)).create_statements(Client)
    build_graph = MigrationLoader.build_graph

    def with_change(self) -> None:
        build_graph(self)
        [leaf] = self.graph.leaf_nodes("crm")
        self.graph.nodes[leaf].operations.append(RunSQL(changed))

    monkeypatch.setattr(MigrationLoader, "build_graph", with_change)
    written = migrations("crm")
    assert before[1].splitlines()[8].strip() in written


def test_a_row_that_is_erased_or_moved_to_the_trash_releases_its_links():
    """A link needs a column for the time in which its target is in the trash. The target finds the link by `REFERRERS`."""
    compared = 0
    for model in apps.get_models():
        for column, target in links(model) if hasattr(model, "trashed_by_id") else ():
            if issubclass(target, Trashable) and not column.startswith("trashed_"):
                assert column == f"{target._meta.model_name}_id"
                assert model._meta.get_field(f"trashed_{column}").null
                assert model._meta.default_related_name in target.REFERRERS, (model, target)
                compared += 1
    assert compared == 4


@pytest.mark.django_db
def test_the_foreign_keys_are_those_of_the_declared_links():
    with connection.cursor() as cursor:
        cursor.execute("SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f'")
        existing = dict(cursor.fetchall())
    compared = 0
    for model in apps.get_models():
        for name, statement in foreign_keys(model).items() if hasattr(model, "trashed_by_id") else ():
            definition = statement.partition(f"{name} ")[2].replace(" (account_id, id)", "(account_id, id)")
            assert existing[name] == definition
            compared += 1
    assert compared > 20
