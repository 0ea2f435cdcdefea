"""What every page is made of."""

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views import View

from core.api import throttling
from core.db.transactions import in_transaction
from core.error_responses import error_response, throttled, unavailable
from core.errors import Conflict, FieldError, FieldErrors, Throttled
from core.pages.errors import error_sentence, field_message
from core.pages.routes import home_path, sign_in_path

if TYPE_CHECKING:
    from accounts.users import User


class Page(View):
    """A page of the request's account. What a visitor may not see asks to sign in; what a user may not see is 403."""

    http_method_names = ["get", "head", "post"]
    template_name = ""
    # Who may: "anyone", "user", "team" or "admin".
    access = "anyone"
    # Whether search engines may show it.
    indexed = False

    def dispatch(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        try:
            if request.account is None:
                raise Http404
            if (refusal := self.refuse()) is not None:
                return refusal
            if request.method == "POST" and request.user is not None:
                throttling.count_page_action(request)
            return super().dispatch(request, *args, **kwargs)
        except Throttled as refused:
            return throttled(request, refused.wait)
        except PermissionDenied as refused:
            return error_response(request, 403, message=next(iter(refused.args), None))
        except (RequestDataTooBig, TooManyFieldsSent):
            return error_response(request, 413)
        except (OperationalError, InterfaceError):
            return unavailable(request)

    def refuse(self) -> HttpResponse | None:
        user = self.request.user
        if self.access == "anyone":
            return None
        if user is None:
            return redirect_to_sign_in(self.request)
        return None if self.is_for(user) else error_response(self.request, 403)

    def is_for(self, user: "User") -> bool:
        return user.is_admin if self.access == "admin" else user.is_team if self.access == "team" else True

    def http_method_not_allowed(self, request, *args, **kwargs) -> HttpResponse:
        return error_response(request, 405, headers={"Allow": ", ".join(self._allowed_methods())})

    def render(self, template: str | None = None, *, http_status: int = 200, **context: Any) -> HttpResponse:
        context = {"indexed": self.indexed} | context
        return render(self.request, template or self.template_name, context, status=http_status)

    def render_form(self, form, template: str | None = None, **context: Any) -> HttpResponse:
        """The page with its form; 422 where what was sent is not valid."""
        status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound and form.errors else HTTPStatus.OK
        return self.render(template, http_status=status, form=form, **context)

    def perform(self, what: Callable[[], Any], *, done: str = "") -> bool:
        """Do it in a transaction. Say that it is `done`, or else what is wrong. Return whether it was done."""
        try:
            in_transaction(what)
        except (FieldErrors, Conflict) as caught:
            for sentence in self.error_sentences(caught):
                messages.error(self.request, sentence)
            return False
        if done:
            messages.success(self.request, done)
        return True

    def submit_form(self, form, what: Callable[[], Any]) -> bool:
        """Do it in a transaction, as `act` does. What is wrong is said next to the fields of the form."""
        try:
            in_transaction(what)
        except Conflict as caught:
            form.add_error(None, str(caught.message))
            return False
        except FieldErrors as caught:
            for error in caught.errors:
                if error.field in form.fields:
                    form.add_error(error.field, field_message(error))
                else:
                    form.add_error(None, self.describe(error))
            return False
        return True

    def error_sentences(self, caught: FieldErrors | Conflict) -> list[str]:
        if isinstance(caught, Conflict):
            return [str(caught.message)]
        return [self.describe(error) for error in caught.errors]

    def describe(self, error: FieldError) -> str:
        """Return what is wrong as a sentence of its own. Pages may know better words than the model."""
        return error_sentence(error)


def redirect(to: str, *args, query: dict[str, Any] | None = None) -> HttpResponse:
    """Redirect to the page that shows what was done (303, so that a reload does not do it again).

    `to` is a path, or the name of a route that takes `args`.
    """
    response = HttpResponseRedirect(to if to.startswith("/") else reverse(to, args=args, query=query))
    response.status_code = HTTPStatus.SEE_OTHER
    return response


def no_content(status: int = HTTPStatus.NO_CONTENT) -> HttpResponse:
    """What leaves the page of whoever asked by JavaScript as it is."""
    response = HttpResponse(status=status)
    del response["Content-Type"]
    return response


def redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    """To the sign-in page, and back afterwards: to this page, or to the one that the request came from, of which the sign-in
    page says then that nothing was saved.

    What htmx reads may be asked for as one types, or unasked, while one is on the way to another page: so that answer leads
    nowhere, or it would take the place of that page, or of what was typed.
    """
    if request.method in ("GET", "HEAD"):
        return no_content() if request.htmx else redirect(sign_in_path(request.get_full_path()))
    if request.htmx:
        path = sign_in_path(current_path(request), unsaved=True)
        return HttpResponse(headers={"HX-Redirect": path})
    return redirect(sign_in_path(referring_path(request), unsaved=True))


def current_path(request: HttpRequest) -> str:
    """The path of the page whose JavaScript asks, on this host."""
    try:
        return request.htmx.current_url_abs_path or home_path()
    except ValueError:
        # What it names is no address, such as http://[
        return home_path()


def safe_path(request: HttpRequest, target: str | None, default: str | None = None) -> str:
    """Return `target` if it is a path on this host, else the default, or the home page where there is none."""
    if target and len(target) <= 2000 and target.startswith("/") and url_has_allowed_host_and_scheme(target, None):
        return target
    return default or home_path()


def referring_path(request: HttpRequest, default: str | None = None) -> str:
    """Return the path of the page on this host that the request came from, else the default, or the home page."""
    origin = f"{request.scheme}://{request.get_host()}"
    referer = request.headers.get("Referer", "")
    return safe_path(request, referer.removeprefix(origin) if referer.startswith(origin + "/") else None, default)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form that was open in another tab while somebody signed in or out, or that another site sent."""
    return error_response(
        request, 403, message=_("This form has expired. Go back, reload the page, and send it again.")
    )


def base_url(request: HttpRequest) -> str:
    """The address of this host: AccountMiddleware has found it to be one of ours."""
    return f"{'https' if settings.HTTPS else request.scheme}://{request.get_host()}"
