import django.db.models.deletion
from django.db import migrations, models

from forum.deep_paging import COUNTER, delete_counts_with_category


class Migration(migrations.Migration):
    dependencies = [("forum", "0006_post_links"), ("accounts", "0007_status_search")]

    operations = [
        migrations.CreateModel(
            name="PostCount",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "category_id",
                        "created_at",
                        "id",
                        "number",
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
                ("category_id", models.BigIntegerField()),
                ("created_at", models.DateTimeField()),
                ("id", models.BigIntegerField()),
                ("number", models.BigIntegerField()),
                ("is_mark", models.BooleanField()),
                ("shelf", models.SmallIntegerField()),
                ("status_id", models.BigIntegerField()),
                ("posts", models.IntegerField()),
            ],
        ),
        COUNTER.create(),
        delete_counts_with_category(),
    ]
