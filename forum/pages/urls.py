"""The forum's pages. At its first page and at its categories clients ask for XML, which is theirs unless `Accept` names HTML."""

from functools import wraps

from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from accounts.negotiation import is_for_people
from forum.pages.reading import PostListPage
from forum.pages.robots import Favicon, Robots

urlpatterns = [
    path("robots.txt", Robots.as_view()),
    path("favicon.ico", Favicon.as_view()),
]


def or_page(view):
    """The view for clients; for people, the page of the same list."""
    page = PostListPage.as_view()

    # Clients may send the list's parameters by POST; the page only reads.
    @csrf_exempt
    @wraps(view)
    def choose(request, *args, **kwargs):
        return (page if is_for_people(request) else view)(request, *args, **kwargs)

    choose.page = page
    return choose
