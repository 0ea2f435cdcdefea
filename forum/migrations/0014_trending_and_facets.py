import django.db.models.deletion
from django.db import migrations, models

from core.db.tenancy import plan_for_large_accounts
from forum.facets import COUNTER
from forum.trending import Trending, count_votes, create_functions

# Earlier versions counted proxy votes with these triggers.
DROP_FORMER_TRIGGERS = """
DROP TRIGGER IF EXISTS count_withdrawn ON forum_proxyvote;
DROP TRIGGER IF EXISTS count_cast ON forum_proxyvote;
DROP FUNCTION IF EXISTS count_proxy_votes();
"""


class Migration(migrations.Migration):
    """The order by trend, and the numbers beside the filters.

    The generated column rewrites the table of posts, which blocks its readers. The weights of the existing votes follow in 0015, in
    batches that block no reader.
    """

    dependencies = [("forum", "0019_notifications"), ("accounts", "0017_declare_search")]

    operations = [
        create_functions(),
        migrations.RunSQL(DROP_FORMER_TRIGGERS, migrations.RunSQL.noop),
        migrations.AddField("post", "vote_weight", models.FloatField(editable=False, null=True)),
        migrations.AddField(
            "post",
            "trending",
            models.GeneratedField(
                db_persist=True,
                expression=Trending(models.F("created_at"), models.F("vote_weight")),
                output_field=models.FloatField(),
            ),
        ),
        *count_votes("forum_vote", "forum_proxyvote"),
        migrations.CreateModel(
            name="FacetCount",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "forum_id",
                        "level",
                        "tag",
                        "category_id",
                        "status_id",
                        "kind",
                        "shelf",
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
                ("forum_id", models.BigIntegerField()),
                ("level", models.SmallIntegerField(choices=[(0, "Post"), (1, "Tag"), (2, "Tag Of Post")])),
                ("tag", models.TextField()),
                ("category_id", models.BigIntegerField()),
                ("status_id", models.BigIntegerField()),
                ("kind", models.TextField()),
                ("shelf", models.SmallIntegerField()),
                ("number", models.BigIntegerField()),
                ("posts", models.IntegerField()),
            ],
        ),
        COUNTER.create(),
        migrations.RunSQL(COUNTER.count_all, migrations.RunSQL.noop),
        *plan_for_large_accounts("forum_facetcount"),
    ]
