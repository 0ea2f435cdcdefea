"""The variables of the process environment: each is declared once, with its default and purpose.

An invalid value does not stop the import of the settings. It is recorded in `problems`, and the system checks report all problems
together.
"""

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

# Secrets that a file may contain: SECRET_KEY_FILE is the path of the file with SECRET_KEY.
FILE_VARIABLES = ("SECRET_KEY", "DATABASE_URL")


def environment_variables() -> dict[str, str]:
    """Return the variables of the process, and those whose values are in files."""
    values = dict(os.environ)
    for name in FILE_VARIABLES:
        path = values.get(f"{name}_FILE")
        if path and not values.get(name):
            # A system check reports that the variable is not set.
            with contextlib.suppress(OSError):
                values[name] = Path(path).read_text().strip()
    return values


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable, for the tests of the documents."""

    name: str
    default: str
    purpose: str


@dataclass
class Environment:
    """The values of the environment, with the variables that were declared and the problems that were found."""

    # Not in the representation, which Django's debug page shows: the values are secrets, too.
    values: dict[str, str] = field(default_factory=environment_variables, repr=False)
    variables: list[Variable] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def read(self, name: str, default: str, purpose: str, parse: Callable[[str], Any] = str) -> Any:
        """Declare a variable and return its parsed value, or the default if it is not set, empty or invalid."""
        self.variables.append(Variable(name, default, purpose))
        text = self.values.get(name, "").strip()
        if text:
            try:
                return parse(text)
            except ValueError as error:
                # The message does not repeat the value, which may be a secret under the wrong name.
                self.problems.append(f"{name} is not valid: {error}. {purpose}")
        return parse(default) if default else None


def boolean(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("write on or off")


def https_mode(text: str) -> str:
    """Return `on`, `off` or `pages`."""
    if text.lower() == "pages":
        return "pages"
    try:
        return "on" if boolean(text) else "off"
    except ValueError:
        raise ValueError("write on, off or pages") from None


def proxy_mode(text: str) -> str:
    """Return the header of a trusted proxy, `forwarded` or `x-forwarded`, or "" without a proxy."""
    if text.lower() in {"forwarded", "x-forwarded"}:
        return text.lower()
    try:
        is_on = boolean(text)
    except ValueError:
        is_on = True
    if is_on:
        raise ValueError("write forwarded, x-forwarded or off")
    return ""


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a parser for one of these words, without regard to case."""

    def parse(text: str) -> str:
        for choice in choices:
            if choice.lower() == text.lower():
                return choice
        raise ValueError(f"write {', '.join(choices[:-1])} or {choices[-1]}")

    return parse


Networks = tuple[tuple[IPv4Network | IPv6Network, tuple[int, ...]], ...]


def networks(text: str) -> Networks:
    """Return networks with their ports, from a text such as `10.0.0.0/8:8080,[fd00::/8]:443`. The default ports are 80 and 443."""
    found = []
    for entry in text.split(","):
        match = re.fullmatch(r"(?:\[(?P<six>.+)\]|(?P<four>[\d./]+))(?::(?P<port>\d{1,5}))?", entry.strip())
        if not match or not 0 < int(match["port"] or 80) < 65536:
            raise ValueError("write networks and ports such as 10.0.0.0/8:8080,[fd00::/8]:443")
        network = IPv6Network(match["six"]) if match["six"] else IPv4Network(match["four"])
        found.append((network, (int(match["port"]),) if match["port"] else (80, 443)))
    return tuple(found)


