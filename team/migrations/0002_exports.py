import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("core", "0003_files"),
        ("team", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Export",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("author_id", models.BigIntegerField(editable=False)),
                ("kind", models.CharField(default="list", max_length=255)),
                ("resource", models.CharField(blank=True, default="", max_length=255)),
                ("query", models.TextField(blank=True, default="")),
                (
                    "columns",
                    models.CharField(
                        choices=[("shown", "The shown columns"), ("all", "All columns")],
                        default="shown",
                        max_length=255,
                    ),
                ),
                (
                    "format",
                    models.CharField(choices=[("csv", "CSV"), ("xlsx", "Excel (XLSX)")], default="csv", max_length=255),
                ),
                ("options", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="running",
                        max_length=255,
                    ),
                ),
                (
                    "failure",
                    models.CharField(
                        choices=[
                            ("", ""),
                            ("user", "The person who asked for it has left the team."),
                            (
                                "filters",
                                "A filter of the list can no longer be read. Open the list and export it again.",
                            ),
                            (
                                "rows",
                                "The file would have too many rows. Add a filter, or choose CSV, which may have more.",
                            ),
                            ("time", "It took too long. Add a filter, or export the shown columns only."),
                            ("space", "There is no space left for the file. Delete files that are no longer needed."),
                            ("error", "The file could not be written."),
                        ],
                        default="",
                        max_length=255,
                    ),
                ),
                ("total", models.IntegerField(null=True)),
                ("written", models.IntegerField(default=0)),
                ("attempts", models.IntegerField(default=0)),
                ("notes", models.JSONField(default=dict)),
                ("file_id", models.BigIntegerField(editable=False, null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(null=True)),
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
                    "file",
                    models.ForeignObject(
                        from_fields=["account_id", "file_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="core.storedfile",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "exports",
            },
        ),
        migrations.RunSQL(
            sql=[
                "ALTER TABLE team_export ALTER COLUMN account_id SET (n_distinct=2)",
                "CREATE TRIGGER take_id BEFORE INSERT ON team_export FOR EACH ROW WHEN (new.id IS NULL) EXECUTE FUNCTION account_ids.take()",
                "ALTER TABLE team_export ADD CONSTRAINT team_export_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES accounts_user (account_id, id)",
                "ALTER TABLE team_export ADD CONSTRAINT team_export_file_id_fk FOREIGN KEY (account_id, file_id) REFERENCES core_storedfile (account_id, id) ON DELETE SET NULL (file_id)",
            ],
            reverse_sql=[],
        ),
        migrations.AddIndex(
            model_name="export",
            index=models.Index(fields=["account", "author_id", "id"], name="export_of_author"),
        ),
        migrations.AddIndex(
            model_name="export",
            index=models.Index(
                condition=models.Q(("expires_at__isnull", False)), fields=["expires_at"], name="export_expired"
            ),
        ),
        migrations.AddIndex(
            model_name="export",
            index=models.Index(condition=models.Q(("state", "running")), fields=["updated_at"], name="export_running"),
        ),
        migrations.AddIndex(
            model_name="export",
            index=models.Index(
                condition=models.Q(("file_id__isnull", False)), fields=["account", "file_id"], name="export_of_file"
            ),
        ),
    ]
