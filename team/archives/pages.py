"""The settings page on which an owner asks for the archive of the account."""

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
    """The page of a running archive, and the file of a complete one, are those of all exports (`team.exports.pages`)."""

    template_name = "team/archives/archive.html"
    part = "archive"
    actions = {"start": "start"}

    def allows(self, user: TenantUser) -> bool:
        return KINDS[ARCHIVE].is_allowed(self.request.user)

    def get(self, request: UserRequest) -> HttpResponse:
        kept = request.account.stored_files.filter(expires_at=None).aggregate(size=Sum("size"))
        archives = request.account.exports.visible_to(request.user).filter(kind=ARCHIVE).order_by("-id")
        return self.render(archives=archives[: 2 * MAX_ARCHIVES], size=kept["size"] or 0, most=MAX_ARCHIVES)

    def start(self, request: UserRequest) -> HttpResponse:
        throttling.count_export(request)
        started, options = list[Export](), {"language": get_language()}
        account, user = request.account, request.user
        if self.perform(lambda: started.append(Export.start(account, by=user, kind=ARCHIVE, options=options))):
            return redirect("team-export", started[-1].id)
        return redirect("team-archive")
