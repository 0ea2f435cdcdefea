import django.contrib.postgres.indexes
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Take over five models from `accounts`, with their tables: the database does not change."""

    initial = True

    dependencies = [
        ("accounts", "0016_move_models_to_core"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="RateCount",
                    fields=[
                        ("key", models.CharField(max_length=128, primary_key=True, serialize=False)),
                        ("used", models.IntegerField()),
                        ("ends_at", models.DateTimeField()),
                    ],
                    options={
                        "db_table": "accounts_ratecount",
                    },
                ),
                migrations.CreateModel(
                    name="IdempotentAnswer",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "account_id",
                                "caller",
                                "key",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("caller", models.CharField(max_length=255)),
                        ("key", models.CharField(max_length=255)),
                        ("fingerprint", models.BinaryField()),
                        ("status", models.SmallIntegerField()),
                        ("headers", models.JSONField()),
                        ("body", models.BinaryField()),
                        ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                        (
                            "account",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="accounts.account",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "accounts_idempotentanswer",
                    },
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
                                "noted_by",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("kind", models.CharField(max_length=255)),
                        ("word", models.CharField(max_length=255)),
                        ("noted_by", models.IntegerField()),
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
                    ],
                    options={
                        "db_table": "accounts_staleword",
                    },
                ),
                migrations.CreateModel(
                    name="Change",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "account_id", "position", blank=True, editable=False, primary_key=True, serialize=False
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
                        (
                            "account",
                            models.ForeignKey(
                                db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                            ),
                        ),
                    ],
                    options={
                        "db_table": "accounts_change",
                        "default_related_name": "changes",
                        "indexes": [
                            models.Index(
                                condition=models.Q(("number", None)),
                                fields=["account", "position"],
                                name="change_unnumbered",
                            )
                        ],
                        "constraints": [
                            models.UniqueConstraint(fields=("account", "number"), name="change_number_unique")
                        ],
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
                                "noted_by",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("kind", models.CharField(max_length=255)),
                        ("word", models.CharField(db_collation="C", max_length=255)),
                        ("noted_by", models.IntegerField()),
                        (
                            "account",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="accounts.account",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "accounts_word",
                        "indexes": [
                            django.contrib.postgres.indexes.GinIndex(
                                fields=["account", "kind", "word"],
                                name="word_spelling",
                                opclasses=["int8_ops", "text_ops", "gin_trgm_ops"],
                            )
                        ],
                    },
                ),
            ]
        )
    ]
