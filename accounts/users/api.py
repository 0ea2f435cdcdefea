"""Users in the Account API, and the validation of new users in both APIs."""

from functools import cached_property
from typing import cast

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from accounts.hosts.api import APIRequest, TypedViewSet
from accounts.roles.permissions import IsAdminOrTeamReadOnly
from accounts.users.models import User
from accounts.users.names import INVISIBLE_MESSAGE, find_password_errors, has_invisible
from core.api.fields import MAX_NAME_LENGTH, ChoiceField, EmailField, IntegerField, RelatedField, TextField
from core.api.lists import Listing
from core.api.serializers import ResourceSerializer
from core.api.views import JSONViewSet
from core.db.text import is_xml_text
from core.db.transactions import transactional
from core.errors import FieldErrors
from core.openapi.fields import NON_XML_CHARACTERS, WHITE_SPACE, TextExtension
from core.openapi.operations import BODIES, SHAPES, Shape
from core.openapi.values import JSONSchema
from core.rows.trimmed import trim


class VisibleText(TextField):
    """A text without invisible characters."""

    default_error_messages = {"invisible": INVISIBLE_MESSAGE}

    def to_internal_value(self, data: object) -> str:
        text = cast(str, super().to_internal_value(data))
        if has_invisible(text):
            self.fail("invisible")
        return text


class UniqueName(VisibleText):
    """A login or an e-mail that neither equals nor looks like a login or an e-mail of another user of the account."""

    parent: "NewUserSerializer"  # the only serializer with such fields
    default_error_messages = {"taken": _("is already taken")}

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if text in self.parent.taken:
            self.fail("taken")
        return text


class UniqueLogin(UniqueName):
    default_error_messages = {"form": _("can't have a colon, nor a space at either end")}


class UniqueEmail(UniqueName, EmailField):
    pass


class Password(TextField):
    def to_internal_value(self, data: object) -> str:
        password = cast(str, super().to_internal_value(data))
        sent = self.parent.initial_data
        user_fields = {name: sent[name] for name in ("login", "email", "name") if isinstance(sent.get(name), str)}
        if errors := find_password_errors(password, User(**user_fields)):
            raise FieldErrors(errors)
        return password


class NewUserSerializer(ResourceSerializer):
    """A new user. Without an account in the context, it is the first user of a new account."""

    model = User

    login = UniqueLogin(required=True, pattern=User.LOGIN_PATTERN)
    email = UniqueEmail(required=True)
    password = Password(required=True, write_only=True, max_length=MAX_NAME_LENGTH)
    name = TextField()
    role = ChoiceField(User.Role.values)

    @cached_property
    def taken(self) -> set[str]:
        """The login or e-mail, or both, if another user has it or a name that looks like it.

        Read this property in the transaction that creates the user.
        """
        account = self.context["account"]
        values = [self.initial_data.get(name) for name in ("login", "email")]
        names = [trim(name) for name in values if isinstance(name, str) and is_xml_text(name)]
        return set() if account is None else User.objects.find_taken_names(account.id, names)


class UserSerializer(ResourceSerializer):
    id = IntegerField(read_only=True)
    login = TextField(read_only=True)
    email = TextField(read_only=True)
    name = TextField(read_only=True)
    role = TextField(read_only=True)
    notification = TextField(read_only=True)
    description = TextField(read_only=True)
    www = TextField(read_only=True)
    group_id = IntegerField(read_only=True)


class UserGroupSerializer(ResourceSerializer):
    """The fields of a user of the team that admins may change."""

    group_id = RelatedField("user_groups")


class UserViewSet(TypedViewSet, Listing, JSONViewSet):
    """List of the active users of the team, and the group of each. Only these users can be responsible for resources."""

    areas = ("settings",)
    areas_to_read = ()
    serializer_class = UserSerializer
    permission_classes = [IsAdminOrTeamReadOnly]
    body_keys = ("user",)

    def retrieve(self, request: APIRequest, id: int) -> HttpResponse:
        return Response(self.represent(self.get_object()))

    @transactional
    def update(self, request: APIRequest, id: int) -> HttpResponse:
        user: User = self.get_object()
        context = self.get_serializer_context()
        serializer = UserGroupSerializer(user, data=self.body.get("user"), partial=True, context=context)
        self.check(user=serializer)
        if "group_id" in serializer.values:
            user.change_group(serializer.values["group_id"], by=request.user)
        return Response(self.represent(user))

    @transactional
    def end_sessions(self, request: APIRequest, id: int) -> HttpResponse:
        """End the sessions of a user on the pages, whatever the user's role."""
        user = get_object_or_404(self.account.users, id=id)
        user.account = self.account
        self.check()
        user.end_sessions(by=request.user)
        return Response("ok")

    def get_queryset(self) -> QuerySet[User]:
        return self.account.users.team()


# The schemas of the OpenAPI document, as far as views and serializers do not tell them

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
