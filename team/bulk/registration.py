from django.utils.translation import gettext_lazy as _

from core.registry import newest_id, registry
from team.bulk.actions import RESOURCES
from team.bulk.models import actions_of
from team.exports.pages import EXPORT
from team.lists.queries import register_actions
from team.merges.models import MODELS
from team.merges.pages import MERGE

# In the order in which the lists offer them.
for resource in RESOURCES:
    register_actions(resource, [(action.key, action.label) for action in actions_of(resource).values()])
    if resource in MODELS:
        register_actions(resource, [(MERGE, _("Merge two entries"))])
    register_actions(resource, [(EXPORT, _("Export as CSV"))])

registry.register_sample(
    "bulk_changes", "bulk_change", lambda request: newest_id(request.account.bulk_changes.visible_to(request.user))
)
