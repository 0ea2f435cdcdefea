import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_audit"),
        ("team", "0003_imports"),
    ]

    operations = [
        migrations.CreateModel(
            name="MoveIn",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("author_id", models.BigIntegerField(editable=False)),
                ("address", models.CharField(max_length=255)),
                ("forum", models.CharField(default="", max_length=255)),
                ("credentials", models.TextField(default="")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                        ],
                        default="running",
                        max_length=255,
                    ),
                ),
                ("failure", models.TextField(default="")),
                ("run", models.IntegerField(default=0)),
                ("position", models.JSONField(default=dict)),
                ("attempts", models.IntegerField(default=0)),
                ("counts", models.JSONField(default=dict)),
                ("report", models.JSONField(default=dict)),
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
            ],
            options={
                "default_related_name": "move_ins",
            },
        ),
        migrations.CreateModel(
            name="MovedRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "move_in_id",
                        "kind",
                        "source",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("move_in_id", models.BigIntegerField()),
                ("kind", models.CharField(max_length=255)),
                ("source", models.CharField(max_length=255)),
                ("target", models.BigIntegerField()),
                ("taken", models.JSONField(default=dict)),
                ("written", models.JSONField(default=dict)),
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
                    "move_in",
                    models.ForeignObject(
                        from_fields=["account_id", "move_in_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="moved_rows",
                        to="team.movein",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
        ),
        migrations.RunSQL(
            sql=[
                "ALTER TABLE team_movein ALTER COLUMN account_id SET (n_distinct=2)",
                "CREATE TRIGGER take_id BEFORE INSERT ON team_movein FOR EACH ROW WHEN (new.id IS NULL) EXECUTE FUNCTION account_ids.take()",
                "ALTER TABLE team_movein ADD CONSTRAINT team_movein_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES accounts_user (account_id, id)",
                "ALTER TABLE team_movedrow ALTER COLUMN account_id SET (n_distinct=2)",
                "ALTER TABLE team_movedrow ADD CONSTRAINT team_movedrow_move_in_id_fk FOREIGN KEY (account_id, move_in_id) REFERENCES team_movein (account_id, id) ON DELETE CASCADE",
            ],
            reverse_sql=[],
        ),
        migrations.AddIndex(
            model_name="movein",
            index=models.Index(condition=models.Q(("state", "running")), fields=["updated_at"], name="move_in_running"),
        ),
        migrations.AddConstraint(
            model_name="movein",
            constraint=models.UniqueConstraint(fields=("account", "address"), name="move_in_address_unique"),
        ),
    ]