def address_ranges(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks in a text such as `127.0.0.1,10.0.0.0/8,fd00::/8`."""
    try:
        return tuple(ip_network(entry.strip()) for entry in text.split(","))
    except ValueError:
        raise ValueError("write addresses and networks such as 127.0.0.1,10.0.0.0/8,fd00::/8") from None


def number(*, minimum: int, maximum: int | None = None) -> Callable[[str], int]:
    """Return a parser for whole numbers in this range."""

    def parse(text: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) < 20
        if not is_number or int(text) < minimum or (maximum is not None and int(text) > maximum):
            allowed = f", {minimum} or more" if maximum is None else f" from {minimum} to {maximum}"
            raise ValueError(f"write a whole number{allowed}")
        return int(text)

    return parse


def fraction(text: str) -> float:
    """Return a number from 0 to 1."""
    if not re.fullmatch(r"0|1|[01]?\.\d{1,9}|1\.0", text) or float(text) > 1:
        raise ValueError("write a number from 0 to 1, such as 0.01")
    return float(text)


def socket_address(text: str) -> tuple[str, int]:
    """Return the host and the port of an address such as `127.0.0.1:9100` or `[::1]:9100`."""
    match = re.fullmatch(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9.-]+)):(?P<port>\d{1,5})", text)
    if not match or not 0 < int(match["port"]) < 65536:
        raise ValueError("write a host and a port such as 127.0.0.1:9100")
    return match["six"] or match["host"], int(match["port"])


def http_url(text: str) -> str:
    """Return an address of http or https. The message does not repeat it, because it may contain a secret."""
    try:
        url = urlsplit(text)
        is_valid = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError("write an address that starts with https:// or http://")
    return text


def sentry_dsn(text: str) -> str:
    """Return the address of a project of Sentry, `https://key@host/project`."""
    url = urlsplit(http_url(text))
    if not url.username or not url.path.rpartition("/")[2].isdecimal():
        raise ValueError("write the DSN of a project, such as https://key@sentry.example.com/1")
    return text


def prefix(text: str) -> str:
    """Return the prefix of an account. Raise ValueError for a whole address."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", text):
        raise ValueError("write the first part of the address of an account, such as acme")
    return text


def domain(text: str) -> str:
    """Return a domain name in lower case. Raise ValueError if it has a port or is not a name in ASCII (RFC 1035)."""
    name = text.lower().rstrip(".")
    labels = name.split(".")
    if len(name) > 253 or not all(
        0 < len(label) <= 63 and label.replace("-", "a").isascii() and label.replace("-", "a").isalnum()
        for label in labels
    ):
        raise ValueError("write a domain name such as example.com, without a port")
    return name


def database(text: str) -> dict[str, object]:
    """Return the address of a PostgreSQL database in the format of Django's setting DATABASES.

    libpq parses the address, so it may have several hosts, and any parameter of libpq in its query.
    """
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("PostgreSQL is the only storage; the address starts with postgresql://")
    # The messages of libpq repeat parts of the address, which may contain the password.
    invalid_address = ValueError("write an address such as postgresql://user:password@host:5432/name")
    try:
        parameters: dict[str, Any] = conninfo_to_dict(text)
    except psycopg.ProgrammingError:
        raise invalid_address from None
    hosts, ports = (parameters.get(name, "").split(",") for name in ("host", "port"))
    are_numbers = all(not port or (port.isascii() and port.isdigit() and 0 < int(port) < 65536) for port in ports)
    if not parameters.get("dbname") or not are_numbers or len(ports) not in (1, len(hosts)):
        raise invalid_address
    parameter_names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return {name: parameters.pop(parameter, "") for name, parameter in parameter_names.items()} | {
        "OPTIONS": parameters
    }


def bucket(text: str) -> dict[str, str]:
    """Return the address of a bucket, `s3://key:secret@bucket?endpoint=…&region=…`, as the options of `obstore.store.S3Store`."""
    # The message does not repeat the address, which contains a secret.
    invalid_address = ValueError(
        "write an address such as s3://key:secret@bucket?endpoint=https://s3.example.com&region=eu-central-1"
    )
    try:
        url = urlsplit(text)
        options = dict(parse_qsl(url.query, strict_parsing=bool(url.query)))
    except ValueError:
        raise invalid_address from None
    endpoint = options.get("endpoint", "https://")
    is_complete = url.scheme == "s3" and url.hostname and url.username and url.password and url.path in ("", "/")
    if not is_complete or options.keys() - {"endpoint", "region"} or not endpoint.startswith(("https://", "http://")):
        raise invalid_address
    secrets = {"access_key_id": unquote(url.username or ""), "secret_access_key": unquote(url.password or "")}
    return {"bucket": url.hostname or "", "region": "us-east-1", **secrets, **options}
