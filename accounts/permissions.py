"""Permissions of the API views that depend on the role alone. Rules that depend on a row are methods of its model."""

from rest_framework.permissions import SAFE_METHODS, BasePermission


class Authenticated(BasePermission):
    def has_permission(self, request, view) -> bool:
        return request.user is not None


class Team(BasePermission):
    """Agents, admins and owners: whoever may use the account interface."""

    message = "Only the team may do this"

    def has_permission(self, request, view) -> bool:
        return request.user is not None and request.user.is_team


class Admin(BasePermission):
    message = "Only an admin or the owner may do this"

    def has_permission(self, request, view) -> bool:
        return request.user is not None and request.user.is_admin


class AdminToWrite(BasePermission):
    """The team reads, admins and owners write."""

    def has_permission(self, request, view) -> bool:
        needed = Team() if request.method in SAFE_METHODS else Admin()
        self.message = needed.message
        return needed.has_permission(request, view)
