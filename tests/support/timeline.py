"""The entries of the timeline that mirror rows, and a recount of them."""

from django.db import connection

from team.timeline.mirrored_entries import MIRRORS
from team.timeline.models import MIRRORED_KINDS, TimelineEntry

COLUMNS = ("account_id", "kind", "at", "resource", "resource_id", "client_id", "contact_id", "deal_id", "user_id")


def mirrored() -> list[tuple]:
    return sorted(TimelineEntry.objects.filter(kind__in=MIRRORED_KINDS).values_list(*COLUMNS), key=repr)


def recount() -> list[tuple]:
    """Return the mirrored entries that all rows should have."""
    select = " UNION ALL ".join(mirror.entries() for mirror in MIRRORS.values())
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM ({select}) AS entry")  # noqa: S608
        return sorted(cursor.fetchall(), key=repr)
