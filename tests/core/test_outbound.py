"""Requests to addresses of tenants: which are refused, and what a response may do."""

import asyncio
import ssl
import threading
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.utils import timezone

from core import outbound
from core.errors import FieldError
from core.outbound import OutboundError, check_url, fetch, is_public, parse_url
from tests.support.tables import table

LOOPBACK = ((IPv4Network("127.0.0.0/8"), tuple(range(1, 65536))), (IPv6Network("::1"), tuple(range(1, 65536))))

NOT_PUBLIC = """
    0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.254 127.0.0.1 127.255.255.254 168.63.129.16 169.254.0.1
    169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.170 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1
    198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::8.8.8.8 64:ff9b:1::7f00:1
    100::1 2001::1 2001:0:7f00:1:: 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:a00:1:: 2002:808:808::1
    3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 ff0e::1
""".split()  # noqa: SIM905
PUBLIC = "1.1.1.1 8.8.8.8 93.184.215.14 172.15.255.255 172.32.0.1 100.128.0.1 2606:4700:4700::1111 2a00:1450:4001:81b::200e".split()  # noqa: SIM905

# Hosts that are refused before anything is resolved, in any form that a resolver or a browser would read as an address.
REFUSED_URLS = """
    http://127.0.0.1/ http://127.0.0.1:80/ https://127.0.0.1./ http://[::1]/ http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/
    http://[64:ff9b::7f00:1]/ http://[fe80::1%25eth0]/ http://[fe80::1%eth0]/ http://2130706433/ http://0x7f000001/ http://017700000001/
    http://0177.0.0.1/ http://0x7f.0.0.1/ http://127.1/ http://127.0.1/ http://0/ http://127.0.0.0x1/ http://127.0.0.01/
    http://١٢٧.0.0.1/ http://１２７.0.0.1/ http://127。0。0。1/ http://①②⑦.0.0.1/ http://169.254.169.254/latest/meta-data/
    http://user@example.com/ http://user:password@example.com/ http://example.com@127.0.0.1/ http://127.0.0.1#@example.com/
    http://example.com:8080/ http://example.com:22/ http://example.com:0/ http://example.com:/ http://example.com:65536/
    http://example.com:x/ http://example.com\\@127.0.0.1/ http://example..com/ http://.example.com/ http://example.com../ http:///path
    http://-example.com/ http://exa%6Dple.com/ http://example.com/#fragment //example.com/ /path example.com ftp://example.com/
    file:///etc/passwd gopher://example.com/ javascript:alert(1) http:example.com http://[::1/ http://[1.2.3.4]/ http://[v1.x]/
    http://[]/ https:// http://127.127.127.127/ http://0.0.0.0/ http://0x7f.1/ http://0300.0250.0.1/ http://08.8.8.8/ http://0x/
    http://0b1111111.0.0.1/ http://127.0.0.1%00.example.com/ http://[::]/ http://[::127.0.0.1]/ http://[fd00:ec2::254]/
    http://[0:0:0:0:0:ffff:7f00:1]/ http://[::1%2525lo]/ http://[fe80::1%251]/ http://[2002:7f00:1::]/ http://[::ffff:0:7f00:1]/
    http://localhost:8000/ http://[::ffff:10.0.0.1]:80/
""".split()  # noqa: SIM905


@table("text", NOT_PUBLIC)
def test_it_rejects_addresses_that_are_not_public(text):
    assert not is_public(ip_address(text))
    assert code_of(lambda: send("http://rebound.example/", resolve=lambda host, port: ["8.8.8.8", text])) == "address"


@table(
    "url",
    [
        "http://db/",
        "http://db:80/",
        "https://DB./hook",
        "http://localhost/",
        "http://localhost:5432/",
        "http://bücher/",
        "http://127.0.0.1/",
        "http://[::1]/",
    ],
)
def test_names_of_the_own_network_are_refused_like_its_addresses_before_they_are_resolved(url):
    """The answers do not tell which names exist in the network of the service."""
    with pytest.raises(FieldError) as caught:
        check_url(url)
    assert (caught.value.field, caught.value.code) == ("url", "address")
    assert code_of(lambda: send(url, resolve=lambda host, port: pytest.fail("resolved"))) == "address"


@table("text", PUBLIC)
def test_it_accepts_public_addresses(text):
    assert is_public(ip_address(text))


@table(
    "url",
    [*REFUSED_URLS, "http://example.com/ x", "http://example.com/\n", "http://example.com/ą", "http://" + "a" * 2000],
)
def test_it_rejects_urls(url):
    with pytest.raises(FieldError) as caught:
        check_url(url)
    assert caught.value.field == "url"


