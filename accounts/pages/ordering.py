"""Moving things in a list: by buttons, by the arrow keys, by dragging (ordering.js). Statuses and categories share it."""

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _

from accounts.pages.settings import to_id
from core.db.ordering import Ordered
from core.pages.base import Page, no_content, redirect

STEPS = {"up": -1, "down": 1}


def move(page: Page, row: Ordered | None, back: HttpResponse) -> HttpResponse:
    """Move `row` as the form says: `step` is up or down; or `before` or `after` is the id of another. Then go `back` to it.

    The script shows the move itself, so it is answered nothing; 409 has it load the page anew.
    """
    post = page.request.POST
    before, after = to_id(post.get("before")), to_id(post.get("after"))
    if row is None:
        messages.error(page.request, _("The list has changed in the meantime. This is how it looks now."))
        done = False
    else:
        done = page.perform(lambda: row.move(by=STEPS.get(post.get("step", ""), 0), before=before, after=after))
    if not page.request.htmx:
        return redirect(f"{back.headers['Location']}#row-{row.id}") if done else back
    return no_content(HTTPStatus.NO_CONTENT if done else HTTPStatus.CONFLICT)
