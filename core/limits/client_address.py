"""The address of a client, and what a proxy in front tells about it.

A proxy can name the client in a header. The headers `X-Forwarded-For` and `X-Forwarded-Proto` are not safe by default: WSGI makes one
variable of `X-Forwarded-For` and `X_Forwarded_For`, the last one wins, and many proxies pass on the second one as the client sent it. No
other name makes the variable of `Forwarded` (RFC 7239), because it has no hyphen. So a proxy that sets this header replaces all that
the client can send.
"""

import ipaddress
from collections.abc import MutableMapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.conf import settings

if TYPE_CHECKING:
    from collections.abc import Mapping

# The values of the setting TRUST_PROXY. It is "" without a proxy.
FORWARDED, X_FORWARDED = "forwarded", "x-forwarded"
# The variables of the headers that only a proxy may set.
PROXY_VARIABLES = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO")
# Limits by address count the /64 network of an IPv6 address, which one subscriber usually has, and the /48 network around it with a
# limit that is this many times higher: some subscribers have a whole /48, in others there are up to 256 of them.
WIDE_FACTOR = 4


def apply_proxy(environ: MutableMapping[str, str]) -> None:
    """Set REMOTE_ADDR and `wsgi.url_scheme` to what the trusted proxy tells, and remove the headers of proxies.

    Without a trusted proxy, or if its header is malformed, the address is that of the connection. So clients without an address of
    their own share the limits of the proxy.
    """
    forwarded, address, scheme = (environ.pop(name, "") for name in PROXY_VARIABLES)
    if settings.TRUST_PROXY == FORWARDED:
        parameters = last_element(forwarded)
        address, scheme = parameters.get("for", ""), parameters.get("proto", "")
    elif settings.TRUST_PROXY == X_FORWARDED:
        # The client can forge the entries before the last one.
        address, scheme = address.rpartition(",")[2], scheme.rpartition(",")[2]
    else:
        return
    if normalize(address):
        environ["REMOTE_ADDR"] = address.strip()
    if scheme.strip().lower() in ("http", "https"):
        environ["wsgi.url_scheme"] = scheme.strip().lower()


def last_element(forwarded: str) -> dict[str, str]:
    """Return the parameters of the last element of a header `Forwarded`, or nothing if it is ambiguous.

    The proxy adds the last element, and the client can forge those before it. The element is what follows the last comma, whatever quotes
    come before it: an element of a proxy has no comma in it.
    """
    parameters: dict[str, str] = {}
    for pair in forwarded.rpartition(",")[2].split(";"):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or name.lower() in parameters:
            return {}
        parameters[name.lower()] = value.removeprefix('"').removesuffix('"')
    return parameters


def read_address(environ: "Mapping[str, Any]") -> str:
    """Return the normalized address of the client from a WSGI environment after `apply_proxy`, or "unknown"."""
    return normalize(environ.get("REMOTE_ADDR", "")) or "unknown"


@lru_cache(maxsize=1024)
def normalize(text: str) -> str:
    """Return an IPv4 address without its port, the /64 network of an IPv6 address, or "" if the text is not an address.

    A single subscriber usually has a whole /64. Some proxies write a port behind the address.
    """
    address = parse_address(text)
    if address is None or address.version == 4:
        return str(address or "")
    return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))


def parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address in a text, which may have a port and brackets, or None if the text is not an address."""
    text = text.strip()
    host = text[1:].partition("]")[0] if text.startswith("[") else text
    if host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return address if address.version == 4 else address.ipv4_mapped or address


@lru_cache(maxsize=1024)
def counted_networks(address: str) -> tuple[tuple[str, int], ...]:
    """Return what limits count for a normalized address, each with the factor of its limit: the address, and the /48 network of IPv6."""
    if not address.endswith("/64"):
        return ((address, 1),)
    return (address, 1), (str(ipaddress.IPv6Network(address).supernet(new_prefix=48)), WIDE_FACTOR)
