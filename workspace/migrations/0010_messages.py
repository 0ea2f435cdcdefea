import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers, plan_for_large_accounts


class Migration(migrations.Migration):
    """Messages to the customers behind a suggestion, and their recipients."""

    dependencies = [
        ("accounts", "0030_confirms_user_links"),
        ("forum", "0025_mentions_in_notes"),
        ("workspace", "0009_suggestion_revenue"),
    ]

    operations = [
        migrations.CreateModel(
            name="Message",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("post_id", models.BigIntegerField(editable=False)),
                ("author_id", models.BigIntegerField(editable=False)),
                ("subject", models.CharField(max_length=255)),
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
                            ("sending", "Being sent"),
                            ("sent", "Sent"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                        ],
                        default="sending",
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
                ("total", models.IntegerField()),
                ("sent", models.IntegerField(default=0)),
                ("skipped", models.IntegerField(default=0)),
                ("failed", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
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
            ],
            options={
                "default_related_name": "customer_messages",
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
                ("message_id", models.BigIntegerField()),
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                (
                    "message",
                    models.ForeignObject(
                        from_fields=["account_id", "message_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="message_recipients",
                        to="workspace.message",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["account", "post_id", "id"], name="message_of_post"),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["account", "created_at"], name="message_by_creation"),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(condition=models.Q(("state", "sending")), fields=["updated_at"], name="message_active"),
        ),
        migrations.AddIndex(
            model_name="messagerecipient",
            index=models.Index(
                condition=models.Q(("state__in", ("pending", "sending"))),
                fields=["account", "message_id", "due_at"],
                name="message_recipient_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="messagerecipient",
            index=models.Index(
                condition=models.Q(("client_id__isnull", False)),
                fields=["account", "client_id"],
                name="message_recipient_client",
            ),
        ),
        migrations.AddIndex(
            model_name="messagerecipient",
            index=models.Index(
                condition=models.Q(("contact_id__isnull", False)),
                fields=["account", "contact_id"],
                name="message_recipient_contact",
            ),
        ),
        migrations.AddConstraint(
            model_name="messagerecipient",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("client_id__isnull", False), ("contact_id", None)),
                    models.Q(("client_id", None), ("contact_id__isnull", False)),
                    _connector="OR",
                ),
                name="message_to_client_or_contact",
            ),
        ),
        *id_triggers("workspace_message"),
        composite_foreign_key("workspace_message", "post_id", "forum_post", on_delete="CASCADE"),
        composite_foreign_key("workspace_message", "author_id", "accounts_user"),
        composite_foreign_key("workspace_messagerecipient", "message_id", "workspace_message", on_delete="CASCADE"),
        composite_foreign_key("workspace_messagerecipient", "client_id", "crm_client", on_delete="CASCADE"),
        composite_foreign_key("workspace_messagerecipient", "contact_id", "crm_contact", on_delete="CASCADE"),
        *plan_for_large_accounts("workspace_message", "workspace_messagerecipient"),
    ]
