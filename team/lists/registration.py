from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.erasure.personal_data import register as register_personal_data
from core.api.conditions import register_reader
from core.pages.navigation import register, register_panel
from core.registry import newest_id, registry
from team.lists.pages.list import render_table_link
from team.lists.saved_views import read_api_list
from team.menu.pages import main_entry

register(
    "main",
    main_entry("clients", _("Clients"), 50, "g c"),
    main_entry("contacts", _("Contacts"), 60, "g o"),
    main_entry("deals", pgettext_lazy("menu", "Deals"), 70, "g d"),
)
register_panel("suggestions", render_table_link)
register_reader(read_api_list)
registry.register_sample(
    "views", "view", lambda request: newest_id(request.account.saved_views.visible_to(request.user))
)
register_personal_data(
    "saved_views", _("Saved views"), lambda user: user.account.saved_views.filter(owner_id=user.id, shared=False)
)
