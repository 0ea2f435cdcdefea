"""Arguments of the web server, for `manage.py serve` and `make run`."""

import contextlib
import os
import socket
from argparse import ArgumentTypeError
from collections.abc import Callable


def integer_between(lowest: int, highest: int) -> Callable[[str], int]:
    """Return a type for argparse that accepts a whole number in this range."""

    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not lowest <= int(text) <= highest:
            raise ArgumentTypeError(f"write a whole number from {lowest} to {highest}, not {text!r}")
        return int(text)

    return parse


def available_cores() -> int:
    """Return how many cores this process may use: a container may have fewer than the machine."""
    with contextlib.suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def listening_address(host: str, port: int, *, is_ours: bool = False) -> str:
    """Return the IP address of `host`, after checking that the port is free. Raise OSError if the port is in use.

    `is_ours` says that workers of this server already use the port (`config.server.execute_new_code`).

    granian accepts no host names. It would also share the port with another granian, and each would get some of the requests.
    """
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # Prefer an IPv4 address.
    family, _, _, _, address = min(addresses, key=lambda address_info: address_info[0] != socket.AF_INET)
    if not is_ours:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    return str(address[0])
