from django.utils.translation import gettext_lazy as _

from accounts.audit import actions as audit
from accounts.erasure.personal_data import CUSTOMERS, register
from forum.answers.models import CustomerNews, register_customer_news
from team.mailings.models import MessageRecipient
from team.mailings.sending import count_customers, tell_customers
from team.timeline.models import register_kind

audit.register("message", _("Message to customers"), "sent", "cancelled")
register_customer_news(CustomerNews(count_customers, tell_customers))
register_kind("message", _("Message sent"), "megaphone", "suggestions")
register_kind("unsubscribed", _("Unsubscribed from messages"), "bell-off", "changes")

register(
    "message_recipients",
    _("Messages received"),
    lambda row: MessageRecipient.objects.filter(account_id=row.account_id, **{f"{row.api_resource.key}_id": row.id}),
    subjects=CUSTOMERS,
)
