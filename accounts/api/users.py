"""Users in JSON, and the rules for a new user in both APIs."""

from functools import cached_property

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.names import INVISIBLE, has_invisible
from core.api.fields import ChoiceField, EmailField, IntegerField, TextField
from core.api.filters import ListFilters
from core.api.lists import Listing
from core.api.serializers import ResourceSerializer
from core.api.views import JSONViewSet
from core.db.tenancy import fold
from core.db.text import is_xml_text
from core.errors import FieldError, FieldErrors

# By the codes of Django's validators, whose own messages are whole sentences and do not continue the name of a field.
PASSWORD_ERRORS = {
    "password_too_short": _("is too short (minimum is 8 characters)"),
    "password_too_common": _("is too common"),
    "password_entirely_numeric": _("can't be entirely numeric"),
    "password_too_similar": _("is too similar to the login, the e-mail or the name"),
}


class Unique(TextField):
    """A login or an e-mail: no other user of the account is known by it, in any case, nor by one that looks like it."""

    default_error_messages = {"taken": _("is already taken"), "invisible": INVISIBLE}

    def to_internal_value(self, data) -> str:
        text = super().to_internal_value(data)
        if has_invisible(text):
            self.fail("invisible")
        if fold(text) in self.parent.taken:
            self.fail("taken")
        return text


class Login(Unique):
    default_error_messages = {"form": _("can't have a colon, nor a space at either end")}


class UniqueEmail(Unique, EmailField):
    pass


class Password(TextField):
    def to_internal_value(self, data) -> str:
        password = super().to_internal_value(data)
        given = self.parent.initial_data
        about = {name: given[name] for name in ("login", "email", "name") if isinstance(given.get(name), str)}
        try:
            validate_password(password, User(**about))
        except ValidationError as caught:
            codes = [error.code for error in caught.error_list]
            raise FieldErrors(FieldError("", PASSWORD_ERRORS[code], code) for code in codes) from None
        return password


class NewUserSerializer(ResourceSerializer):
    """What a user is made of. Without an account in the context it is the first user of a new one."""

    login = Login(required=True, pattern=User.LOGIN_PATTERN)
    email = UniqueEmail(required=True)
    password = Password(required=True, write_only=True)
    name = TextField()
    role = ChoiceField(User.Role.values)

    @cached_property
    def taken(self) -> set[str]:
        """Which of the login and the e-mail somebody has; within the transaction that makes the user."""
        account = self.context["account"]
        names = [self.initial_data.get(name) for name in ("login", "email")]
        names = [name for name in names if isinstance(name, str) and is_xml_text(name)]
        return set() if account is None else User.objects.taken(account.id, names)


class UserSerializer(ResourceSerializer):
    id = IntegerField(read_only=True)
    login = TextField(read_only=True)
    email = TextField(read_only=True)
    name = TextField(read_only=True)
    role = TextField(read_only=True)
    notification = TextField(read_only=True)
    description = TextField(read_only=True)
    www = TextField(read_only=True)


class UserViewSet(Listing, JSONViewSet):
    """The team: whoever may be made responsible for something."""

    serializer_class = UserSerializer
    filters = ListFilters

    @staticmethod
    def listed_of(account):
        return account.users.team()
