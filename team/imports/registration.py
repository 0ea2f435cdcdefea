from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from accounts.erasure.personal_data import CUSTOMERS, register
from core.registry import newest_id, registry
from team.imports.models import ImportRow

audit.register("import", _("Import"), "started", "cancelled", "undone")
registry.register_sample(
    "imports", "import", lambda request: newest_id(request.account.imports.visible_to(request.user))
)

register(
    "values_before_imports",
    _("Values before imports"),
    lambda row: ImportRow.objects.filter(account_id=row.account_id, resource=row.api_resource.key, target=row.id),
    subjects=CUSTOMERS,
)
