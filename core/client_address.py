"""Whom requests come from."""

import ipaddress
from collections.abc import Mapping
from functools import lru_cache

from django.conf import settings


def from_environ(environ: Mapping[str, str]) -> str:
    """The client's address as the limits count it: IPv6 by its /64, which a single subscriber has the whole of.

    Behind the proxy it is the last entry of X-Forwarded-For, which the proxy wrote; what stands before it is the client's
    word. Some proxies write a port as well.
    """
    if settings.TRUST_PROXY and (address := normalize(environ.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2])):
        return address
    return normalize(environ.get("REMOTE_ADDR", "")) or "unknown"


@lru_cache(maxsize=1024)
def normalize(text: str) -> str:
    """An address as it is counted; none if it is none."""
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
