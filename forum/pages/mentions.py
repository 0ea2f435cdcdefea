"""The completion of mentions in the form of a comment."""

from django.http import Http404, HttpResponse, JsonResponse

from accounts.models import User
from core.api import throttling
from core.db.tenancy import fold
from forum.pages.base import ForumPage
from forum.pages.writing import visible_posts
from forum.requests import ForumUserRequest

# The limits of the users that are compared with the typed name, and of those that are shown.
MAX_CANDIDATES, MAX_SHOWN = 200, 8
MAX_NAME_LENGTH = 64


class MentionsPart(ForumPage):
    """The users whose login or name begins with `q`, as JSON: the team, and the users who wrote on the page of the suggestion.

    Users who may no longer read the forum are left out.
    """

    request: ForumUserRequest
    access = "user"

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        prefix = fold(request.GET.get("q", "")[:MAX_NAME_LENGTH])
        throttling.count_search(request)
        post = visible_posts(request).filter(id=id).first()
        if post is None:
            raise Http404
        comments = request.account.comments.filter(post_id=id).visible_to(request.user).order_by()
        writers = {*comments.values_list("user_id", flat=True).distinct()[:MAX_CANDIDATES], post.user_id}
        columns = ("id", "login", "name")
        users = request.account.users.exclude(id=request.user.id)
        readers = request.forum.members_among(writers)
        active_writers = users.filter(id__in=readers, is_active=True).values_list(*columns)
        team = users.filter(role__in=User.TEAM, is_active=True).order_by("name", "id").values_list(*columns)
        candidates = {id: (login, name) for id, login, name in [*active_writers, *team[:MAX_CANDIDATES]]}
        matches = [each for each in candidates.values() if begins_with(prefix, *each)]
        shown = [{"login": login, "name": name or login} for login, name in matches[:MAX_SHOWN]]
        return JsonResponse(shown, safe=False)


def begins_with(prefix: str, login: str, name: str) -> bool:
    """Return whether the login or a word of the name begins with the folded prefix. Logins with a space are not offered."""
    if " " in login:
        return False
    return any(word.startswith(prefix) for word in (fold(login), *fold(name).split()))
