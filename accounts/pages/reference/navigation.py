"""The pages of the reference, and the groups in which the navigation lists them."""

from dataclasses import dataclass
from functools import cache

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from accounts.pages.examples import sections
from accounts.pages.interfaces import INTERFACES
from accounts.pages.reference.guide import chapters

ERRORS_SLUG = "errors"


@dataclass(frozen=True)
class ReferencePage:
    """A page of the reference, as the navigation shows it."""

    slug: str
    title: str | Promise
    # True for a chapter of the guide, which is in English only.
    is_english: bool = False

    @property
    def path(self) -> str:
        return reverse("accounts-docs-page", args=[self.slug])


@dataclass(frozen=True)
class Group:
    """A heading of the navigation with its pages."""

    title: str | Promise
    pages: list[ReferencePage]


@cache
def groups() -> list[Group]:
    """Return the groups of the navigation, in their order."""
    resources: dict[str | Promise, list[ReferencePage]] = {}
    for slug, section in sections().items():
        # The catalogue has the tags of the OpenAPI document.
        page = ReferencePage(slug, gettext_lazy(section[0].tag))
        resources.setdefault(INTERFACES[section[0].language], []).append(page)
    resources[INTERFACES[""]].append(ReferencePage(ERRORS_SLUG, gettext_lazy("Errors")))
    guide = [ReferencePage(chapter.slug, chapter.title, is_english=True) for chapter in chapters()]
    return [*(Group(title, pages) for title, pages in resources.items()), Group(gettext_lazy("Guide"), guide)]


@cache
def pages() -> dict[str, ReferencePage]:
    """Return all pages by slug."""
    return {page.slug: page for group in groups() for page in group.pages}
