"""The limits of a token: scopes, and networks of client addresses."""

import ipaddress
from collections.abc import Iterable, Sequence

from django.utils.translation import gettext_lazy as _

from core.errors import FieldError
from core.rows.scopes import READ, WRITE, areas

MAX_NETWORKS = 20


def clean_scopes(scopes: Iterable[str] | None) -> list[str] | None:
    """Return the scopes in their order, or None for all. `write` includes `read`. Raise FieldError if one is unknown or missing."""
    if scopes is None:
        return None
    chosen, known = set(scopes), [READ, WRITE, *areas.names]
    if unknown := sorted(chosen.difference(known)):
        params = {"scope": unknown[0][:255], "scopes": ", ".join(known)}
        raise FieldError("scopes", _("{scope} is not one of {scopes}"), "choice", params)
    if WRITE in chosen:
        chosen.add(READ)
    if READ not in chosen or not chosen.intersection(areas.names):
        raise FieldError("scopes", _("must have read or write, and at least one area"), "required")
    return [scope for scope in known if scope in chosen]


def clean_networks(networks: Sequence[str] | None) -> list[str] | None:
    """Return the networks in their usual notation without duplicates, or None for all. Raise FieldError if one is invalid."""
    if not networks:
        return None
    if len(networks) > MAX_NETWORKS:
        raise FieldError("networks", _("can't be more than {limit}"), "max_length", {"limit": MAX_NETWORKS})
    cleaned = []
    for text in networks:
        try:
            network: ipaddress.IPv4Network | ipaddress.IPv6Network = ipaddress.ip_network(text.strip(), strict=False)
        except ValueError:
            message = _("{network} is not an address or a network, such as 203.0.113.7 or 2001:db8::/32")
            raise FieldError("networks", message, "invalid", {"network": text.strip()[:50]}) from None
        mapped = network.network_address.ipv4_mapped if network.version == 6 else None
        if mapped is not None and network.prefixlen >= 96:
            # The addresses of clients are compared as IPv4, too.
            network = ipaddress.ip_network((mapped, network.prefixlen - 96))
        cleaned.append(str(network))
    return list(dict.fromkeys(cleaned))
