import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

# The ids of the rows, the foreign keys, and the statistics that all tables of tenants have.
CREATE_LINKS = """
CREATE TRIGGER take_id BEFORE INSERT ON forum_contentreport FOR EACH ROW WHEN (NEW.id IS NULL)
    EXECUTE FUNCTION account_ids.take();
ALTER TABLE forum_contentreport ADD CONSTRAINT forum_contentreport_post_id_fk
    FOREIGN KEY (account_id, post_id) REFERENCES forum_post (account_id, id) ON DELETE CASCADE;
ALTER TABLE forum_contentreport ADD CONSTRAINT forum_contentreport_comment_id_fk
    FOREIGN KEY (account_id, comment_id) REFERENCES forum_comment (account_id, id) ON DELETE CASCADE;
ALTER TABLE forum_contentreport ADD CONSTRAINT forum_contentreport_user_id_fk
    FOREIGN KEY (account_id, user_id) REFERENCES accounts_user (account_id, id) ON DELETE CASCADE;
ALTER TABLE forum_contentreport ALTER account_id SET (n_distinct = 2);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0007_blocked_at"),
        ("forum", "0007_withdrawn_comments"),
    ]

    operations = [
        migrations.CreateModel(
            name="ContentReport",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("post_id", models.BigIntegerField(null=True)),
                ("comment_id", models.BigIntegerField(null=True)),
                ("user_id", models.BigIntegerField()),
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
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
                    ),
                ),
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
        migrations.RunSQL(CREATE_LINKS, migrations.RunSQL.noop),
    ]
