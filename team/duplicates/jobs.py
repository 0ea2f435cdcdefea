"""The follower that keeps the keys of clients and contacts, and the job for the rows that an account had before it had the follower."""

from collections.abc import Sequence

from django.db import transaction

from core.changes.followers import ChangeFollower
from core.changes.models import Change
from core.jobs.registry import MAX_TIME_SLICE, has_time_left, job
from team.duplicates.models import MODELS, fill, update_keys


class DuplicateFollower(ChangeFollower):
    name = "duplicates"

    def handle(self, account_id: int, changes: Sequence[Change]) -> None:
        ids = {resource: {change.id for change in changes if change.resource == resource} for resource in MODELS}
        if not any(ids.values()):
            return
        if not any(keys._default_manager.filter(account_id=account_id).exists() for _model, keys in MODELS.values()):
            fill_duplicate_keys.defer(account_id=account_id)
        for resource, found in ids.items():
            if found:
                update_keys(account_id, resource, found)


@job(time_limit=600, time_slice=MAX_TIME_SLICE)
def fill_duplicate_keys(*, account_id: int, resource: str = "client", after: int = 0) -> None:
    """Write the keys of the clients, or contacts, whose id is higher than `after`, and of the kinds that follow."""
    kinds = list(MODELS)
    position: int | None = after
    while has_time_left():
        with transaction.atomic():
            position = fill(account_id, resource, after=position or 0)
        if position is None:
            if resource == kinds[-1]:
                return
            resource = kinds[kinds.index(resource) + 1]
    fill_duplicate_keys.defer(account_id=account_id, resource=resource, after=position or 0)
