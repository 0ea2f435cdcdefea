"""The OpenAPI document, and Swagger UI, which shows it. Both are public.

For a signed-in user, Swagger UI sends requests with the session of the pages.
"""

from pathlib import Path
from typing import cast

from django.conf import settings
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.templatetags.static import static
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.html import format_html
from rest_framework import viewsets
from rest_framework.request import Request

from core.http.formats import JSONRenderer
from core.http.requests import RequestOfPage
from core.openapi.document import serialized
from core.openapi.schema import DocumentSchema, PageSchema

# The document changes only with a new version of the service.
CACHE_CONTROL = "public, max-age=60"

# Swagger UI uses data: URLs for its icons.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SWAGGER_UI = "drf_spectacular_sidecar/swagger-ui-dist"

PAGE = Path(__file__).with_name("swagger.html").read_text("utf-8")
# The links to the other pages. Only hosts with pages have the page of tokens.
BACK = '<nav class="swagger-ui"><div class="wrapper"><p><a href="{docs}">Reference</a>{tokens}</p></div></nav>\n'
TOKENS = ' · <a href="{tokens}">Your tokens, and examples</a>'
CSRF_ATTRIBUTE = ' data-csrf-token="{}"'


class PublicViewSet(viewsets.ViewSet):
    """The base of views without authentication."""

    authentication_classes = []
    permission_classes = []
    throttle_classes = []
    default_response_headers: dict[str, str] = {}
    http_method_names = ["get", "head"]


class DocumentViewSet(PublicViewSet):
    renderer_classes = [JSONRenderer]
    schema = DocumentSchema()

    def retrieve(self, request: Request) -> HttpResponse:
        content, etag = serialized()
        response = HttpResponse(
            content, content_type="application/json", headers={"ETag": etag, "Cache-Control": CACHE_CONTROL}
        )
        # `get_conditional_response` returns None only if it gets no response.
        return cast(HttpResponse, get_conditional_response(request._request, etag=etag, response=response))


class SwaggerViewSet(PublicViewSet):
    renderer_classes = [JSONRenderer]
    schema = PageSchema()

    def retrieve(self, request: Request) -> HttpResponse:
        page_request = cast(RequestOfPage, request._request)
        has_pages, is_signed_in = page_request.address.site_id is not None, page_request.session is not None
        tokens = format_html(TOKENS, tokens=reverse(settings.TOKENS_URL)) if has_pages else ""
        page = format_html(
            PAGE,
            icon=static(f"{SWAGGER_UI}/favicon-32x32.png"),
            style=static(f"{SWAGGER_UI}/swagger-ui.css"),
            swagger_ui=static(f"{SWAGGER_UI}/swagger-ui-bundle.js"),
            start=static("core/pages/interface.js"),
            document=reverse("core-openapi"),
            back=format_html(BACK, docs=reverse(settings.DOCS_URL), tokens=tokens),
            # The APIs accept a session only with the CSRF token of a page.
            csrf_token=format_html(CSRF_ATTRIBUTE, get_token(page_request)) if is_signed_in else "",
        )
        cache_control = "private, no-store" if is_signed_in else CACHE_CONTROL
        # The page differs between a visitor and a user.
        return HttpResponse(
            page, headers={"Content-Security-Policy": POLICY, "Cache-Control": cache_control, "Vary": "Cookie"}
        )
