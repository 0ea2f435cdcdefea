from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0002_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="PeriodicTime",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=255)),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("name",), name="periodic_time_name")],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("queue", models.CharField(max_length=255)),
                ("name", models.CharField(max_length=255)),
                ("account_id", models.BigIntegerField(db_default=0)),
                ("arguments", models.JSONField(db_default={})),
                ("key", models.CharField(max_length=255, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("running", "Running"), ("failed", "Failed")],
                        db_default="waiting",
                        max_length=255,
                    ),
                ),
                ("scheduled_at", models.DateTimeField()),
                ("leased_until", models.DateTimeField(null=True)),
                ("attempts", models.IntegerField(db_default=0)),
                ("error", models.CharField(max_length=255, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "failed"), _negated=True),
                        fields=["queue", "scheduled_at"],
                        name="job_due",
                    ),
                    models.Index(
                        condition=models.Q(("state", "failed"), _negated=True),
                        fields=["queue", "account_id", "scheduled_at", "id"],
                        name="job_turn",
                    ),
                    models.Index(
                        condition=models.Q(("state", "running")), fields=["queue", "account_id"], name="job_running"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(condition=models.Q(("state", "waiting")), fields=("key",), name="job_key")
                ],
            },
        ),
        # Rows are deleted soon, whatever the size of the table.
        migrations.RunSQL(
            "ALTER TABLE core_job SET (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000')",
            migrations.RunSQL.noop,
        ),
    ]
