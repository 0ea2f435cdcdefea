"""The export of a list as a CSV file."""

from collections.abc import Sequence
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from core.db.time_limit import TooSlow
from core.error_responses import error_response
from core.http import throttling
from core.limits import leases
from core.pages.base import redirect
from core.pages.formatting import number_text
from team.exports.streams import MAX_EXPORTED, MAX_EXPORTS, ExportStream, export
from team.lists.declarations import LISTS
from team.lists.queries import ListQuery
from team.lists.selection import matching_ids
from team.menu.pages import TeamPage, TeamRequest

# The action of a list that exports the selected rows.
EXPORT = "export"


class ExportPage(TeamPage):
    """The rows of a list as a CSV file, with its filters, its order and its columns."""

    resource = ""

    def get(self, request: TeamRequest) -> HttpResponse:
        throttling.count_export(request)
        declaration = LISTS[self.resource]
        query = ListQuery.read(
            declaration, request.GET, account=request.account, user=request.user, language=get_language()
        )
        back = reverse(declaration.route) + query.query_string()
        if query.errors:
            # The list names the errors.
            return redirect(reverse(declaration.route) + f"?{request.GET.urlencode()}")
        try:
            ids = matching_ids(query, limit=MAX_EXPORTED, ordered=True)
        except TooSlow:
            messages.error(request, _("This takes too long, because too many entries would have to be compared."))
            return redirect(back)
        if len(ids) > MAX_EXPORTED:
            messages.error(request, too_many(MAX_EXPORTED))
            return redirect(back)
        return respond_with_csv(request, query, ids)


def respond_with_csv(request: TeamRequest, query: ListQuery, ids: Sequence[int]) -> HttpResponse:
    lease = leases.acquire(f"export:{request.account.id}", limit=MAX_EXPORTS)
    if lease is None:
        message = _("Your account is exporting as many lists as it may. Try again when one of them is complete.")
        return error_response(request, HTTPStatus.TOO_MANY_REQUESTS, message=message, headers={"Retry-After": "10"})
    chunks = ExportStream(export(query, ids), lease)
    response = StreamingHttpResponse(chunks, content_type="text/csv; charset=utf-8")
    name = f"{query.declaration.collection}-{timezone.localdate().isoformat()}.csv"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "private, no-store"
    return response  # type: ignore[return-value]  # the stubs have no common base


def too_many(limit: int) -> str:
    return _("At most %(n)s entries are possible at a time. Add a filter.") % {"n": number_text(limit)}
