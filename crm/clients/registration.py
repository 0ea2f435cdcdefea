from accounts.attachments.holders import Holder, register_holder, rows_for_team
from crm.clients.models import Client

register_holder(Holder("client", Client, lambda account, user: rows_for_team(account, user, account.clients)))
