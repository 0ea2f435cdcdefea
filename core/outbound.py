"""Requests to addresses that tenants enter, such as webhooks. All such requests use this module.

A tenant must not reach the network of the service through it (server-side request forgery, SSRF):

- The name of the host is resolved once. If any of its addresses is not public, the request is refused. The connection goes to one of
  the addresses that were checked, so a later change of the name's addresses has no effect. TLS is verified against the name.
- A name without a dot is refused before it is resolved: it could only name a machine of that network.
- Only ports 80 and 443 are allowed. The operator can allow further networks and ports (`WEBHOOK_ALLOW`).
- No redirects are followed, and no proxy of the environment is used.
- The whole request has a deadline, which neither a slow name server nor a slow response can extend. Only the beginning of the response
  is read.
- The service refuses its own requests, which it recognizes by their User-Agent (`is_own_request`). A list of its public addresses is not
  needed.
"""

import asyncio
import ipaddress
import re
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import urlsplit

import h11
from django.conf import settings
from django.utils.translation import gettext_lazy

from core.errors import FieldError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
# A function that returns the addresses of a host name, as `socket.getaddrinfo` writes them.
Resolve = Callable[[str, int], list[str]]

MAX_URL_LENGTH = 2000
DEFAULT_PORTS = {"http": 80, "https": 443}
USER_AGENT = "Rostrum-Webhooks/1.0"
# The time limits in seconds: of the whole request, of the name resolution in it, and of the connection to each address but the last.
TIMEOUT = 15
RESOLVE_TIMEOUT = 10
CONNECT_TIMEOUT = 5
# The maximum number of addresses that are tried.
MAX_ADDRESSES = 3
# The maximum size of the headers of a response, and of the part of its body that is read.
MAX_HEADER_BYTES = 16 * 1024
MAX_RESPONSE_BYTES = 1024
# The maximum number of names that are resolved at a time for one account.
MAX_RESOLUTIONS = 4

# The only public IPv6 addresses are global unicast addresses (RFC 4291). This excludes NAT64 and mapped IPv4 addresses, which
# reach other networks.
PUBLIC_IPV6 = IPv6Network("2000::/3")
# Special networks (RFC 6890 and the registries of IANA) and those that translate to other addresses.
SPECIAL_NETWORKS: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by the customers of a provider (CGNAT)
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # the platform service of Azure, which answers every virtual machine there
        "169.254.0.0/16",  # link-local, and metadata services of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # protocol assignments, including Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\Z")
_NUMBER = re.compile(r"(\d+|0x[0-9a-f]*)\Z")


class OutboundError(Exception):
    """A request that was refused or failed. `code` is a key of `ERROR_MESSAGES`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


ERROR_MESSAGES = {
    "url": gettext_lazy("The address is not valid."),
    "address": gettext_lazy("The address is not public: it belongs to a private or special network."),
    "port": gettext_lazy("The port is not allowed: use 80 or 443."),
    "dns": gettext_lazy("The name of the host could not be resolved."),
    "connect": gettext_lazy("No connection could be made, or it was closed before the response."),
    "tls": gettext_lazy("The TLS certificate is not valid for this host."),
    "timeout": gettext_lazy("There was no complete response within 15 seconds."),
    "protocol": gettext_lazy("The response is not valid HTTP."),
}


def is_public(address: Address) -> bool:
    """Return whether an address belongs to the public internet.

    `is_global` alone would accept NAT64 and 6to4, which lead to any IPv4 address.
    """
    if address.version == 6 and address not in PUBLIC_IPV6:
        return False
    return address.is_global and not any(address in network for network in SPECIAL_NETWORKS)


def check_address(text: str, port: int) -> Address:
    """Return an address to which a request may connect. Raise OutboundError."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise OutboundError("address") from None
    if getattr(address, "scope_id", None) is not None:
        raise OutboundError("address")
    if any(address in network and port in ports for network, ports in settings.WEBHOOK_ALLOW):
        return address
    if not is_public(address):
        raise OutboundError("address")
    if port not in DEFAULT_PORTS.values():
        raise OutboundError("port")
    return address


