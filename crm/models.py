"""Django imports this module to find the models of the room."""

from crm.clients import models as clients
from crm.contacts import models as contacts
from crm.deals import models as deals
from crm.fields import models as fields
from crm.notes import models as notes
from crm.user_links import models as user_links

__all__ = ["clients", "contacts", "deals", "fields", "notes", "user_links"]
