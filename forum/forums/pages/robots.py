"""robots.txt (RFC 9309) and favicon.ico."""

from pathlib import Path

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_safe

import core
from accounts.brand.models import Branding
from forum.forums.requests import ForumRequest

ICON = (Path(core.__file__).parent / "pages" / "static" / "favicon.ico").read_bytes()
# The longest matching rule applies.
PUBLIC_RULES = """User-agent: *
Allow: /app/suggestions
Allow: /app/posts/
Allow: /app/roadmap
Allow: /app/brand/
Allow: /app/logo/
Disallow: /app/posts/new
Disallow: /app/
"""
PRIVATE_RULES = "User-agent: *\nDisallow: /\n"


@require_safe
def robots(request: ForumRequest) -> HttpResponse:
    if request.forum is None:
        raise Http404
    text = PUBLIC_RULES if request.forum.may_be_read_by(None) else PRIVATE_RULES
    return HttpResponse(text, content_type="text/plain", headers={"Cache-Control": "public, max-age=3600"})


@require_safe
def favicon(request: ForumRequest) -> HttpResponse:
    if path := Branding.loaded(request.account).url_of("icon"):
        return HttpResponseRedirect(path, headers={"Cache-Control": "public, max-age=3600"})
    return HttpResponse(ICON, content_type="image/x-icon", headers={"Cache-Control": "public, max-age=86400"})
