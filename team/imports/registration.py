from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from core.registry import newest_id, registry

audit.register("import", _("Import"), "started", "cancelled", "undone")
registry.register_sample(
    "imports", "import", lambda request: newest_id(request.account.imports.visible_to(request.user))
)
