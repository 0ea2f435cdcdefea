"""The registration of the API examples (`core.rooms`)."""

from accounts.layout.navigation import is_team
from core.pages.navigation import Entry, register

register("user", Entry("api", "API", "accounts-tokens", "code", order=40, is_shown=is_team))
register("settings", Entry("api", "API", "accounts-tokens", "code", order=90))
