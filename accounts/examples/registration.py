from accounts.hosts.requests import is_team
from core.pages.navigation import MenuEntry, register

register("user", MenuEntry("api", "API", "accounts-tokens", "code", order=40, is_shown=is_team))
register("settings", MenuEntry("api", "API", "accounts-tokens", "code", order=90))
