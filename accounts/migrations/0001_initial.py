import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import accounts.models
import core.db.tenancy


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Account",
            fields=[
                (
                    "id",
                    models.BigIntegerField(
                        default=accounts.models.random_account_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
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
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("login", models.CharField(max_length=255)),
                ("login_key", core.db.tenancy.FoldedField(source="login")),
                ("email", models.CharField(max_length=255)),
                ("email_key", core.db.tenancy.FoldedField(source="email")),
                ("name", models.CharField(blank=True, default="", max_length=255)),
                (
                    "role",
                    models.CharField(
                        choices=[("owner", "Owner"), ("admin", "Admin"), ("agent", "Agent"), ("member", "Member")],
                        default="member",
                        max_length=255,
                    ),
                ),
                (
                    "notification",
                    models.CharField(
                        choices=[("all", "All"), ("own", "Own"), ("none", "None")], default="own", max_length=255
                    ),
                ),
                ("description", models.CharField(blank=True, default="", max_length=65536, null=True)),
                ("www", models.CharField(blank=True, max_length=255, null=True)),
                ("is_active", models.BooleanField(default=True)),
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
                "default_related_name": "users",
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
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("user_id", models.BigIntegerField()),
                ("label", models.CharField(blank=True, default="", max_length=255)),
                ("digest", models.BinaryField()),
                ("hint", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "tokens",
            },
        ),
        migrations.CreateModel(
            name="Host",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=255)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="hosts",
                        to="accounts.account",
                    ),
                ),
            ],
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
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("post", "Post"), ("deal", "Deal"), ("client", "Client")], max_length=255
                    ),
                ),
                ("code", models.CharField(max_length=255)),
                ("name", models.CharField(max_length=255)),
                ("color", models.CharField(blank=True, max_length=255, null=True)),
                ("position", models.IntegerField(default=0)),
                ("closed", models.BooleanField(default=False)),
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
                "verbose_name_plural": "statuses",
                "default_related_name": "statuses",
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
                ("id", core.db.tenancy.AccountIdField(editable=False)),
                ("name", models.CharField(max_length=255)),
                ("name_key", core.db.tenancy.FoldedField(source="name")),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
            ],
            options={
                "default_related_name": "tags",
            },
        ),
        migrations.CreateModel(
            name="TagCount",
            fields=[
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
                ("shard", models.SmallIntegerField()),
                ("uses", models.BigIntegerField()),
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
        ),
        migrations.AddIndex(
            model_name="user",
            index=models.Index(
                condition=models.Q(("role__in", ("owner", "admin", "agent"))),
                fields=["account", "name", "id"],
                name="user_team",
            ),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(fields=("account", "login_key"), name="user_login_unique"),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(fields=("account", "email_key"), name="user_email_unique"),
        ),
        migrations.AddIndex(
            model_name="apitoken",
            index=models.Index(fields=["account", "user_id"], name="apitoken_of_user"),
        ),
        migrations.AddConstraint(
            model_name="apitoken",
            constraint=models.UniqueConstraint(fields=("digest",), name="apitoken_digest_unique"),
        ),
        migrations.AddConstraint(
            model_name="host",
            constraint=models.UniqueConstraint(fields=("name",), name="host_name_unique"),
        ),
        migrations.AddConstraint(
            model_name="host",
            constraint=models.UniqueConstraint(fields=("account", "id"), name="host_of_account"),
        ),
        migrations.AddConstraint(
            model_name="status",
            constraint=models.UniqueConstraint(fields=("account", "kind", "code"), name="status_code_unique"),
        ),
        migrations.AddConstraint(
            model_name="status",
            constraint=models.UniqueConstraint(fields=("account", "kind", "name"), name="status_name_unique"),
        ),
        migrations.AddConstraint(
            model_name="tag",
            constraint=models.UniqueConstraint(fields=("account", "name_key"), name="tag_name_unique"),
        ),
    ]
