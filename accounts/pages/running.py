"""Running an example without JavaScript: the request that the browser would send, carried out in this process.

It goes through the whole service as any other, with the caller's session and the token of the form that was sent, so that it
may do just what the caller may, is counted, and stands in the access log.
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

# What is shown of a body, in characters; `examples.js` has the same.
SHOWN = 100_000

# What the request is told of the one that asks for it: where it goes, who sends it, whence.
PASSED_ON = (
    "SERVER_NAME",
    "SERVER_PORT",
    "SERVER_PROTOCOL",
    "REMOTE_ADDR",
    "HTTP_HOST",
    "HTTP_COOKIE",
    "HTTP_ORIGIN",
    "HTTP_REFERER",
    "HTTP_USER_AGENT",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "wsgi.url_scheme",
    # The mark of a request that has a slot (`config.wsgi.HAS_SLOT`).
    "rostrum.slot",
)
PHRASES = {413: "Payload Too Large", 422: "Unprocessable Entity"}


@dataclass
class Answer:
    line: str
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
        return len(self.body) > SHOWN

    @property
    def shown(self) -> str:
        text = self.body[:SHOWN]
        return text if self.is_cut or not text.startswith(("{", "[")) else laid_out(text)


def run(request: HttpRequest, example, target: str, headers: dict[str, str], body: str | None) -> Answer:
    """`target` is a path of the example's, and a query."""
    path, _, query = target.partition("?")
    content = (body or "").encode(errors="surrogatepass")
    environ = {name: request.META[name] for name in PASSED_ON if name in request.META}
    environ |= {f"HTTP_{name.upper().replace('-', '_')}": wire(value) for name, value in headers.items()}
    environ |= {
        "REQUEST_METHOD": example.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "CONTENT_TYPE": example.media_type if content else "",
        "CONTENT_LENGTH": str(len(content)),
        "HTTP_ACCEPT": f"application/{example.language}" if example.language else "*/*",
        "HTTP_X_CSRFTOKEN": wire(request.POST.get("csrfmiddlewaretoken", "")),
        "wsgi.input": io.BytesIO(content),
        "wsgi.errors": request.META["wsgi.errors"],
        "wsgi.version": (1, 0),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    status, answered = 500, []

    def start(line, found, exc_info=None):
        nonlocal status, answered
        status, answered = int(line[:3]), found

    began = perf_counter()
    # In no language or zone, as programs are answered. It is named by the settings, as imports go the other way.
    with translation.override(settings.LANGUAGE_CODE), timezone.override(None):
        parts = import_string(settings.WSGI_APPLICATION)(environ, start)
    text = b"".join(parts).decode(errors="replace")
    spent = round((perf_counter() - began) * 1000)
    shown = [(name, value) for name, value in answered if name.lower() != "set-cookie"]
    return Answer(f"{example.method} {target} HTTP/1.1", status, spent, shown, text)


def wire(text: str) -> str:
    """A header's text as WSGI has it."""
    return text.encode(errors="replace").decode("latin-1")


PIECES = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def laid_out(text: str) -> str:
    """JSON in lines, each number as it was written."""
    parts, depth, opened = [], 0, False
    for piece in PIECES.findall(text):
        closes = piece in {"}", "]"}
        depth -= closes
        if opened != closes:
            parts.append("\n" + "  " * depth)
        opened = piece in {"{", "["}
        depth += opened
        parts.append({",": ",\n" + "  " * depth, ":": ": "}.get(piece, piece))
    return "".join(parts)
