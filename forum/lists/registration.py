from django.utils.translation import gettext_lazy as _

from accounts.users.names import public_name
from core.pages.navigation import MenuEntry, register
from core.pages.templates import template_filter, template_function
from forum.forums.requests import has_forum
from forum.lists.pages.base import kind_name, on_behalf_of

register(
    "main",
    MenuEntry("suggestions", _("Suggestions"), "forum-suggestions", order=10, is_shown=has_forum, shortcut="g s"),
    MenuEntry("roadmap", _("Roadmap"), "forum-roadmap", order=20, is_shown=has_forum),
)
for menu in ("user", "profile"):
    register(menu, MenuEntry("posts", _("My suggestions and votes"), "forum-own-posts", "lightbulb", order=20))

template_filter(public_name)
template_filter(kind_name)
template_function(on_behalf_of)
