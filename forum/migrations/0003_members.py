import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

# The ids of the rows, the foreign keys, and the statistics that all tables of tenants have.
CREATE_LINKS = """
CREATE TRIGGER take_id BEFORE INSERT ON forum_forummember FOR EACH ROW WHEN (NEW.id IS NULL)
    EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON forum_forumaddress FOR EACH ROW WHEN (NEW.id IS NULL)
    EXECUTE FUNCTION account_ids.take();
ALTER TABLE forum_forummember ADD CONSTRAINT forum_forummember_forum_id_fk
    FOREIGN KEY (account_id, forum_id) REFERENCES forum_forum (account_id, id) ON DELETE CASCADE;
ALTER TABLE forum_forummember ADD CONSTRAINT forum_forummember_user_id_fk
    FOREIGN KEY (account_id, user_id) REFERENCES accounts_user (account_id, id) ON DELETE CASCADE;
ALTER TABLE forum_forumaddress ADD CONSTRAINT forum_forumaddress_forum_id_fk
    FOREIGN KEY (account_id, forum_id) REFERENCES forum_forum (account_id, id) ON DELETE CASCADE;
ALTER TABLE forum_forummember ALTER account_id SET (n_distinct = 2);
ALTER TABLE forum_forumaddress ALTER account_id SET (n_distinct = 2);
"""


def key():
    return [
        (
            "pk",
            models.CompositePrimaryKey(
                "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
            ),
        ),
        ("id", models.BigIntegerField(editable=False)),
        ("forum_id", models.BigIntegerField()),
    ]


def account():
    return (
        "account",
        models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"),
    )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_invitation_sites"), ("forum", "0002_due_day")]

    operations = [
        migrations.AddField("forum", "segment_id", models.BigIntegerField(null=True)),
        migrations.AddIndex(
            "forum",
            models.Index(
                fields=["account", "segment_id"],
                name="forum_by_segment",
                condition=models.Q(("segment_id__isnull", False)),
            ),
        ),
        migrations.AlterField(
            "forum",
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
        migrations.RemoveConstraint("forum", "forum_access_known"),
        migrations.AddConstraint(
            "forum",
            models.CheckConstraint(
                condition=models.Q(("access__in", ["public", "members", "private", "list", "segment"])),
                name="forum_access_known",
            ),
        ),
        migrations.CreateModel(
            name="ForumMember",
            fields=[
                *key(),
                ("user_id", models.BigIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[("member", "Member"), ("pending", "Pending")], default="member", max_length=255
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                account(),
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
                "default_related_name": "forum_members",
                "indexes": [
                    models.Index(fields=["account", "user_id"], name="forummember_of_user"),
                    models.Index(
                        fields=["account", "forum_id", "user_id"],
                        name="forummember_pending",
                        condition=models.Q(("state", "pending")),
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "forum_id", "user_id"), name="forummember_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="ForumAddress",
            fields=[
                *key(),
                ("address", models.CharField(max_length=255)),
                ("address_key", models.TextField(editable=False)),
                account(),
            ],
            options={
                "default_related_name": "forum_addresses",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "forum_id", "address_key"), name="forumaddress_unique")
                ],
            },
        ),
        migrations.RunSQL(CREATE_LINKS, migrations.RunSQL.noop),
    ]
