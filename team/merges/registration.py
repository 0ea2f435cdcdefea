from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import Model, OuterRef, QuerySet
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from accounts.erasure.personal_data import CUSTOMERS, register
from accounts.hosts.requests import UserRequest
from core.changes import events
from core.errors import FieldError
from core.registry import Sample, newest_id, registry
from core.rows.trash import keep_in_trash, restoring
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.resources.models import ExternallyIdentified
from team.merges.models import MODELS, NOT_RESTORABLE, Merge
from team.timeline.models import TimelineEntry


def second_newest(resource: str) -> Sample:
    """Return the sample of the row that examples merge into the newest one."""

    def find(request: UserRequest) -> QuerySet[Model, object]:
        rows = getattr(request.account, f"{resource}s")
        ids: QuerySet[Model, object] = rows.live().accessible_to(request.user).order_by("-id").values("id")[1:2]
        return ids

    return find


for resource in MODELS:
    registry.register_sample(f"merged {resource}s", f"merged_{resource}", second_newest(resource))
registry.register_sample(
    "merges", "merge", lambda request: newest_id(request.account.merges.active().accessible_to(request.user))
)


def undoable_merges(resource: str) -> QuerySet[Merge]:
    """Return the subquery for the row of an outer query that was merged into another one."""
    merged = {f"merged_{resource}_id": OuterRef("id")}
    return Merge.objects.undoable().filter(account_id=OuterRef("account_id"), **merged)


for resource, model in MODELS.items():
    keep_in_trash(model, partial(undoable_merges, resource))

audit.register("client", _("Client"), "merged", "undone")
audit.register("contact", _("Contact"), "merged", "undone")
for resource in MODELS:
    ids = {"merged_id": 27, "merge_id": 5}
    events.register(resource, "merged", _("another one merged into it"), after=ids)
    events.register(resource, "unmerged", _("merge undone"), before=ids)


@receiver(restoring, sender=Client)
@receiver(restoring, sender=Contact)
def refuse_restore(*, rows: Sequence[ExternallyIdentified], **_options: object) -> None:
    """Raise FieldError if a row is in the trash because it was merged: undoing the merge restores it with its linked rows."""
    if (merge := Merge.objects.of_merged(rows).active().first()) is not None:
        raise FieldError(merge.resource, NOT_RESTORABLE[merge.resource], "merged", {"id": merge.kept_id})


def entries_of_merges(row: Any) -> QuerySet[TimelineEntry]:
    """Return the entries of other rows that name a row that was merged into them."""
    merges = row.account.merges.filter(**{f"merged_{row.api_resource.key}_id": row.id})
    return TimelineEntry.objects.filter(
        account_id=row.account_id,
        kind__in=("merge", "merge_undone"),
        data__merge_id__in=list(merges.values_list("id", flat=True)),
    )


register("entries_of_merges", _("Entries about merges"), entries_of_merges, subjects=CUSTOMERS)
