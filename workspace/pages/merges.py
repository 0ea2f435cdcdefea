"""The merges of a client or contact on its page."""

from typing import Any

from django.db.models import F
from django.urls import reverse

from crm.external_ids import ExternallyIdentified
from workspace.merging import MODELS, Merge
from workspace.requests import TeamRequest

# The number of merges that the page of a record shows.
MAX_SHOWN = 5
# The routes of the pages that merge another record into a client or contact.
MERGE_ROUTES = {"client": "workspace-client-merge", "contact": "workspace-contact-merge"}


def merges_of(request: TeamRequest, row: ExternallyIdentified) -> list[dict[str, Any]]:
    """Return the merges into the record that can be undone, newest first."""
    rows = Merge.objects.of_kept(row).active().accessible_to(request.user).order_by("-id")
    name = f"merged_{row._meta.model_name}__name"
    return list(rows.values("id", "created_at", merged_name=F(name))[:MAX_SHOWN])


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
