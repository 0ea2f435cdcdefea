"""The user, the language, the time zone, messages and the browser's policy, for pages alone.

Requests of the API skip all of it.
"""

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.utils import timezone, translation
from django.utils.module_loading import import_string

from accounts.cookies import SESSION_COOKIE, set_session
from accounts.models import Session
from accounts.sites import sites
from core.api.negotiation import wants_page
from core.error_responses import unavailable
from core.pages.language import language_of


class PagesMiddleware:
    """Set `request.user` (None for a visitor), `request.session`, `request.account` and `request.site`."""

    def __init__(self, get_response):
        self.get_response = self.page = get_response
        for name in reversed(settings.PAGE_MIDDLEWARE):
            self.page = import_string(name)(self.page)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (wants_page(request) or is_of_pages(request.path_info)):
            return self.get_response(request)
        if settings.HTTPS_FOR_PAGES_ALONE and not request.is_secure():
            return HttpResponsePermanentRedirect(f"https://{request.get_host()}{request.get_full_path()}")
        request.user = request.session = request.account = request.site = None
        try:
            self.recognize(request)
        except (OperationalError, InterfaceError):
            return unavailable(request)
        with translation.override(language_of(request)), timezone.override(zone_of(request)):
            response = self.page(request)
            response.headers.setdefault("Content-Language", translation.get_language())
        # A view that signs a user in or out sets the cookie itself.
        if request.session is not None and request.session.seen_now and SESSION_COOKIE not in response.cookies:
            set_session(response, request.COOKIES[SESSION_COOKIE])
        return response

    @staticmethod
    def recognize(request: HttpRequest) -> None:
        address = request.address
        if address.account_id is None:
            return
        if secret := request.COOKIES.get(SESSION_COOKIE):
            session = Session.objects.holding(address.account_id, secret)
            if session is not None:
                session.seen_now = session.touch()
                request.session, request.user = session, session.user
                request.META["rostrum.user"] = f"{session.account.prefix}#{session.user_id}"
        if address.site_id is not None:
            request.site = sites.get(address.account_id, address.site_id)
        if request.site is not None:
            request.account = request.site.account


def is_of_pages(path: str) -> bool:
    """Return whether only a page can be at the path, so that `Accept` does not matter."""
    if path in ("/robots.txt", "/favicon.ico"):
        return True
    return path.startswith("/app/") and not path.endswith((".xml", ".json"))


def zone_of(request: HttpRequest) -> str:
    user, account = request.user, request.account
    return (user and user.time_zone) or (account.time_zone if account else settings.TIME_ZONE)
