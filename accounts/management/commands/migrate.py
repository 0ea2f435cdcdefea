from django.core.management.commands import migrate
from django.db import connection


class Command(migrate.Command):
    """Django's, without the limit on how long a statement may take: an index on a large table takes as long as it takes."""

    def handle(self, *args, **options):
        with connection.without_statement_timeout():
            super().handle(*args, **options)
