"""The pages of the reference. They are public, and served at every host of the service."""

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import mark_safe

from accounts.examples.code import CODE_LANGUAGES, CodeLanguage, code_language
from accounts.examples.operations import INTERFACES, examples
from accounts.reference.content import example_code, groups, page_html, pages
from accounts.reference.guide import ADDRESS
from accounts.reference.search import MAX_QUERY_LENGTH, search
from core.pages.base import Page, base_url


class ReferenceView(Page):
    """The base of the pages of the reference."""

    needs_site = False

    @property
    def code_language(self) -> CodeLanguage:
        return code_language(self.request.GET.get("lang"))

    @property
    def has_examples(self) -> bool:
        """True if the user may open the examples in the settings."""
        return self.request.user is not None and self.request.user.is_team

    def render(self, template: str | None = None, *, http_status: int = 200, **context: object) -> HttpResponse:
        context = {"groups": groups(), "has_examples": self.has_examples} | context
        return super().render(template, http_status=http_status, **context)


class Overview(ReferenceView):
    """The first page, and the results of the search."""

    template_name = "accounts/reference/overview.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        query = " ".join(request.GET.get("q", "")[:MAX_QUERY_LENGTH].split())
        address = base_url(request)
        return self.render(
            query=query,
            results=search(query),
            address=address,
            interfaces=INTERFACES,
            code=example_code(examples()["read_account"], self.code_language).replace(ADDRESS, address),
            code_languages=CODE_LANGUAGES.values(),
            code_language=self.code_language,
        )


class Reference(ReferenceView):
    """A resource, the errors, or a chapter of the guide."""

    template_name = "accounts/reference/page.html"

    def get(self, request: HttpRequest, slug: str) -> HttpResponse:
        if slug not in pages():
            raise Http404
        html = page_html(slug, self.code_language, has_examples=self.has_examples)
        # `base_url` contains a checked host name.
        content = mark_safe(html.replace(ADDRESS, base_url(request)))  # noqa: S308
        return self.render(slug=slug, page=pages()[slug], content=content)
