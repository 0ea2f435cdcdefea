"""The completion of mentions in the form of a comment."""

from collections import Counter

from django.http import Http404, HttpResponse, JsonResponse

from accounts.mentions.parsing import names_in
from accounts.users.models import User
from core.db.tenancy import fold
from core.http import throttling
from forum.forums.pages.base import ForumPage
from forum.forums.requests import ForumUserRequest
from forum.lists.pages.visible_posts import visible_posts

# The limits of the users that are compared with the typed name, and of those that are shown.
MAX_CANDIDATES, MAX_SHOWN = 200, 8
MAX_NAME_LENGTH = 64


class MentionsPart(ForumPage):
    """The names of which a word begins with `q`, as JSON: of the team, and of the users who wrote on the page of the suggestion.

    Logins are not shown and not searched: a member must not see them, nor does the text that the team publishes. A name that would
    mention nobody is not offered. Users who may no longer read the forum are left out.
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
        users = request.account.users.exclude(id=request.user.id)
        readers = request.forum.members_among(writers)
        members = users.filter(id__in=readers, role=User.Role.MEMBER, is_active=True).values_list("name", flat=True)
        team = users.filter(role__in=User.TEAM, is_active=True).order_by("name", "id").values_list("name", flat=True)
        team_uses = Counter(team[:MAX_CANDIDATES])
        uses = Counter(members) + team_uses
        matches = [
            name
            for name in uses
            if (team_uses[name] or uses[name]) == 1 and has_word(prefix, name) and is_mentionable(name)
        ]
        return JsonResponse([{"name": name} for name in matches[:MAX_SHOWN]], safe=False)


def has_word(prefix: str, name: str) -> bool:
    """Return whether a word of the name begins with the folded prefix."""
    return any(word.startswith(prefix) for word in fold(name).split())


def is_mentionable(name: str) -> bool:
    """Return whether an `@` and the name are read as a mention of the whole name."""
    return any(name in candidates for candidates in names_in(f"@{name}"))
