from django.utils.translation import gettext_lazy as _

from accounts.audit.actions import CRUD, register

register("field_definition", _("Field"), *CRUD, "moved")
