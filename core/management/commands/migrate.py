from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connection

POOLER_WARNING = (
    "DATABASE_POOLER is on: the statement_timeout of the role applies to migrations outside of a transaction, such as those that"
    " build indexes. If one is cancelled, run migrate with the DATABASE_URL of PostgreSQL itself and DATABASE_POOLER=off."
)


class Command(migrate.Command):
    """Django's `migrate` without a statement timeout, because building an index on a large table may take long."""

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.DATABASE_POOLER and options["verbosity"]:
            self.stderr.write(POOLER_WARNING)
        # A method of the backend `config.database`.
        with connection.without_statement_timeout():  # type: ignore[attr-defined]
            super().handle(*args, **options)
