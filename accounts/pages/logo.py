"""The logo of an account, for its e-mails and pages."""

from django.http import Http404, HttpResponse

from accounts.models import Branding
from core.pages.base import Page
from core.requests import PageRequest


class LogoPage(Page):
    """The logo with a key. The key is derived from the content, so the response never changes."""

    def get(self, request: PageRequest, key: str) -> HttpResponse:
        row = Branding.objects.filter(account_id=request.account.id, logo_key=key).first()
        if row is None or row.logo is None:
            raise Http404
        headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
        return HttpResponse(bytes(row.logo), content_type="image/png", headers=headers)
