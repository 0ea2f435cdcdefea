import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0013_oidc_domain_checks"),
        ("forum", "0002_titles"),
    ]

    operations = [
        migrations.AddField(
            model_name="comment", name="deleted_at", field=models.DateTimeField(editable=False, null=True)
        ),
        migrations.AddField(
            model_name="comment",
            name="helpful",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name="comment", name="parent_id", field=models.BigIntegerField(editable=False, null=True)
        ),
        migrations.AddField(
            model_name="comment", name="pinned_at", field=models.DateTimeField(editable=False, null=True)
        ),
        migrations.AddField(
            model_name="post",
            name="target_is_quarter",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(model_name="post", name="target_on", field=models.DateField(null=True)),
        migrations.RunSQL(
            "ALTER TABLE forum_comment ADD CONSTRAINT forum_comment_parent_id_fk FOREIGN KEY (account_id, parent_id)"
            " REFERENCES forum_comment (account_id, id) ON DELETE CASCADE NOT VALID",
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name="notification",
            name="reason",
            field=models.SmallIntegerField(
                choices=[
                    (0, "somebody replied to you"),
                    (1, "you were mentioned"),
                    (2, "you are responsible for this suggestion"),
                    (3, "you wrote this suggestion"),
                    (4, "you commented on this suggestion"),
                    (5, "you voted for this suggestion"),
                    (6, "you follow this suggestion"),
                    (7, "you are on the team"),
                    (8, "you chose news of everything"),
                    (9, "you are responsible for this task"),
                ]
            ),
        ),
        migrations.CreateModel(
            name="CommentReaction",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "comment_id",
                        "user_id",
                        "kind",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("comment_id", models.BigIntegerField()),
                ("user_id", models.BigIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("thumbs_up", "👍"),
                            ("heart", "❤️"),
                            ("party", "🎉"),
                            ("smile", "😄"),
                            ("confused", "😕"),
                            ("eyes", "👀"),
                        ],
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="comment_reactions",
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "default_related_name": "comment_reactions",
                "indexes": [models.Index(fields=["account", "user_id"], name="reaction_of_user")],
            },
        ),
        migrations.RunSQL(
            "ALTER TABLE forum_commentreaction ALTER COLUMN account_id SET (n_distinct=2);"
            "ALTER TABLE forum_commentreaction ADD CONSTRAINT forum_commentreaction_comment_id_fk"
            " FOREIGN KEY (account_id, comment_id) REFERENCES forum_comment (account_id, id) ON DELETE CASCADE;"
            "ALTER TABLE forum_commentreaction ADD CONSTRAINT forum_commentreaction_user_id_fk"
            " FOREIGN KEY (account_id, user_id) REFERENCES accounts_user (account_id, id)",
            migrations.RunSQL.noop,
        ),
    ]
