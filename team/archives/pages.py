"""The settings page on which an owner asks for the archive of the account."""

from typing import Any

from django.db.models import Sum
from django.http import HttpResponse
from django.utils.translation import get_language

from accounts.hosts.requests import UserRequest
from accounts.layout.settings import SettingsPage
from core.http import throttling
from core.pages.base import redirect
from core.tenants import TenantUser
from team.archives.exporting import ARCHIVE, MAX_ARCHIVES
from team.exports.models import KINDS, Export


class ArchivePage(SettingsPage):
    works_when_closed = True
    template_name = "team/archives/archive.html"
    part = "archive"
    actions = {"start": "start"}

    def allows(self, user: TenantUser) -> bool:
        return KINDS[ARCHIVE].is_allowed(self.request.user)

    def get(self, request: UserRequest) -> HttpResponse:
        kept = request.account.stored_files.filter(expires_at=None).aggregate(size=Sum("size"))
        return self.render(size=kept["size"] or 0, most=MAX_ARCHIVES)

    def start(self, request: UserRequest) -> HttpResponse:
        throttling.count_export(request)
        values: dict[str, Any] = {"kind": ARCHIVE, "options": {"language": get_language()}}
        self.perform(lambda: Export.start(request.account, by=request.user, **values))
        running = request.account.exports.visible_to(request.user).running().filter(kind=ARCHIVE).first()
        return redirect("team-export", running.id) if running else redirect("team-archive")
