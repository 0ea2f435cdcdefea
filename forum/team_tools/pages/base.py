"""The base of pages on which the team deals with posts."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy

from core.db.text import replace_non_xml
from core.error_responses import error_response
from core.errors import FieldError
from core.http import throttling
from core.pages.base import redirect
from core.search.queries import MAX_QUERY_LENGTH
from forum.forums.pages.base import ForumPage, ResubmittablePage
from forum.forums.requests import ForumRequest, ForumUserRequest
from forum.lists.queries import PostQuerySet
from forum.posts.api import PostSerializer
from forum.posts.models import Post

# The number of search results.
MAX_FOUND = 10

DELETED = gettext_lazy("This suggestion was deleted. An admin can restore it from the trash.")


# Messages for errors of the models, by field and code.
MESSAGES = {
    ("post", "gone"): DELETED,
    ("post", "merged"): gettext_lazy("This suggestion was merged into another one. Go on there, or undo that first."),
    ("post", "not_merged"): gettext_lazy("This suggestion is not merged into another one."),
    ("post", "merged_further"): gettext_lazy(
        "The suggestion that it was merged into was itself merged into another one. Undo that first."
    ),
    ("duplicate_from_id", "itself"): gettext_lazy("A suggestion can't be merged into itself."),
    ("duplicate_from_id", "gone"): gettext_lazy("The suggestion that you chose was deleted. Choose another one."),
    ("duplicate_from_id", "merged"): gettext_lazy(
        "The suggestion that you chose was itself merged into another one. Choose that one."
    ),
    ("duplicate_from_id", "elsewhere"): gettext_lazy("The suggestion that you chose is in another forum."),
    ("duplicate_from_id", "open"): gettext_lazy(
        "A private suggestion can't be merged into one that everyone sees: everyone could read its comments."
    ),
    ("post", "approved"): gettext_lazy(
        "This suggestion was approved in the meantime. You can still delete it on its page."
    ),
    ("post", "changed"): gettext_lazy(
        "This suggestion was changed after you opened the page. Read it as it is now, then approve it."
    ),
    ("comment", "approved"): gettext_lazy(
        "This comment was approved in the meantime. You can still delete it on its page."
    ),
    ("comment", "changed"): gettext_lazy(
        "This comment was changed after you opened the page. Read it as it is now, then approve it."
    ),
    ("comment", "gone"): gettext_lazy("This comment was deleted in the meantime."),
    ("report", "gone"): gettext_lazy("This text was deleted in the meantime."),
    ("report", "changed"): gettext_lazy("This text was changed after you opened the page. Read it as it is now."),
    ("client_id", "gone"): gettext_lazy("This client no longer exists."),
    ("contact_id", "gone"): gettext_lazy("This contact no longer exists."),
}


def serializer_context(request: ForumUserRequest) -> dict[str, object]:
    """Return the context of a serializer, as the Account API has it."""
    return {"account": request.account, "access": request.user.access}


class PostInTrash(Http404):
    """The post is in the trash. It may have been moved there after the page was opened."""


class ForumTeamPage(ForumPage):
    """A page for the team. Its forms are submitted to its own URL, with the name of an action in `do`."""

    request: ForumUserRequest
    access = "team"
    # The method for each value of `do`.
    actions: dict[str, str] = {}

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        try:
            return super().dispatch(request, *args, **kwargs)
        except PostInTrash:
            messages.error(request, DELETED)
            return redirect("forum-suggestions")

    def post(self, request: ForumRequest, **kwargs: Any) -> HttpResponse:
        act = self.actions.get(request.POST.get("do", ""))
        return error_response(request, 400) if act is None else getattr(self, act)(request, **kwargs)

    def describe(self, error: FieldError) -> str:
        return str(MESSAGES.get((error.field, error.code)) or super().describe(error))

    @property
    def posts(self) -> PostQuerySet:
        """The posts of the forum, including those in the trash."""
        return self.request.account.posts.of_forum(self.request.forum.id).without_tasks()

    def find(self, id: int) -> Post:
        """Return the post, annotated with the title of the original that it was merged into. Raise Http404 or PostInTrash."""
        originals = self.request.account.posts.filter(id=OuterRef("duplicate_from_id"))
        posts = self.posts.annotate(original_title=Subquery(originals.values("title")))
        return self.check_exists(posts.filter(id=id).first())

    def lock(self, id: int) -> Post:
        """Return the post, locked until the transaction ends. Raise Http404 or PostInTrash."""
        return self.check_exists(self.posts.locked().filter(id=id).first())

    @staticmethod
    def check_exists(post: Post | None) -> Post:
        if post is None:
            raise Http404
        if post.trashed_at is not None:
            raise PostInTrash
        return post

    def write_post(self, post: Post, data: dict[str, object]) -> None:
        """Validate the values as the Account API does, and write them. The caller must have locked the post."""
        serializer = PostSerializer(post, data=data, context=serializer_context(self.request), partial=True)
        post.write(serializer.read(), by=self.request.user)

    def read_query(self) -> str:
        """Return the text of the search. A search by GET counts against the limit of searches; a POST request was counted before."""
        is_post = self.request.method == "POST"
        q = (self.request.POST if is_post else self.request.GET).get("q", "")
        q = replace_non_xml(q)[:MAX_QUERY_LENGTH].strip()
        if q and not is_post:
            throttling.count_search(self.request)
        return q


class ResubmittableTeamPage(ResubmittablePage, ForumTeamPage):
    """A page for the team that shows its form again as it was submitted, if the session has ended meanwhile."""

    def process_form(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return ForumTeamPage.post(self, self.request, **kwargs)

    def show_submitted(self, status: int, *args: Any, **kwargs: Any) -> HttpResponse:
        if self.sign_in_form is None:
            response = self.show_submitted_form(**kwargs)
            response.status_code = status
            return response
        # The user is signed out, so the page shows only the submitted values, and nothing of the post.
        texts, data = self.text_fields(), self.request.POST
        excluded = {"csrfmiddlewaretoken", *self.sign_in_form.fields, *(field.html_name for field in texts)}
        hidden = [(name, value) for name, values in data.lists() if name not in excluded for value in values]
        return self.render("forum/team_tools/team_resubmit.html", http_status=status, texts=texts, hidden=hidden)

    def show_submitted_form(self, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the page with the form as it was submitted."""
        raise NotImplementedError

    def text_fields(self) -> list[forms.BoundField]:
        """Return the submitted fields with long texts, which the page shows; all other values are hidden inputs."""
        raise NotImplementedError


def normalize_text(text: str | None) -> str:
    """Strip the text and convert its line ends to LF. A text that a browser submits unchanged then equals the stored text."""
    return (text or "").replace("\r\n", "\n").strip()
