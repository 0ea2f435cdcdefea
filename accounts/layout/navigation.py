"""Who sees an entry of a menu."""

from accounts.hosts.requests import PageRequest


def is_admin(request: PageRequest) -> bool:
    return request.user is not None and request.user.is_admin


def is_team(request: PageRequest) -> bool:
    return request.user is not None and request.user.is_team
