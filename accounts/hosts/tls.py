"""The answer to a proxy that asks, at a connection to an unknown name, whether to request a certificate for it (on-demand TLS).

Without it, anyone could have the proxy request certificates for any name, until the certificate authority refuses to issue more.
"""

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse

from accounts.hosts.addresses import host_cache
from accounts.hosts.names import normalize
from core.http.throttling import MINUTE
from core.limits.client_address import parse
from core.limits.rate_limits import rate_limiter

# No forum has this path: the name of a category has no slash.
PATH = "/internal/tls"
# Questions per minute for all names together. The proxy keeps the certificates that it has.
MAX_QUESTIONS = 600


def respond(request: HttpRequest) -> HttpResponse:
    """Return 200 if the service answers at the host `domain`, also for a closed account, and 404 for other names and other clients."""
    asker = parse(request.META.get("REMOTE_ADDR", ""))
    if asker is None or not any(asker in network for network in settings.TLS_ASK_ADDRESSES):
        return HttpResponse(status=404)
    if settings.RATE_LIMIT and not rate_limiter.hit("tls-questions", MAX_QUESTIONS, MINUTE).allowed:
        return HttpResponse(status=429)
    name = normalize(request.GET.get("domain", ""))
    try:
        return HttpResponse(status=200 if name and host_cache.find(name) is not None else 404)
    except (OperationalError, InterfaceError):
        return HttpResponse(status=503)