@dataclass(frozen=True, slots=True)
class URL:
    """A checked URL. `host` is a name in lower case without a final dot, or an address without brackets."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def literal(self) -> Address | None:
        """The address, if the host is one."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def parse_url(text: str) -> URL:
    """Return the URL of a text. Raise OutboundError if it is not an absolute http or https URL, or has a user or a fragment."""
    if len(text) > MAX_URL_LENGTH or re.search(r"[\x00-\x20\x7f\\#]|\s", text):
        raise OutboundError("url")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        # `port` is None for a missing port and for an empty one.
        if parts.scheme not in DEFAULT_PORTS or "@" in parts.netloc or parts.netloc.endswith(":"):
            raise OutboundError("url")
        host = _normalize_host(host, is_bracketed="[" in parts.netloc)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        target.encode("ascii")
    except ValueError:
        # UnicodeError is a subclass of ValueError.
        raise OutboundError("url") from None
    if port is None:
        port = DEFAULT_PORTS[parts.scheme]
    return URL(parts.scheme, host, port, target)


def _normalize_host(host: str, *, is_bracketed: bool) -> str:
    """Return the host as an address or as a name in ASCII. Raise ValueError or OutboundError."""
    if is_bracketed:
        if "%" in host:
            raise OutboundError("url")
        return str(IPv6Address(host))
    # The encoding also turns letters such as full-width digits into ASCII.
    host = (host if host.isascii() else host.encode("idna").decode()).lower().removesuffix(".")
    if len(host) > 253 or not all(_LABEL.match(label) for label in host.split(".")):
        raise OutboundError("url")
    if "." not in host and not _NUMBER.match(host):
        raise OutboundError("address")
    # Resolvers read `127.1`, `2130706433`, `0x7f000001` and `0177.0.0.1` as addresses. Only the canonical form is accepted.
    return str(IPv4Address(host)) if _NUMBER.match(host.rpartition(".")[2]) else host


def check_url(text: str) -> URL:
    """Return the URL of a text if requests to it may be allowed. Raise FieldError for the field `url`.

    The addresses of a name are checked with each request.
    """
    try:
        url = parse_url(text)
        if url.literal is not None:
            check_address(url.host, url.port)
        elif url.port not in DEFAULT_PORTS.values() and not any(
            url.port in ports for _, ports in settings.WEBHOOK_ALLOW
        ):
            raise OutboundError("port")
    except OutboundError as error:
        raise FieldError("url", URL_ERRORS[error.code], error.code) from None
    return url


URL_ERRORS = {
    "url": gettext_lazy("is not an address such as https://example.com/hook"),
    "address": gettext_lazy("is not an address of the public internet"),
    "port": gettext_lazy("must have port 80 or 443"),
}


@dataclass(frozen=True, slots=True)
class Response:
    """The response to a request, with the beginning of its body."""

    status: int
    # The names are in lower case. Of repeated headers, the last one counts.
    headers: Mapping[str, str]
    body: bytes


