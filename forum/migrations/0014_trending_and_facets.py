import django.db.models.deletion
from django.db import migrations, models

from core.db.tenancy import plan_for_large_accounts
from forum.facets import count_all, create_facet_triggers
from forum.trending import Trending, count_votes, create_functions, weigh_posts
from forum.votes import CREATE_VOTE_COUNTING, DROP_VOTE_COUNTING


class Migration(migrations.Migration):
    dependencies = [("forum", "0019_notifications"), ("accounts", "0017_declare_search")]

    operations = [
        create_functions(),
        migrations.RunSQL(DROP_VOTE_COUNTING, CREATE_VOTE_COUNTING),
        migrations.AddField("post", "vote_weight", models.FloatField(editable=False, null=True)),
        weigh_posts(),
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
        create_facet_triggers(),
        count_all(),
        *plan_for_large_accounts("forum_facetcount"),
    ]
