from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.comparison
import django.utils.timezone
from django.db import migrations, models


def run_sql(name):
    # PostgreSQL would check the functions before their tables exist.
    sql = "SET LOCAL check_function_bodies = off;\n" + Path(__file__).with_name(name).read_text()
    return migrations.RunSQL(sql)


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("core", "0002_tables"),
        ("crm", "0001_initial"),
    ]

    operations = [
        run_sql("0001_before_tables.sql"),
        migrations.CreateModel(
            name="Category",
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("forum_id", models.BigIntegerField()),
                ("name", models.CharField(max_length=255)),
                ("name_key", models.TextField(editable=False)),
                ("position", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("post_id", models.BigIntegerField()),
                ("from_post_id", models.BigIntegerField(editable=False, null=True)),
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
                ("agent", models.CharField(blank=True, default="", max_length=255)),
                ("comment", models.CharField(max_length=65536)),
                ("comment_html", models.CharField(editable=False, max_length=1048576, null=True)),
                ("kind", models.CharField(max_length=255, null=True)),
                ("internal", models.BooleanField(db_default=False, default=False)),
                ("approved", models.BooleanField(db_default=True, default=True)),
                ("withdrawn_at", models.DateTimeField(editable=False, null=True)),
                ("edited_at", models.DateTimeField(editable=False, null=True)),
                ("edited_by_other", models.BooleanField(db_default=False, default=False, editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "comments",
                "indexes": [
                    models.Index(fields=["account", "post_id", "created_at", "id"], name="comment_of_post"),
                    models.Index(
                        condition=models.Q(("from_post_id__isnull", False)),
                        fields=["account", "from_post_id"],
                        name="comment_from_post",
                    ),
                    models.Index(fields=["account", "user_id", "created_at", "id"], name="comment_by_author"),
                    models.Index(
                        condition=models.Q(("approved", False)),
                        fields=["account", "created_at", "id"],
                        name="comment_waiting",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CommentVersion",
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
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
        migrations.CreateModel(
            name="FacetCount",
            fields=[
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
                ("number", models.BigIntegerField()),
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
                        "visibility",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("forum_id", models.BigIntegerField()),
                ("level", models.SmallIntegerField(choices=[(0, "Post"), (1, "Tag"), (2, "Tag Of Post")])),
                ("tag", models.TextField()),
                ("category_id", models.BigIntegerField()),
                ("status_id", models.BigIntegerField()),
                ("kind", models.TextField()),
                ("visibility", models.SmallIntegerField()),
                ("posts", models.IntegerField()),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Follow",
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("post_id", models.BigIntegerField()),
                ("user_id", models.BigIntegerField()),
                ("is_following", models.BooleanField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "follows",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "post_id", "user_id"), name="follow_unique")
                ],
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("host_id", models.BigIntegerField()),
                ("name", models.CharField(max_length=255)),
                ("description", models.CharField(blank=True, db_default="", default="", max_length=1000)),
                (
                    "access",
                    models.CharField(
                        choices=[
                            ("public", "Public"),
                            ("members", "Members"),
                            ("private", "Private"),
                            ("list", "List"),
                            ("segment", "Segment"),
                        ],
                        db_default="public",
                        default="public",
                        max_length=255,
                    ),
                ),
                ("segment_id", models.BigIntegerField(null=True)),
                ("approval", models.BooleanField(db_default=False, default=False)),
                ("is_default", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "default_related_name": "forums",
                "indexes": [
                    models.Index(
                        condition=models.Q(("segment_id__isnull", False)),
                        fields=["account", "segment_id"],
                        name="forum_by_segment",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "host_id"), name="forum_host_unique"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)), fields=("account",), name="forum_one_default"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("access__in", ["public", "members", "private", "list", "segment"])),
                        name="forum_access_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ForumAddress",
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("forum_id", models.BigIntegerField()),
                ("address", models.CharField(max_length=255)),
                ("address_key", models.TextField(editable=False)),
            ],
            options={
                "default_related_name": "forum_addresses",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "forum_id", "address_key"), name="forumaddress_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="ForumMember",
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("forum_id", models.BigIntegerField()),
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
                (
                    "state",
                    models.CharField(
                        choices=[("member", "Member"), ("pending", "Pending")], default="member", max_length=255
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "forum_members",
                "indexes": [
                    models.Index(fields=["account", "user_id"], name="forummember_of_user"),
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["account", "forum_id", "user_id"],
                        name="forummember_pending",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "forum_id", "user_id"), name="forummember_unique")
                ],
            },
        ),
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
                ("category_id", models.BigIntegerField(null=True)),
                ("forum_id", models.BigIntegerField(null=True)),
                ("status_id", models.BigIntegerField()),
                ("visibility", models.SmallIntegerField()),
                ("client_id", models.BigIntegerField(null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("deal_id", models.BigIntegerField(null=True)),
                ("votes_cache", models.IntegerField()),
                ("comments_cache", models.IntegerField()),
                ("trending", models.FloatField()),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "default_related_name": "post_sort_keys",
                "indexes": [
                    models.Index(
                        condition=models.Q(("category_id__isnull", False)),
                        fields=["account", "category_id", "visibility", "votes_cache", "id"],
                        name="sort_key_by_votes",
                    ),
                    models.Index(
                        condition=models.Q(("category_id__isnull", False)),
                        fields=["account", "category_id", "visibility", "comments_cache", "id"],
                        name="sort_key_by_comments",
                    ),
                    models.Index(
                        condition=models.Q(("category_id__isnull", False)),
                        fields=["account", "category_id", "visibility", "updated_at", "id"],
                        name="sort_key_by_activity",
                    ),
                    models.Index(
                        condition=models.Q(("forum_id__isnull", False)),
                        fields=["account", "forum_id", "visibility", "trending", "id"],
                        name="sort_key_of_forum_by_trend",
                    ),
                    models.Index(
                        condition=models.Q(("forum_id__isnull", False)),
                        fields=["account", "forum_id", "visibility", "votes_cache", "id"],
                        name="sort_key_of_forum_by_votes",
                    ),
                    models.Index(
                        condition=models.Q(("forum_id__isnull", False)),
                        fields=["account", "forum_id", "visibility", "comments_cache", "id"],
                        name="sort_key_of_forum_by_comments",
                    ),
                    models.Index(
                        condition=models.Q(("forum_id__isnull", False)),
                        fields=["account", "forum_id", "visibility", "updated_at", "id"],
                        name="sort_key_of_forum_by_activity",
                    ),
                    models.Index(
                        condition=models.Q(("visibility", 1)),
                        fields=["account", "forum_id", "status_id", "votes_cache", "id"],
                        name="sort_key_of_roadmap",
                    ),
                    models.Index(
                        condition=models.Q(("category_id__isnull", False)),
                        fields=["account", "updated_at", "id"],
                        name="sort_key_of_post_by_change",
                    ),
                    models.Index(
                        condition=models.Q(("category_id__isnull", True)),
                        fields=["account", "updated_at", "id"],
                        name="sort_key_of_task_by_change",
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("trashed_at", models.DateTimeField(editable=False, null=True)),
                ("trashed_by_id", models.BigIntegerField(editable=False, null=True)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("duplicate_from_id", models.BigIntegerField(null=True)),
                ("status_before_merge_id", models.BigIntegerField(editable=False, null=True)),
                ("closed_before_merge", models.BooleanField(editable=False, null=True)),
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
                ("content_html", models.CharField(editable=False, max_length=1048576, null=True)),
                ("agent", models.CharField(blank=True, default="", max_length=255)),
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
                ("status_id", models.BigIntegerField()),
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
                ("responsible_id", models.BigIntegerField(null=True)),
                ("client_id", models.BigIntegerField(null=True)),
                ("trashed_client_id", models.BigIntegerField(editable=False, null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("trashed_contact_id", models.BigIntegerField(editable=False, null=True)),
                ("deal_id", models.BigIntegerField(null=True)),
                ("trashed_deal_id", models.BigIntegerField(editable=False, null=True)),
                ("private", models.BooleanField(default=False)),
                ("approved", models.BooleanField(default=True)),
                ("closed", models.BooleanField(default=False)),
                ("priority", models.IntegerField(default=0)),
                ("scheduled_at", models.DateTimeField(null=True)),
                ("due_day", models.DateField(null=True)),
                ("remind_at", models.DateTimeField(null=True)),
                ("completed_at", models.DateTimeField(editable=False, null=True)),
                ("response", models.CharField(max_length=65536, null=True)),
                ("response_html", models.CharField(editable=False, max_length=1048576, null=True)),
                ("response_user_id", models.BigIntegerField(null=True)),
                ("votes_cache", models.IntegerField(default=0)),
                ("comments_cache", models.IntegerField(default=0)),
                ("vote_weight", models.FloatField(editable=False, null=True)),
                (
                    "trending",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Func(
                            models.F("created_at"), models.F("vote_weight"), function="forum_trending"
                        ),
                        output_field=models.FloatField(),
                    ),
                ),
                ("internal_comments_cache", models.IntegerField(db_default=0, default=0, editable=False)),
                ("handled_at", models.DateTimeField(editable=False, null=True)),
                ("answered_at", models.DateTimeField(editable=False, null=True)),
                ("additional_fields", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "sort_key",
                    models.ForeignObject(
                        from_fields=["account_id", "id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="forum.postsortkey",
                        to_fields=["account_id", "id"],
                    ),
                ),
                (
                    "visibility",
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
            ],
            options={
                "default_related_name": "posts",
                "indexes": [
                    models.Index(
                        fields=["account", "category_id", "visibility", "created_at", "id"], name="post_by_age"
                    ),
                    models.Index(
                        fields=["account", "category_id", "visibility", "status_id", "created_at", "id"],
                        name="post_by_status",
                    ),
                    models.Index(
                        fields=["account", "forum_id", "visibility", "created_at", "id"], name="post_of_forum_by_age"
                    ),
                    models.Index(
                        condition=models.Q(("visibility__gt", 0), models.Q(("kind", "suggestion"), _negated=True)),
                        fields=["account", "forum_id", "kind", "id"],
                        name="post_of_forum_by_kind",
                    ),
                    models.Index(
                        condition=models.Q(("visibility", 2)),
                        fields=["account", "user_id", "category_id"],
                        name="post_closed_own",
                    ),
                    models.Index(
                        condition=models.Q(("category_id", None), ("trashed_at", None)),
                        fields=["account", "closed", "-created_at", "-id"],
                        name="post_tasks",
                    ),
                    models.Index(
                        condition=models.Q(("category_id__isnull", False), ("trashed_at", None)),
                        fields=["account", "id"],
                        name="any_post_by_id",
                    ),
                    models.Index(
                        condition=models.Q(("category_id__isnull", False), ("trashed_at", None)),
                        fields=["account", "created_at", "id"],
                        name="any_post_by_creation",
                    ),
                    models.Index(
                        condition=models.Q(("category_id__isnull", True), ("trashed_at", None)),
                        fields=["account", "id"],
                        name="task_by_id",
                    ),
                    models.Index(
                        condition=models.Q(("category_id__isnull", True), ("trashed_at", None)),
                        fields=["account", "created_at", "id"],
                        name="task_by_creation",
                    ),
                    models.Index(
                        condition=models.Q(("category_id", None), ("trashed_at", None)),
                        fields=["account", "scheduled_at", "id"],
                        name="task_by_schedule",
                    ),
                    models.Index(
                        condition=models.Q(("category_id", None), ("trashed_at", None)),
                        fields=["account", "completed_at", "id"],
                        name="task_by_completion",
                    ),
                    models.Index(
                        condition=models.Q(("category_id", None), ("closed", False), ("trashed_at", None)),
                        fields=["account", "scheduled_at", "id"],
                        name="task_open",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("category_id", None),
                            ("closed", False),
                            ("trashed_at", None),
                            ("responsible_id__isnull", False),
                        ),
                        fields=["account", "responsible_id", "scheduled_at", "id"],
                        name="task_of_responsible",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("category_id", None),
                            ("trashed_at", None),
                            ("closed", True),
                            ("responsible_id__isnull", False),
                        ),
                        fields=["account", "responsible_id", "completed_at", "id"],
                        name="task_done_by_responsible",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("category_id", None),
                            ("closed", False),
                            ("trashed_at", None),
                            ("client_id__isnull", False),
                            ("scheduled_at__isnull", False),
                        ),
                        fields=["account", "client_id", "scheduled_at"],
                        name="task_of_client",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("category_id", None),
                            ("closed", False),
                            ("trashed_at", None),
                            ("contact_id__isnull", False),
                            ("scheduled_at__isnull", False),
                        ),
                        fields=["account", "contact_id", "scheduled_at"],
                        name="task_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("category_id", None),
                            ("closed", False),
                            ("trashed_at", None),
                            ("deal_id__isnull", False),
                            ("scheduled_at__isnull", False),
                        ),
                        fields=["account", "deal_id", "scheduled_at"],
                        name="task_of_deal",
                    ),
                    models.Index(
                        django.db.models.functions.comparison.Coalesce("remind_at", "scheduled_at"),
                        condition=models.Q(
                            ("category_id", None),
                            ("closed", False),
                            ("trashed_at", None),
                            ("responsible_id__isnull", False),
                            models.Q(("remind_at__isnull", False), ("scheduled_at__isnull", False), _connector="OR"),
                        ),
                        name="task_reminder_time",
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
                        condition=models.Q(("contact_id__isnull", False)),
                        fields=["account", "contact_id", "id"],
                        name="post_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_contact_id__isnull", False)),
                        fields=["account", "trashed_contact_id"],
                        name="post_of_trashed_contact",
                    ),
                    models.Index(
                        condition=models.Q(("deal_id__isnull", False)),
                        fields=["account", "deal_id", "id"],
                        name="post_of_deal",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_deal_id__isnull", False)),
                        fields=["account", "trashed_deal_id"],
                        name="post_of_trashed_deal",
                    ),
                    models.Index(
                        condition=models.Q(("category_id__isnull", False), ("trashed_at", None)),
                        fields=["account", "user_id", "created_at", "id"],
                        name="post_by_author",
                    ),
                    models.Index(
                        condition=models.Q(("approved", False), ("category_id__isnull", False), ("trashed_at", None)),
                        fields=["account", "forum_id", "created_at", "id"],
                        name="post_waiting",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("handled_at", None),
                            ("category_id__isnull", False),
                            ("duplicate_from_id", None),
                            ("trashed_at", None),
                        ),
                        fields=["account", "forum_id", "created_at", "id"],
                        name="post_inbox_new",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("answered_at", None),
                            ("approved", True),
                            ("closed", False),
                            ("response_user_id", None),
                            ("category_id__isnull", False),
                            ("duplicate_from_id", None),
                            ("trashed_at", None),
                        ),
                        fields=["account", "forum_id", "created_at", "id"],
                        name="post_inbox_unanswered",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("closed", False),
                            ("responsible_id__isnull", False),
                            ("category_id__isnull", False),
                            ("duplicate_from_id", None),
                            ("trashed_at", None),
                        ),
                        fields=["account", "forum_id", "responsible_id", "created_at", "id"],
                        name="post_inbox_mine",
                    ),
                    models.Index(
                        condition=models.Q(("duplicate_from_id__isnull", False)),
                        fields=["account", "duplicate_from_id", "id"],
                        name="post_by_original",
                    ),
                    models.Index(
                        condition=models.Q(("response_user_id__isnull", False)),
                        fields=["account", "response_user_id", "id"],
                        name="post_by_response",
                    ),
                    models.Index(
                        condition=models.Q(("status_before_merge_id__isnull", False)),
                        fields=["account", "status_before_merge_id", "id"],
                        name="post_by_status_before_merge",
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
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("category_id__isnull", False),
                            models.Q(("closed", False), ("completed_at", None)),
                            models.Q(("closed", True), ("completed_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="completion_of_task",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Activity",
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
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
                            ("note", "Note"),
                        ],
                        max_length=255,
                    ),
                ),
                ("post_id", models.BigIntegerField(null=True)),
                (
                    "post",
                    models.ForeignObject(
                        from_fields=["account_id", "post_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="forum.post",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("comment_id", models.BigIntegerField(null=True)),
                (
                    "comment",
                    models.ForeignObject(
                        from_fields=["account_id", "comment_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="forum.comment",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("note_id", models.BigIntegerField(null=True)),
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
                ("internal", models.BooleanField(default=False)),
                ("before", models.CharField(max_length=255, null=True)),
                ("after", models.CharField(max_length=255, null=True)),
                ("scheduled_at", models.DateTimeField(null=True)),
                ("announced", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "verbose_name_plural": "activities",
                "default_related_name": "activities",
                "indexes": [
                    models.Index(
                        condition=models.Q(("announced", False)), fields=["account", "id"], name="activity_pending"
                    ),
                    models.Index(fields=["account", "post_id", "id"], name="activity_of_post"),
                    models.Index(
                        condition=models.Q(("comment_id__isnull", False)),
                        fields=["account", "comment_id"],
                        name="activity_of_comment",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "new_post")),
                        fields=("account", "post_id"),
                        name="activity_new_post_unique",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "reminder")),
                        fields=("account", "post_id", "scheduled_at"),
                        name="activity_reminder_unique",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("note_id__isnull", False)),
                        fields=("account", "note_id"),
                        name="activity_note_unique",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ContentReport",
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("post_id", models.BigIntegerField(null=True)),
                (
                    "post",
                    models.ForeignObject(
                        from_fields=["account_id", "post_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="forum.post",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("comment_id", models.BigIntegerField(null=True)),
                (
                    "comment",
                    models.ForeignObject(
                        from_fields=["account_id", "comment_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="forum.comment",
                        to_fields=["account_id", "id"],
                    ),
                ),
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
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("spam", "Spam or advertising"),
                            ("abuse", "Insults or threats"),
                            ("personal_data", "Personal data of somebody"),
                            ("other", "Something else"),
                        ],
                        max_length=255,
                    ),
                ),
                ("note", models.CharField(blank=True, default="", max_length=500)),
                ("digest", models.CharField(max_length=64)),
                ("dismissed_at", models.DateTimeField(editable=False, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "content_reports",
                "indexes": [
                    models.Index(fields=["account", "user_id"], name="contentreport_of_user"),
                    models.Index(
                        condition=models.Q(("dismissed_at", None)),
                        fields=["account", "created_at"],
                        name="contentreport_open",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("comment_id__isnull", False), ("post_id", None)),
                            models.Q(("comment_id", None), ("post_id__isnull", False)),
                            _connector="OR",
                        ),
                        name="contentreport_of_post_or_comment",
                    ),
                    models.UniqueConstraint(fields=("account", "post_id", "user_id"), name="contentreport_post_unique"),
                    models.UniqueConstraint(
                        fields=("account", "comment_id", "user_id"), name="contentreport_comment_unique"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Notification",
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("user_id", models.BigIntegerField()),
                ("activity_id", models.BigIntegerField()),
                (
                    "activity",
                    models.ForeignObject(
                        from_fields=["account_id", "activity_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="forum.activity",
                        to_fields=["account_id", "id"],
                    ),
                ),
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
                            (9, "you are responsible for this task"),
                        ]
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("read_at", models.DateTimeField(null=True)),
                ("mail_at", models.DateTimeField(null=True)),
                ("mailed_at", models.DateTimeField(null=True)),
            ],
            options={
                "default_related_name": "notifications",
                "indexes": [
                    models.Index(fields=["account", "user_id", "-id"], name="notification_of_user"),
                    models.Index(
                        condition=models.Q(("read_at", None)),
                        fields=["account", "user_id", "-id"],
                        name="notification_unread",
                    ),
                    models.Index(
                        condition=models.Q(("mail_at__isnull", False)),
                        fields=["account", "user_id"],
                        name="notification_waiting",
                    ),
                    models.Index(
                        condition=models.Q(("mail_at__isnull", False)), fields=["mail_at"], name="notification_due"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "activity_id", "user_id"), name="notification_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="ProxyVote",
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("post_id", models.BigIntegerField()),
                ("client_id", models.BigIntegerField(null=True)),
                (
                    "client",
                    models.ForeignObject(
                        from_fields=["account_id", "client_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="crm.client",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("contact_id", models.BigIntegerField(null=True)),
                (
                    "contact",
                    models.ForeignObject(
                        from_fields=["account_id", "contact_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="crm.contact",
                        to_fields=["account_id", "id"],
                    ),
                ),
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
                ("from_post_id", models.BigIntegerField(editable=False, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "proxy_votes",
                "indexes": [
                    models.Index(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=["account", "client_id"],
                        name="proxyvote_of_client",
                    ),
                    models.Index(
                        condition=models.Q(("contact_id__isnull", False)),
                        fields=["account", "contact_id"],
                        name="proxyvote_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(("from_post_id__isnull", False)),
                        fields=["account", "from_post_id"],
                        name="proxyvote_from_post",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("client_id", None), ("contact_id__isnull", False)),
                            models.Q(("client_id__isnull", False), ("contact_id", None)),
                            _connector="OR",
                        ),
                        name="proxyvote_of_client_or_contact",
                    ),
                    models.UniqueConstraint(fields=("account", "post_id", "client_id"), name="proxyvote_client_unique"),
                    models.UniqueConstraint(
                        fields=("account", "post_id", "contact_id"), name="proxyvote_contact_unique"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StatusChange",
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
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("post_id", models.BigIntegerField()),
                ("from_name", models.CharField(max_length=255, null=True)),
                ("name", models.CharField(max_length=255)),
                ("color", models.CharField(max_length=255, null=True)),
                ("response", models.CharField(max_length=65536, null=True)),
                ("response_html", models.CharField(editable=False, max_length=1048576, null=True)),
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
                "default_related_name": "status_changes",
                "indexes": [
                    models.Index(fields=["account", "post_id", "created_at", "id"], name="statuschange_of_post")
                ],
            },
        ),
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="votes",
                        to="accounts.account",
                    ),
                ),
                ("post_id", models.BigIntegerField()),
                (
                    "post",
                    models.ForeignObject(
                        from_fields=["account_id", "post_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="votes",
                        to="forum.post",
                        to_fields=["account_id", "id"],
                    ),
                ),
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
                ("from_post_id", models.BigIntegerField(editable=False, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["account", "user_id", "created_at", "post_id"], name="vote_of_user"),
                    models.Index(
                        condition=models.Q(("from_post_id__isnull", False)),
                        fields=["account", "from_post_id"],
                        name="vote_from_post",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="VoteChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "number", blank=True, editable=False, primary_key=True, serialize=False
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
                (
                    "number",
                    models.BigIntegerField(
                        db_default=models.Func(models.Value("forum_votechange_numbers"), function="nextval"),
                        editable=False,
                    ),
                ),
                ("post_id", models.BigIntegerField()),
                ("user_id", models.BigIntegerField(null=True)),
            ],
            options={
                "default_related_name": "vote_changes",
            },
        ),
        run_sql("0001_initial.sql"),
    ]
