"""The job that publishes answers at their time."""

from core.db.transactions import in_transaction
from core.jobs.registry import has_time_left, periodic_job
from forum.answers.models import Answer


@periodic_job(minutes=1, time_limit=55)
def publish_answers() -> None:
    """Publish the answers whose time has come, in all accounts, each in its own transaction."""
    while has_time_left() and in_transaction(publish_next):
        pass


def publish_next() -> bool:
    """Publish the answer that has waited longest. Return whether there was one."""
    due = Answer.objects.due().select_related("account")
    answer = due.select_for_update(no_key=True, of=("self",), skip_locked=True).first()
    if answer is not None:
        answer.publish_when_due()
    return answer is not None
