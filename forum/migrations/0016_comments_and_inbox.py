import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.models.functions import Now

import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers


class Migration(migrations.Migration):
    """Internal comments, versions of comments, and the columns of the team's inbox.

    No row is rewritten: new columns are null or have a default in the catalogue. The existing posts count as handled, so that the inbox
    begins with the posts that come after it. The indexes follow in 0017.
    """

    dependencies = [
        ("accounts", "0021_status_on_roadmap_and_shortcuts"),
        ("forum", "0013_declare_search"),
    ]

    operations = [
        migrations.AddField("comment", "internal", models.BooleanField(db_default=False, default=False)),
        migrations.AddField("comment", "edited_at", models.DateTimeField(editable=False, null=True)),
        migrations.AddField(
            "comment", "edited_by_other", models.BooleanField(db_default=False, default=False, editable=False)
        ),
        migrations.AddField(
            "post", "internal_comments_cache", models.IntegerField(db_default=0, default=0, editable=False)
        ),
        migrations.AddField("post", "answered_at", models.DateTimeField(editable=False, null=True)),
        migrations.AddField("post", "handled_at", models.DateTimeField(db_default=Now(), editable=False, null=True)),
        migrations.AlterField("post", "handled_at", models.DateTimeField(editable=False, null=True)),
        migrations.CreateModel(
            name="CommentVersion",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("comment_id", models.BigIntegerField()),
                ("text", models.CharField(max_length=65536)),
                ("user_id", models.BigIntegerField()),
                (
                    "user",
                    models.ForeignObject(
                        from_fields=["account_id", "user_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "comment_versions",
                "indexes": [
                    models.Index(fields=["account", "comment_id", "created_at", "id"], name="version_of_comment")
                ],
            },
        ),
        *id_triggers("forum_commentversion"),
        composite_foreign_key("forum_commentversion", "comment_id", "forum_comment", on_delete="CASCADE"),
        composite_foreign_key("forum_commentversion", "user_id", "accounts_user"),
    ]
