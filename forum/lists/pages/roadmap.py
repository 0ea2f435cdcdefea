"""The roadmap of a forum."""

from django.http import Http404, HttpResponse
from django.urls import reverse

from accounts.statuses.models import Status
from core.pages.base import base_url
from forum.forums.requests import ForumRequest
from forum.lists.pages.base import COLUMNS, PostsPage, as_list_item, query_string

MAX_COLUMN_POSTS = 20


class RoadmapPage(PostsPage):
    """The roadmap: a column for each status on it. With `status`, the list of all suggestions with that status."""

    template_name = "forum/lists/roadmap.html"

    def get(self, request: ForumRequest) -> HttpResponse:
        account, forum = request.account, request.forum
        if status := self.read_status():
            return self.render_status(status)
        board = account.posts.roadmap(COLUMNS, account=account, forum_id=forum.id, limit=MAX_COLUMN_POSTS)
        columns = [(status, [as_list_item(row) for row in rows], more) for status, rows, more in board]
        return self.render(
            section="roadmap",
            columns=columns,
            canonical=base_url(request) + reverse("forum-roadmap"),
            **self.list_context([post for _, posts, _ in columns for post in posts]),
        )

    def render_status(self, status: Status) -> HttpResponse:
        request, page = self.request, self.read_page()
        rows = request.account.posts.in_status(
            COLUMNS,
            account=request.account,
            forum_id=request.forum.id,
            status_id=status.id,
            start=page.start,
            size=page.size + 1,
        )
        if not rows and page.number > 1:
            raise Http404
        query = query_string(status=status.code, page=page.number if page.number > 1 else None)
        return self.render(
            "forum/lists/roadmap_status.html",
            section="roadmap",
            chosen_status=status,
            page=page,
            more=len(rows) > page.size,
            canonical=base_url(request) + reverse("forum-roadmap") + query,
            **self.list_context([as_list_item(row) for row in rows[: page.size]]),
        )
