"""Reading the process environment: every variable is declared once, with its default and what it is for.

A wrong value does not stop the import of the settings: it is kept in `problems`, which the system checks report as errors
with a sentence of advice, all of them at once.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    default: str
    purpose: str


@dataclass
class Environment:
    values: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    variables: list[Variable] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def read(self, name: str, default: str, purpose: str, parse: Callable[[str], Any] = str) -> Any:
        """The variable `name`, parsed; its default where it is not set, is empty or does not parse."""
        self.variables.append(Variable(name, default, purpose))
        given = self.values.get(name, "").strip()
        if given:
            try:
                return parse(given)
            except ValueError as error:
                # The value itself is not repeated: it may be a secret, put under the wrong name.
                self.problems.append(f"{name} is not valid: {error}. {purpose}")
        return parse(default) if default else None


def boolean(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("write on or off")


def https_mode(text: str) -> str:
    """`on`, `off` or `pages`."""
    if text.lower() == "pages":
        return "pages"
    try:
        return "on" if boolean(text) else "off"
    except ValueError:
        raise ValueError("write on, off or pages") from None


def number(*, minimum: int, maximum: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) < 20
        if not is_number or int(text) < minimum or (maximum is not None and int(text) > maximum):
            wanted = f", {minimum} or more" if maximum is None else f" from {minimum} to {maximum}"
            raise ValueError(f"write a whole number{wanted}")
        return int(text)

    return parse


def domain(text: str) -> str:
    """A domain name without a port, in lower case and in ASCII (RFC 1035: at most 253 characters)."""
    name = text.lower().rstrip(".")
    labels = name.split(".")
    if len(name) > 253 or not all(
        0 < len(label) <= 63 and label.replace("-", "a").isascii() and label.replace("-", "a").isalnum()
        for label in labels
    ):
        raise ValueError("write a domain name such as example.com, without a port")
    return name


def database(text: str) -> dict[str, Any]:
    """An address of a PostgreSQL database as Django's settings have it.

    libpq parses it, so it may name several hosts, and any of libpq's parameters in its query.
    """
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("PostgreSQL is the only storage; the address starts with postgresql://")
    # libpq's messages would repeat the address, and with it the password.
    mistake = ValueError("write an address such as postgresql://user:password@host:5432/name")
    try:
        given = conninfo_to_dict(text)
    except psycopg.ProgrammingError:
        raise mistake from None
    hosts, ports = (given.get(name, "").split(",") for name in ("host", "port"))
    are_numbers = all(not port or (port.isascii() and port.isdigit() and 0 < int(port) < 65536) for port in ports)
    if not given.get("dbname") or not are_numbers or len(ports) not in (1, len(hosts)):
        raise mistake
    own = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return {name: given.pop(parameter, "") for name, parameter in own.items()} | {"OPTIONS": given}
