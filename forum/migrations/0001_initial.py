import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.tenancy


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Vote",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "post_id",
                        "user_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("post_id", models.BigIntegerField()),
                ("user_id", models.BigIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="votes",
                        to="accounts.account",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Category",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("forum_id", models.BigIntegerField()),
                ("name", models.CharField(max_length=255)),
                ("name_key", core.db.tenancy.FoldedField(source="name")),
                ("position", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "categories",
                "default_related_name": "categories",
                "indexes": [models.Index(fields=["account", "forum_id", "position", "id"], name="category_order")],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "forum_id", "name_key"), name="category_name_unique"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                (
                                    "name_key__in",
                                    [
                                        ".well-known",
                                        "app",
                                        "favicon.ico",
                                        "healthz",
                                        "media",
                                        "readyz",
                                        "robots.txt",
                                        "sitemap.xml",
                                        "static",
                                    ],
                                ),
                                _negated=True,
                            ),
                            models.Q(("name_key__regex", "^$|/|\\.(xml|json)$"), _negated=True),
                        ),
                        name="category_name_form",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("post_id", models.BigIntegerField()),
                ("user_id", models.BigIntegerField()),
                ("agent", models.CharField(blank=True, default="", max_length=255)),
                ("comment", models.CharField(max_length=65536)),
                ("kind", models.CharField(max_length=255, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
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
            ],
            options={
                "default_related_name": "comments",
                "indexes": [models.Index(fields=["account", "post_id", "created_at", "id"], name="comment_of_post")],
            },
        ),
        migrations.CreateModel(
            name="Forum",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("host_id", models.BigIntegerField()),
                ("name", models.CharField(max_length=255)),
                ("is_default", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "default_related_name": "forums",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "host_id"), name="forum_host_unique"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)), fields=("account",), name="forum_one_default"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Post",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                ("forum_id", models.BigIntegerField(null=True)),
                ("category_id", models.BigIntegerField(null=True)),
                (
                    "task_kind",
                    models.CharField(
                        choices=[
                            ("feedback", "Feedback"),
                            ("task", "Task"),
                            ("email", "Email"),
                            ("help", "Help"),
                            ("chat", "Chat"),
                            ("phone", "Phone"),
                            ("lead", "Lead"),
                            ("error", "Error"),
                            ("idea", "Idea"),
                        ],
                        default="feedback",
                        max_length=255,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("suggestion", "Suggestion"),
                            ("error", "Error"),
                            ("question", "Question"),
                            ("praise", "Praise"),
                            ("private", "Private"),
                        ],
                        default="suggestion",
                        max_length=255,
                    ),
                ),
                ("title", models.CharField(max_length=255)),
                ("content", models.CharField(blank=True, default="", max_length=65536)),
                ("agent", models.CharField(blank=True, default="", max_length=255)),
                ("user_id", models.BigIntegerField()),
                ("status_id", models.BigIntegerField()),
                ("responsible_id", models.BigIntegerField(null=True)),
                ("client_id", models.BigIntegerField(null=True)),
                ("trashed_client_id", models.BigIntegerField(editable=False, null=True)),
                ("duplicate_from_id", models.BigIntegerField(null=True)),
                ("private", models.BooleanField(default=False)),
                ("approved", models.BooleanField(default=True)),
                ("closed", models.BooleanField(default=False)),
                ("priority", models.IntegerField(default=0)),
                ("scheduled_at", models.DateTimeField(null=True)),
                ("response", models.CharField(max_length=65536, null=True)),
                ("response_user_id", models.BigIntegerField(null=True)),
                ("votes_cache", models.IntegerField(default=0)),
                ("comments_cache", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "shelf",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Case(
                            models.When(
                                models.Q(
                                    ("category_id", None),
                                    ("trashed_at__isnull", False),
                                    ("duplicate_from_id__isnull", False),
                                    _connector="OR",
                                ),
                                then=models.Value(0),
                            ),
                            models.When(
                                models.Q(("private", True), ("approved", False), ("kind", "private"), _connector="OR"),
                                then=models.Value(2),
                            ),
                            default=models.Value(1),
                        ),
                        output_field=models.SmallIntegerField(),
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                (
                    "status",
                    models.ForeignObject(
                        from_fields=["account_id", "status_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.status",
                        to_fields=["account_id", "id"],
                    ),
                ),
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
            ],
            options={
                "default_related_name": "posts",
                "indexes": [
                    models.Index(fields=["account", "category_id", "shelf", "created_at", "id"], name="post_by_age"),
                    models.Index(fields=["account", "category_id", "shelf", "votes_cache", "id"], name="post_by_votes"),
                    models.Index(
                        fields=["account", "category_id", "shelf", "comments_cache", "id"], name="post_by_comments"
                    ),
                    models.Index(
                        fields=["account", "category_id", "shelf", "updated_at", "id"], name="post_by_activity"
                    ),
                    models.Index(
                        fields=["account", "category_id", "shelf", "status_id", "created_at", "id"],
                        name="post_by_status",
                    ),
                    models.Index(
                        condition=models.Q(("shelf", 2)),
                        fields=["account", "user_id", "category_id"],
                        name="post_closed_own",
                    ),
                    models.Index(
                        condition=models.Q(("category_id", None), ("trashed_at", None)),
                        fields=["account", "closed", "-created_at", "-id"],
                        name="post_tasks",
                    ),
                    models.Index(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=["account", "client_id", "id"],
                        name="post_of_client",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_client_id__isnull", False)),
                        fields=["account", "trashed_client_id"],
                        name="post_of_trashed_client",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_at__isnull", False)),
                        fields=["account", "trashed_at", "id"],
                        name="post_trash",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("category_id__isnull", False), ("forum_id__isnull", False), ("task_kind", "feedback")
                            ),
                            models.Q(
                                ("category_id", None),
                                ("forum_id", None),
                                models.Q(("task_kind", "feedback"), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="post_of_forum_or_task",
                    )
                ],
            },
        ),
    ]
