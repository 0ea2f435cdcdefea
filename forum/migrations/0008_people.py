import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.models import Q

import core.db.tenancy
from core.db.tenancy import composite_foreign_key, id_triggers


def account() -> models.ForeignKey:
    return models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account")


def row(link: str, to: str, *, related_name: str = "+", **values) -> models.ForeignObject:
    """The row that a column names; it is no column itself."""
    return models.ForeignObject(
        from_fields=["account_id", link],
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name=related_name,
        to=to,
        to_fields=["account_id", "id"],
        **values,
    )


def key() -> list[tuple[str, models.Field]]:
    pk = models.CompositePrimaryKey("account_id", "id", blank=True, editable=False, primary_key=True, serialize=False)
    return [("pk", pk), ("id", core.db.tenancy.AccountIdField(editable=False)), ("account", account())]


def link() -> models.BigIntegerField:
    return models.BigIntegerField(null=True, editable=False)


def rendered() -> models.CharField:
    return models.CharField(max_length=1_048_576, null=True, editable=False)


def made() -> models.DateTimeField:
    return models.DateTimeField(default=django.utils.timezone.now, editable=False)


class Migration(migrations.Migration):
    """Who may use a forum, duplicates, votes on behalf of others, the history of a post, and rendered text.

    No row is rewritten: what is added to rows that are there is null, or has its default from the catalogue. The indexes of the
    large tables follow in 0009, which lets everyone go on writing meanwhile.
    """

    dependencies = [("forum", "0007_depth"), ("crm", "0005_lists")]

    operations = [
        migrations.AddField(
            "forum",
            "access",
            models.CharField(
                choices=[("public", "Public"), ("members", "Members"), ("private", "Private")],
                db_default="public",
                default="public",
                max_length=255,
            ),
        ),
        migrations.AddField("forum", "approval", models.BooleanField(db_default=False, default=False)),
        migrations.AddField(
            "forum", "description", models.CharField(blank=True, db_default="", default="", max_length=1000)
        ),
        migrations.AddConstraint(
            "forum",
            models.CheckConstraint(condition=Q(access__in=["public", "members", "private"]), name="forum_access_known"),
        ),
        migrations.AddField("post", "content_html", rendered()),
        migrations.AddField("post", "response_html", rendered()),
        migrations.AddField("post", "contact_id", models.BigIntegerField(null=True)),
        migrations.AddField("post", "trashed_contact_id", link()),
        migrations.AddField("post", "status_before_merge_id", link()),
        migrations.AddField("post", "closed_before_merge", models.BooleanField(editable=False, null=True)),
        migrations.AddField("comment", "comment_html", rendered()),
        migrations.AddField("comment", "from_post_id", link()),
        migrations.AddField("vote", "from_post_id", link()),
        migrations.AddField("vote", "post", row("post_id", "forum.post", related_name="votes")),
        migrations.AddField("vote", "user", row("user_id", "accounts.user")),
        migrations.CreateModel(
            name="ProxyVote",
            fields=[
                *key(),
                ("post_id", models.BigIntegerField()),
                ("client_id", models.BigIntegerField(null=True)),
                ("client", row("client_id", "crm.client", null=True)),
                ("contact_id", models.BigIntegerField(null=True)),
                ("contact", row("contact_id", "crm.contact", null=True)),
                ("user_id", models.BigIntegerField()),
                ("user", row("user_id", "accounts.user")),
                ("from_post_id", link()),
                ("created_at", made()),
            ],
            options={
                "default_related_name": "proxy_votes",
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(client_id=None, contact_id__isnull=False)
                        | Q(client_id__isnull=False, contact_id=None),
                        name="proxyvote_of_client_or_contact",
                    ),
                    *(
                        models.UniqueConstraint(
                            fields=["account", "post_id", f"{voter}_id"], name=f"proxyvote_{voter}_unique"
                        )
                        for voter in ("client", "contact")
                    ),
                ],
                "indexes": [
                    models.Index(
                        fields=["account", column],
                        name=f"proxyvote_{name}",
                        condition=Q(**{f"{column}__isnull": False}),
                    )
                    for column, name in (
                        ("client_id", "of_client"),
                        ("contact_id", "of_contact"),
                        ("from_post_id", "from_post"),
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="StatusChange",
            fields=[
                *key(),
                ("post_id", models.BigIntegerField()),
                ("from_name", models.CharField(max_length=255, null=True)),
                ("name", models.CharField(max_length=255)),
                ("color", models.CharField(max_length=255, null=True)),
                ("response", models.CharField(max_length=65536, null=True)),
                ("response_html", rendered()),
                ("user_id", models.BigIntegerField()),
                ("user", row("user_id", "accounts.user")),
                ("created_at", made()),
            ],
            options={
                "default_related_name": "status_changes",
                "indexes": [
                    models.Index(fields=["account", "post_id", "created_at", "id"], name="statuschange_of_post")
                ],
            },
        ),
        *id_triggers("forum_proxyvote", "forum_statuschange"),
        *(
            composite_foreign_key(table, "post_id", "forum_post", on_delete="CASCADE")
            for table in ("forum_proxyvote", "forum_statuschange")
        ),
        *(
            composite_foreign_key(table, "user_id", "accounts_user")
            for table in ("forum_proxyvote", "forum_statuschange")
        ),
        composite_foreign_key("forum_proxyvote", "client_id", "crm_client", on_delete="CASCADE"),
        composite_foreign_key("forum_proxyvote", "contact_id", "crm_contact", on_delete="CASCADE"),
        composite_foreign_key("forum_proxyvote", "from_post_id", "forum_post", on_delete="SET NULL"),
    ]
