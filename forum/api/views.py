"""Generation B: posts and tasks."""

from rest_framework.response import Response

from accounts.api.filters import FilterSet, WireFilter
from accounts.api.resources import ResourceViewSet
from accounts.fields import Boolean, Integer, Time
from accounts.paging import Page
from accounts.text import cleaned
from accounts.views import in_transaction
from forum.api.serializers import COMMENT, CommentOnPostSerializer, CommentSerializer, PostSerializer
from forum.models import Post


def agent_of(request) -> str:
    """The client that created something, as it names itself."""
    return cleaned(request.headers.get("User-Agent", ""))[:255]


class PostViewSet(ResourceViewSet):
    key = "post"
    serializer_class = PostSerializer

    def rows(self):
        return self.account.posts.live().with_names()

    def create(self, request) -> Response:
        given = self.body(self.key)
        if isinstance(given, dict) and given.get("task_kind") == COMMENT:
            return self.comment(given)
        return super().create(request)

    def comment(self, given: dict) -> Response:
        def act():
            serializer = CommentOnPostSerializer(data=given, context={"account": self.account})
            ignored = self.check(post=serializer)
            post = self.rows().locked().get(id=serializer.values["post_id"])
            comment = post.comment(
                by=self.request.user, text=serializer.values["content"], agent=agent_of(self.request)
            )
            comment.nick = self.request.user.name
            return comment, ignored

        comment, ignored = in_transaction(act)
        location = f"{self.base_url}/app/posts/{comment.post_id}.json"
        data = CommentSerializer.represent(comment, self.account.zone)
        return self.answer(data, status=201, ignored=ignored, headers={"Location": location})

    def make(self, values):
        row = Post(account=self.account, agent=agent_of(self.request))
        row.write(values, by=self.request.user)
        return row

    def change(self, row, values):
        row.write(values, by=self.request.user)


class TaskFilters(FilterSet):
    responsible_id = WireFilter(Integer())
    client_id = WireFilter(Integer())
    closed = WireFilter(Boolean())
    scheduled_before = WireFilter(Time(), field_name="scheduled_at", lookup_expr="lt")


class TaskViewSet(ResourceViewSet):
    """The account's tasks, open ones first, newest first."""

    serializer_class = PostSerializer

    def list(self, request) -> Response:
        page = Page.read(request.query_params)
        rows = TaskFilters(request.query_params, self.account.posts.tasks().with_names(), account=self.account).rows()
        rows = list(rows[page.start : page.start + page.size + 1])
        url = self.base_url + request.path
        link = page.link(url, request.META["QUERY_STRING"], more=len(rows) > page.size)
        return self.answer([self.represent(row) for row in rows[: page.size]], headers={"Link": link})
