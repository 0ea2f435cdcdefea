"""The creation of accounts by partners."""

from typing import cast

from django.http import HttpResponse
from django.urls import reverse
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.account.api import AccountViewSet, describe_account
from accounts.account.models import Account
from accounts.account_creation.creation import create_account, find_prefix_error, limit_new_accounts
from accounts.hosts.names import PREFIX_PATTERN
from accounts.users.api import NewUserSerializer, UserSerializer, VisibleText
from accounts.users.models import User
from core.api.fields import MAX_NAME_LENGTH, TextField
from core.api.serializers import ResourceSerializer
from core.db.transactions import in_transaction
from core.openapi.fields import WHITE_SPACE, describe_field
from core.openapi.operations import BODIES, RESPONSES
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import NAME, JSONSchema, or_null


class Prefix(TextField):
    default_error_messages = {
        "form": "must be 2-63 letters a-z, digits and hyphens, neither first nor last a hyphen",
        "reserved": "is reserved",
        "taken": "is already taken",
    }

    def to_internal_value(self, data: object) -> str:
        prefix = cast(str, super().to_internal_value(data.strip().lower() if isinstance(data, str) else data))
        if error := find_prefix_error(prefix):
            self.fail(error)
        return prefix


class FromPartner(TextField):
    default_error_messages = {"other": "is not your partner identifier"}

    def to_internal_value(self, data: object) -> str | None:
        key = super().to_internal_value(data)
        if key and key != self.context["account"].partner_key:
            self.fail("other")
        return key


class NewAccountSerializer(ResourceSerializer):
    model = Account

    prefix = Prefix(required=True, max_length=MAX_NAME_LENGTH, pattern=PREFIX_PATTERN.removesuffix(r"\Z"))
    initial_module = TextField(pattern="[a-z][a-z0-9_]{0,31}")
    from_partner = FromPartner()
    # Also the name of the first site.
    name = VisibleText()


class OwnerSerializer(NewUserSerializer):
    """The first user of a new account, who is its owner."""

    # DRF's way to remove an inherited field.
    role = None  # type: ignore[assignment]


class NewAccountViewSet(AccountViewSet):
    """The account of the request, and the creation of an account."""

    body_keys = ("account", "user")
    shown_once = ("api_token",)

    def create(self, request: Request) -> HttpResponse:
        partner = self.account
        if not partner.partner_key:
            raise PermissionDenied("Only a partner's account may create accounts")

        def act() -> tuple[Account, User, str]:
            context = {"account": partner, "user": request.user}
            account = NewAccountSerializer(data=self.body.get("account"), context=context)
            user = OwnerSerializer(data=self.body.get("user"), context={**context, "account": None})
            self.check(account=account, user=user)
            values = {name: value for name, value in account.values.items() if value is not None}
            owner = user.values
            return create_account(
                login=owner["login"],
                email=owner["email"],
                password=owner["password"],
                owner_name=owner.get("name") or "",
                # The customers of a partner usually speak its language, in which the first category gets its name.
                **{"language": partner.language, **values, "from_partner": partner.partner_key},
            )

        with limit_new_accounts(request, partner.id):
            account, owner, token = in_transaction(act)
        data = self.represent(account, user=UserSerializer.represent(owner, account.zone), api_token=token)
        return Response(data, status=201, headers={"Location": data["url"] + reverse("accounts-json-account")})


# The schemas of the OpenAPI document, as far as views and serializers do not tell them

# A number is accepted as a prefix too, and read as its digits. A prefix has at least two characters.
NAME_OF_HOST = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])"
PREFIX = {"type": "string", "pattern": rf"^[{WHITE_SPACE}]*{NAME_OF_HOST}[{WHITE_SPACE}]*$"}
describe_field(Prefix, request={**PREFIX, "type": ["string", "integer"], "minimum": 10}, query=PREFIX, response=NAME)


def new_account_schema(schema: JSONOperationSchema, status: int) -> JSONSchema:
    """Return the schema of a new account with its owner and the first token."""
    owner = schema.output_component(UserSerializer)
    # The token is null in a response that is repeated for an Idempotency-Key.
    return schema.component("schemas", "MadeAccount", describe_account(schema, user=owner, api_token=or_null(NAME)))


RESPONSES["create_account"] = new_account_schema
BODIES["create_account"] = {"account": NewAccountSerializer, "user": OwnerSerializer}
