import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

from core.db.tenancy import plan_for_large_accounts
from forum.sort_keys import add_existing_posts, create_triggers

OF_CATEGORY, OF_FORUM = Q(category_id__isnull=False), Q(forum_id__isnull=False)


def index(name: str, *fields: str, condition: Q) -> AddIndexConcurrently:
    return AddIndexConcurrently(
        "postsortkey", models.Index(fields=["account", *fields], name=name, condition=condition)
    )


class Migration(migrations.Migration):
    """The narrow table with the values by which posts are sorted and which change often.

    Other transactions can write while the rows are added and the indexes are built. If this migration is interrupted, drop what it created
    before the next run.
    """

    atomic = False
    dependencies = [("forum", "0028_parts_by_account")]

    operations = [
        migrations.CreateModel(
            name="PostSortKey",
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
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
                ("id", models.BigIntegerField()),
                ("updated_at", models.DateTimeField()),
                ("trending", models.FloatField()),
                ("category_id", models.BigIntegerField(null=True)),
                ("forum_id", models.BigIntegerField(null=True)),
                ("status_id", models.BigIntegerField()),
                ("client_id", models.BigIntegerField(null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("deal_id", models.BigIntegerField(null=True)),
                ("votes_cache", models.IntegerField()),
                ("comments_cache", models.IntegerField()),
                ("shelf", models.SmallIntegerField()),
            ],
            options={"default_related_name": "post_sort_keys"},
        ),
        migrations.AddField(
            "post",
            "sort_key",
            models.ForeignObject(
                from_fields=["account_id", "id"],
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="forum.postsortkey",
                to_fields=["account_id", "id"],
            ),
        ),
        # Room for another version of a row on its page. Without it, an update needs entries in the indexes of another page.
        migrations.RunSQL("ALTER TABLE forum_post SET (fillfactor = 90)", "ALTER TABLE forum_post RESET (fillfactor)"),
        create_triggers(),
        add_existing_posts(),
        *(
            index(f"sort_key_by_{order}", "category_id", "shelf", column, "id", condition=OF_CATEGORY)
            for order, column in (
                ("votes", "votes_cache"),
                ("comments", "comments_cache"),
                ("activity", "updated_at"),
            )
        ),
        *(
            index(f"sort_key_of_forum_by_{order}", "forum_id", "shelf", column, "id", condition=OF_FORUM)
            for order, column in (
                ("trend", "trending"),
                ("votes", "votes_cache"),
                ("comments", "comments_cache"),
                ("activity", "updated_at"),
            )
        ),
        index("sort_key_of_roadmap", "forum_id", "status_id", "votes_cache", "id", condition=Q(shelf=1)),
        *(
            index(f"sort_key_of_{kind}_by_change", "updated_at", "id", condition=Q(category_id__isnull=is_task))
            for kind, is_task in (("post", False), ("task", True))
        ),
        *(
            index(f"sort_key_of_{target}", f"{target}_id", "updated_at", condition=Q(**{f"{target}_id__isnull": False}))
            for target in ("client", "contact", "deal")
        ),
        *plan_for_large_accounts("forum_postsortkey"),
    ]
