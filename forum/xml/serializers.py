"""The serializers of the Forum API, which accepts some of the fields of the Account API."""

from accounts.roles.models import ASSIGNABLE
from accounts.users.api import NewUserSerializer
from core.api.fields import ChoiceField, RelatedField, TextField, long_text_field
from core.api.serializers import ResourceSerializer
from forum.posts.api.serializers import StatusCode
from forum.posts.models import Post

__all__ = ["NewUserSerializer", "PostElementSerializer", "TeamPostElementSerializer"]


class CategoryOfForum(RelatedField):
    """A category of the forum that the request was sent to."""

    def __init__(self) -> None:
        super().__init__("categories")

    def to_internal_value(self, data: object) -> int:
        self.filters = {"forum_id": self.context["forum_id"]}
        return super().to_internal_value(data)


class PostElementSerializer(ResourceSerializer):
    title = TextField(required=True)
    content = long_text_field()
    kind = ChoiceField(Post.Kind.values)
    category_id = CategoryOfForum()

    def validate(self, values: dict[str, object]) -> dict[str, object]:
        """Drop nulls, except for the fields that accept null."""
        nullable = ("responsible_id",)
        return {name: value for name, value in values.items() if value is not None or name in nullable}


class TeamPostElementSerializer(PostElementSerializer):
    """The fields that the team may set."""

    status = StatusCode()
    responsible_id = RelatedField("users", **ASSIGNABLE)
