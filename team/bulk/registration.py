from functools import partial

from django.apps import apps
from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from accounts.erasure.personal_data import CUSTOMERS, register
from core.registry import newest_id, registry
from core.rows.trash import keep_in_trash
from team.bulk.actions import RESOURCES
from team.bulk.models import BulkChangeRow, actions_of
from team.exports.pages import EXPORT
from team.list_queries.selection import register_actions
from team.merges.models import MODELS as MERGED
from team.merges.pages import MERGE

# In the order in which the lists offer them.
for resource in RESOURCES:
    register_actions(resource, [(action.key, action.label) for action in actions_of(resource).values()])
    if resource in MERGED:
        register_actions(resource, [(MERGE, _("Merge two entries"))])
    register_actions(resource, [(EXPORT, _("Export as CSV"))])
    keep_in_trash(apps.get_model("crm", resource), partial(BulkChangeRow.objects.all().trashed, resource))

audit.register("bulk_change", _("Bulk change"), "started", "cancelled", "undone")
registry.register_sample(
    "bulk_changes", "bulk_change", lambda request: newest_id(request.account.bulk_changes.visible_to(request.user))
)

register(
    "values_before_bulk_changes",
    _("Values before bulk changes"),
    lambda row: BulkChangeRow.objects.filter(account_id=row.account_id, resource=row.api_resource.key, target=row.id),
    subjects=CUSTOMERS,
)
