import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

# The names of the constraints have the name of the table. Since PostgreSQL 18, "not null" is such a constraint.
RENAME_CONSTRAINTS = """
    DO $$ DECLARE constraint_name text; BEGIN
        FOR constraint_name IN
            SELECT conname FROM pg_constraint WHERE conrelid = '{new}'::regclass AND starts_with(conname, '{old}')
        LOOP
            EXECUTE format('ALTER TABLE {new} RENAME CONSTRAINT %I TO %I', constraint_name, replace(constraint_name, '{old}', '{new}'));
        END LOOP;
    END $$
"""


def rename(old: str, new: str) -> list[str]:
    return [
        # The version before must not serve after this migration (CHANGELOG.md).
        f"-- squawk-ignore renaming-table\nALTER TABLE {old} RENAME TO {new}",
        RENAME_CONSTRAINTS.format(old=old, new=new),
        f"-- squawk-ignore renaming-object\nALTER FUNCTION {old}_update_search RENAME TO {new}_update_search",
        f"-- squawk-ignore renaming-object\nALTER TRIGGER {old}_update_search ON {new} RENAME TO {new}_update_search",
        # The words of a search have the name of its table.
        f"UPDATE core_word SET kind = '{new}' WHERE kind = '{old}'",  # noqa: S608, the names are constants
        f"UPDATE core_staleword SET kind = '{new}' WHERE kind = '{old}'",  # noqa: S608
    ]


class Migration(migrations.Migration):
    """The table of field definitions moves from the room of the CRM."""

    dependencies = [("accounts", "0018_home"), ("core", "0005_events"), ("crm", "0005_field_definitions")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    rename("crm_fielddefinition", "accounts_fielddefinition"),
                    rename("accounts_fielddefinition", "crm_fielddefinition"),
                )
            ],
            state_operations=[
                migrations.CreateModel(
                    name="FieldDefinition",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                            ),
                        ),
                        (
                            "account",
                            models.ForeignKey(
                                db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                            ),
                        ),
                        ("id", models.BigIntegerField(editable=False)),
                        (
                            "resource",
                            models.CharField(
                                choices=[
                                    ("client", "Clients"),
                                    ("contact", "Contacts"),
                                    ("deal", "Deals"),
                                    ("suggestion", "Suggestions"),
                                ],
                                max_length=255,
                            ),
                        ),
                        ("key", models.CharField(max_length=64)),
                        ("label", models.CharField(max_length=255)),
                        (
                            "type",
                            models.CharField(
                                choices=[
                                    ("text", "Text"),
                                    ("number", "Number"),
                                    ("money", "Amount of money"),
                                    ("date", "Date"),
                                    ("boolean", "Yes or no"),
                                    ("choice", "One of several choices"),
                                    ("choices", "Any of several choices"),
                                    ("link", "Link"),
                                ],
                                default="text",
                                max_length=255,
                            ),
                        ),
                        (
                            "choices",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.TextField(), blank=True, default=list, size=None
                            ),
                        ),
                        ("required", models.BooleanField(default=False)),
                        ("in_lists", models.BooleanField(default=False)),
                        ("position", models.IntegerField(default=0)),
                        ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                        ("updated_at", models.DateTimeField(auto_now=True)),
                    ],
                    options={
                        "db_table": "accounts_fielddefinition",
                        "default_related_name": "field_definitions",
                        "constraints": [
                            models.UniqueConstraint(fields=("account", "resource", "key"), name="field_key_unique"),
                            models.UniqueConstraint(fields=("account", "resource", "label"), name="field_label_unique"),
                        ],
                    },
                ),
            ],
        ),
        # What `makemigrations` compares with the declared search. All of it exists.
        migrations.RunSQL(
            [
                "ALTER TABLE accounts_fielddefinition ADD COLUMN IF NOT EXISTS search_name text COLLATE \"C\" DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_text text DEFAULT '' NOT NULL, ADD COLUMN IF NOT EXISTS search_words tsvector DEFAULT '' NOT NULL",
                (
                    "CREATE OR REPLACE FUNCTION accounts_fielddefinition_update_search() RETURNS trigger LANGUAGE plpgsql AS $$\n"
                    "BEGIN\n"
                    "    IF TG_OP = 'DELETE' THEN\n"
                    "        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);\n"
                    "        RETURN OLD;\n"
                    "    END IF;\n"
                    "    NEW.search_name := search.name(NEW.label);\n"
                    "    NEW.search_text := search.fold(coalesce(NEW.label, '') || ' ' || coalesce(NEW.key, ''));\n"
                    "    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.label, '') || ' ' || coalesce(NEW.key, ''), 35000), 'A');\n"
                    "    IF TG_OP = 'UPDATE' THEN\n"
                    "        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);\n"
                    "    END IF;\n"
                    "    RETURN NEW;\n"
                    "END $$"
                ),
                "CREATE OR REPLACE TRIGGER accounts_fielddefinition_update_search BEFORE INSERT OR DELETE OR UPDATE OF label, key, search_text ON accounts_fielddefinition FOR EACH ROW EXECUTE FUNCTION accounts_fielddefinition_update_search()",
                "CREATE OR REPLACE TRIGGER add_words AFTER INSERT ON accounts_fielddefinition REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words()",
                (
                    "-- squawk-ignore require-concurrent-index-creation\n"
                    "CREATE INDEX IF NOT EXISTS fielddefinition_by_name ON accounts_fielddefinition (account_id, search_name, id) WHERE true"
                ),
                (
                    "-- squawk-ignore require-concurrent-index-creation\n"
                    "CREATE INDEX IF NOT EXISTS fielddefinition_found ON accounts_fielddefinition USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit = 1024) WHERE true"
                ),
                "ALTER INDEX fielddefinition_found ALTER COLUMN 3 SET STATISTICS 0",
            ],
            migrations.RunSQL.noop,
        ),
    ]
