from django.db.models import Q

from core.registry import newest_id, registry

registry.register_sample(
    "attachments",
    "attachment",
    lambda request: newest_id(
        request.account.attachments.current().filter(Q(row_id__isnull=False) | Q(user_id=request.user.id))
    ),
)