class Resolver:
    """Resolves names in threads. Each account that is resolving names has threads of its own, at most `MAX_RESOLUTIONS`.

    A resolution takes as long as the name servers of the tenant need, and its thread cannot be interrupted, even if the request has ended.
    In shared threads, the names of one tenant could delay the requests of all others.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By account: its threads, and the number of names that are being resolved or wait for a thread.
        self._threads: dict[int, ThreadPoolExecutor] = {}
        self._names: Counter[int] = Counter()

    def submit(self, account_id: int, resolve: Resolve, host: str, port: int) -> "Future[list[str]]":
        """Return the future addresses of a host. A name that still waits for a thread can be cancelled."""
        with self._lock:
            if account_id not in self._threads:
                self._threads[account_id] = ThreadPoolExecutor(MAX_RESOLUTIONS, thread_name_prefix="resolver")
            future = self._threads[account_id].submit(resolve, host, port)
            self._names[account_id] += 1
        # Without the lock, because the callback is called at once if the name is resolved already.
        future.add_done_callback(lambda _: self._remove(account_id))
        return future

    def _remove(self, account_id: int) -> None:
        with self._lock:
            self._names[account_id] -= 1
            if not self._names[account_id]:
                del self._names[account_id]
                self._threads.pop(account_id).shutdown(wait=False)


resolver = Resolver()


@lru_cache(maxsize=1)
def _tls_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses of a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_own_request(user_agent: str) -> bool:
    """Return whether a request to this service was sent by `fetch`, judged by its User-Agent."""
    return user_agent == USER_AGENT


async def fetch(
    method: str,
    url: str,
    *,
    account_id: int,
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    timeout: float = TIMEOUT,
    max_bytes: int = MAX_RESPONSE_BYTES,
    user_agent: str = USER_AGENT,
    resolve: Resolve | None = None,
    tls: ssl.SSLContext | None = None,
) -> Response:
    """Send a request and return the response, without following redirects. Raise OutboundError.

    `account_id` is the account that entered the URL. `timeout` is the limit of the whole request, in seconds. The body is cut after
    `max_bytes`. `resolve` and `tls` are for tests.
    """
    target = parse_url(url)
    try:
        async with asyncio.timeout(timeout):
            addresses = await _addresses(target, account_id, resolve or resolve_host)
            reader, writer = await _connect(target, addresses, tls)
            try:
                return await _exchange(reader, writer, method, target, user_agent, headers, body, max_bytes)
            finally:
                # A graceful end of TLS would wait for the other side.
                writer.transport.abort()
    except TimeoutError:
        raise OutboundError("timeout") from None
    except ssl.SSLError:
        raise OutboundError("tls") from None
    except h11.ProtocolError:
        raise OutboundError("protocol") from None
    except OSError:
        raise OutboundError("connect") from None


async def _addresses(url: URL, account_id: int, resolve: Resolve) -> list[Address]:
    """Return the addresses of the host. Raise OutboundError if any of them is not allowed."""
    if url.literal is not None:
        return [check_address(url.host, url.port)]
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT):
            found = await asyncio.wrap_future(resolver.submit(account_id, resolve, url.host, url.port))
    except (OSError, UnicodeError):
        # TimeoutError is a subclass of OSError.
        raise OutboundError("dns") from None
    if not found:
        raise OutboundError("dns")
    return [check_address(text, url.port) for text in found]


async def _connect(
    url: URL, addresses: list[Address], tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address that accepts."""
    context, name = (tls or _tls_context(), url.host) if url.scheme == "https" else (None, None)
    connect = partial(asyncio.open_connection, port=url.port, limit=MAX_HEADER_BYTES, ssl=context, server_hostname=name)
    tried = addresses[:MAX_ADDRESSES]
    for address in tried[:-1]:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                return await connect(str(address))
        except ssl.SSLError:
            raise
        except OSError:
            continue
    return await connect(str(tried[-1]))


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    method: str,
    url: URL,
    user_agent: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    max_bytes: int,
) -> Response:
    """Send the request and read the response, up to `max_bytes` of its body."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_BYTES)
    lines = [
        ("Host", url.authority),
        ("User-Agent", user_agent),
        ("Connection", "close"),
        ("Content-Length", str(len(body))),
    ]
    request = connection.send(h11.Request(method=method, target=url.target, headers=[*lines, *headers])) or b""
    writer.write(request + (connection.send(h11.Data(data=body)) or b"") + (connection.send(h11.EndOfMessage()) or b""))
    # Do not wait until all is sent (`drain`): some servers respond without reading the body.
    response: h11.Response | None = None
    content = bytearray()
    read = 0
    while len(content) < max_bytes:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            data = await reader.read(MAX_HEADER_BYTES)
            read += len(data)
            if response is None and read > 2 * MAX_HEADER_BYTES:
                # An endless sequence of interim responses (1xx).
                raise OutboundError("protocol")
            connection.receive_data(data)
        elif isinstance(event, h11.Response):
            response = event
        elif isinstance(event, h11.Data):
            content += event.data
        elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
            break
    if response is None:
        raise OutboundError("protocol")
    names = {name.decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
    return Response(response.status_code, names, bytes(content[:max_bytes]))
