"""What the pages of a forum share."""

from django.http import HttpResponse

from accounts import errors
from accounts.pages.base import Page, to_sign_in


class ForumPage(Page):
    """A page of the request's forum: of a private one, for its users alone."""

    indexed = True

    def refuse(self) -> HttpResponse | None:
        if not self.request.forum.may_be_read_by(self.request.user):
            return to_sign_in(self.request) if self.request.user is None else errors.respond(self.request, 403)
        return super().refuse()
