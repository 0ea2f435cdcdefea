"""The middleware of pages: it sets the user, the site, the language and the time zone, and runs `PAGE_MIDDLEWARE`.

Requests of the APIs skip it.
"""

from collections.abc import Callable
from typing import cast

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.utils import timezone, translation
from django.utils.module_loading import import_string

from accounts.audit.origin import Interface, set_caller
from accounts.hosts.addresses import sites
from accounts.hosts.requests import PageRequest
from accounts.sessions.cookies import SESSION_COOKIE, remember_browser, set_cookie
from accounts.sessions.models import Session
from core.error_responses import share_exceeded, unavailable
from core.errors import ShareExceeded
from core.http.formats import expects_html
from core.http.regions import override_region
from core.http.throttling import client_address_of
from core.limits.request_shares import hold_share
from core.pages.formatting import language_of, region_of


class PagesMiddleware:
    """Set `request.user` (None for a visitor), `request.session`, `request.account` and `request.site`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = self.page = get_response
        for name in reversed(settings.PAGE_MIDDLEWARE):
            self.page = import_string(name)(self.page)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (expects_html(request) or is_page_path(request.path_info)):
            return self.get_response(request)
        if settings.HTTPS_FOR_PAGES_ONLY and not request.is_secure():
            return HttpResponsePermanentRedirect(f"https://{request.get_host()}{request.get_full_path()}")
        page_request = cast(PageRequest, request)
        try:
            self.load_user_and_site(page_request)
            set_caller(page_request.user, interface=Interface.PAGE)
            hold_share(page_request, page_request.user)
        except ShareExceeded:
            return share_exceeded(request)
        except (OperationalError, InterfaceError):
            return unavailable(request)
        user, account = page_request.user, page_request.account
        zone = (user and user.time_zone) or (account.time_zone if account else settings.TIME_ZONE)
        with translation.override(language_of(request)), timezone.override(zone):
            with override_region(region_of(request)):
                response = self.page(request)
            response.headers.setdefault("Content-Language", translation.get_language())
        # Renew the cookie of an extended session, unless the view signed the user in or out and set the cookie itself.
        session = page_request.session
        if session is not None and session.was_extended and SESSION_COOKIE not in response.cookies:
            set_cookie(response, SESSION_COOKIE, request.COOKIES[SESSION_COOKIE], Session.LIFETIME)
            remember_browser(page_request, response, session.user)
        return response

    @staticmethod
    def load_user_and_site(request: PageRequest) -> None:
        request.user = request.session = None
        # `Page` responds with 404 if these attributes stay None.
        request.account = request.site = None  # type: ignore[assignment]
        address = request.address
        if address.account_id is None:
            return
        if secret := request.COOKIES.get(SESSION_COOKIE):
            session = Session.objects.find_by_secret(address.account_id, secret, domain=address.domain)
            if session is not None:
                session.was_extended = session.touch(client_address_of(request))
                request.session, request.user = session, session.user
                request.META["rostrum.user"] = f"{session.account.prefix}#{session.user_id}"
        site = None if address.site_id is None else sites.get(address.account_id, address.site_id)
        if site is not None:
            request.site, request.account = site, site.account


def is_page_path(path: str) -> bool:
    """Return whether the path belongs to a page, regardless of the Accept header."""
    is_of_app = path.startswith("/app/") and not path.endswith((".xml", ".json"))
    return is_of_app or path in ("/robots.txt", "/favicon.ico")
