"""The job that publishes answers at their time."""

import logging
from functools import partial

from core.db.transactions import in_transaction
from core.jobs.registry import has_time_left, periodic_job
from forum.answers.models import Answer

logger = logging.getLogger("rostrum.answers")

# The answers that one run publishes, at most.
MAX_PUBLISHED = 1000


@periodic_job(minutes=1, time_limit=55)
def publish_answers() -> None:
    """Publish the answers whose time has come, in all accounts, each in its own transaction. One that fails is tried again by the next run."""
    for account_id, answer_id in list(Answer.objects.due().values_list("account_id", "id")[:MAX_PUBLISHED]):
        if not has_time_left():
            break
        try:
            in_transaction(partial(publish, account_id, answer_id))
        except Exception:
            logger.exception("an answer could not be published")


def publish(account_id: int, id: int) -> None:
    """Publish an answer, unless another worker has locked it or it is no longer due."""
    due = Answer.objects.due().filter(account_id=account_id, id=id).select_related("account")
    answer = due.select_for_update(no_key=True, of=("self",), skip_locked=True).first()
    if answer is not None:
        answer.publish_when_due()
