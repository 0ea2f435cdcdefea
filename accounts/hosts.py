"""Names of hosts: from a Host header, or what somebody types, to the name that an account's address is stored under."""

import re
from functools import lru_cache

from django.conf import settings

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")


def normalize(host: str) -> str | None:
    """The stored name of a host: one label for an address under BASE_DOMAIN, else the whole name; None if it is none.

    Lower case, without port and final dot; at most 253 characters, labels of 1-63 (RFC 1035).
    """
    return _normalize(host, settings.BASE_DOMAIN) if len(host) <= 260 else None


@lru_cache(maxsize=10_000)
def _normalize(host: str, base_domain: str) -> str | None:
    name = host.lower()
    if name.startswith("["):
        return None
    name, colon, port = name.partition(":")
    if colon and not (port.isascii() and port.isdigit() and len(port) <= 5):
        return None
    name = name.removesuffix(".")
    if len(name) > 253 or not all(_LABEL.match(label) for label in name.split(".")):
        return None
    if name in (base_domain, "localhost"):
        return name
    label = name.removesuffix("." + base_domain)
    if "." not in label:
        # A bare label that BASE_DOMAIN does not follow is nobody's address.
        return label if label != name else None
    return name


def read(text: str) -> str | None:
    """The stored name of the address that somebody types: with its scheme or without, under BASE_DOMAIN or a domain of one's own.

    A single word is meant to be under BASE_DOMAIN. None if it is no address.
    """
    host = re.sub(r"\Ahttps?://", "", text.strip().lower()).partition("/")[0]
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            return None
    return normalize(host if "." in host.removesuffix(".") else f"{host}.{settings.BASE_DOMAIN}")


def full_name(name: str) -> str:
    """What is typed into a browser, for a stored name."""
    return name if "." in name else f"{name}.{settings.BASE_DOMAIN}"


def public_scheme() -> str:
    """Return the scheme by which people reach the service."""
    return "https" if settings.HTTPS else "http"


def public_url(name: str) -> str:
    """Return the URL of a stored host name, without a slash at the end.

    It is built from the settings alone: the Host header of a request is whatever its sender wrote.
    """
    scheme, port = public_scheme(), settings.PUBLIC_PORT
    is_default = port is None or port == {"http": 80, "https": 443}[scheme]
    return f"{scheme}://{full_name(name)}" + ("" if is_default else f":{port}")
