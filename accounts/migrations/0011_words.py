import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

from core.search.functions import CREATE_SPELLING, DROP_SPELLING


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0010_settings"),
    ]

    operations = [
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
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["account", "kind", "word"],
                        name="word_spelling",
                        opclasses=["int8_ops", "text_ops", "gin_trgm_ops"],
                    )
                ],
            },
        ),
        migrations.RunSQL(CREATE_SPELLING, DROP_SPELLING),
    ]
