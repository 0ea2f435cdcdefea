from django.utils.translation import gettext_lazy as _

from core.rows.scopes import areas

areas.register("settings", _("Settings, users and webhooks"), has_rows=False)
