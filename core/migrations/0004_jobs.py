from importlib import resources

from django.db import migrations, models

# NOTIFY makes every commit take a global lock, and workers poll. The events would be two more rows for each step of a job.
DROPPED_TRIGGERS = [
    "procrastinate_jobs_notify_queue_job_inserted_v1",
    "procrastinate_jobs_notify_queue_job_aborted_v1",
    "procrastinate_trigger_status_events_insert_v1",
    "procrastinate_trigger_status_events_update_v1",
    "procrastinate_trigger_scheduled_events_v1",
    "procrastinate_trigger_abort_requested_events_v1",
]

INDEXES = """
CREATE INDEX core_job_due ON procrastinate_jobs (queue_name, scheduled_at, id) WHERE status = 'todo';
CREATE INDEX core_job_failed ON procrastinate_jobs (id) WHERE status = 'failed';
-- A queue has few live rows and many dead ones.
ALTER TABLE procrastinate_jobs SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
"""
DROP_INDEXES = """
ALTER TABLE procrastinate_jobs RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
DROP INDEX core_job_failed, core_job_due;
"""


def drop_triggers(apps, schema_editor):
    for name in DROPPED_TRIGGERS:
        schema_editor.execute(f"DROP TRIGGER {name} ON procrastinate_jobs")


def create_triggers(apps, schema_editor):
    """Create the triggers again, as the schema of procrastinate defines them."""
    schema = resources.files("procrastinate.sql").joinpath("schema.sql").read_text()
    for name in DROPPED_TRIGGERS:
        statement = schema[schema.index(f"CREATE TRIGGER {name}\n") :]
        schema_editor.execute(statement[: statement.index(";")])


class Migration(migrations.Migration):
    """Let workers poll procrastinate's table, and keep the last error of each job."""

    dependencies = [
        ("core", "0003_follower"),
        ("procrastinate", "0041_post_retry_failed_job"),
    ]

    operations = [
        migrations.RunPython(drop_triggers, create_triggers, elidable=False),
        migrations.RunSQL(INDEXES, DROP_INDEXES),
        migrations.CreateModel(
            name="JobError",
            fields=[
                ("job_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("attempt", models.IntegerField()),
                ("error", models.CharField(max_length=255)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.RunSQL(
            "ALTER TABLE core_joberror ADD FOREIGN KEY (job_id) REFERENCES procrastinate_jobs ON DELETE CASCADE",
            migrations.RunSQL.noop,
        ),
    ]
