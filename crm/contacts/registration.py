from accounts.attachments.holders import Holder, register_holder, rows_for_team
from crm.contacts.models import Contact

register_holder(Holder("contact", Contact, lambda account, user: rows_for_team(account, user, account.contacts)))
