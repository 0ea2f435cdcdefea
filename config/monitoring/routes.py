"""The names of requests in metrics and traces. No part comes from the client."""

from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


def route_of(environ: "WSGIEnvironment") -> tuple[str, str]:
    """Return the names of the route and of the method."""
    method = environ["REQUEST_METHOD"] if environ["REQUEST_METHOD"] in METHODS else "other"
    return environ.get("rostrum.route") or _other_route(environ["PATH_INFO"]), method


def _other_route(path: str) -> str:
    if path in ("/healthz", "/readyz"):
        return "probe"
    return "static" if path.startswith(settings.STATIC_URL) else "none"
