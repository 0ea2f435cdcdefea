"""Host names: conversion of a Host header or of a typed address to the stored name, and of the stored name to a URL."""

import re
from functools import lru_cache

from django.conf import settings

RESERVED_PREFIXES = frozenset(
    [
        "abuse",
        "account",
        "accounts",
        "admin",
        "api",
        "app",
        "assets",
        "auth",
        "billing",
        "blog",
        "cdn",
        "dashboard",
        "dev",
        "docs",
        "email",
        "ftp",
        "healthz",
        "help",
        "host",
        "hostmaster",
        "imap",
        "info",
        "localhost",
        "login",
        "mail",
        "mx",
        "noc",
        "ns",
        "ns1",
        "ns2",
        "pop",
        "pop3",
        "postmaster",
        "readyz",
        "root",
        "security",
        "settings",
        "signup",
        "smtp",
        "staging",
        "static",
        "status",
        "support",
        "test",
        "webmaster",
        "www",
    ]
)
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")


def is_reserved(label: str) -> bool:
    """Return whether the label is not available to accounts as their address under BASE_DOMAIN.

    Punycode labels are reserved because browsers display them in other letters, which can look like another account's address.
    """
    return label in RESERVED_PREFIXES or label.startswith("xn--")


def normalize(host: str) -> str | None:
    """Return the stored name of a host, or None if it is invalid.

    The stored name is one label for an address under BASE_DOMAIN, otherwise the whole name. It is in lower case, without port
    and final dot. The limits are those of RFC 1035: 253 characters, labels of 1 to 63.
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
        # Reject a label without BASE_DOMAIN.
        return label if label != name else None
    return name


def read(text: str) -> str | None:
    """Return the stored name of a typed address, with or without a scheme, or None if it is invalid.

    A single label means an address under BASE_DOMAIN.
    """
    host = re.sub(r"\Ahttps?://", "", text.strip().lower()).partition("/")[0]
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            return None
    return normalize(host if "." in host.removesuffix(".") else f"{host}.{settings.BASE_DOMAIN}")


def full_name(name: str) -> str:
    """Return the domain name of a stored name."""
    return name if "." in name else f"{name}.{settings.BASE_DOMAIN}"


def public_scheme() -> str:
    """Return the scheme of public URLs."""
    return "https" if settings.HTTPS else "http"


def public_url(name: str) -> str:
    """Return the URL of a stored host name, without a trailing slash.

    It depends on the settings only, because a client can send any Host header.
    """
    scheme, port = public_scheme(), settings.PUBLIC_PORT
    is_default = port is None or port == {"http": 80, "https": 443}[scheme]
    return f"{scheme}://{full_name(name)}" + ("" if is_default else f":{port}")
