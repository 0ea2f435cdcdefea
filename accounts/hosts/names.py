"""Host names: conversion of a Host header or of a typed address to the stored name, and of the stored name to a URL."""

import re
import tomllib
from functools import lru_cache
from pathlib import Path

from django.conf import settings

# The address of the service itself besides BASE_DOMAIN.
WWW = "www"
_RESERVED: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("reserved.toml").read_text())
RESERVED_PREFIXES, RESERVED_WORDS = frozenset(_RESERVED["prefixes"]), tuple(_RESERVED["words"])
# The form of the prefix of an account, which is its address under BASE_DOMAIN.
PREFIX_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])\Z"
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")


def is_reserved(label: str) -> bool:
    """Return whether the label is not available to accounts as their address under BASE_DOMAIN.

    Labels such as `acme--12` are reserved for `own_name`, and those of Punycode because browsers display them in other letters, which
    can look like another account's address.
    """
    return (
        label in RESERVED_PREFIXES
        or label.startswith("xn--")
        or host_id_of(label) is not None
        or label.startswith(RESERVED_WORDS)
        or label.endswith(RESERVED_WORDS)
    )


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


def is_domain(name: str) -> bool:
    """Return whether a stored name is a custom domain, and not an address under BASE_DOMAIN."""
    return "." in name


def is_front(name: str) -> bool:
    """Return whether a stored name is that of the front: the host at which visitors create accounts."""
    return name in (settings.BASE_DOMAIN, WWW)


def front_url() -> str:
    """Return the URL of the front. On a laptop, the demo account has the host BASE_DOMAIN."""
    return public_url(WWW if settings.LOCAL_ACCOUNT else settings.BASE_DOMAIN)


# The length of the prefix in `own_name`, so that the label has at most 63 characters.
MAX_OWN_PREFIX = 40
_OWN_NAME = re.compile(r".+--([1-9][0-9]{0,17})\Z")


def own_name(prefix: str, host_id: int, name: str) -> str:
    """Return the stored name of the address under BASE_DOMAIN at which a host's site is shown to the team.

    It is the host itself, unless the host is a custom domain.
    """
    return f"{prefix[:MAX_OWN_PREFIX]}--{host_id}" if is_domain(name) else name


def host_id_of(own_name: str) -> int | None:
    """Return the id of the host in an address that `own_name` made for a custom domain, or None for other addresses."""
    match = _OWN_NAME.match(own_name)
    return int(match[1]) if match else None


def full_name(name: str) -> str:
    return name if "." in name or name == settings.BASE_DOMAIN else f"{name}.{settings.BASE_DOMAIN}"


def public_url(name: str) -> str:
    """Return the URL of a stored host name, without a trailing slash.

    It depends on the settings only, because a client can send any Host header.
    """
    scheme, port = "https" if settings.HTTPS else "http", settings.PUBLIC_PORT
    is_default = port is None or port == {"http": 80, "https": 443}[scheme]
    return f"{scheme}://{full_name(name)}" + ("" if is_default else f":{port}")
