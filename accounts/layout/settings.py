"""The base class of the settings pages, and what they do with rows: order them, and write them with the rules of the API."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from django.contrib import messages
from django.forms import BaseForm
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _

from accounts.hosts.requests import UserRequest
from core.api.paging import ListPage
from core.api.serializers import ResourceSerializer
from core.db.ordering import Ordered
from core.db.tenancy import TenantModel
from core.error_responses import error_response
from core.errors import FieldErrors
from core.pages.base import Page, no_content, redirect

Row = TypeVar("Row", bound=TenantModel)
MOVE_STEPS = {"up": -1, "down": 1}


class SettingsPage(Page):
    """A page of the settings. Its forms post to the page itself, and the field `do` names the action."""

    request: UserRequest
    access = "admin"
    # The name of the page's entry in the menu of the settings.
    part = ""
    # The method for each value of `do`. The first is the default.
    actions: dict[str, str] = {}

    def post(self, request: UserRequest, **kwargs: object) -> HttpResponse:
        action = self.actions.get(request.POST.get("do") or next(iter(self.actions), ""))
        if action is None:
            return error_response(request, 400)
        response: HttpResponse = getattr(self, action)(request, **kwargs)
        return response

    def render(self, template: str | None = None, *, http_status: int = 200, **context: object) -> HttpResponse:
        """Return the page. The status is 422 if a form in the context was submitted and is invalid."""
        if any(isinstance(value, BaseForm) and value.errors for value in context.values()):
            http_status = HTTPStatus.UNPROCESSABLE_ENTITY
        return super().render(template, http_status=http_status, part=self.part, **context)

    def read_page(self, **overrides: int) -> ListPage:
        """Return the requested page of a list. `overrides` replace parameters of the query."""
        try:
            return ListPage.read({**self.request.GET.dict(), **overrides})
        except FieldErrors:
            raise Http404 from None


def parse_id(value: str | None) -> int | None:
    """Return the id in a form value, or None if the value is not an id."""
    return int(value) if value and value.isascii() and value.isdigit() and len(value) <= 18 else None


def move_row(page: Page, row: Ordered | None, list_redirect: HttpResponse) -> HttpResponse:
    """Move the row of an ordered list one step (`step` is up or down), or next to another row, whose id is in `before` or `after`.

    A browser without JavaScript is redirected to the row in the list; `list_redirect` is the redirect to the page of the list. The
    script `ordering.js` moves the row itself and needs only the status of the response. It reloads the page on 409.
    """
    post, is_moved = page.request.POST, False
    if row is None:
        messages.error(page.request, _("The list has changed in the meantime. This is how it looks now."))
    else:
        by = MOVE_STEPS.get(post.get("step", ""), 0)
        before, after = parse_id(post.get("before")), parse_id(post.get("after"))
        is_moved = page.perform(lambda: row.move(by=by, before=before, after=after))
    if page.request.htmx:
        return no_content(HTTPStatus.NO_CONTENT if is_moved else HTTPStatus.CONFLICT)
    return redirect(f"{list_redirect.headers['Location']}#row-{row.id}") if is_moved and row else list_redirect


def write_row(serializer_class: type[ResourceSerializer], row: Row, values: Mapping[str, object]) -> Row:
    """Validate the values as the API does, and insert the row if it is new, or else update it, by its method `write`.

    Call this function in a transaction.
    """
    instance = None if row._state.adding else row
    serializer = serializer_class(instance, data=values, partial=instance is not None, context={"account": row.account})
    writable: Any = row
    writable.write(serializer.read())
    return row
