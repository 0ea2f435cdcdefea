"""What programs ask every site for: which of its pages may be searched (RFC 9309), and its icon."""

from pathlib import Path

from django.http import Http404, HttpRequest, HttpResponse
from django.views import View

import core

ICON = (Path(core.__file__).parent / "static" / "core" / "favicon.ico").read_bytes()
# The longest rule that fits decides.
OPEN = """User-agent: *
Allow: /app/posts/
Allow: /app/roadmap
Disallow: /app/posts/new
Disallow: /app/
"""
CLOSED = """User-agent: *
Disallow: /
"""


class Robots(View):
    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        if request.forum is None:
            raise Http404
        text = OPEN if request.forum.may_be_read_by(None) else CLOSED
        return HttpResponse(text, content_type="text/plain", headers={"Cache-Control": "public, max-age=3600"})


class Favicon(View):
    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(ICON, content_type="image/x-icon", headers={"Cache-Control": "public, max-age=86400"})
