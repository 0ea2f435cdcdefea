import uuid
from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.functions
import django.core.validators
import django.db.models.deletion
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
        ("core", "0001_functions"),
    ]

    operations = [
        migrations.CreateModel(
            name="Account",
            fields=[
                ("id", models.BigIntegerField(editable=False, primary_key=True, serialize=False)),
                (
                    "prefix",
                    models.CharField(
                        max_length=63,
                        validators=[django.core.validators.RegexValidator("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])\\Z")],
                    ),
                ),
                ("name", models.CharField(blank=True, default="", max_length=255)),
                ("initial_module", models.CharField(default="forum", max_length=255)),
                ("from_partner", models.CharField(blank=True, max_length=255, null=True)),
                ("partner_key", models.CharField(blank=True, max_length=255, null=True)),
                ("time_zone", models.CharField(default="UTC", max_length=255)),
                ("language", models.CharField(default="en", max_length=255)),
                ("currency", models.CharField(default="EUR", max_length=255)),
                (
                    "agents_see",
                    models.CharField(
                        choices=[("all", "All"), ("own", "Own")], db_default="all", default="all", max_length=255
                    ),
                ),
                ("confirms_user_links", models.BooleanField(db_default=False, default=False)),
                ("link_guests_by_email", models.BooleanField(db_default=False, default=True)),
                (
                    "won_reasons",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=255), db_default=[], size=None
                    ),
                ),
                (
                    "lost_reasons",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=255), db_default=[], size=None
                    ),
                ),
                (
                    "resources_with_fields",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), db_default=[], default=list, editable=False, size=None
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("prefix",), name="account_prefix_unique"),
                    models.UniqueConstraint(fields=("partner_key",), name="account_partner_key_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("prefix__regex", "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$")),
                        name="account_prefix_form",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Branding",
            fields=[
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="branding",
                        serialize=False,
                        to="accounts.account",
                    ),
                ),
                ("accent", models.CharField(default="#5f55e8", max_length=255)),
                ("logo", models.BinaryField(null=True)),
                ("logo_key", models.CharField(max_length=255, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Group",
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
                ("name", models.CharField(max_length=255)),
                ("name_key", models.TextField(editable=False, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "default_related_name": "user_groups",
                "constraints": [models.UniqueConstraint(fields=("account", "name_key"), name="group_name_key_unique")],
            },
        ),
        migrations.CreateModel(
            name="Host",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="hosts",
                        to="accounts.account",
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                (
                    "token",
                    models.UUIDField(
                        db_default=django.contrib.postgres.functions.RandomUUID(), default=uuid.uuid4, editable=False
                    ),
                ),
                (
                    "proven_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=None, editable=False, null=True
                    ),
                ),
                (
                    "checked_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=None, editable=False, null=True
                    ),
                ),
                ("failing_since", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("proven_at__isnull", False)), fields=("name",), name="host_name_unique"
                    ),
                    models.UniqueConstraint(fields=("account", "name"), name="host_name_of_account"),
                    models.UniqueConstraint(fields=("account", "id"), name="host_of_account"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Pipeline",
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
                ("name", models.CharField(max_length=255)),
                ("name_key", models.TextField(editable=False, null=True)),
                ("position", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "default_related_name": "pipelines",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "name_key"), name="pipeline_name_key_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="SignInCode",
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
                ("email", models.CharField(max_length=255)),
                ("browser", models.BinaryField()),
                ("digest", models.BinaryField()),
                ("attempts", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "default_related_name": "sign_in_codes",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "browser"), name="signincode_browser_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="Status",
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
                        choices=[("post", "Post"), ("deal", "Deal"), ("client", "Client")], max_length=255
                    ),
                ),
                ("code", models.CharField(max_length=255)),
                ("name", models.CharField(max_length=255)),
                ("code_key", models.TextField(editable=False, null=True)),
                ("name_key", models.TextField(editable=False, null=True)),
                ("color", models.CharField(blank=True, max_length=255, null=True)),
                ("position", models.IntegerField(default=0)),
                ("closed", models.BooleanField(default=False)),
                ("on_roadmap", models.BooleanField(db_default=False, default=False)),
                (
                    "outcome",
                    models.CharField(
                        choices=[("open", "Open"), ("won", "Won"), ("lost", "Lost")], max_length=255, null=True
                    ),
                ),
                ("probability", models.SmallIntegerField(null=True)),
                ("pipeline_id", models.BigIntegerField(null=True)),
                ("rot_days", models.SmallIntegerField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name_plural": "statuses",
                "default_related_name": "statuses",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "kind", "code_key"), name="status_code_key_unique"),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "deal"), _negated=True),
                        fields=("account", "kind", "name_key"),
                        name="status_name_key_unique",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "deal")),
                        fields=("account", "pipeline_id", "name_key"),
                        name="deal_status_name_key_unique",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("kind", "deal"),
                                ("outcome__isnull", False),
                                ("pipeline_id__isnull", False),
                                ("probability__isnull", False),
                                ("probability__range", (0, 100)),
                                models.Q(
                                    models.Q(("closed", False), ("outcome", "open")),
                                    models.Q(("closed", True), ("outcome__in", ("won", "lost"))),
                                    _connector="OR",
                                ),
                            ),
                            models.Q(
                                models.Q(("kind", "deal"), _negated=True),
                                ("outcome", None),
                                ("pipeline_id", None),
                                ("probability", None),
                                ("rot_days", None),
                            ),
                            _connector="OR",
                        ),
                        name="status_of_deal",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Tag",
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
                ("name", models.CharField(max_length=255)),
                ("name_key", models.TextField(editable=False)),
            ],
            options={
                "default_related_name": "tags",
                "constraints": [models.UniqueConstraint(fields=("account", "name_key"), name="tag_name_unique")],
            },
        ),
        migrations.CreateModel(
            name="TagCount",
            fields=[
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                ("shard", models.SmallIntegerField()),
                ("uses", models.BigIntegerField()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "kind",
                        "tag_id",
                        "shard",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("kind", models.CharField(max_length=255)),
                ("tag_id", models.BigIntegerField()),
                (
                    "tag",
                    models.ForeignObject(
                        from_fields=["account_id", "tag_id"],
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="counts",
                        to="accounts.tag",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="User",
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
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                ("login", models.CharField(max_length=255)),
                ("login_key", models.TextField(editable=False)),
                ("email", models.CharField(max_length=255)),
                ("email_key", models.TextField(editable=False)),
                ("login_skeleton", models.TextField(db_default="", default="", editable=False)),
                ("email_skeleton", models.TextField(db_default="", default="", editable=False)),
                ("name", models.CharField(blank=True, default="", max_length=255)),
                (
                    "role",
                    models.CharField(
                        choices=[("owner", "Owner"), ("admin", "Admin"), ("agent", "Agent"), ("member", "Member")],
                        default="member",
                        max_length=255,
                    ),
                ),
                ("group_id", models.BigIntegerField(null=True)),
                (
                    "notification",
                    models.CharField(
                        choices=[("all", "All"), ("own", "Own"), ("none", "None")], default="own", max_length=255
                    ),
                ),
                ("shows_votes", models.BooleanField(db_default=False, default=False)),
                ("description", models.CharField(blank=True, default="", max_length=65536, null=True)),
                ("www", models.CharField(blank=True, max_length=255, null=True)),
                ("language", models.CharField(blank=True, max_length=255, null=True)),
                ("time_zone", models.CharField(blank=True, max_length=255, null=True)),
                (
                    "delivery",
                    models.CharField(
                        choices=[
                            ("at_once", "At once"),
                            ("daily", "Every day, in one e-mail"),
                            ("weekly", "Every week, in one e-mail"),
                            ("never", "Never: only on the page of notifications"),
                        ],
                        db_default="at_once",
                        default="at_once",
                        max_length=255,
                    ),
                ),
                ("digest_hour", models.SmallIntegerField(db_default=8, default=8)),
                ("digest_weekday", models.SmallIntegerField(db_default=0, default=0)),
                ("notify_new_posts", models.BooleanField(db_default=True, default=True)),
                ("notify_sign_ups", models.BooleanField(db_default=False, default=False)),
                ("unread_notifications", models.IntegerField(db_default=0, default=0, editable=False)),
                ("bounces", models.SmallIntegerField(db_default=0, default=0, editable=False)),
                ("bounced_at", models.DateTimeField(editable=False, null=True)),
                ("shortcuts", models.BooleanField(db_default=True, default=True)),
                ("is_active", models.BooleanField(default=True)),
                ("blocked_at", models.DateTimeField(editable=False, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "default_related_name": "users",
                "indexes": [
                    models.Index(fields=["account", "login_skeleton"], name="user_login_skeleton"),
                    models.Index(fields=["account", "email_skeleton"], name="user_email_skeleton"),
                    models.Index(
                        condition=models.Q(("role__in", ("owner", "admin", "agent"))),
                        fields=["account", "name", "id"],
                        name="user_team",
                    ),
                    models.Index(
                        condition=models.Q(("notification", "all")),
                        fields=["account", "id"],
                        name="user_notified_of_all",
                    ),
                    models.Index(
                        condition=models.Q(("group_id__isnull", False)),
                        fields=["account", "group_id"],
                        name="user_of_group",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "login_key"), name="user_login_unique"),
                    models.UniqueConstraint(fields=("account", "email_key"), name="user_email_unique"),
                ],
            },
        ),
        migrations.CreateModel(
            name="APIToken",
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("label", models.CharField(blank=True, default="", max_length=255)),
                ("digest", models.BinaryField()),
                ("hint", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "default_related_name": "tokens",
                "indexes": [models.Index(fields=["account", "user_id"], name="apitoken_of_user")],
                "constraints": [models.UniqueConstraint(fields=("digest",), name="apitoken_digest_unique")],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
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
                ("email", models.CharField(max_length=255)),
                ("email_key", models.TextField(editable=False)),
                ("role", models.CharField(max_length=255)),
                (
                    "site_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), db_default=[], default=list, size=None
                    ),
                ),
                ("digest", models.BinaryField()),
                ("invited_by_id", models.BigIntegerField()),
                (
                    "invited_by",
                    models.ForeignObject(
                        from_fields=["account_id", "invited_by_id"],
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "default_related_name": "invitations",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "email_key"), name="invitation_email_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ("admin", "agent", "member"))), name="invitation_role"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Session",
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("digest", models.BinaryField()),
                (
                    "family",
                    models.UUIDField(
                        db_default=django.contrib.postgres.functions.RandomUUID(), default=uuid.uuid4, editable=False
                    ),
                ),
                ("domain", models.CharField(blank=True, db_default="", default="", max_length=255)),
                ("agent", models.CharField(blank=True, default="", max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("seen_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "default_related_name": "sessions",
                "indexes": [models.Index(fields=["account", "user_id"], name="session_of_user")],
                "constraints": [models.UniqueConstraint(fields=("account", "digest"), name="session_digest_unique")],
            },
        ),
        migrations.CreateModel(
            name="Handover",
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
                ("session_id", models.BigIntegerField()),
                (
                    "session",
                    models.ForeignObject(
                        from_fields=["account_id", "session_id"],
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.session",
                        to_fields=["account_id", "id"],
                    ),
                ),
                ("host", models.CharField(max_length=255)),
                ("nonce", models.BinaryField()),
                ("digest", models.BinaryField()),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "default_related_name": "handovers",
                "indexes": [models.Index(fields=["account", "session_id"], name="handover_of_session")],
                "constraints": [models.UniqueConstraint(fields=("account", "digest"), name="handover_digest_unique")],
            },
        ),
        run_sql("0001_initial.sql"),
    ]
