"""The base views of the pages of a forum."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from accounts.layout.forms import Form
from accounts.sessions.authentication import has_valid_csrf_token, is_cross_origin
from accounts.sessions.throttling import Way
from accounts.sign_in.pages.sign_in import SignInForm, sign_in
from accounts.users.models import User
from core.api import paging
from core.error_responses import error_response
from core.errors import FieldErrors, Throttled
from core.http import throttling
from core.pages.base import Page, csrf_failure, redirect_to_sign_in
from forum.forums.requests import ForumRequest


def not_a_member_message(user: User) -> str:
    message = _("This forum is only for its members. You are signed in as %(name)s, who is not one of them.")
    return message % {"name": user.name or user.login}


def only_members_message() -> str:
    return _("Everyone can read this forum, but only its members can take part. New members join by invitation.")


class PostNotFound(Http404):
    """The post was deleted, or the user may not see it."""


class ForumPage(Page):
    """A page of the request's forum, for those who may read it. A POST is for those who may also take part."""

    request: ForumRequest
    indexed = True
    is_of_forum = True
    # Whether the page is for those who take part: a GET of it too, a POST of it, or nothing of it.
    for_members: Literal["always", "post", "never"] = "post"

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        try:
            return super().dispatch(request, *args, **kwargs)
        except PostNotFound:
            message = _("This suggestion was deleted in the meantime, or you may not see it.")
            return error_response(request, HTTPStatus.NOT_FOUND, message=message)

    def check_access(self) -> HttpResponse | None:
        forum, user = self.request.forum, self.request.user
        if not forum.may_be_read_by(user):
            if user is None:
                return redirect_to_sign_in(self.request)
            return error_response(self.request, 403, message=not_a_member_message(user))
        is_for_members = self.for_members == "always" or (self.for_members == "post" and self.request.method == "POST")
        if is_for_members and user is not None and not forum.may_be_joined_by(user):
            return error_response(self.request, 403, message=only_members_message())
        return super().check_access()

    def read_page(self, *, size: int = paging.DEFAULT_PAGE_SIZE, last: int | None = None) -> paging.ListPage:
        """Return the requested page of a list. `last` is the number of the last page, which `page=last` requests."""
        number: object = self.request.GET.get("page")
        try:
            number = last if last is not None and number == "last" else number
            page = paging.ListPage.read({"page": number, "per_page": size})
        except FieldErrors:
            raise Http404 from None
        if last is not None and page.number > last:
            raise Http404
        return page


@method_decorator(csrf_exempt, name="dispatch")
class ResubmittablePage(ForumPage):
    """A page with a form whose text must not be lost.

    If the session has ended, or another user has signed in in another tab, the page shows the form again as it was submitted, with a
    sign-in form if there is no user. Django's CSRF check would discard the text, so this view checks the token itself.
    """

    # Process the submitted form for the user of the request. The arguments are those of the path.
    process_form: Callable[..., HttpResponse]
    # Return the page with the form as it was submitted, with a status. The request may have no user.
    show_submitted: Callable[..., HttpResponse]
    # Return the response to a visitor who may write before signing in, or None.
    keep_draft: Callable[..., HttpResponse | None] = staticmethod(lambda **kwargs: None)
    # Whether the form was rendered in another session. The template of the form shows a notice then.
    stale = False
    sign_in_form: SignInForm | None = None

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        # `sign_in` sets the cookies of the new session here, because it runs before the response of the view exists.
        self.session_response = HttpResponse()
        response = super().dispatch(request, *args, **kwargs)
        response.cookies.update(self.session_response.cookies)
        return response

    def check_access(self) -> HttpResponse | None:
        return None if self.request.method == "POST" and self.request.user is None else super().check_access()

    def post(self, request: ForumRequest, **kwargs: Any) -> HttpResponse:
        if not has_valid_csrf_token(request):
            if is_cross_origin(request):
                # Another site submitted the form, so its content is not shown.
                return csrf_failure(request)
            self.stale = True
            if request.user is None:
                self.sign_in_form = SignInForm(request=request)
            return self.show_submitted(HTTPStatus.FORBIDDEN, **kwargs)
        if request.user is not None:
            return self.process_form(**kwargs)
        if (response := self.keep_draft(**kwargs)) is not None:
            return response
        form = self.sign_in_form = SignInForm(request.POST if "password" in request.POST else None, request=request)
        user = form.user if form.is_valid() else None
        if user is not None:
            user.account = request.account
            if not request.forum.may_be_joined_by(user):
                may_read = request.forum.may_be_read_by(user)
                form.add_error(None, only_members_message() if may_read else not_a_member_message(user))
            elif not self.allows(user):
                form.add_error(None, _("Only the team can do this. Sign in as somebody of the team."))
            elif user.must_use_sso or user.second_factor_at is not None:
                # Another page has the second step. Its session then shows this form again.
                form.add_error(None, _("Your sign-in takes more steps. Sign in in another tab, and send this again."))
        if user is None or not form.is_valid():
            status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.FORBIDDEN
            return self.show_submitted(status, **kwargs)
        request.user, self.sign_in_form = user, None
        # `sign_in` replaces the CSRF token, so it is called before a page with a token is rendered.
        sign_in(request, self.session_response, user, way=Way.PASSWORD)
        throttling.count_page_action(request)
        return self.process_form(**kwargs)

    @staticmethod
    def show_over_limit(form: Form, refused: Throttled, show: Callable[..., HttpResponse]) -> HttpResponse:
        """Return the page with a valid form that exceeds a limit. `show` returns the page with a status."""
        form.add_error(None, str(refused.message))
        response = show(status=HTTPStatus.TOO_MANY_REQUESTS)
        response.headers["Retry-After"] = str(refused.wait)
        return response

    def render(self, template: str | None = None, *, http_status: int = 200, **context: Any) -> HttpResponse:
        context = {"stale": self.stale, "sign_in_form": self.sign_in_form} | context
        return super().render(template, http_status=http_status, **context)
