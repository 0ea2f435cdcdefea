from io import StringIO

from django.core.management import call_command
from django.db import connection
from django.db.models.signals import pre_migrate


def timeouts() -> tuple:
    """Return the statement timeouts of the server and the client."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return cursor.fetchone()[0], getattr(connection.connection, "client_timeout", None)


def test_it_works(transactional_db):
    """Migrations run without statement timeouts, as creating an index on a large table may take longer."""
    during = set()

    def record(**kwargs):
        during.add(timeouts())

    before = timeouts()
    pre_migrate.connect(record)
    try:
        call_command("migrate", stdout=StringIO())
    finally:
        pre_migrate.disconnect(record)
    assert during == {("0", None)}
    assert timeouts() == before != ("0", None)
