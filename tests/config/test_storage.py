"""The storage parameters of tables."""

from django.db import connection

# The migrations of `core` set those of its queue.
OTHER_TABLES = {"core_job"}


# Tables that may have millions of rows. With PostgreSQL's 20 %, autovacuum would wait for hundreds of thousands of dead or new rows, and
# index-only scans would visit the heap for them.
LARGE_TABLE: dict[str, float] = {
    "autovacuum_vacuum_scale_factor": 0.05,
    "autovacuum_vacuum_insert_scale_factor": 0.05,
    "autovacuum_analyze_scale_factor": 0.05,
}


# Tables with few live rows and many dead ones. Their readers scan the dead rows too, however large the table is.
QUEUE: dict[str, float] = {"autovacuum_vacuum_scale_factor": 0, "autovacuum_vacuum_threshold": 2000}


STORAGE_PARAMETERS: dict[str, dict[str, float]] = {
    "account_ids.counter": QUEUE,
    "core_change": LARGE_TABLE,
    "core_ratecount": QUEUE,
    "core_follower": QUEUE,
    # The free space lets an update write the new version of the row into the same page, so that it can be HOT (`core.rows.last_changes`).
    "crm_client": {"fillfactor": 90} | LARGE_TABLE,
    "crm_clientlastchange": LARGE_TABLE,
    "crm_contact": {"fillfactor": 95} | LARGE_TABLE,
    "crm_contactlastchange": LARGE_TABLE,
    "crm_deal": {"fillfactor": 95} | LARGE_TABLE,
    "crm_dealcount": QUEUE,
    "crm_deallastchange": LARGE_TABLE,
    "crm_note": LARGE_TABLE,
    "forum_comment": LARGE_TABLE,
    "forum_facetcount": QUEUE,
    # For votes and comments (`forum.posts.sort_keys`).
    "forum_post": {"fillfactor": 90} | LARGE_TABLE,
    "forum_postsortkey": LARGE_TABLE,
    "forum_vote": LARGE_TABLE,
    "forum_votechange": QUEUE,
    "team_clientsummary": LARGE_TABLE,
    "team_contactsummary": LARGE_TABLE,
    "team_dealsummary": LARGE_TABLE,
    "team_revenuechange": QUEUE,
    "team_timelineentry": LARGE_TABLE,
}


def test_the_database_has_the_declared_parameters(db):
    """A change of the declaration needs a migration with ALTER TABLE."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT oid::regclass::text, reloptions FROM pg_class WHERE relkind = 'r' AND reloptions IS NOT NULL"
        )
        found = {table: dict(option.split("=") for option in options) for table, options in cursor.fetchall()}
    declared = {
        table: {name: str(value) for name, value in parameters.items()}
        for table, parameters in STORAGE_PARAMETERS.items()
    }
    assert {table: options for table, options in found.items() if table not in OTHER_TABLES} == declared
