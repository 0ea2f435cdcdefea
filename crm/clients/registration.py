from django.utils.translation import gettext_lazy as _

from accounts.attachments.holders import Holder, register_holder, rows_for_team
from core.rows.scopes import areas
from crm.clients.models import Client

areas.register("clients", _("Clients, contacts, contact lists, notes and fields"))
register_holder(Holder("client", Client, lambda account, user: rows_for_team(account, user, account.clients)))
