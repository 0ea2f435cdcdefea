from django.utils.translation import gettext_lazy as _

from accounts.erasure.personal_data import register
from core.pages.navigation import register_panel
from core.registry import newest_id, registry
from core.rows.scopes import areas
from team.exports.models import ExportQuerySet
from team.exports.pages import render_suggestions_link

registry.register_sample(
    "exports", "export", lambda request: newest_id(request.account.exports.visible_to(request.user))
)
areas.register("export", _("Exports of everything that you may see"), has_rows=False)
register_panel("suggestions", render_suggestions_link)
register(
    "exports",
    _("Exports"),
    lambda user: user.account.exports.filter(author_id=user.id),
    delete=ExportQuerySet.discard,
)
