"""The pages of the reference. They are public, and served at every host of the service."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import mark_safe

from accounts.pages.example_code import code_language
from accounts.pages.interfaces import INTERFACES
from accounts.pages.reference.content import ADDRESS, MAX_QUERY_LENGTH, groups, page_html, pages, search
from core.openapi.document import document
from core.pages.base import Page, base_url


class ReferenceView(Page):
    """The base of the pages of the reference."""

    needs_site = False

    def show(self, template: str, *, slug: str = "", **context: Any) -> HttpResponse:
        return self.render(
            template,
            groups=groups(),
            slug=slug,
            code_language=code_language(self.request.GET.get("lang")),
            has_examples=self.request.user is not None and self.request.user.is_team,
            **context,
        )


class Overview(ReferenceView):
    """The first page, and the results of the search."""

    template_name = "accounts/reference/overview.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        query = " ".join(request.GET.get("q", "")[:MAX_QUERY_LENGTH].split())
        return self.show(
            self.template_name,
            query=query,
            results=search(query),
            info=document()["info"],
            schemes=document()["components"]["securitySchemes"],
            address=base_url(request),
            interfaces=INTERFACES,
        )


class Reference(ReferenceView):
    """A resource, or a chapter of the guide."""

    template_name = "accounts/reference/page.html"

    def get(self, request: HttpRequest, slug: str) -> HttpResponse:
        if slug not in pages():
            raise Http404
        html = page_html(slug, request.GET.get("lang")).replace(ADDRESS, base_url(request))
        return self.show(
            self.template_name,
            slug=slug,
            page=pages()[slug],
            # `base_url` contains a checked host name.
            content=mark_safe(html),  # noqa: S308
        )
