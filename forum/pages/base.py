"""What the pages of a forum share."""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from accounts.authentication import has_valid_csrf_token, is_cross_origin
from accounts.pages.sign_in import SignInForm, sign_in
from core.api import throttling
from core.error_responses import error_response
from core.pages.base import Page, csrf_failure, redirect_to_sign_in


class ForumPage(Page):
    """A page of the request's forum: of a private one, for its users alone."""

    indexed = True

    def check_access(self) -> HttpResponse | None:
        if not self.request.forum.may_be_read_by(self.request.user):
            return redirect_to_sign_in(self.request) if self.request.user is None else error_response(self.request, 403)
        return super().check_access()


class KeepingPage(ForumPage):
    """A page with a text that must not be lost. Where the session has ended, or somebody signed in in another tab, the form
    comes back as it was sent, with what is needed to send it again; so it looks for the token of the page itself."""

    # What the template of the form is told.
    stale = False
    sign_in_form: SignInForm | None = None

    @classmethod
    def as_view(cls, **initkwargs):
        return csrf_exempt(super().as_view(**initkwargs))

    def dispatch(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        # Has the cookie of the session that is begun on the way, whatever comes of the rest.
        self.begun = HttpResponse()
        response = super().dispatch(request, *args, **kwargs)
        response.cookies.update(self.begun.cookies)
        return response

    def check_access(self) -> HttpResponse | None:
        return None if self.request.method == "POST" and self.request.user is None else super().check_access()

    def post(self, request, **kwargs) -> HttpResponse:
        if not has_valid_csrf_token(request):
            if is_cross_origin(request):
                # It was not written here: it is nobody's to lose, and ours to show to nobody.
                return csrf_failure(request)
            self.stale = True
            if request.user is None:
                self.sign_in_form = SignInForm(request=request)
            return self.show_again(HTTPStatus.FORBIDDEN, **kwargs)
        if request.user is not None:
            return self.write(**kwargs)
        form = self.sign_in_form = SignInForm(request.POST if "password" in request.POST else None, request=request)
        if form.is_valid() and not self.allows(form.user):
            form.add_error(None, _("Only the team can do this. Sign in as somebody of the team."))
        if not form.is_valid():
            return self.show_again(HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.FORBIDDEN, **kwargs)
        request.user, self.sign_in_form = form.user, None
        request.user.account = request.account
        # The token of the page is another from now on, so this is done before a page is made.
        sign_in(request, self.begun, request.user)
        throttling.count_page_action(request)
        return self.write(**kwargs)

    def write(self, **kwargs) -> HttpResponse:
        """Do it, as the user."""
        raise NotImplementedError

    def show_again(self, status: int, **kwargs) -> HttpResponse:
        """The form as it was sent. There may be no user."""
        raise NotImplementedError

    def render(self, template: str | None = None, *, http_status: int = 200, **context: Any) -> HttpResponse:
        context = {"stale": self.stale, "sign_in_form": self.sign_in_form} | context
        return super().render(template, http_status=http_status, **context)
