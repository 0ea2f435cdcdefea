"""The base class of pages, and the responses that pages share."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.encoding import iri_to_uri
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views import View

from core.db.transactions import in_transaction
from core.error_responses import error_response, throttled, unavailable
from core.errors import Conflict, FieldError, FieldErrors, StoreUnavailable, Throttled
from core.http import throttling
from core.http.requests import RequestOfPage
from core.pages.errors import error_sentence, field_message
from core.pages.navigation import home_path, sign_in_path
from core.tenants import TenantUser


class EarlyResponse(Exception):
    """A response that ends the work of a page, and rolls back its transaction."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__()
        self.response = response


class Page(View):
    """The base of pages. Without the required `access`, a visitor is redirected to the sign-in page, and a user gets 403."""

    request: RequestOfPage

    http_method_names = ["get", "head", "post"]
    template_name = ""
    # The required access: "anyone", "user", "team" or "admin".
    access = "anyone"
    # True if search engines may show the page.
    indexed = False
    # False if the page is also served at hosts without a site, where the request has no account.
    needs_site = True
    # True if the page belongs to a forum: its members may use it at a custom domain.
    is_of_forum = False

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        try:
            if self.needs_site and self.request.account is None:
                raise Http404
            if self.request.address.domain and not self.is_served_at_domains:
                return self.refuse_domain()
            if (response := self.check_access()) is not None:
                return response
            if request.method == "POST" and self.request.user is not None:
                throttling.count_page_action(self.request)
            return cast(HttpResponse, super().dispatch(request, *args, **kwargs))
        except EarlyResponse as early:
            return early.response
        except Throttled as error:
            return throttled(request, error)
        except PermissionDenied as error:
            return error_response(request, 403, message=next(iter(error.args), None))
        except (RequestDataTooBig, TooManyFieldsSent):
            return error_response(request, 413)
        except (OperationalError, InterfaceError, StoreUnavailable):
            return unavailable(request)

    @property
    def is_served_at_domains(self) -> bool:
        """True if the page is served at custom domains. So are the pages for visitors, and the pages of a forum for its members.

        The person who manages a custom domain can read what is sent there. So the team's pages, the settings and the profiles are
        served only under BASE_DOMAIN, and a new page for users is so by default.
        """
        return self.access == "anyone" or (self.access == "user" and self.is_of_forum)

    def refuse_domain(self) -> HttpResponse:
        """Return a redirect to the same page at the account's own address, or 403 to a form."""
        if self.request.method in ("GET", "HEAD") and not self.request.htmx:
            return redirect_to_url(self.request.address.own_url + self.request.get_full_path())
        return error_response(self.request, 403, message=_("This is only possible at the address of the account."))

    def check_access(self) -> HttpResponse | None:
        """Return the response to a request without the required access. Return None if the request has it."""
        user = self.request.user
        if self.access == "anyone":
            return None
        if user is None:
            return redirect_to_sign_in(self.request)
        return None if self.allows(user) else error_response(self.request, 403)

    def allows(self, user: TenantUser) -> bool:
        return user.is_admin if self.access == "admin" else user.is_team if self.access == "team" else True

    def http_method_not_allowed(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        # Django's method returns the names of the handlers.
        methods: list[str] = self._allowed_methods()  # type: ignore[attr-defined]  # missing in the stubs
        return error_response(request, 405, headers={"Allow": ", ".join(methods)})

    def render(self, template: str | None = None, *, http_status: int = 200, **context: object) -> HttpResponse:
        context = {"indexed": self.indexed, "is_of_forum": self.is_of_forum} | context
        return render(self.request, template or self.template_name, context, status=http_status)

    def render_form(self, form: BaseForm, template: str | None = None, **context: object) -> HttpResponse:
        """Return the page with a form. The status is 422 if the submitted form is invalid."""
        status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound and form.errors else HTTPStatus.OK
        return self.render(template, http_status=status, form=form, **context)

    def perform(self, action: Callable[[], object], *, success_message: str = "") -> bool:
        """Call `action` in a transaction. Show `success_message`, or the errors of `action`. Return whether `action` succeeded."""
        try:
            in_transaction(action)
        except (FieldErrors, Conflict) as caught:
            for sentence in self.error_sentences(caught):
                messages.error(self.request, sentence)
            return False
        if success_message:
            messages.success(self.request, success_message)
        return True

    def submit_form(self, form: BaseForm, action: Callable[[], object]) -> bool:
        """Call `action` in a transaction. Add its errors to the fields of the form. Return whether `action` succeeded."""
        try:
            in_transaction(action)
        except Conflict as caught:
            form.add_error(None, str(caught.message))
            return False
        except FieldErrors as caught:
            self.add_errors(form, caught)
            return False
        return True

    def add_errors(self, form: BaseForm, caught: FieldErrors) -> None:
        """Add errors to the fields of a form."""
        for error in caught.errors:
            if error.field in form.fields:
                form.add_error(error.field, field_message(error))
            else:
                form.add_error(None, self.describe(error))

    def error_sentences(self, caught: FieldErrors | Conflict) -> list[str]:
        if isinstance(caught, Conflict):
            return [str(caught.message)]
        return [self.describe(error) for error in caught.errors]

    def describe(self, error: FieldError) -> str:
        """Return the message of an error, as a sentence. A page may override it with a more specific message."""
        return error_sentence(error)


def redirect(to: str, *args: object, query: dict[str, Any] | None = None) -> HttpResponse:
    """Return a redirect after a POST, with status 303, so that a reload does not repeat it.

    `to` is a path, or the name of a route with `args`.
    """
    response = HttpResponseRedirect(to if to.startswith("/") else reverse(to, args=args, query=query))
    response.status_code = HTTPStatus.SEE_OTHER
    return response


def redirect_to_url(url: str) -> HttpResponse:
    """Return a redirect to a URL at another host, which must not come from the request."""
    return HttpResponse(status=HTTPStatus.SEE_OTHER, headers={"Location": iri_to_uri(url)})


def no_content(status: int = HTTPStatus.NO_CONTENT) -> HttpResponse:
    """Return an empty response to JavaScript, which leaves the page unchanged."""
    response = HttpResponse(status=status)
    del response["Content-Type"]
    return response


def redirect_to_sign_in(request: RequestOfPage) -> HttpResponse:
    """Return a redirect to the sign-in page. After signing in, the user returns to the requested page, or to the page with the form.

    The response to a GET by htmx is empty. htmx may request a fragment while the user types, or while the browser navigates to another
    page. A redirect would replace the typed text or the other page.
    """
    if request.method in ("GET", "HEAD"):
        return no_content() if request.htmx else redirect(sign_in_path(request.get_full_path()))
    if request.htmx:
        path = sign_in_path(current_path(request), unsaved=True)
        return HttpResponse(headers={"HX-Redirect": path})
    return redirect(sign_in_path(referring_path(request), unsaved=True))


def current_path(request: RequestOfPage) -> str:
    """Return the path of the page from which htmx sends the request, or the path of the home page."""
    try:
        return request.htmx.current_url_abs_path or home_path()
    except ValueError:
        # The header is not a URL, such as `http://[`.
        return home_path()


def safe_path(request: HttpRequest, target: str | None, default: str | None = None) -> str:
    """Return `target` if it is a path on this host. Otherwise return the default, or the path of the home page."""
    if target and len(target) <= 2000 and target.startswith("/") and url_has_allowed_host_and_scheme(target, None):
        return target
    return default or home_path()


def referring_path(request: HttpRequest, default: str | None = None) -> str:
    """Return the path of the referring page if it is on this host. Otherwise return the default, or the path of the home page."""
    origin = f"{request.scheme}://{request.get_host()}"
    referer = request.headers.get("Referer", "")
    return safe_path(request, referer.removeprefix(origin) if referer.startswith(origin + "/") else None, default)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the response to a form without a valid CSRF token.

    Another site sent it, or the form was open in another tab while the user signed in or out.
    """
    return error_response(
        request, 403, message=_("This form has expired. Go back, reload the page, and send it again.")
    )


def base_url(request: HttpRequest) -> str:
    """Return the URL of this host, without a slash at the end. AccountMiddleware has checked that the host is known."""
    return f"{'https' if settings.HTTPS else request.scheme}://{request.get_host()}"