@table(
    ("text", "authority", "target"),
    [
        ("https://example.com/hook?a=1&b=%20", "example.com", "/hook?a=1&b=%20"),
        ("https://Example.COM.", "example.com", "/"),
        ("http://example.com:443/", "example.com:443", "/"),
        ("https://bücher.example/", "xn--bcher-kva.example", "/"),
        ("http://8.8.8.8/", "8.8.8.8", "/"),
        ("https://[2606:4700:4700:0::1111]/", "[2606:4700:4700::1111]", "/"),
        ("https://_hook.example.com//x", "_hook.example.com", "//x"),
    ],
)
def test_it_accepts_urls(text, authority, target):
    url = check_url(text)
    assert (url.authority, url.target) == (authority, target)


def test_the_operator_allows_networks_with_ports(settings):
    settings.WEBHOOK_ALLOW = ((IPv4Network("10.0.0.0/8"), (8080,)), (IPv6Network("fd00::/8"), (80, 443)))
    check_url("http://10.1.2.3:8080/")
    check_url("https://[fd00::1]/")
    # Its addresses are checked with each request.
    check_url("http://mattermost.internal:8080/")
    for text in (
        "http://10.1.2.3/",
        "http://11.1.2.3:8080/",
        "http://[fd00::1]:8080/",
        "http://[::ffff:10.1.2.3]:8080/",
    ):
        with pytest.raises(FieldError):
            check_url(text)
    with pytest.raises(FieldError):
        check_url("http://mattermost.internal:8081/")


# Requests to a server on the loopback interface


def run(coroutine):
    return asyncio.run(coroutine)


def send(url: str, **options):
    return run(fetch("POST", url, **{"account_id": 1, **options}))


def code_of(call) -> str:
    """Return the code of the error with which the call fails."""
    with pytest.raises(OutboundError) as caught:
        call()
    return caught.value.code


@pytest.fixture
def loopback(settings):
    settings.WEBHOOK_ALLOW = LOOPBACK


