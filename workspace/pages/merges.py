"""The merges of a client or contact on its page."""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.db.models.functions import JSONObject
from django.urls import reverse
from django.utils.dateparse import parse_datetime

from core.db.access import Access
from workspace.merging import MODELS, Merge
from workspace.requests import TeamRequest

# The number of merges that the page of a record shows.
MAX_SHOWN = 5
# The routes of the pages that merge another record into a client or contact.
MERGE_ROUTES = {"client": "workspace-client-merge", "contact": "workspace-contact-merge"}


def annotate_merges(rows: QuerySet, resource: str, access: Access) -> QuerySet:
    """Add the merges into each client or contact that can be undone, newest first, for `merges_of`."""
    own = {"account_id": OuterRef("account_id"), f"{resource}_id": OuterRef("id")}
    merges = Merge.objects.filter(**own).active().limited_to(access).order_by("-id")
    values = JSONObject(id="id", created_at="created_at", merged_name=f"merged_{resource}__name")
    return rows.annotate(merges_data=ArraySubquery(merges.values(found=values)[:MAX_SHOWN]))


def merges_of(row: Any) -> list[dict[str, Any]]:
    """Return the merges into an annotated record. It takes no statement."""
    return [{**merge, "created_at": parse_datetime(merge["created_at"])} for merge in row.merges_data]


def merge_of_trashed(request: TeamRequest, row: Any) -> dict[str, Any] | None:
    """Return the merge that moved the record to the trash, if there is one. Its name is empty if the user may not access the other."""
    resource = str(row._meta.model_name)
    if resource not in MODELS:
        return None
    merge = Merge.objects.of_merged(row).active().accessible_to(request.user).first()
    if merge is None:
        return None
    rows: Any = MODELS[resource]._default_manager.filter(account_id=row.account_id, id=merge.kept_id)
    return {
        "id": merge.id,
        "kept_name": rows.values_list("name", flat=True).first(),
        "kept_path": reverse(f"workspace-{resource}", args=[merge.kept_id]),
    }
