"""The address of a client, for rate limits."""

import ipaddress
from collections.abc import Mapping
from functools import lru_cache

from django.conf import settings


def from_environ(environ: Mapping[str, str]) -> str:
    """Return the normalized address of the client from a WSGI environment, or "unknown".

    Behind a proxy, this is the last entry of X-Forwarded-For, which the proxy adds. The client can forge the entries before it.
    """
    if settings.TRUST_PROXY and (address := normalize(environ.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2])):
        return address
    return normalize(environ.get("REMOTE_ADDR", "")) or "unknown"


@lru_cache(maxsize=1024)
def normalize(text: str) -> str:
    """Return an IPv4 address without its port, the /64 network of an IPv6 address, or "" if the text is not an address.

    A single subscriber usually has a whole /64. Some proxies write a port behind the address.
    """
    text = text.strip()
    host = text[1:].partition("]")[0] if text.startswith("[") else text
    if host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((int(address) >> 64 << 64, 64)))
