from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
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
        ("forum", "0001_initial"),
    ]

    operations = [
        run_sql("0001_before_tables.sql"),
        migrations.CreateModel(
            name="BulkChange",
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
                ("author_id", models.BigIntegerField(editable=False)),
                (
                    "author",
                    models.ForeignObject(
                        from_fields=["account_id", "author_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("resource", models.CharField(max_length=255)),
                ("action", models.CharField(max_length=255)),
                ("value", models.JSONField(null=True)),
                ("query", models.TextField(default="")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Not started"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                            ("undoing", "Being undone"),
                            ("undone", "Undone"),
                        ],
                        default="running",
                        max_length=255,
                    ),
                ),
                (
                    "failure",
                    models.CharField(
                        choices=[
                            ("", ""),
                            ("value", "The person, status or contact list that was chosen is no longer available."),
                            ("user", "The person who started it has left the team."),
                            ("fault", "A row has a fault, and it was to stop at the first one."),
                            ("file", "The file is no longer available."),
                        ],
                        default="",
                        max_length=255,
                    ),
                ),
                ("position_resource", models.CharField(default="", max_length=255)),
                ("position", models.BigIntegerField(default=0)),
                ("total", models.IntegerField(default=0)),
                ("changed", models.IntegerField(default=0)),
                ("unchanged", models.IntegerField(default=0)),
                ("skipped", models.IntegerField(default=0)),
                ("restored", models.IntegerField(default=0)),
                ("kept", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(null=True)),
                ("undone_by_id", models.BigIntegerField(editable=False, null=True)),
                ("undone_at", models.DateTimeField(null=True)),
            ],
            options={
                "default_related_name": "bulk_changes",
                "indexes": [
                    models.Index(fields=["account", "author_id", "id"], name="bulk_change_of_author"),
                    models.Index(fields=["created_at"], name="bulk_change_by_creation"),
                    models.Index(
                        condition=models.Q(("state__in", ("running", "undoing"))),
                        fields=["updated_at"],
                        name="bulk_change_active",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BulkChangeRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "batch_id",
                        "resource",
                        "target",
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
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("batch_id", models.BigIntegerField()),
                (
                    "batch",
                    models.ForeignObject(
                        from_fields=["account_id", "batch_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="batch_rows",
                        to="team.bulkchange",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("resource", models.CharField(max_length=255)),
                ("target", models.BigIntegerField()),
                ("number", models.IntegerField(default=0)),
                ("result", models.CharField(default="", max_length=255)),
                ("undo_result", models.CharField(default="", max_length=255)),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                (
                    "kept_fields",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None),
                ),
            ],
        ),
        migrations.CreateModel(
            name="CalendarFeed",
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
                ("digest", models.BinaryField(max_length=32)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "calendar_feeds",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "user_id"), name="calendarfeed_of_user"),
                    models.UniqueConstraint(fields=("account", "digest"), name="calendarfeed_digest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ClientRevenue",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "client_id",
                        "currency",
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
                        to="accounts.account",
                    ),
                ),
                ("client_id", models.BigIntegerField()),
                ("currency", models.TextField()),
                ("open_deals", models.IntegerField()),
                ("open_sum", models.DecimalField(decimal_places=6, max_digits=30)),
                ("won_deals", models.IntegerField()),
                ("won_sum", models.DecimalField(decimal_places=6, max_digits=30)),
            ],
            options={
                "default_related_name": "client_revenues",
            },
        ),
        migrations.CreateModel(
            name="ClientSummary",
            fields=[
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
                ("last_activity_at", models.DateTimeField(null=True)),
                ("next_task_at", models.DateTimeField(null=True)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "client_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("client_id", models.BigIntegerField()),
                (
                    "client",
                    models.ForeignObject(
                        from_fields=["account_id", "client_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="stored_summary",
                        to="crm.client",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("open_sum", models.DecimalField(decimal_places=6, default=0, max_digits=30)),
                ("won_sum", models.DecimalField(decimal_places=6, default=0, max_digits=30)),
            ],
            options={
                "default_related_name": "client_summaries",
                "indexes": [
                    models.Index(
                        condition=models.Q(("last_activity_at__isnull", False)),
                        fields=["account", "last_activity_at", "client_id"],
                        name="client_by_last_activity_at",
                    ),
                    models.Index(
                        condition=models.Q(("last_activity_at__isnull", False)),
                        fields=["account", "next_task_at", "client_id"],
                        name="client_by_next_task_at",
                    ),
                    models.Index(
                        condition=models.Q(("last_activity_at__isnull", False)),
                        fields=["account", "open_sum", "client_id"],
                        name="client_by_open_sum",
                    ),
                    models.Index(
                        condition=models.Q(("last_activity_at__isnull", False)),
                        fields=["account", "won_sum", "client_id"],
                        name="client_by_won_sum",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ContactSummary",
            fields=[
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
                ("last_activity_at", models.DateTimeField(null=True)),
                ("next_task_at", models.DateTimeField(null=True)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "contact_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("contact_id", models.BigIntegerField()),
                (
                    "contact",
                    models.ForeignObject(
                        from_fields=["account_id", "contact_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="stored_summary",
                        to="crm.contact",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("client_id", models.BigIntegerField(null=True)),
            ],
            options={
                "default_related_name": "contact_summaries",
                "indexes": [
                    models.Index(
                        condition=models.Q(("last_activity_at__isnull", False)),
                        fields=["account", "last_activity_at", "contact_id"],
                        name="contact_by_last_activity_at",
                    ),
                    models.Index(
                        condition=models.Q(("last_activity_at__isnull", False)),
                        fields=["account", "next_task_at", "contact_id"],
                        name="contact_by_next_task_at",
                    ),
                    models.Index(
                        condition=models.Q(("client_id__isnull", False), ("last_activity_at__isnull", False)),
                        fields=["account", "client_id", "last_activity_at"],
                        name="contact_of_client_by_activity",
                    ),
                    models.Index(
                        condition=models.Q(("client_id__isnull", False), ("next_task_at__isnull", False)),
                        fields=["account", "client_id", "next_task_at"],
                        name="contact_of_client_by_task",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DealSummary",
            fields=[
                (
                    "account",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="accounts.account",
                    ),
                ),
                ("last_activity_at", models.DateTimeField(null=True)),
                ("next_task_at", models.DateTimeField(null=True)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "deal_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("deal_id", models.BigIntegerField()),
                (
                    "deal",
                    models.ForeignObject(
                        from_fields=["account_id", "deal_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="stored_summary",
                        to="crm.deal",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("client_id", models.BigIntegerField(null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("outcome", models.TextField(null=True)),
                ("currency", models.TextField(null=True)),
                ("price", models.DecimalField(decimal_places=6, max_digits=20, null=True)),
            ],
            options={
                "default_related_name": "deal_summaries",
                "indexes": [
                    models.Index(
                        condition=models.Q(("last_activity_at__isnull", False)),
                        fields=["account", "last_activity_at", "deal_id"],
                        name="deal_by_last_activity_at",
                    ),
                    models.Index(
                        condition=models.Q(("last_activity_at__isnull", False)),
                        fields=["account", "next_task_at", "deal_id"],
                        name="deal_by_next_task_at",
                    ),
                    models.Index(
                        condition=models.Q(("client_id__isnull", False), ("last_activity_at__isnull", False)),
                        fields=["account", "client_id", "last_activity_at"],
                        name="deal_of_client_by_activity",
                    ),
                    models.Index(
                        condition=models.Q(("client_id__isnull", False), ("next_task_at__isnull", False)),
                        fields=["account", "client_id", "next_task_at"],
                        name="deal_of_client_by_task",
                    ),
                    models.Index(
                        condition=models.Q(("contact_id__isnull", False), ("last_activity_at__isnull", False)),
                        fields=["account", "contact_id", "last_activity_at"],
                        name="deal_of_contact_by_activity",
                    ),
                    models.Index(
                        condition=models.Q(("contact_id__isnull", False), ("next_task_at__isnull", False)),
                        fields=["account", "contact_id", "next_task_at"],
                        name="deal_of_contact_by_task",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Merge",
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
                ("client_id", models.BigIntegerField(null=True)),
                ("merged_client_id", models.BigIntegerField(null=True)),
                (
                    "merged_client",
                    models.ForeignObject(
                        from_fields=["account_id", "merged_client_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="crm.client",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("contact_id", models.BigIntegerField(null=True)),
                ("merged_contact_id", models.BigIntegerField(null=True)),
                (
                    "merged_contact",
                    models.ForeignObject(
                        from_fields=["account_id", "merged_contact_id"],
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="crm.contact",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("user_id", models.BigIntegerField()),
                ("changes", models.JSONField(default=dict)),
                ("external_ids", models.JSONField(default=list)),
                ("undone_at", models.DateTimeField(null=True)),
                ("undone_by_id", models.BigIntegerField(null=True)),
                ("unrestored_fields", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "merges",
                "indexes": [
                    models.Index(fields=["account", "updated_at", "id"], name="merge_by_change"),
                    models.Index(fields=["account", "created_at", "id"], name="merge_by_creation"),
                    models.Index(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=["account", "client_id", "id"],
                        name="merge_of_client",
                    ),
                    models.Index(
                        condition=models.Q(("contact_id__isnull", False)),
                        fields=["account", "contact_id", "id"],
                        name="merge_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(("merged_client_id__isnull", False)),
                        fields=["account", "merged_client_id", "id"],
                        name="merge_of_merged_client",
                    ),
                    models.Index(
                        condition=models.Q(("merged_contact_id__isnull", False)),
                        fields=["account", "merged_contact_id", "id"],
                        name="merge_of_merged_contact",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("client_id__isnull", False),
                                ("contact_id", None),
                                ("merged_client_id__isnull", False),
                                ("merged_contact_id", None),
                            ),
                            models.Q(
                                ("client_id", None),
                                ("contact_id__isnull", False),
                                ("merged_client_id", None),
                                ("merged_contact_id__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="merge_of_clients_or_contacts",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("undone_at", None)),
                        fields=("account", "merged_client_id"),
                        name="merge_of_client_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("undone_at", None)),
                        fields=("account", "merged_contact_id"),
                        name="merge_of_contact_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MergedRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "merge_id",
                        "link",
                        "row_id",
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
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("merge_id", models.BigIntegerField()),
                ("link", models.CharField(max_length=255)),
                ("row_id", models.BigIntegerField()),
                ("deleted", models.JSONField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Message",
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
                ("post_id", models.BigIntegerField(editable=False)),
                (
                    "post",
                    models.ForeignObject(
                        from_fields=["account_id", "post_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="forum.post",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("author_id", models.BigIntegerField(editable=False)),
                (
                    "author",
                    models.ForeignObject(
                        from_fields=["account_id", "author_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("subject", models.CharField(max_length=150)),
                ("text", models.TextField()),
                (
                    "among",
                    models.CharField(
                        choices=[
                            ("all", "All customers behind it"),
                            ("open", "Those with open deals"),
                            ("won", "Those with won deals"),
                        ],
                        default="all",
                        max_length=255,
                    ),
                ),
                ("include_not_asked", models.BooleanField(default=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("sending", "Being sent"),
                            ("sent", "Sent"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                        ],
                        default="draft",
                        max_length=255,
                    ),
                ),
                (
                    "failure",
                    models.CharField(
                        choices=[
                            ("", ""),
                            ("user", "The author has left the team."),
                            ("post", "The suggestion was deleted."),
                        ],
                        default="",
                        max_length=255,
                    ),
                ),
                ("total", models.IntegerField(null=True)),
                ("left_out", models.JSONField(null=True)),
                ("sent", models.IntegerField(default=0)),
                ("skipped", models.IntegerField(default=0)),
                ("failed", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "default_related_name": "customer_messages",
                "indexes": [
                    models.Index(fields=["account", "post_id", "id"], name="message_of_post"),
                    models.Index(fields=["account", "started_at"], name="message_by_start"),
                    models.Index(condition=models.Q(("state", "draft")), fields=["account"], name="message_draft"),
                    models.Index(
                        condition=models.Q(("state", "sending")), fields=["updated_at"], name="message_active"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MessageRecipient",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "message_id",
                        "email_key",
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
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("message_id", models.BigIntegerField()),
                (
                    "message",
                    models.ForeignObject(
                        from_fields=["account_id", "message_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="message_recipients",
                        to="team.message",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("email_key", models.TextField()),
                ("email", models.CharField(max_length=255)),
                ("name", models.CharField(max_length=255)),
                ("greeting", models.CharField(max_length=255)),
                ("client_id", models.BigIntegerField(null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("sending", "Sending"),
                            ("sent", "Sent"),
                            ("skipped", "Skipped"),
                            ("failed", "Failed"),
                        ],
                        default="pending",
                        max_length=255,
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("", ""),
                            ("gone", "Was deleted, or has another e-mail address now"),
                            ("do_not_contact", "Asked not to be contacted"),
                            ("refused", "Did not agree to be contacted"),
                            ("not_asked", "Was not asked for consent"),
                            ("rejected", "The mail server rejected the e-mail address"),
                            ("server", "The mail server did not accept the e-mail"),
                            (
                                "unknown",
                                "Sending was interrupted. The e-mail may have been sent, and is not sent again.",
                            ),
                        ],
                        default="",
                        max_length=255,
                    ),
                ),
                ("attempts", models.IntegerField(default=0)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("claimed_at", models.DateTimeField(null=True)),
                ("sent_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ("pending", "sending"))),
                        fields=["account", "message_id", "due_at"],
                        name="message_recipient_waiting",
                    ),
                    models.Index(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=["account", "client_id"],
                        name="message_recipient_client",
                    ),
                    models.Index(
                        condition=models.Q(("contact_id__isnull", False)),
                        fields=["account", "contact_id"],
                        name="message_recipient_contact",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("client_id__isnull", False), ("contact_id", None)),
                            models.Q(("client_id", None), ("contact_id__isnull", False)),
                            _connector="OR",
                        ),
                        name="message_to_client_or_contact",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PostBacker",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "post_id",
                        "client_id",
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
                        to="accounts.account",
                    ),
                ),
                ("post_id", models.BigIntegerField()),
                (
                    "post",
                    models.ForeignObject(
                        from_fields=["account_id", "post_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="backers",
                        to="forum.post",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("client_id", models.BigIntegerField()),
                (
                    "client",
                    models.ForeignObject(
                        from_fields=["account_id", "client_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="crm.client",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "post_backers",
                "indexes": [models.Index(fields=["account", "client_id", "post_id"], name="post_backer_by_client")],
            },
        ),
        migrations.CreateModel(
            name="PostRevenue",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "post_id",
                        "currency",
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
                        to="accounts.account",
                    ),
                ),
                ("post_id", models.BigIntegerField()),
                (
                    "post",
                    models.ForeignObject(
                        from_fields=["account_id", "post_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="revenues",
                        to="forum.post",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("currency", models.TextField()),
                ("forum_id", models.BigIntegerField()),
                ("clients", models.IntegerField()),
                ("open_deals", models.IntegerField(default=0)),
                ("open_sum", models.DecimalField(decimal_places=6, default=0, max_digits=30)),
                ("won_deals", models.IntegerField(default=0)),
                ("won_sum", models.DecimalField(decimal_places=6, default=0, max_digits=30)),
                (
                    "total",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.db.models.expressions.CombinedExpression(
                            models.F("open_sum"), "+", models.F("won_sum")
                        ),
                        output_field=models.DecimalField(decimal_places=6, max_digits=31),
                    ),
                ),
            ],
            options={
                "default_related_name": "post_revenues",
                "indexes": [
                    models.Index(
                        fields=["account", "forum_id", "currency", "total", "post_id"], name="post_by_revenue"
                    ),
                    models.Index(
                        fields=["account", "forum_id", "currency", "clients", "post_id"], name="post_by_clients"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RevenueChange",
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
                        db_default=models.Func(models.Value("team_revenuechange_numbers"), function="nextval"),
                        editable=False,
                    ),
                ),
                (
                    "kind",
                    models.TextField(
                        choices=[
                            ("post", "Post"),
                            ("user", "User"),
                            ("client", "Client"),
                            ("contact", "Contact"),
                            ("account", "Account"),
                        ]
                    ),
                ),
                ("row_id", models.BigIntegerField()),
                ("due_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "default_related_name": "revenue_changes",
                "indexes": [
                    models.Index(fields=["due_at"], name="revenue_change_due"),
                    models.Index(fields=["account", "due_at", "number"], name="revenue_change_of_account"),
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
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
                    "resource",
                    models.CharField(
                        choices=[
                            ("client", "Clients"),
                            ("contact", "Contacts"),
                            ("deal", "Deals"),
                            ("task", "Tasks"),
                            ("contact_list", "Contact lists"),
                        ],
                        max_length=255,
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(blank=True, default="", max_length=4000)),
                ("shared", models.BooleanField(default=False)),
                ("owner_id", models.BigIntegerField(editable=False)),
                (
                    "owner",
                    models.ForeignObject(
                        from_fields=["account_id", "owner_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("position", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "saved_views",
                "indexes": [
                    models.Index(
                        condition=models.Q(("shared", True)),
                        fields=["account", "resource", "position", "id"],
                        name="savedview_shared",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "owner_id", "resource", "name"), name="savedview_name_unique"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TimelineEntry",
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
                        db_default=models.Func(models.Value("team_timelineentry_numbers"), function="nextval"),
                        editable=False,
                    ),
                ),
                ("client_id", models.BigIntegerField(null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("deal_id", models.BigIntegerField(null=True)),
                ("at", models.DateTimeField()),
                ("kind", models.TextField()),
                ("resource", models.TextField()),
                ("resource_id", models.BigIntegerField()),
                ("user_id", models.BigIntegerField(null=True)),
                ("data", models.JSONField(default=dict)),
            ],
            options={
                "default_related_name": "timeline_entries",
                "indexes": [
                    models.Index(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=["account", "client_id", "at", "number"],
                        name="timeline_of_client",
                    ),
                    models.Index(
                        condition=models.Q(("contact_id__isnull", False)),
                        fields=["account", "contact_id", "at", "number"],
                        name="timeline_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(("deal_id__isnull", False)),
                        fields=["account", "deal_id", "at", "number"],
                        name="timeline_of_deal",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("client_id__isnull", False),
                            (
                                "kind__in",
                                ("note", "call", "meeting", "email", "task_done", "suggestion", "vote", "message"),
                            ),
                        ),
                        fields=["account", "client_id", "at"],
                        name="activity_of_client",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("contact_id__isnull", False),
                            (
                                "kind__in",
                                ("note", "call", "meeting", "email", "task_done", "suggestion", "vote", "message"),
                            ),
                        ),
                        fields=["account", "contact_id", "at"],
                        name="activity_of_contact",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("deal_id__isnull", False),
                            (
                                "kind__in",
                                ("note", "call", "meeting", "email", "task_done", "suggestion", "vote", "message"),
                            ),
                        ),
                        fields=["account", "deal_id", "at"],
                        name="activity_of_deal",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                ("note", "call", "meeting", "email", "task", "task_done", "deal", "suggestion", "vote"),
                            )
                        ),
                        fields=("account", "resource", "resource_id", "kind"),
                        name="timeline_of_row",
                    )
                ],
            },
        ),
        run_sql("0001_initial.sql"),
    ]
