"""The check of a sample of stored sums and dates, for `manage.py doctor`."""

from collections.abc import Iterable

from accounts.account.models import Account
from core.health.checks import OK, WARNING, Finding, register
from team.summaries.recount import recount_summaries

# The accounts that are compared in one run.
SAMPLE = 3


def check_sample() -> Iterable[Finding]:
    differing = 0
    for id in Account.objects.order_by("?").values_list("id", flat=True)[:SAMPLE]:
        differing += sum(map(len, recount_summaries(id, repair=False).values()))
    if differing:
        yield WARNING, f"{differing} stored values of {SAMPLE} accounts differ: run manage.py recount"
    else:
        yield OK, f"the stored values of up to {SAMPLE} accounts are right"


register("stored values", "stored-values", check_sample)
