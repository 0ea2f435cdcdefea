from core.registry import newest_id, registry

registry.register_sample(
    "attachments", "attachment", lambda request: newest_id(request.account.attachments.exclude(row_id=None))
)
