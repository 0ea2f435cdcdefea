from django.db import migrations

# The jobs of an account that wait, in the order in which they are due, and those that run.
INDEXES = {
    "core_job_turn": "(queue_name, coalesce((args->>'account_id')::bigint, 0), scheduled_at, id) WHERE status = 'todo'",
    "core_job_running": "(queue_name, coalesce((args->>'account_id')::bigint, 0)) WHERE status = 'doing'",
}


class Migration(migrations.Migration):
    """Let accounts take turns in a queue of jobs."""

    # Indexes cannot be created concurrently in a transaction.
    atomic = False

    dependencies = [("core", "0002_tables")]

    operations = [
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON procrastinate_jobs {definition}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
        )
        for name, definition in INDEXES.items()
    ]
