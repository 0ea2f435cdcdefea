"""The page with the suggestions and votes of the user."""

from django.http import Http404, HttpResponse

from forum.pages.reading import COLUMNS, PostsPage, as_list_item
from forum.requests import ForumUserRequest


class OwnPostsPage(PostsPage):
    """The posts that the user wrote or, with `list=votes`, voted for."""

    request: ForumUserRequest

    access = "user"
    template_name = "forum/own_posts.html"

    def get(self, request: ForumUserRequest) -> HttpResponse:
        account, user, list_name = request.account, request.user, request.GET.get("list") or "written"
        if list_name not in ("written", "votes"):
            raise Http404
        posts = account.posts.listed_for(user).of_forum(request.forum.id)
        posts = posts.voted_by(user) if list_name == "votes" else posts.written_by(user)
        page = self.read_page()
        rows = list(posts.values_list(*COLUMNS)[page.start : page.stop])
        return self.render(
            part="posts",
            list=list_name,
            page=page,
            more=len(rows) > page.size,
            **self.list_context([as_list_item(row) for row in rows[: page.size]]),
        )
