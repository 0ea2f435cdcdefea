"""The job that reads the exchange rates of the European Central Bank, which publishes them on working days at about 16:00 in Frankfurt."""

import logging

from accounts.account.exchange_rates import RatesUnavailable, fetch_euro_rates
from accounts.account.models import Account
from core.errors import FieldError
from core.jobs.registry import has_time_left, periodic_job

logger = logging.getLogger("rostrum.exchange_rates")


@periodic_job(minutes=360, offset=320, time_limit=600)
def take_euro_rates() -> None:
    """Replace the rates of the accounts that take them, unless they have those of the latest day."""
    rows = Account.objects.filter(takes_euro_rates=True, suspended_at=None, deletion_at=None)
    first = rows.first()
    if first is None:
        return
    try:
        day, values = fetch_euro_rates(first.id)
    except RatesUnavailable:
        logger.warning("the exchange rates of the European Central Bank could not be read")
        return
    for account in rows.exclude(exchange_rates_on=day).iterator(chunk_size=200):
        if not has_time_left(10):
            return
        try:
            account.take_euro_rates(day, values)
        except FieldError:
            # The currency of the account is no longer published. The former rates stay.
            logger.info("account %d takes exchange rates that are not published for its currency", account.id)
