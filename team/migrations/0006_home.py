import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_home"),
        ("team", "0005_suggestion_views"),
    ]

    operations = [
        migrations.CreateModel(
            name="Goal",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.BigIntegerField(editable=False)),
                ("user_id", models.BigIntegerField(null=True)),
                (
                    "period",
                    models.CharField(
                        choices=[("month", "Each month"), ("quarter", "Each quarter")], default="month", max_length=255
                    ),
                ),
                (
                    "measure",
                    models.CharField(
                        choices=[("deals", "Number of won deals"), ("amount", "Amount of won deals")],
                        default="amount",
                        max_length=255,
                    ),
                ),
                ("target", models.BigIntegerField()),
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
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.user",
                        to_fields=["account_id", "id"],
                    ),
                ),
            ],
            options={
                "default_related_name": "goals",
            },
        ),
        migrations.RunSQL(
            sql=[
                "ALTER TABLE team_goal ALTER COLUMN account_id SET (n_distinct=2)",
                "CREATE TRIGGER take_id BEFORE INSERT ON team_goal FOR EACH ROW WHEN (new.id IS NULL) EXECUTE FUNCTION account_ids.take()",
                "CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON team_goal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION core_record_change('goal')",
                "ALTER TABLE team_goal ADD CONSTRAINT team_goal_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES accounts_user (account_id, id) ON DELETE CASCADE",
            ],
            reverse_sql=[],
        ),
        migrations.AddConstraint(
            model_name="goal",
            constraint=models.UniqueConstraint(
                fields=("account", "user_id", "period", "measure"), name="goal_unique", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="goal",
            constraint=models.CheckConstraint(condition=models.Q(("target__gt", 0)), name="goal_target_positive"),
        ),
    ]
