from collections.abc import Iterator

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction
from django.db.models import Model

from core.search.declaration import searches

BATCH_ROWS = 1000


class Command(BaseCommand):
    help = (
        "Compute the search columns of all rows, after a change of the searched fields. Requests go on meanwhile. If the command is"
        " interrupted, run it again. The change feed and webhooks do not notice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "models", nargs="*", help="the names of models, such as Client; all searched ones by default"
        )

    def handle(self, *args: object, models: list[str], **options: object) -> None:
        searched = {model.__name__: model for model, _ in searches()}
        if unknown := set(models) - searched.keys():
            known = ", ".join(sorted(searched))
            raise CommandError(
                f"{', '.join(sorted(unknown))}: no search is declared. The models that have one: {known}"
            )
        for name in models or sorted(searched):
            rows = 0
            for number in fill(searched[name]):
                rows += number
                self.stdout.write(f"\r{name}: {rows:,}", ending="")
                self.stdout.flush()
            self.stdout.write(f"\r{name}: {rows:,} rows")


def fill(model: type[Model], batch_rows: int = BATCH_ROWS) -> Iterator[int]:
    """Compute the search columns of a table in batches, each in a transaction, and yield the number of rows of each batch."""
    table = connection.ops.quote_name(model._meta.db_table)
    last = (0, 0)
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL search.is_filling = on")
            # The trigger computes the columns, because `search_text` is one of its columns. The rows are locked in the order of their ids.
            cursor.execute(
                f"""
                WITH batch AS (
                    SELECT account_id, id FROM {table} WHERE (account_id, id) > (%s, %s)
                    ORDER BY account_id, id LIMIT %s FOR NO KEY UPDATE
                ),
                filled AS (
                    UPDATE {table} SET search_text = '' FROM batch
                    WHERE {table}.account_id = batch.account_id AND {table}.id = batch.id
                )
                SELECT account_id, id, count(*) OVER () FROM batch ORDER BY account_id DESC, id DESC LIMIT 1
                """,  # noqa: S608
                [*last, batch_rows],
            )
            row = cursor.fetchone()
        if row is None:
            return
        *ids, number = row
        last = (ids[0], ids[1])
        yield number
