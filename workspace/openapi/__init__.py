"""The operations of the room `workspace` in the OpenAPI document."""

from workspace.openapi import (
    backers,
    board,
    bulk_changes,
    calendar_feeds,
    finding,
    merges,
    messages,
    reports,
    saved_views,
    suggestions,
    summaries,
    timelines,
)

__all__ = [
    "backers",
    "board",
    "bulk_changes",
    "calendar_feeds",
    "finding",
    "merges",
    "messages",
    "reports",
    "saved_views",
    "suggestions",
    "summaries",
    "timelines",
]
