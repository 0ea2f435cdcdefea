"""The OpenAPI document, and the page that shows it. Both are public and the same for all users."""

from typing import cast

from django.conf import settings
from django.http import HttpResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.html import format_html
from rest_framework import viewsets
from rest_framework.request import Request

from core.api.formats import JSONRenderer
from core.openapi.document import serialized
from core.openapi.schema import PageSchema, PublicSchema
from core.requests import TenantRequest

# The document changes only with a new version of the service.
CACHE_CONTROL = "public, max-age=60"

# Swagger UI uses data: URLs for its icons.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SWAGGER_UI = "drf_spectacular_sidecar/swagger-ui-dist"

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Rostrum: the interface</title>
<link rel="icon" type="image/png" href="{icon}">
<link rel="stylesheet" href="{style}">
</head>
<body>
{back}<div id="interface" data-document="{document}"></div>
<noscript>
<p>This page needs JavaScript. What it shows is the OpenAPI document at <a href="{document}">{document}</a>.</p>
</noscript>
<script src="{swagger_ui}"></script>
<script src="{start}"></script>
</body>
</html>
"""
# The link back to the pages. Only hosts with pages show it.
BACK = (
    '<nav class="swagger-ui"><div class="wrapper"><p><a href="{tokens}">Your tokens, and examples</a></p></div></nav>\n'
)


class PublicViewSet(viewsets.ViewSet):
    """The base of views without authentication."""

    authentication_classes = []
    permission_classes = []
    default_response_headers: dict[str, str] = {}
    http_method_names = ["get", "head"]


class DocumentViewSet(PublicViewSet):
    renderer_classes = [JSONRenderer]
    schema = PublicSchema()

    def retrieve(self, request: Request) -> HttpResponse:
        content, etag = serialized()
        response = HttpResponse(
            content, content_type="application/json", headers={"ETag": etag, "Cache-Control": CACHE_CONTROL}
        )
        # `get_conditional_response` returns None only if it gets no response.
        return cast(HttpResponse, get_conditional_response(request._request, etag=etag, response=response))


class PageViewSet(PublicViewSet):
    renderer_classes = [JSONRenderer]
    schema = PageSchema()

    def retrieve(self, request: Request) -> HttpResponse:
        has_pages = cast(TenantRequest, request._request).address.site_id is not None
        page = format_html(
            PAGE,
            icon=static(f"{SWAGGER_UI}/favicon-32x32.png"),
            style=static(f"{SWAGGER_UI}/swagger-ui.css"),
            swagger_ui=static(f"{SWAGGER_UI}/swagger-ui-bundle.js"),
            start=static("core/interface.js"),
            document=reverse("core-openapi"),
            back=format_html(BACK, tokens=reverse(settings.TOKENS_URL)) if has_pages else "",
        )
        return HttpResponse(page, headers={"Content-Security-Policy": POLICY, "Cache-Control": CACHE_CONTROL})
