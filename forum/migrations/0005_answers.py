import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_home"),
        ("forum", "0004_repeat"),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedReply",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("name", models.CharField(max_length=100)),
                ("name_key", models.TextField(editable=False)),
                ("text", models.CharField(max_length=10000)),
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
                "verbose_name_plural": "saved replies",
                "default_related_name": "saved_replies",
            },
        ),
        migrations.CreateModel(
            name="Answer",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("post_id", models.BigIntegerField(editable=False)),
                ("user_id", models.BigIntegerField(editable=False)),
                ("status_id", models.BigIntegerField(null=True)),
                ("response", models.CharField(blank=True, default="", max_length=65536)),
                ("silent", models.BooleanField(default=False)),
                ("tell_customers", models.BooleanField(default=False)),
                ("publish_at", models.DateTimeField(null=True)),
                ("published_at", models.DateTimeField(editable=False, null=True)),
                ("customers_told", models.IntegerField(editable=False, null=True)),
                (
                    "failure",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", ""),
                            ("post", "The suggestion was deleted or merged, so the answer is not published."),
                            ("user", "The author has left the team, so the answer is not published."),
                            ("customers", "The answer is published, but customers could not be told."),
                            ("archive", "The answer came with an archive. It is published when you save it again."),
                        ],
                        default="",
                        editable=False,
                        max_length=255,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="accounts.account"
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
                "default_related_name": "answers",
            },
        ),
        migrations.RunSQL(
            sql=[
                "ALTER TABLE forum_answer ALTER COLUMN account_id SET (n_distinct=2)",
                "CREATE TRIGGER take_id BEFORE INSERT ON forum_answer FOR EACH ROW WHEN (new.id IS NULL) EXECUTE FUNCTION account_ids.take()",
                "CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON forum_answer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION core_record_change('answer')",
                "ALTER TABLE forum_answer ADD CONSTRAINT forum_answer_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES forum_post (account_id, id) ON DELETE CASCADE",
                "ALTER TABLE forum_answer ADD CONSTRAINT forum_answer_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES accounts_user (account_id, id)",
                "ALTER TABLE forum_answer ADD CONSTRAINT forum_answer_status_id_fk FOREIGN KEY (account_id, status_id) REFERENCES accounts_status (account_id, id) ON DELETE SET NULL (status_id)",
            ],
            reverse_sql=migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            sql=[
                "ALTER TABLE forum_savedreply ALTER COLUMN account_id SET (n_distinct=2)",
                "CREATE TRIGGER take_id BEFORE INSERT ON forum_savedreply FOR EACH ROW WHEN (new.id IS NULL) EXECUTE FUNCTION account_ids.take()",
                "CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON forum_savedreply DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION core_record_change('saved_reply')",
            ],
            reverse_sql=migrations.RunSQL.noop,
        ),
        migrations.AddIndex(
            model_name="answer",
            index=models.Index(fields=["account", "post_id", "id"], name="answer_of_post"),
        ),
        migrations.AddIndex(
            model_name="answer",
            index=models.Index(fields=["account", "user_id"], name="answer_of_user"),
        ),
        migrations.AddIndex(
            model_name="answer",
            index=models.Index(
                condition=models.Q(("status_id__isnull", False)),
                fields=["account", "status_id"],
                name="answer_with_status",
            ),
        ),
        migrations.AddIndex(
            model_name="answer",
            index=models.Index(
                condition=models.Q(("failure", ""), ("published_at", None)),
                fields=["publish_at"],
                name="answer_scheduled",
            ),
        ),
        migrations.AddConstraint(
            model_name="savedreply",
            constraint=models.UniqueConstraint(fields=("account", "name_key"), name="savedreply_name_unique"),
        ),
    ]
