"""The client of the older server: its lists in JSON with a token, and its forum in XML with a login and a password.

Its address is entered by a tenant, so `core.outbound` sends the requests. What it answers is not trusted: the size is limited, and the
serializers of the interfaces validate the rows.
"""

import asyncio
import base64
import json
import re
import time
from dataclasses import dataclass
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from core import outbound
from core.errors import FieldError, FieldErrors
from forum.xml.formats import read_document

USER_AGENT = "Rostrum-MoveIn/1.0"
MAX_BODY_BYTES = 8 * 1024**2
# The longest wait in seconds that the older server may ask for.
MAX_WAIT = 3600
# The seconds before another attempt if the server does not say when.
RETRY_AFTER = 30
# An escape in JSON. The group is one that the database can't store: NUL, or half of a surrogate pair, as of a text that was cut.
ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..|u0000)|.)", re.DOTALL)
# The rows of a page of comments. A shorter page is the last one.
PAGE_SIZE = 25

Row = dict[str, Any]


class OldServerError(Exception):
    """An answer that ends the move. The message is for people."""


class NotOfferedError(OldServerError):
    """The server has no such path, or the credentials for it were not given."""


class BusyError(OldServerError):
    """The server does not answer now, or asks for fewer requests."""

    def __init__(self, message: object, seconds: float = RETRY_AFTER) -> None:
        super().__init__(message)
        self.seconds = seconds


@dataclass
class OldServer:
    account_id: int
    # `https://old.example.com`, and the address of its forum or "".
    address: str
    forum: str = ""
    token: str = ""
    login: str = ""
    password: str = ""
    # When the next request may be sent, by the monotonic clock.
    next_at: float = 0.0

    # The seconds between two requests, and the statuses of answers whose body is read.
    interval: ClassVar[float] = 0.2
    READ_STATUSES: ClassVar[tuple[int, ...]] = (200,)
    name: ClassVar[Any] = _("The older server")
    # What to do after an answer that makes no sense.
    hint: ClassVar[Any] = _("Check its address.")

    def describe(self, message: Any, **values: object) -> Any:
        """Return an error with the name of the server, when it is shown."""
        return format_lazy(message, name=self.name, hint=self.hint, **values)

    def rows(self, path: str, page: int, **query: object) -> list[Row]:
        """Return the rows of a page of a list in JSON. Raise OldServerError."""
        return as_rows(self.read_json(path, page=page, **query))

    def read_json(self, path: str, **query: object) -> Any:
        """Return the JSON at a path. Raise OldServerError."""
        if not self.token:
            raise NotOfferedError(_("The token is missing."))
        query["api_token"] = self.token
        return self.parse_json(self.fetch(f"{self.address}{path}?{urlencode(query)}", [("Accept", "application/json")]))

    def parse_json(self, body: bytes) -> Any:
        text = ESCAPE.sub(lambda found: "\\ufffd" if found[1] else found[0], body.decode("utf-8-sig", "replace"))
        try:
            return json.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError):
            raise OldServerError(self.describe(_("{name} does not answer in JSON. {hint}"))) from None

    def read_xml(self, path: str, **query: object) -> dict[str, Any]:
        """Return the XML at a path of the forum, by the name of its root. Raise OldServerError."""
        if not self.forum or not self.login:
            raise NotOfferedError(_("The forum, or the login for it, is missing."))
        credentials = base64.b64encode(f"{self.login}:{self.password}".encode()).decode()
        headers = [("Accept", "application/xml"), ("Content-Type", "application/xml")]
        url = f"{self.forum}{quote(path)}" + (f"?{urlencode(query)}" if query else "")
        body = self.fetch(url, [*headers, ("Authorization", f"Basic {credentials}")])
        try:
            return read_document(body)
        except FieldErrors:
            raise OldServerError(
                _("The older server does not answer in XML. Check the address of its forum.")
            ) from None

    def fetch(self, url: str, headers: list[tuple[str, str]], method: str = "GET", body: bytes = b"") -> bytes:
        """Return the body at a URL. Raise OldServerError."""
        time.sleep(max(0.0, self.next_at - time.monotonic()))
        self.next_at = time.monotonic() + self.interval
        options: dict[str, Any] = {"account_id": self.account_id, "user_agent": USER_AGENT, "body": body}
        try:
            fetched = outbound.fetch(method, url, headers=headers, max_bytes=MAX_BODY_BYTES + 1, **options)
            response = asyncio.run(fetched)
        except outbound.OutboundError as error:
            kind = BusyError if error.code in ("dns", "connect", "timeout") else OldServerError
            raise kind(outbound.ERROR_MESSAGES[error.code]) from None
        if response.status == 429 or response.status >= 500:
            raise BusyError(self.describe(_("{name} is busy.")), wait_of(response.headers.get("retry-after", "")))
        if response.status in (401, 403):
            raise OldServerError(self.describe(_("{name} refuses the credentials. Enter them again.")))
        if response.status in (404, 405, 406, 410):
            raise NotOfferedError(self.describe(_("{name} has no such list. {hint}")))
        if response.status not in self.READ_STATUSES:
            raise OldServerError(self.describe(_("{name} answers with an error. {hint}")))
        if len(response.body) > MAX_BODY_BYTES:
            raise OldServerError(self.describe(_("{name} sends too large an answer.")))
        return response.body


def as_rows(value: object) -> list[Row]:
    """Return the objects of a list, also of a list that JSON or XML wraps in an object. Raise OldServerError."""
    if isinstance(value, dict) and len(value) == 1:
        [value] = value.values()
    if value in (None, ""):
        return []
    if not isinstance(value, list):
        raise OldServerError(_("The older server does not answer with a list. Check its address."))
    return [row for row in value if isinstance(row, dict)]


def wait_of(text: str) -> float:
    """Return the seconds of a `Retry-After`, which is a number or a date."""
    try:
        seconds = float(text) if text.isdecimal() else (parsedate_to_datetime(text) - timezone.now()).total_seconds()
    except (ValueError, TypeError):
        return RETRY_AFTER
    return min(max(seconds, 1.0), MAX_WAIT)


def address_of(text: str, field: str, scheme: str = "https") -> str:
    """Return the address of a server without a path. Raise FieldError for the field."""
    text = text.strip() if "://" in text else f"{scheme}://{text.strip()}"
    try:
        outbound.check_url(text)
    except FieldError as error:
        raise FieldError(field, error.message, error.code) from None
    parts = urlsplit(text)
    return f"{parts.scheme}://{parts.netloc}"
