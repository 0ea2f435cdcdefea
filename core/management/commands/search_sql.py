import re

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.search.declaration import searches

# What a migration of an existing table needs. Computing generated columns rewrites the table, for which squawk knows no other way.
IN_A_MIGRATION = {
    "ALTER TABLE": "-- squawk-ignore adding-field-with-default\nALTER TABLE",
    "CREATE INDEX": "CREATE INDEX CONCURRENTLY",
}


class Command(BaseCommand):
    help = "Print the statements that create the search of a model, for a migration."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", help="the name of the model, such as Client")

    def handle(self, *args: object, model: str, **options: object) -> None:
        declarations = {model.__name__: (model, search) for model, search in searches()}
        if model not in declarations:
            raise CommandError(f"{model} declares no search. The models that do: {', '.join(sorted(declarations))}")
        searched, search = declarations[model]
        for statement in search.create_statements(searched):
            # squawk ignores a rule for one line.
            sql = re.sub(r"\n\s*", " ", statement.strip())
            for beginning, replacement in IN_A_MIGRATION.items():
                if sql.startswith(beginning):
                    sql = replacement + sql.removeprefix(beginning)
            self.stdout.write(f"{sql};")
