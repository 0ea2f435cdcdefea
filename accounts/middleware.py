"""Find the tenant of the Host header, before anything else is done with a request."""

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from time import monotonic

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.middleware.gzip import GZipMiddleware
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.translation import gettext_lazy

from accounts.host_names import normalize, public_url
from accounts.models import Host
from accounts.sites import sites
from core.api import readiness
from core.db.prepared import prepared
from core.error_responses import error_response, unavailable

logger = logging.getLogger("rostrum.hosts")


@dataclass(frozen=True, slots=True)
class Address:
    """The account and the site of a host.

    It is cached, so it has only ids and names. Permissions are decided by what is read with the user.
    """

    account_id: int | None
    site_id: int | None
    site_name: str
    # Whether the token determines the account: so at the hosts of the service itself.
    token_decides: bool = False
    # The account's prefix, which is the part of its tokens after the slash.
    prefix: str = ""
    # The stored name of the host.
    host: str = ""

    @property
    def url(self) -> str:
        """The public URL of the host, for links in e-mails."""
        return public_url(self.host)


@prepared(name=str)
def host_named(name):
    return Host.objects.filter(name=name).values_list("account_id", "id", "account__prefix")


class AddressBook:
    """A cache of the addresses that requests named in the last `seconds`. It saves two statements for each request.

    A host that moves to another account must answer there within a second, in every process. So an entry is valid for less
    than that, counted from before it was read. Unknown hosts are not cached: a new account answers at once.
    """

    def __init__(self, *, size: int = 10_000, seconds: float = 0.9):
        self.size = size
        self.seconds = seconds
        self._entries: OrderedDict[str, tuple[float, Address]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, host: str) -> Address | None:
        entry = self._entries.get(host)
        if entry is not None and entry[0] > monotonic():
            return entry[1]
        until = monotonic() + self.seconds
        address = self._look_up(host)
        with self._lock:
            if address is None:
                self._entries.pop(host, None)
            else:
                self._entries[host] = (until, address)
                self._entries.move_to_end(host)
                if len(self._entries) > self.size:
                    self._entries.popitem(last=False)
        return address

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def _look_up(self, host: str) -> Address | None:
        service = host in (settings.BASE_DOMAIN, "api")
        if settings.LOCAL_ACCOUNT and host in ("localhost", "127.0.0.1"):
            host, service = settings.LOCAL_ACCOUNT, True
        elif service:
            return Address(None, None, "", token_decides=True)
        row = host_named.first(name=host)
        if row is None:
            return None
        account_id, host_id, prefix = row
        site_id, site_name = sites.at_host(account_id, host_id) or (None, "")
        return Address(account_id, site_id, site_name, token_decides=service, prefix=prefix, host=host)


address_book = AddressBook()


class AccountMiddleware:
    """Set `request.address`, and answer 404 to requests for an unknown host."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.answer(request)
        if not response.streaming:
            # An answer may contain data of one user, unless its view says otherwise.
            response.headers.setdefault("Cache-Control", "private, no-store")
            if request.method in ("GET", "HEAD") and response.status_code == 200:
                response = shorten(request, response)
            if response.status_code != 304:
                response.headers.setdefault("Content-Length", str(len(response.content)))
        if (status := getattr(request, "limit_status", None)) is not None:
            for name, value in status.headers.items():
                response.headers[name] = value
        return response

    def answer(self, request: HttpRequest) -> HttpResponse:
        if request.path_info == "/healthz":
            return HttpResponse("ok\n", content_type="text/plain")
        if request.path_info == "/readyz":
            return readiness.respond()
        try:
            length = int(request.META.get("CONTENT_LENGTH") or 0)
        except ValueError:
            return error_response(request, 400, message=gettext_lazy("Content-Length is not a number"))
        if length > settings.MAX_BODY_BYTES:
            return error_response(request, 413)

        host = normalize(request.META.get("HTTP_HOST", ""))
        try:
            address = address_book.find(host) if host else None
        except (OperationalError, InterfaceError) as error:
            logger.error("the database is away: %s", type(error).__name__)
            return unavailable(request)
        if address is None or (address.site_id is None and not is_without_site(request.path_info)):
            return error_response(request, 404, message="No forum lives at this address")
        request.address = address
        request.commits = connection.commits
        return self.get_response(request)


compression = GZipMiddleware(lambda request: None)


def shorten(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Set the ETag. Answer 304 to a client that has this version, and compress the answer for a client that accepts it.

    The tag is weak, because it is the same for all encodings of an answer (RFC 9110, section 8.8.1).
    """
    etag = response.headers.get("ETag")
    if etag is None:
        etag = response.headers["ETag"] = f'W/"{blake2b(response.content, digest_size=12).hexdigest()}"'
    if "HTTP_IF_NONE_MATCH" in request.META:
        response = get_conditional_response(request, etag=etag, response=response)
    if "gzip" in request.META.get("HTTP_ACCEPT_ENCODING", "") and response.status_code == 200:
        response = compression.process_response(request, response)
    return response


def is_without_site(path: str) -> bool:
    """Return whether a path is answered at the hosts of the service too, which have no site."""
    return path.endswith(".json") or path == reverse("core-docs") or path.startswith(settings.STATIC_URL)
