"""The conditions under which entries of menus are shown."""

from accounts.hosts.requests import PageRequest


def is_admin(request: PageRequest) -> bool:
    return request.user is not None and request.user.is_admin


def is_team(request: PageRequest) -> bool:
    return request.user is not None and request.user.is_team
