import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_attachments"),
        ("core", "0003_files"),
        ("team", "0002_exports"),
    ]

    operations = [
        migrations.CreateModel(
            name="ImportFault",
            fields=[
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "import_id",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("import_id", models.BigIntegerField()),
                ("number", models.IntegerField()),
                ("faults", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="ImportKey",
            fields=[
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "import_id", "key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("import_id", models.BigIntegerField()),
                ("key", models.CharField(max_length=255)),
                ("kind", models.CharField(max_length=255)),
                ("target", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="ImportRow",
            fields=[
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "batch_id",
                        "resource",
                        "target",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("batch_id", models.BigIntegerField()),
                ("resource", models.CharField(max_length=255)),
                ("target", models.BigIntegerField()),
                ("number", models.IntegerField(default=0)),
                ("result", models.CharField(default="", max_length=255)),
                ("undo_result", models.CharField(default="", max_length=255)),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                (
                    "kept_fields",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Import",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("author_id", models.BigIntegerField(editable=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Not started"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                            ("undoing", "Being undone"),
                            ("undone", "Undone"),
                        ],
                        default="running",
                        max_length=255,
                    ),
                ),
                (
                    "failure",
                    models.CharField(
                        choices=[
                            ("", ""),
                            ("value", "The person, status or contact list that was chosen is no longer available."),
                            ("user", "The person who started it has left the team."),
                            ("fault", "A row has a fault, and it was to stop at the first one."),
                            ("file", "The file is no longer available."),
                        ],
                        default="",
                        max_length=255,
                    ),
                ),
                ("position_resource", models.CharField(default="", max_length=255)),
                ("position", models.BigIntegerField(default=0)),
                ("total", models.IntegerField(default=0)),
                ("changed", models.IntegerField(default=0)),
                ("unchanged", models.IntegerField(default=0)),
                ("skipped", models.IntegerField(default=0)),
                ("restored", models.IntegerField(default=0)),
                ("kept", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(null=True)),
                ("undone_by_id", models.BigIntegerField(editable=False, null=True)),
                ("undone_at", models.DateTimeField(null=True)),
                ("name", models.CharField(max_length=255)),
                ("source_id", models.BigIntegerField(editable=False, null=True)),
                ("rows_id", models.BigIntegerField(editable=False, null=True)),
                ("reading", models.JSONField(default=dict)),
                ("sheet", models.JSONField(default=dict)),
                ("settings", models.JSONField(default=dict)),
                ("format", models.CharField(default="", max_length=255)),
                ("error", models.JSONField(null=True)),
                ("checked", models.JSONField(null=True)),
                ("created", models.IntegerField(default=0)),
                ("faults", models.IntegerField(default=0)),
                ("line", models.IntegerField(null=True)),
                ("offset", models.BigIntegerField(default=0)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                (
                    "author",
                    models.ForeignObject(
                        from_fields=["account_id", "author_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
                (
                    "rows",
                    models.ForeignObject(
                        from_fields=["account_id", "rows_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="core.storedfile",
                        to_fields=["account_id", "id"],
                    ),
                ),
                (
                    "source",
                    models.ForeignObject(
                        from_fields=["account_id", "source_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="core.storedfile",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "imports",
            },
        ),
        migrations.RunSQL(
            sql=[
                "ALTER TABLE team_import ALTER COLUMN account_id SET (n_distinct=2)",
                "CREATE TRIGGER take_id BEFORE INSERT ON team_import FOR EACH ROW WHEN (new.id IS NULL) EXECUTE FUNCTION account_ids.take()",
                "ALTER TABLE team_import ADD CONSTRAINT team_import_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES accounts_user (account_id, id)",
                "ALTER TABLE team_import ADD CONSTRAINT team_import_undone_by_id_fk FOREIGN KEY (account_id, undone_by_id) REFERENCES accounts_user (account_id, id)",
                "ALTER TABLE team_import ADD CONSTRAINT team_import_source_id_fk FOREIGN KEY (account_id, source_id) REFERENCES core_storedfile (account_id, id) ON DELETE SET NULL (source_id)",
                "ALTER TABLE team_import ADD CONSTRAINT team_import_rows_id_fk FOREIGN KEY (account_id, rows_id) REFERENCES core_storedfile (account_id, id) ON DELETE SET NULL (rows_id)",
            ],
            reverse_sql=[],
        ),
        migrations.AddField(
            model_name="importrow",
            name="batch",
            field=models.ForeignObject(
                from_fields=["account_id", "batch_id"],
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="batch_rows",
                to="team.import",
                to_fields=["account_id", "id"],
            ),
        ),
        migrations.RunSQL(
            sql=[
                "ALTER TABLE team_importrow ALTER COLUMN account_id SET (n_distinct=2)",
                "ALTER TABLE team_importfault ALTER COLUMN account_id SET (n_distinct=2)",
                "ALTER TABLE team_importkey ALTER COLUMN account_id SET (n_distinct=2)",
                "ALTER TABLE team_importrow ADD CONSTRAINT team_importrow_batch_id_fk FOREIGN KEY (account_id, batch_id) REFERENCES team_import (account_id, id) ON DELETE CASCADE",
                "ALTER TABLE team_importfault ADD CONSTRAINT team_importfault_import_id_fk FOREIGN KEY (account_id, import_id) REFERENCES team_import (account_id, id) ON DELETE CASCADE",
                "ALTER TABLE team_importkey ADD CONSTRAINT team_importkey_import_id_fk FOREIGN KEY (account_id, import_id) REFERENCES team_import (account_id, id) ON DELETE CASCADE",
            ],
            reverse_sql=[],
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(fields=["account", "author_id", "id"], name="import_of_author"),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(fields=["created_at"], name="import_by_creation"),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(
                condition=models.Q(("state__in", ("running", "undoing"))), fields=["updated_at"], name="import_active"
            ),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(
                condition=models.Q(("state", "draft")), fields=["updated_at", "id"], name="import_draft"
            ),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(
                condition=models.Q(("source_id__isnull", False)),
                fields=["account", "source_id"],
                name="import_of_source",
            ),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(
                condition=models.Q(("rows_id__isnull", False)), fields=["account", "rows_id"], name="import_of_rows"
            ),
        ),
        migrations.AddIndex(
            model_name="importkey",
            index=models.Index(
                condition=models.Q(("target__isnull", False)),
                fields=["account", "import_id", "kind", "target"],
                name="import_key_of_row",
            ),
        ),
    ]
