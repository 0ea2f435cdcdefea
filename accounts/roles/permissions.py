"""Permissions by role. Rules that depend on a row are in its model."""

from typing import TYPE_CHECKING, cast

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

if TYPE_CHECKING:
    from rest_framework.views import APIView

    from accounts.users.models import User


class IsAuthenticated(BasePermission):
    def has_permission(self, request: Request, view: "APIView") -> bool:
        return request.user is not None


class IsTeam(BasePermission):
    """Access for agents, admins and owners: the users of the Account API."""

    message = "Only the team may do this"

    def has_permission(self, request: Request, view: "APIView") -> bool:
        user = cast("User | None", request.user)
        return user is not None and user.is_team


class IsAdmin(BasePermission):
    message = "Only an admin or the owner may do this"

    def has_permission(self, request: Request, view: "APIView") -> bool:
        user = cast("User | None", request.user)
        return user is not None and user.is_admin


class IsOwner(BasePermission):
    message = "Only the owner may do this"

    def has_permission(self, request: Request, view: "APIView") -> bool:
        user = cast("User | None", request.user)
        return user is not None and user.is_owner


class IsAdminOrTeamReadOnly(BasePermission):
    """Access for admins and owners, and read access for the team."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        permission = IsTeam() if request.method in SAFE_METHODS else IsAdmin()
        self.message = permission.message
        return permission.has_permission(request, view)
