"""The middleware for users whose account requires a second factor of them: they have to set one up before anything else."""

from collections.abc import Callable
from typing import Any, cast

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext_lazy

from accounts.hosts.requests import PageRequest
from core.error_responses import error_response

MESSAGE = gettext_lazy("First set up a second factor: this account requires one of you")


class SecondFactorMiddleware:
    """Lead users without the required second factor to the page where they set it up. They can open no page but those for that."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: object, kwargs: object) -> HttpResponse | None:
        session = getattr(cast(PageRequest, request), "session", None)
        view_class = getattr(view, "view_class", None)
        if session is None or not session.lacks_second_factor or view_class is None:
            return None
        if getattr(view_class, "works_without_second_factor", False):
            return None
        if request.method in ("GET", "HEAD") and "HTTP_HX_REQUEST" not in request.META:
            return HttpResponseRedirect(reverse("accounts-second-factors"), status=303)
        return error_response(request, 403, message=MESSAGE)
