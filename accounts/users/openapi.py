"""The schemas of users in the OpenAPI document, as far as views and serializers do not tell them."""

from accounts.users.api import NewUserSerializer, Password, UniqueLogin, UserGroupSerializer, UserSerializer
from accounts.users.models import User
from core.openapi.fields import NON_XML_CHARACTERS, WHITE_SPACE, TextExtension
from core.openapi.operations import BODIES, SHAPES, Shape
from core.openapi.values import JSONSchema

SHAPES[UserSerializer] = Shape(User)
SHAPES[NewUserSerializer] = Shape(User, computed=frozenset({"role"}))
BODIES["update_user"] = {"user": UserGroupSerializer}


class LoginExtension(TextExtension):
    target_class = UniqueLogin

    def request_schema(self) -> JSONSchema:
        inner, end = f"[^:{NON_XML_CHARACTERS}]", f"[^:{NON_XML_CHARACTERS}{WHITE_SPACE}]"
        pattern = f"^{end}({inner}*{end})?$"
        return {"type": ["string", "number"], "maxLength": self.target.max_length, "pattern": pattern}


class PasswordExtension(TextExtension):
    target_class = Password

    def query_schema(self) -> JSONSchema:
        return {**super().query_schema(), "minLength": 8, "format": "password"}
