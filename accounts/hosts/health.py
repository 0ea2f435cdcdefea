"""The checks of the addresses at which the service is reached, for `manage.py doctor`."""

import socket
import ssl
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPSConnection
from time import monotonic

from django.conf import settings
from django.utils import timezone

from accounts.hosts.models import Host
from accounts.hosts.names import public_url
from core import outbound
from core.health.checks import FAULT, OK, WARNING, Finding, register

# The domains that are checked in one run, the seconds for each, and the time before its end at which a certificate should have been renewed.
SAMPLE = 20
TIMEOUT = 3
RENEWAL = timedelta(days=10)
# The seconds after which no further domain is checked.
TIME_FOR_DOMAINS = 20


def check_proxy() -> Iterable[Finding]:
    """Ask the service itself through a public address, as a visitor would. Only visitors who sign up need one at BASE_DOMAIN itself."""
    name = (
        settings.OPERATOR_ACCOUNT
        or Host.objects.proven().exclude(name__contains=".").values_list("name", flat=True).first()
    )
    url = public_url(settings.BASE_DOMAIN if settings.SIGN_UP != "closed" or not name else name)
    scheme, _, host = url.partition("://")
    connection = (HTTPSConnection if scheme == "https" else HTTPConnection)(host, timeout=TIMEOUT)
    try:
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        is_ours = response.status == 200 and response.read(10) == b"ok\n"
    except (OSError, ssl.SSLError) as error:
        yield FAULT, f"{url} does not answer: {type(error).__name__}"
        return
    finally:
        connection.close()
    yield (OK, f"{url} answers") if is_ours else (FAULT, f"{url} leads to another server")


def check_domains() -> Iterable[Finding]:
    """Check the DNS and the certificates of a sample of the domains of forums."""
    if not settings.HTTPS:
        return
    names = list(Host.objects.proven().filter(name__contains=".").order_by("?").values_list("name", flat=True)[:SAMPLE])
    deadline = monotonic() + TIME_FOR_DOMAINS
    for number, name in enumerate(names):
        if monotonic() > deadline:
            yield WARNING, f"{len(names) - number} domains were not checked in time"
            return
        try:
            end = end_of_certificate(name)
        except socket.gaierror:
            yield WARNING, f"{name} has no address"
        except (OSError, ssl.SSLError, outbound.OutboundError) as error:
            yield WARNING, f"{name} has no valid certificate: {type(error).__name__}"
        else:
            level = WARNING if end - timezone.now() < RENEWAL else OK
            yield level, f"the certificate of {name} ends on {end:%Y-%m-%d}"


def end_of_certificate(host: str, port: int = 443) -> datetime:
    # Tenants name these domains, so none may lead into a private network, and a second look-up could have another answer.
    addresses = outbound.resolve_host(host, port)
    for address in addresses:
        outbound.check_address(address, port)
    context = ssl.create_default_context()
    with (
        socket.create_connection((addresses[0], port), TIMEOUT) as raw,
        context.wrap_socket(raw, server_hostname=host) as secure,
    ):
        certificate = secure.getpeercert() or {}
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)


register("public address", "the-proxy-in-front", check_proxy)
register("domains", "domains-of-forums", check_domains)
