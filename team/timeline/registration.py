from django.utils.translation import gettext_lazy as _

from accounts.erasure.personal_data import CUSTOMERS, register
from team.timeline.derivations import register_derivations
from team.timeline.models import TimelineEntry

register_derivations()

register(
    "timeline_entries",
    _("Timeline entries"),
    lambda row: TimelineEntry.objects.filter(
        account_id=row.account_id, resource=row.api_resource.key, resource_id=row.id
    ),
    subjects=CUSTOMERS,
)
