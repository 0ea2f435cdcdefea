"""The addresses of suggestions: the id, and the title in ASCII letters for people and search engines."""

from collections.abc import Mapping
from functools import cache

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import slugify

from core.api.routing import path_with_id

MAX_SLUG_LENGTH = 60
# Letters that Unicode does not decompose into one of ASCII and a mark.
LETTERS = str.maketrans(
    {"ł": "l", "Ł": "L", "ß": "ss", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE"}
)


def slug_of(title: str) -> str:
    """Return a title as lower-case words of ASCII with hyphens, cut after a word. Return "" if it has none."""
    slug = slugify(title.translate(LETTERS))
    if len(slug) > MAX_SLUG_LENGTH:
        slug = slug[: MAX_SLUG_LENGTH + 1].rpartition("-")[0] or slug[:MAX_SLUG_LENGTH]
    return slug.strip("-_")


def post_path(id: int, title: str | None, *, query: Mapping[str, str | int] | None = None, fragment: str = "") -> str:
    """Return the path of the page of a suggestion. It takes no statement."""
    slug = slug_of(title or "")
    start, between, end = _around_values()
    path = f"{start}{id}{between}{slug}{end}" if slug else path_with_id("forum-post", id)
    return path + (f"?{urlencode(query)}" if query else "") + (f"#{fragment}" if fragment else "")


@cache
def _around_values() -> tuple[str, str, str]:
    """Return the parts of the path around the id and the slug. `reverse` would take 50 µs for each suggestion."""
    longest_id, slug = 10**18 - 1, "any-title"
    start, _, rest = reverse("forum-post-titled", args=[longest_id, slug]).partition(str(longest_id))
    between, _, end = rest.partition(slug)
    return start, between, end
