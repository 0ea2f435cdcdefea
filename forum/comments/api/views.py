"""The views of comments in the Account API."""

from typing import TYPE_CHECKING

from django.http import Http404, HttpResponse
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response

from accounts.account.models import Account
from accounts.hosts.api_requests import APIRequest
from core.api.fields import BooleanField
from core.api.lists import Paged
from core.api.resources import ResourceViewSet
from core.db.transactions import in_transaction, without_transaction
from core.errors import ConcurrentUpdate, FieldError
from forum.comments.api.serializers import CommentAsPostSerializer, CommentOnPostSerializer, CommentSerializer
from forum.comments.models import Comment
from forum.forums.requests import agent_of

if TYPE_CHECKING:
    from forum.posts.models import Post


class CommentActions(Paged, ResourceViewSet):
    """The part of the view of posts for their comments, and for comments that are written as posts."""

    account: Account
    request: APIRequest

    def comment(self, data: dict[str, object]) -> HttpResponse:
        def act() -> Comment:
            context = self.get_serializer_context()
            serializer = CommentOnPostSerializer(data=data, context=context)
            self.check(post=serializer)
            comment = self.add_comment(context["post"], serializer.values["content"], serializer.values.get("internal"))
            if self.pending_links:
                comment.post_id = None  # type: ignore[assignment]  # null in the response, but not saved
            return comment

        return self.respond_created(self.represent_as_post(without_transaction(act)))

    def find_comment(self, id: int) -> Comment:
        """Return the comment with this id. Raise Http404 if it does not exist, or if its post is in the trash."""
        comment = self.account.comments.of_live_posts(self.access).with_names().filter(id=id).first()
        if comment is None:
            raise Http404
        return comment

    def lock_comment(self, id: int) -> tuple["Post", Comment]:
        """Lock the post of a comment, and return both. Raise Http404, or PermissionDenied if the user may not change the comment."""
        post_id = self.account.comments.filter(id=id).values("post_id")
        post = self.account.posts.live().limited_to(self.access).locked().filter(id__in=post_id).first()
        if post is None:
            raise Http404
        comment = self.account.comments.with_names().filter(post_id=post.id, id=id).first()
        if comment is None:
            raise ConcurrentUpdate("The comment was deleted or its post was merged meanwhile")
        if not comment.may_be_changed_by(self.request.user):
            raise PermissionDenied("You do not have permission to perform this action.")
        return post, comment

    def update_comment(self, id: int) -> HttpResponse:
        def act() -> Comment:
            post, comment = self.lock_comment(id)
            serializer = CommentAsPostSerializer(
                comment, data=self.body.get(self.key), partial=True, context=self.get_serializer_context()
            )
            self.check(post=serializer)
            if "comment" in serializer.values:
                post.edit_comment(comment, serializer.values["comment"], by=self.request.user)
            if serializer.values.get("approved"):
                post.approve_comment(comment)
            return comment

        return Response(self.represent_as_post(in_transaction(act)))

    def erase_comment(self, id: int) -> None:
        post, comment = self.lock_comment(id)
        post.erase_comment(comment)

    def comments(self, request: APIRequest, id: int) -> HttpResponse:
        """Return the comments of a post, oldest first. Those that are internal or wait for approval are included only with
        `internal=true`.

        A client may show the list to the public, so it must request them explicitly.
        """
        post = self.get_object()
        text = self.parameters.get("internal", "").strip().lower()
        wants_internal = BooleanField.WORDS.get(text, None if text else False)
        errors = (
            {"internal": FieldError("internal", "is not true or false", "boolean")} if wants_internal is None else {}
        )
        self.read_page("internal", errors=errors)
        rows = self.account.comments.filter(post_id=post.id)
        rows = (rows if wants_internal else rows.public()).with_names().order_by("created_at", "id")
        return self.get_paginated_response([self.represent_comment(row) for row in self.paginate_queryset(rows)])

    def represent_comment(self, row: Comment) -> dict[str, object]:
        return CommentSerializer.represent(row, self.account.zone)

    def represent_as_post(self, row: Comment) -> dict[str, object]:
        return CommentAsPostSerializer.represent(row, self.account.zone)

    def create_comment(self, request: APIRequest, id: int) -> HttpResponse:
        def act() -> Comment:
            post = self.get_object()
            serializer = CommentSerializer(data=self.body.get("comment"), context={"account": self.account})
            self.check(comment=serializer)
            return self.add_comment(post, serializer.values["comment"], serializer.values.get("internal"))

        return self.respond_created(self.represent_comment(without_transaction(act)))

    def add_comment(self, post: "Post", text: str, internal: bool | None) -> Comment:
        user, agent = self.request.user, agent_of(self.request)
        comment = post.comment(by=user, text=text, agent=agent, internal=bool(internal))
        comment.nick = self.request.user.name
        return comment

    def respond_created(self, data: dict[str, object]) -> HttpResponse:
        return Response(data, status=201, headers=self.get_success_headers(data))
