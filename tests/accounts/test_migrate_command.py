from io import StringIO

from django.core.management import call_command
from django.db import connection


def test_it_works(transactional_db):
    """An index on a large table may take longer than a request's statement ever should."""
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '15s'")
        call_command("migrate", stdout=StringIO())
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)
        cursor.execute("SET statement_timeout = '15s'")
