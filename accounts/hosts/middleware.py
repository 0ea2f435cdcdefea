"""The outermost middleware: it finds the tenant by the Host header, and completes the headers of responses."""

import logging
from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.gzip import GZipMiddleware
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from accounts.audit.origin import Interface, Origin, called_from
from accounts.hosts import tls
from accounts.hosts.addresses import Address, host_cache
from accounts.hosts.names import normalize
from accounts.hosts.requests import TenantRequest
from core.error_responses import error_response, share_exceeded, unavailable
from core.errors import ACCOUNT_CLOSED, ShareExceeded
from core.http import readiness
from core.http.errors import json_response
from core.http.formats import expects_html
from core.http.preconditions import etag_of, gzip_etag, remove_suffix
from core.limits.client_address import read_address
from core.limits.request_shares import RequestShare, is_answering
from core.outbound import is_own_request

logger = logging.getLogger("rostrum.hosts")


class AccountMiddleware:
    """Set `request.address` (the account and the site of the host), and respond with 404 to requests for an unknown host."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # `PagesMiddleware` sets the interface of a page.
        interface = Interface.JSON if request.path_info.endswith(".json") else Interface.XML
        address, agent = read_address(request.META), request.META.get("HTTP_USER_AGENT", "")
        with called_from(Origin(interface, address, agent)):
            response = self.respond(request)
        if request.resolver_match is not None:
            request.META["rostrum.route"] = request.resolver_match.url_name
        if not response.streaming:
            # This default is the safe one, because a response may contain data of one user. A view may set another header.
            response.headers.setdefault("Cache-Control", "private, no-store")
            if request.method in ("GET", "HEAD") and response.status_code == 200:
                response = apply_etag_and_gzip(request, response)
            elif response.status_code == 422 and "gzip" in request.META.get("HTTP_ACCEPT_ENCODING", ""):
                # A page whose address or form has an error is as long as any other page.
                response = cast(HttpResponse, gzip_middleware.process_response(request, response))
            if response.status_code != 304:
                response.headers.setdefault("Content-Length", str(len(response.content)))
        if (status := getattr(request, "limit_status", None)) is not None:
            for name, value in status.headers.items():
                response.headers[name] = value
        return response

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.path_info == "/healthz":
            return HttpResponse("ok\n", content_type="text/plain")
        if request.path_info == "/readyz":
            return readiness.respond()
        if request.path_info == tls.PATH:
            return tls.respond(request)
        is_own = is_own_request(request.META.get("HTTP_USER_AGENT", ""))
        if is_own and request.path_info != reverse("accounts-domain-file"):
            # Otherwise a change that a webhook causes could call the webhook again. The log of the webhook shows this message. The
            # service may request the file that proves a domain from itself.
            return json_response(403, message="A webhook can't call this service")
        try:
            length = int(request.META.get("CONTENT_LENGTH") or 0)
        except ValueError:
            return error_response(request, 400, message=gettext_lazy("Content-Length is not a number"))
        limit = request.META.get("rostrum.max_body_bytes", settings.MAX_BODY_BYTES)
        if length > limit:
            message = gettext_lazy("The form with its files is too large (maximum is {n} MiB)")
            is_form = limit > settings.MAX_BODY_BYTES
            return error_response(request, 413, message=format_lazy(message, n=limit >> 20) if is_form else None)

        host = normalize(request.META.get("HTTP_HOST", ""))
        try:
            address = host_cache.find(host) if host else None
        except (OperationalError, InterfaceError) as error:
            logger.error("the database is not available: %s", type(error).__name__)
            return unavailable(request)
        if address is None or (address.site_id is None and requires_site(request, address)):
            return error_response(request, 404, message="No forum lives at this address")
        tenant_request = cast(TenantRequest, request)
        tenant_request.address = address
        # An attribute of the backend `config.database`.
        tenant_request.commits_before = getattr(connection, "commits", None)
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: object, kwargs: object
    ) -> HttpResponse | None:
        return closed(request, view) if cast(TenantRequest, request).address.is_closed else None


def closed(request: HttpRequest, view: Any) -> HttpResponse | None:
    """Return the response of a closed account, or None if the view of Django or DRF answers this user also then.

    Owners are led to the page that says why the account is closed.
    """
    view_class: Any = getattr(view, "view_class", None) or getattr(view, "cls", None)
    user = getattr(request, "user", None)
    is_of_team = user is not None and not user.is_owner and view_class.access != "anyone"
    if getattr(view_class, "works_when_closed", False) and not is_of_team:
        return None
    if user is not None and user.is_owner and request.method in ("GET", "HEAD"):
        return HttpResponseRedirect(reverse("accounts-closing"), status=303)
    return error_response(request, 403, message=ACCOUNT_CLOSED)


# Only `process_response` is called, so this `get_response` is never used.
gzip_middleware = GZipMiddleware(lambda request: HttpResponse())


def apply_etag_and_gzip(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Set the ETag. Return a 304 response if the client has this version, otherwise compress the body if the client accepts gzip.

    The ETag of a page is weak, because all encodings of a response share it (RFC 9110, section 8.8.1). A response of an API has a
    strong one for each encoding, for conditional writes.
    """
    etag = response.headers.get("ETag")
    is_of_api = etag is None and response.headers["Content-Type"].startswith(("application/json", "application/xml"))
    if etag is None:
        strong = etag_of(response.content)
        etag = response.headers["ETag"] = strong if is_of_api else f"W/{strong}"
    if "HTTP_IF_NONE_MATCH" in request.META:
        request.META["HTTP_IF_NONE_MATCH"] = remove_suffix(request.META["HTTP_IF_NONE_MATCH"])
        response = cast(HttpResponse, get_conditional_response(request, etag=etag, response=response))
    if "gzip" in request.META.get("HTTP_ACCEPT_ENCODING", "") and response.status_code == 200:
        response = cast(HttpResponse, gzip_middleware.process_response(request, response))
        if is_of_api and response.has_header("Content-Encoding"):
            response.headers["ETag"] = gzip_etag(etag)
    return response


def requires_site(request: HttpRequest, address: Address) -> bool:
    """Return whether the path is served only at the host of a site, and not at this host of the service itself."""
    path = request.path_info
    if address.front and (
        path.startswith(reverse("accounts-start"))
        or path == reverse("accounts-language")
        or (path == reverse(settings.HOME_URL) and expects_html(request))
    ):
        return False
    return not (
        path.endswith(".json")
        or path == reverse(settings.DOCS_URL)
        or path.startswith((f"{reverse(settings.DOCS_URL)}/", settings.STATIC_URL))
    )


class RequestShareMiddleware:
    """Answer with 503 if the account of the host has its share. `hold_share` continues when the user is known."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        tenant_request = cast(TenantRequest, request)
        if is_answering.get():
            tenant_request.share = None
            return self.get_response(request)
        share = tenant_request.share = RequestShare()
        answering = is_answering.set(True)
        try:
            if (account_id := tenant_request.address.account_id) is not None:
                share.hold_account(account_id)
            return self.get_response(request)
        except ShareExceeded:
            return share_exceeded(request)
        finally:
            is_answering.reset(answering)
            share.release()
