"""Django imports this module to find the models of the room."""

from accounts.access import models as access
from accounts.account import branding
from accounts.account import models as account
from accounts.hosts import models as hosts
from accounts.sessions import models as sessions
from accounts.sign_in import codes, handovers
from accounts.statuses import models as statuses
from accounts.statuses import pipelines
from accounts.tags import models as tags
from accounts.tokens import models as tokens
from accounts.users import invitations
from accounts.users import models as users

__all__ = [
    "access",
    "account",
    "branding",
    "codes",
    "handovers",
    "hosts",
    "invitations",
    "pipelines",
    "sessions",
    "statuses",
    "tags",
    "tokens",
    "users",
]
