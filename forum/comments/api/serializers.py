"""The serializers of comments in the Account API, where they are also read and written as posts."""

from collections.abc import Collection
from typing import Any, cast

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _

from core.api.fields import (
    MAX_INTEGER,
    BooleanField,
    ChoiceField,
    IntegerField,
    RelatedField,
    TextField,
    long_text_field,
)
from core.api.serializers import ResourceSerializer
from core.db.prepared import prepared
from core.db.tenancy import account_of
from core.errors import FieldError
from core.rows.access import prepared_access
from core.rows.trash import TrashedId

COMMENT = "comment"


class CommentedPost(RelatedField):
    """The post of a new comment, which may be in the trash. It is in the context as `post`.

    The post is not locked here: the statement that inserts the comment locks it, and checks that it has not been trashed or restored.
    """

    def find_ids(self, ids: list[int]) -> dict[int, int]:
        account, access = self.context["account"], self.context["access"]
        arguments = access.arguments if access.is_limited else {}
        post = None if ids[0] > MAX_INTEGER else _commented_post.first(account_id=account.id, id=ids[0], **arguments)
        if post is None:
            return {}
        post.account = account
        cast("dict[str, Any]", self.context)["post"] = post
        return {post.id: post.id if post.trashed_at is None else TrashedId(post.id)}


@prepared(account_id=int, id=int, responsible_ids=list)
def _commented_post(account_id: int, id: int, responsible_ids: Collection[int] | None = None) -> QuerySet[Model]:
    rows: QuerySet[Model] = account_of(account_id).posts.limited_to(prepared_access(responsible_ids)).filter(id=id)[:1]
    return rows


class CommentOnPostSerializer(ResourceSerializer):
    """A new comment that is sent as a post with `task_kind: "comment"`. Its text is the content; the title is ignored."""

    title = TextField()
    content = long_text_field(required=True)
    task_kind = ChoiceField([COMMENT])
    post_id = CommentedPost("posts")
    internal = BooleanField()

    def get_fields(self) -> dict[str, Any]:
        # `post_id` is required. Other links are optional.
        fields = super().get_fields()
        if "post_id" not in fields:
            fields["post_id"] = CommentedPost("posts")
        fields["post_id"].required, fields["post_id"].allow_null = True, False
        return fields


class CommentSerializer(ResourceSerializer):
    id = IntegerField(read_only=True)
    comment = long_text_field(required=True)
    kind = TextField(read_only=True)
    post_id = IntegerField(read_only=True)
    user_id = IntegerField(read_only=True)
    nick = TextField(read_only=True)
    agent = TextField(read_only=True)
    internal = BooleanField()
    approved = BooleanField(read_only=True)


class CommentAsPostSerializer(CommentSerializer):
    """A comment that a client reads and changes as a post, with those fields of a post that a comment has."""

    content = long_text_field(required=True)
    task_kind = ChoiceField([COMMENT])
    # An internal comment stays internal.
    internal = BooleanField(read_only=True)
    approved = BooleanField()

    sources = {"content": "comment"}

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        """Return the text from `content` or `comment`, and whether to approve the comment.

        If a client sends both fields back, the changed one applies. An approved comment stays approved.
        """
        texts = [values[name] for name in ("content", "comment") if name in values]
        current = None if self.instance is None else self.instance.comment
        changed = next((text for text in texts if text != current), None)
        result: dict[str, object] = {} if changed is None else {"comment": changed}
        if (approved := values.get("approved")) is not None and self.instance is not None:
            if self.instance.approved and not approved:
                raise FieldError("approved", _("can't be withdrawn"), "approved")
            result["approved"] = approved
        return result
