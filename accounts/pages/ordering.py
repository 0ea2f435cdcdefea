"""Moving an item of an ordered list with buttons, arrow keys or dragging (ordering.js)."""

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _

from accounts.pages.settings import parse_id
from core.db.ordering import Ordered
from core.pages.base import Page, no_content, redirect

STEPS = {"up": -1, "down": 1}


def move(page: Page, row: Ordered | None, back: HttpResponse) -> HttpResponse:
    """Move the row one step (`step` is up or down), or next to another row (`before` or `after` is its id).

    A browser without JavaScript is redirected to the row: `back` is the redirect to the page. The script moves the row itself and
    needs only the status. On 409 it reloads the page.
    """
    request = page.request
    post = request.POST
    before, after = parse_id(post.get("before")), parse_id(post.get("after"))
    if row is None:
        messages.error(request, _("The list has changed in the meantime. This is how it looks now."))
        done = False
    else:
        done = page.perform(lambda: row.move(by=STEPS.get(post.get("step", ""), 0), before=before, after=after))
    if not request.htmx:
        return redirect(f"{back.headers['Location']}#row-{row.id}") if done and row is not None else back
    return no_content(HTTPStatus.NO_CONTENT if done else HTTPStatus.CONFLICT)
