from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from core.api.routing import path_with_id
from core.pages.templates import template_filter


@template_filter
def join_names(names: list[str | tuple[str, int]]) -> SafeString:
    """Return the names with commas between them. `<bdi>` isolates the text direction of each name.

    A tuple of a user's name and id is a link to the card of the user.
    """
    return format_html_join(", ", "{}", ((_linked_name(name),) for name in names))


def _linked_name(name: str | tuple[str, int]) -> SafeString:
    if isinstance(name, str):
        return format_html("<bdi>{}</bdi>", name or "?")
    return format_html('<a href="{}"><bdi>{}</bdi></a>', path_with_id("forum-author", name[1]), name[0] or "?")
