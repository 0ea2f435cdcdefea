"""The limits of what a member may do in a day."""

from django.conf import settings
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from core.api.throttling import DAY, AnyRequest, enforce_limit
from core.db.rate_limits import hit
from forum.models import ContentReport


def count_report(request: AnyRequest, user: User) -> None:
    """Count a report. Raise Throttled beyond `ContentReport.MAX_PER_DAY`."""
    if settings.RATE_LIMIT:
        limit = ContentReport.MAX_PER_DAY
        message: Promise = format_lazy(_("You can send {limit} reports a day. Try again tomorrow."), limit=limit)
        enforce_limit(request, hit(f"reports:{user.account_id}:{user.id}", limit, DAY), message)
