"""Moving an item of an ordered list with buttons, arrow keys or dragging (ordering.js)."""

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _

from accounts.layout.settings import parse_id
from core.db.ordering import Ordered
from core.pages.base import Page, no_content, redirect

STEPS = {"up": -1, "down": 1}


def move(page: Page, row: Ordered | None, list_redirect: HttpResponse) -> HttpResponse:
    """Move the row one step (`step` is up or down), or next to another row, whose id is in `before` or `after`.

    A browser without JavaScript is redirected to the row in the list; `list_redirect` is the redirect to the page of the list. The
    script `ordering.js` moves the row itself and needs only the status of the response. It reloads the page on 409.
    """
    request = page.request
    post = request.POST
    before, after = parse_id(post.get("before")), parse_id(post.get("after"))
    if row is None:
        messages.error(request, _("The list has changed in the meantime. This is how it looks now."))
        is_moved = False
    else:
        is_moved = page.perform(lambda: row.move(by=STEPS.get(post.get("step", ""), 0), before=before, after=after))
    if not request.htmx:
        return (
            redirect(f"{list_redirect.headers['Location']}#row-{row.id}")
            if is_moved and row is not None
            else list_redirect
        )
    return no_content(HTTPStatus.NO_CONTENT if is_moved else HTTPStatus.CONFLICT)