def request(respond, url="http://receiver.example:{port}/hook", *, ssl_context=None, address="127.0.0.1", **options):
    """Serve one request with `respond(reader, writer)`, and return the response and the request as it arrived."""
    received = bytearray()

    async def serve(reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            received.extend(head)
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            received.extend(await reader.readexactly(length))
            await respond(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=ssl_context)
        async with server:
            port = server.sockets[0].getsockname()[1]
            options.setdefault("resolve", lambda host, port: [address])
            return await fetch("POST", url.format(port=port), account_id=1, body=b"{}", **options)

    return run(main()), bytes(received)


def reply(text: bytes):
    async def respond(writer):
        writer.write(text)
        await writer.drain()

    return respond


def test_it_works(loopback):
    response, received = request(
        reply(b"HTTP/1.1 204 No Content\r\nRetry-After: 7\r\n\r\n"), headers=[("Content-Type", "application/json")]
    )
    assert (response.status, response.headers, response.body) == (204, {"retry-after": "7"}, b"")
    host = received.partition(b"Host: ")[2].partition(b"\r\n")[0]
    assert host.startswith(b"receiver.example:")
    assert received == (
        b"POST /hook HTTP/1.1\r\nHost: %b\r\nUser-Agent: Rostrum-Webhooks/1.0\r\nConnection: close\r\nContent-Length: 2\r\n"
        b"Content-Type: application/json\r\n\r\n{}" % host
    )


def test_proxies_of_the_environment_are_not_used(loopback, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert request(reply(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))[0].status == 200


def test_a_redirect_is_not_followed(loopback):
    response, _received = request(
        reply(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n")
    )
    assert response.status == 302


def test_only_the_beginning_of_the_body_is_read(loopback):
    response, _received = request(reply(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000))
    assert response.body == b"x" * 1024


@table(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-Header: value\r\n" * 10_000 + b"\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    ],
)
def test_it_rejects_other_responses(loopback, answer):
    assert code_of(lambda: request(reply(answer))) == "protocol"


def test_a_slow_response_has_a_deadline(loopback):
    async def drip(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.02)

    assert code_of(lambda: request(drip, timeout=0.2)) == "timeout"


def test_the_connection_goes_to_the_address_that_was_checked():
    """A second resolution would return another address, so the name must be resolved only once."""
    answers = [["8.8.8.8"], ["127.0.0.1"]]
    connected = []

    async def open_connection(host, port, **options):
        connected.append((host, port, options.get("server_hostname")))
        raise ConnectionRefusedError

    original, asyncio.open_connection = asyncio.open_connection, open_connection
    try:
        with pytest.raises(OutboundError) as caught:
            send("https://rebinding.example/", resolve=lambda host, port: answers.pop(0))
    finally:
        asyncio.open_connection = original
    assert caught.value.code == "connect"
    assert connected == [("8.8.8.8", 443, "rebinding.example")]
    assert len(answers) == 1


@table(
    ("addresses", "code"),
    [
        ([], "dns"),
        (OSError("unknown"), "dns"),
        (["8.8.8.8", "127.0.0.1"], "address"),
        (["fe80::1%2"], "address"),
        (["not an address"], "address"),
    ],
)
def test_it_rejects_names(addresses, code):
    def resolve(host, port):
        if isinstance(addresses, OSError):
            raise addresses
        return addresses

    assert code_of(lambda: send("http://name.example/", resolve=resolve)) == code


def test_localhost_is_resolved_and_refused():
    hosts = ["localhost", "LOCALHOST", "localhost.", "LocalHost.", "ｌｏｃａｌｈｏｓｔ", "ⓛocalhost"]
    assert {host: code_of(lambda host=host: send(f"http://{host}/")) for host in hosts} == dict.fromkeys(
        hosts, "address"
    )


# Slow name servers


class SlowNames:
    """Names whose servers do not answer until `release`."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.lock = threading.Lock()
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        with self.lock:
            self.asked.append(host)
        self.release.wait(60)
        return ["10.0.0.1"]


@pytest.fixture
def slow_names():
    names = SlowNames()
    yield names
    names.release.set()


async def fill_threads(slow_names: SlowNames, number: int) -> list[asyncio.Task]:
    """Start requests of account 1, and wait until they occupy all threads of the account."""
    requests = [fetch("POST", f"http://{n}.example/", account_id=1, resolve=slow_names) for n in range(number)]
    tasks = [asyncio.create_task(request) for request in requests]
    while len(slow_names.asked) < outbound.MAX_RESOLUTIONS:
        await asyncio.sleep(0.01)
    return tasks


def test_slow_names_of_an_account_delay_no_other_account(slow_names):
    async def main():
        slow = await fill_threads(slow_names, 100)
        with pytest.raises(OutboundError) as caught:
            await fetch("POST", "http://fast.example/", account_id=2, resolve=lambda host, port: ["10.0.0.1"])
        assert caught.value.code == "address"
        # The other names wait until one of the account's threads is free.
        assert len(slow_names.asked) == outbound.MAX_RESOLUTIONS
        assert not any(task.done() for task in slow)
        slow_names.release.set()
        errors = await asyncio.gather(*slow, return_exceptions=True)
        assert {error.code for error in errors} == {"address"}
        assert len(slow_names.asked) == 100

    run(main())
    # The threads end after the last name.
    assert outbound.resolver._threads == {}


def test_a_name_that_waits_is_not_resolved_after_its_request_has_ended(slow_names):
    async def main():
        slow = await fill_threads(slow_names, outbound.MAX_RESOLUTIONS)
        with pytest.raises(OutboundError) as caught:
            await fetch("POST", "http://late.example/", account_id=1, resolve=slow_names, timeout=0.05)
        assert caught.value.code == "timeout"
        slow_names.release.set()
        await asyncio.gather(*slow, return_exceptions=True)

    run(main())
    assert "late.example" not in slow_names.asked


@pytest.mark.parametrize(("limit", "code"), [("RESOLVE_TIMEOUT", "dns"), ("TIMEOUT", "timeout")])
def test_the_resolution_of_a_name_has_a_deadline(slow_names, monkeypatch, limit, code):
    monkeypatch.setattr(outbound, limit, 0.1)
    assert code_of(lambda: send("http://slow.example/", resolve=slow_names, timeout=outbound.TIMEOUT)) == code


def test_the_next_address_is_tried(loopback):
    response, _received = request(
        reply(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), resolve=lambda host, port: ["127.0.0.2", "127.0.0.1"]
    )
    assert response.status == 200


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Return the path of a file with a key and a self-signed certificate for `receiver.example`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver.example")])
    now = timezone.now()
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("receiver.example")]), critical=False)
    signed = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(
        key, hashes.SHA256()
    )
    pem, traditional = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    path = tmp_path_factory.mktemp("tls") / "receiver.pem"
    path.write_bytes(key.private_bytes(pem, traditional, serialization.NoEncryption()) + signed.public_bytes(pem))
    return path


def test_tls_is_verified_against_the_name(loopback, certificate):
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate)
    answer = reply(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def get(host: str, **options):
        return request(answer, f"https://{host}:{{port}}/", ssl_context=server, **options)[0].status

    trusted = ssl.create_default_context(cafile=certificate)
    assert get("receiver.example", tls=trusted) == 200
    for host in ("other.example", "127.0.0.1"):
        assert code_of(lambda host=host: get(host, tls=trusted)) == "tls"
    # The certificate is unknown.
    assert code_of(lambda: get("receiver.example")) == "tls"


def test_every_error_has_a_message():
    assert set(outbound.ERROR_MESSAGES) >= {"url", "address", "port", "dns", "connect", "tls", "timeout", "protocol"}
    assert parse_url("http://example.com").target == "/"
