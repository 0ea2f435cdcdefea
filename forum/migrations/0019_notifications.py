import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.models import Q

import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers, plan_for_large_accounts
from forum.activities import activity_ids, triggers_that_count_unread


def key() -> list[tuple[str, models.Field]]:
    pk = models.CompositePrimaryKey("account_id", "id", blank=True, editable=False, primary_key=True, serialize=False)
    account = models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account")
    return [("pk", pk), ("id", core.db.tenancy.AccountIdField(editable=False)), ("account", account)]


def row(link: str, to: str, **values) -> models.ForeignObject:
    return models.ForeignObject(
        from_fields=["account_id", link],
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name="+",
        to=to,
        to_fields=["account_id", "id"],
        **values,
    )


def created_at() -> models.DateTimeField:
    return models.DateTimeField(default=django.utils.timezone.now, editable=False)


class Migration(migrations.Migration):
    """Activities, the choices of users to follow posts, and notifications."""

    dependencies = [("accounts", "0025_notified_of_all"), ("forum", "0017_inbox_indexes")]

    operations = [
        migrations.CreateModel(
            name="Activity",
            fields=[
                *key(),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("new_post", "New suggestion"),
                            ("comment", "Comment"),
                            ("response", "Official response"),
                            ("status", "Change of status"),
                            ("merge", "Merge"),
                            ("unmerge", "Undone merge"),
                            ("approval", "Approval"),
                            ("assignment", "Assignment"),
                            ("reminder", "Reminder"),
                            ("sign_up", "Sign-up"),
                        ],
                        max_length=255,
                    ),
                ),
                ("post_id", models.BigIntegerField(null=True)),
                ("post", row("post_id", "forum.post", null=True)),
                ("comment_id", models.BigIntegerField(null=True)),
                ("comment", row("comment_id", "forum.comment", null=True)),
                ("user_id", models.BigIntegerField()),
                ("user", row("user_id", "accounts.user")),
                ("internal", models.BooleanField(default=False)),
                ("before", models.CharField(max_length=255, null=True)),
                ("after", models.CharField(max_length=255, null=True)),
                ("announced", models.BooleanField(default=False)),
                ("created_at", created_at()),
            ],
            options={
                "default_related_name": "activities",
                "verbose_name_plural": "activities",
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(("kind", "new_post")),
                        fields=("account", "post_id"),
                        name="activity_new_post_unique",
                    )
                ],
                "indexes": [
                    models.Index(fields=["account", "id"], name="activity_pending", condition=Q(("announced", False))),
                    models.Index(fields=["account", "post_id", "id"], name="activity_of_post"),
                    models.Index(
                        fields=["account", "comment_id"],
                        name="activity_of_comment",
                        condition=Q(("comment_id__isnull", False)),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Follow",
            fields=[
                *key(),
                ("post_id", models.BigIntegerField()),
                ("user_id", models.BigIntegerField()),
                ("is_following", models.BooleanField()),
                ("created_at", created_at()),
            ],
            options={
                "default_related_name": "follows",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "post_id", "user_id"), name="follow_unique")
                ],
                "indexes": [models.Index(fields=["account", "user_id"], name="follow_of_user")],
            },
        ),
        migrations.CreateModel(
            name="Notification",
            fields=[
                *key(),
                ("user_id", models.BigIntegerField()),
                ("activity_id", models.BigIntegerField()),
                ("activity", row("activity_id", "forum.activity")),
                (
                    "reason",
                    models.SmallIntegerField(
                        choices=[
                            (1, "you were mentioned"),
                            (2, "you are responsible for this suggestion"),
                            (3, "you wrote this suggestion"),
                            (4, "you commented on this suggestion"),
                            (5, "you voted for this suggestion"),
                            (6, "you follow this suggestion"),
                            (7, "you are on the team"),
                            (8, "you chose news of everything"),
                        ]
                    ),
                ),
                ("created_at", created_at()),
                ("read_at", models.DateTimeField(null=True)),
                ("mail_at", models.DateTimeField(null=True)),
                ("mailed_at", models.DateTimeField(null=True)),
            ],
            options={
                "default_related_name": "notifications",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "activity_id", "user_id"), name="notification_unique")
                ],
                "indexes": [
                    models.Index(fields=["account", "user_id", "-id"], name="notification_of_user"),
                    models.Index(
                        fields=["account", "user_id", "-id"],
                        name="notification_unread",
                        condition=Q(("read_at", None)),
                    ),
                    models.Index(
                        fields=["account", "user_id"],
                        name="notification_waiting",
                        condition=Q(("mail_at__isnull", False)),
                    ),
                    models.Index(fields=["mail_at"], name="notification_due", condition=Q(("mail_at__isnull", False))),
                ],
            },
        ),
        activity_ids(),
        *id_triggers("forum_follow", "forum_notification"),
        composite_foreign_key("forum_activity", "post_id", "forum_post", on_delete="CASCADE"),
        composite_foreign_key("forum_activity", "comment_id", "forum_comment", on_delete="CASCADE"),
        composite_foreign_key("forum_activity", "user_id", "accounts_user"),
        composite_foreign_key("forum_follow", "post_id", "forum_post", on_delete="CASCADE"),
        composite_foreign_key("forum_follow", "user_id", "accounts_user", on_delete="CASCADE"),
        composite_foreign_key("forum_notification", "activity_id", "forum_activity", on_delete="CASCADE"),
        composite_foreign_key("forum_notification", "user_id", "accounts_user", on_delete="CASCADE"),
        *plan_for_large_accounts("forum_activity", "forum_follow", "forum_notification"),
        triggers_that_count_unread(),
    ]
