"""The OpenAPI document of both APIs, and Swagger UI, which shows it. Both are public.

The document is built once for a process, from the routes and the code that serves them. For a signed-in user, Swagger UI sends requests
with the session of the pages.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import orjson
from django.conf import settings
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.templatetags.static import static
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.html import format_html
from django.utils.translation import override
from drf_spectacular.generators import SchemaGenerator
from rest_framework import viewsets
from rest_framework.request import Request

from core.http.formats import JSONRenderer
from core.http.requests import RequestOfPage
from core.openapi.operations import COMPONENTS
from core.openapi.schema import DocumentSchema, PageSchema
from core.openapi.values import JSONSchema


def resolve(definition: JSONSchema) -> JSONSchema:
    """Return the definition that a reference (`$ref`) points to. Return a definition without a reference unchanged."""
    while "$ref" in definition:
        node: Any = document()
        for part in definition["$ref"].removeprefix("#/").split("/"):
            node = node[part]
        definition = node
    return definition


def order_for_readers(schema: JSONSchema) -> None:
    """Put the Account API before the Forum API, and the recommended credentials first. drf-spectacular sorts by name."""
    schemes = list(COMPONENTS["securitySchemes"])
    schema["components"]["securitySchemes"] = COMPONENTS["securitySchemes"]
    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    # A public operation has no scheme, and comes last.
    operations.sort(
        key=lambda operation: min((schemes.index(*scheme) for scheme in operation["security"]), default=len(schemes))
    )
    schema["tags"] = [{"name": name} for name in dict.fromkeys(operation["tags"][0] for operation in operations)]


@cache
def serialized() -> tuple[bytes, str]:
    """Return the document as JSON, and its ETag."""
    content = orjson.dumps(document())
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def document_texts() -> list[str]:
    """Return the summaries, descriptions and tags that pages show in the language of the reader, without duplicates."""
    schema = document()
    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    texts = [tag["name"] for tag in schema["tags"]]
    texts += [operation["summary"] for operation in operations]
    parts = ("parameters", "requestBody", "responses", "description")
    texts += _descriptions([{part: operation.get(part) for part in parts} for operation in operations])
    components = schema["components"]
    texts += _descriptions([components[kind] for kind in ("parameters", "schemas")])
    texts += [response["description"] for response in components["responses"].values()]
    return list(dict.fromkeys(text for text in texts if text))


def _descriptions(definition: object) -> Iterator[str]:
    """Yield the descriptions in a part of the document, except those of headers and of successful responses."""
    if isinstance(definition, list):
        for inner in definition:
            yield from _descriptions(inner)
    elif isinstance(definition, dict):
        for name, inner in definition.items():
            if name == "description" and isinstance(inner, str):
                yield inner
            elif name not in ("headers", "examples", "example"):
                yield from _descriptions(inner)


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


@cache
def document() -> JSONSchema:
    """Return the document, in English whatever the active language is."""
    with override(settings.LANGUAGE_CODE):
        schema: JSONSchema = SchemaGenerator().get_schema(request=None, public=True)
    order_for_readers(schema)
    return schema
