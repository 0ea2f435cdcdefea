"""The storage parameters of tables: when autovacuum processes them, and the free space in their pages. docs/operating.md has the reasons."""

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
