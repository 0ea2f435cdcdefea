"""Requests of the API examples, for browsers without JavaScript: the server executes the request in its own process.

The request passes through all middleware with the session and the CSRF token of the user. So the request has the permissions of the
user, counts towards the limits, and appears in the access log.
"""

import io
import re
from dataclasses import dataclass
from http import HTTPStatus
from time import perf_counter
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone, translation
from django.utils.module_loading import import_string

# The number of characters of a body that are displayed. `examples.js` has the same limit.
MAX_SHOWN_LENGTH = 100_000

# The WSGI variables that the inner request takes over: host, client, cookies and scheme.
FORWARDED_VARIABLES = (
    "SERVER_NAME",
    "SERVER_PORT",
    "SERVER_PROTOCOL",
    "REMOTE_ADDR",
    "HTTP_HOST",
    "HTTP_COOKIE",
    "HTTP_ORIGIN",
    "HTTP_REFERER",
    "HTTP_USER_AGENT",
    "wsgi.url_scheme",
)
PHRASES = {413: "Payload Too Large", 422: "Unprocessable Entity"}


@dataclass
class ExampleResponse:
    request_line: str
    status: int
    milliseconds: int
    headers: list[tuple[str, str]]
    body: str

    @property
    def phrase(self) -> str:
        return PHRASES.get(self.status) or HTTPStatus(self.status).phrase

    @property
    def is_good(self) -> bool:
        return self.status < 400

    @property
    def is_cut(self) -> bool:
        return len(self.body) > MAX_SHOWN_LENGTH

    @property
    def shown_body(self) -> str:
        text = self.body[:MAX_SHOWN_LENGTH]
        return text if self.is_cut or not text.startswith(("{", "[")) else indent_json(text)


def execute(
    request: HttpRequest,
    method: str,
    target: str,
    headers: dict[str, str],
    body: str | None,
    *,
    media_type: str,
    language: str,
) -> ExampleResponse:
    """Execute an example for the user of `request` and return its response.

    `target` is the path with the query. `media_type` is that of the body, and `language` that of the response: "json", "xml" or "".
    """
    path, _, query = target.partition("?")
    content = (body or "").encode(errors="surrogatepass")
    environ = {name: request.META[name] for name in FORWARDED_VARIABLES if name in request.META}
    environ |= {f"HTTP_{name.upper().replace('-', '_')}": encode_header(value) for name, value in headers.items()}
    environ |= {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "CONTENT_TYPE": media_type if content else "",
        "CONTENT_LENGTH": str(len(content)),
        "HTTP_ACCEPT": f"application/{language}" if language else "*/*",
        "HTTP_X_CSRFTOKEN": encode_header(request.POST.get("csrfmiddlewaretoken", "")),
        "wsgi.input": io.BytesIO(content),
        "wsgi.version": (1, 0),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    status = 500
    response_headers: list[tuple[str, str]] = []

    def start_response(line: str, headers: list[tuple[str, str]], exc_info: object = None) -> None:
        nonlocal status, response_headers
        status, response_headers = int(line[:3]), headers

    started_at = perf_counter()
    # Requests of API clients have no language and no time zone. The application is imported by its setting, because `accounts` must
    # not import `config`.
    with translation.override(settings.LANGUAGE_CODE), timezone.override(None):
        parts = import_string(settings.WSGI_APPLICATION)(environ, start_response)
    text = b"".join(parts).decode(errors="replace")
    milliseconds = round((perf_counter() - started_at) * 1000)
    shown_headers = [(name, value) for name, value in response_headers if name.lower() != "set-cookie"]
    return ExampleResponse(f"{method} {target} HTTP/1.1", status, milliseconds, shown_headers, text)


def encode_header(text: str) -> str:
    """Return the value of a header in the encoding of WSGI."""
    return text.encode(errors="replace").decode("latin-1")


JSON_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def indent_json(text: str) -> str:
    """Return the JSON indented. Unlike `json.dumps`, it keeps each number as it was written."""
    parts: list[str] = []
    depth, opened = 0, False
    for token in JSON_TOKENS.findall(text):
        closes = token in {"}", "]"}
        depth -= closes
        if opened != closes:
            parts.append("\n" + "  " * depth)
        opened = token in {"{", "["}
        depth += opened
        parts.append({",": ",\n" + "  " * depth, ":": ": "}.get(token, token))
    return "".join(parts)
