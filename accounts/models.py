"""Django imports this module to find the models of the room."""

from core.rooms import import_models

import_models("accounts", "sign_in.codes", "sign_in.handovers", "statuses.pipelines", "users.invitations")
