from django.conf import settings
from django.core.management.commands import migrate
from django.db import connection

THROUGH_POOLER = (
    "DATABASE_POOLER is on: migrations outside of a transaction, such as those that build indexes, keep the role's"
    " statement_timeout. If one is cancelled, run migrate with the DATABASE_URL of PostgreSQL itself and DATABASE_POOLER=off."
)


class Command(migrate.Command):
    """Django's, without the limit on how long a statement may take: an index on a large table takes as long as it takes."""

    def handle(self, *args, **options):
        if settings.DATABASE_POOLER and options["verbosity"]:
            self.stderr.write(THROUGH_POOLER)
        with connection.without_statement_timeout():
            super().handle(*args, **options)
