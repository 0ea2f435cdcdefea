from pathlib import Path

import django.contrib.postgres.indexes
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


def run_sql(name):
    # PostgreSQL would check the functions before their tables exist.
    sql = "SET LOCAL check_function_bodies = off;\n" + Path(__file__).with_name(name).read_text()
    return migrations.RunSQL(sql)


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("core", "0001_functions"),
    ]

    operations = [
        migrations.CreateModel(
            name="Change",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "position", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("position", models.BigIntegerField()),
                ("number", models.BigIntegerField(null=True)),
                ("resource", models.CharField(max_length=255)),
                ("id", models.BigIntegerField()),
                (
                    "change",
                    models.CharField(
                        choices=[
                            ("created", "Created"),
                            ("updated", "Updated"),
                            ("deleted", "Deleted"),
                            ("restored", "Restored"),
                        ],
                        max_length=255,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("import_id", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "core_change",
                "default_related_name": "changes",
                "indexes": [
                    models.Index(
                        condition=models.Q(("number", None)), fields=["account", "position"], name="change_unnumbered"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("number__isnull", False)),
                        fields=("account", "number"),
                        name="change_numbered",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Follower",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "name", "key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                ("key", models.BigIntegerField(default=0)),
                ("cursor", models.BigIntegerField()),
                ("newest", models.BigIntegerField()),
                ("due_at", models.DateTimeField(null=True)),
                ("token", models.BigIntegerField(default=0)),
                ("failures", models.IntegerField(default=0)),
            ],
            options={
                "db_table": "core_follower",
                "default_related_name": "followers",
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["name", "due_at"], name="follower_due"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="IdempotentAnswer",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "caller", "key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("caller", models.CharField(max_length=255)),
                ("key", models.CharField(max_length=255)),
                ("fingerprint", models.BinaryField()),
                ("status", models.SmallIntegerField()),
                ("headers", models.JSONField()),
                ("body", models.BinaryField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "db_table": "core_idempotentanswer",
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("queue", models.CharField(max_length=255)),
                ("name", models.CharField(max_length=255)),
                ("account_id", models.BigIntegerField(db_default=0)),
                ("arguments", models.JSONField(db_default={})),
                ("key", models.CharField(max_length=255, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("running", "Running"), ("failed", "Failed")],
                        db_default="waiting",
                        max_length=255,
                    ),
                ),
                ("scheduled_at", models.DateTimeField()),
                ("leased_until", models.DateTimeField(null=True)),
                ("attempts", models.IntegerField(db_default=0)),
                ("error", models.CharField(max_length=255, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "failed"), _negated=True),
                        fields=["queue", "scheduled_at"],
                        name="job_due",
                    ),
                    models.Index(
                        condition=models.Q(("state", "failed"), _negated=True),
                        fields=["queue", "account_id", "scheduled_at", "id"],
                        name="job_turn",
                    ),
                    models.Index(
                        condition=models.Q(("state", "running")), fields=["queue", "account_id"], name="job_running"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(condition=models.Q(("state", "waiting")), fields=("key",), name="job_key")
                ],
            },
        ),
        migrations.CreateModel(
            name="PeriodicTime",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=255)),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("name",), name="periodic_time_name")],
            },
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    sql="\nCREATE UNLOGGED TABLE core_ratecount (\n    key varchar(128) PRIMARY KEY,\n    used integer NOT NULL,\n    ends_at timestamptz NOT NULL\n) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)\n",
                ),
            ],
            state_operations=[
                migrations.CreateModel(
                    name="RateCount",
                    fields=[
                        ("key", models.CharField(max_length=128, primary_key=True, serialize=False)),
                        ("used", models.IntegerField()),
                        ("ends_at", models.DateTimeField()),
                    ],
                    options={
                        "db_table": "core_ratecount",
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name="StaleWord",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "kind",
                        "word",
                        "recorded_by",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("kind", models.CharField(max_length=255)),
                ("word", models.CharField(max_length=255)),
                ("recorded_by", models.IntegerField()),
            ],
            options={
                "db_table": "core_staleword",
            },
        ),
        migrations.CreateModel(
            name="Word",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "kind",
                        "word",
                        "recorded_by",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("kind", models.CharField(max_length=255)),
                ("word", models.CharField(db_collation="C", max_length=255)),
                ("recorded_by", models.IntegerField()),
            ],
            options={
                "db_table": "core_word",
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["account", "kind", "word"],
                        name="word_spelling",
                        opclasses=["int8_ops", "text_ops", "gin_trgm_ops"],
                    )
                ],
            },
        ),
        run_sql("0002_tables.sql"),
    ]
