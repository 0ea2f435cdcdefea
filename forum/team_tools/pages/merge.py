"""The page that merges a suggestion into another one."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _

from accounts.layout.settings import parse_id
from core.errors import FieldErrors
from core.pages.base import redirect
from forum.forums.requests import ForumUserRequest
from forum.posts.models import Post
from forum.team_tools.pages.base import MAX_FOUND, ForumTeamPage


class MergePostPage(ForumTeamPage):
    """Merging a post into another one: search, preview, merge, undo."""

    template_name = "forum/team_tools/merge.html"
    actions = {"merge": "merge", "undo": "undo"}

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        q = self.read_query()
        if request.htmx:
            return self.render("forum/team_tools/merge_found.html", id=id, q=q, found=self.search(q, id))
        post = self.find(id)
        original_id, original = request.GET.get("into"), None
        if original_id is not None:
            original = (
                self.posts.live().filter(id=parse_id(original_id) or 0, duplicate_from_id=None).exclude(id=id).first()
            )
            if original is None:
                messages.error(request, _("There is no such suggestion to merge it into."))
        found = self.search(q, id) if original is None else []
        return self.render(section="suggestions", post=post, original=original, id=id, q=q, found=found)

    def search(self, q: str, id: int) -> list[tuple[object, ...]]:
        """If the text is the id of a post, return this post. If there is none, return the posts that a search for the text finds."""
        account, forum_id, columns = self.request.account, self.request.forum.id, ("id", "title", "votes_cache")
        if not q:
            return []
        rows = []
        if post_id := parse_id(q.removeprefix("#")):
            rows = list(self.posts.listed_for(self.request.user).filter(id=post_id).values_list(*columns))
        if not rows:
            rows = Post.objects.search(
                q, self.request.user, columns, account=account, forum_id=forum_id, start=0, size=MAX_FOUND + 1
            )
        return [row for row in rows if row[0] != id][:MAX_FOUND]

    def merge(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find(id)
        original_id = parse_id(request.POST.get("into"))
        original = self.posts.filter(id=original_id or 0).first()
        if original is None:
            messages.error(request, _("Choose the suggestion to merge it into."))
            return redirect("forum-post-merge", id)

        def act() -> None:
            try:
                post.merge_into(original, by=request.user)
            except FieldErrors:
                # Another request, such as that of a second click, has merged the post already.
                if post.duplicate_from_id != original.id:
                    raise
            except Post.DoesNotExist:
                raise Http404 from None

        success_message = _("“%(title)s” is merged into this suggestion.") % {"title": post.title}
        if self.perform(act, success_message=success_message):
            return redirect("forum-post", original.id)
        return redirect("forum-post-merge", id)

    def undo(self, request: ForumUserRequest, id: int) -> HttpResponse:
        post = self.find(id)

        def act() -> None:
            try:
                post.undo_merge(by=request.user)
            except Post.DoesNotExist:
                raise Http404 from None

        success_message = _("This suggestion stands on its own again, with its own votes and comments.")
        return redirect("forum-post" if self.perform(act, success_message=success_message) else "forum-post-merge", id)
