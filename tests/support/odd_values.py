"""Values that no form expects."""

from zlib import crc32

ODD_VALUES = [
    "",
    "0",
    "1" * 19,
    "9" * 5000,
    "٣",  # a digit outside ASCII
    "\x00",
    "a\x00b\x1f",
    "\ud800",
    "😀" * 17_000,
    "/\t/evil.example",
    "http://[",
    "client-999999999999999999",
    "[](" * 500,
    "<script>alert(1)</script>{{ 7 }}{% now %}",
    "9999-12-31",
]


def odd_value(path: str, name: str) -> str:
    """Return the value of a field of a page. Of hundreds of fields, some get each value."""
    return ODD_VALUES[crc32(f"{path} {name}".encode()) % len(ODD_VALUES)]
