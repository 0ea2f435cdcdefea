"""The account of the request."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from accounts.account.exchange_rates import check_rates
from accounts.account.models import MAX_REASONS, Account, AgentsSee
from accounts.hosts.api import APIRequest, TypedViewSet
from accounts.roles.permissions import IsAdminOrTeamReadOnly
from core.api.fields import (
    BooleanField,
    ChoiceField,
    DateField,
    IntegerField,
    TextField,
    TextListField,
    WireField,
    to_object,
)
from core.api.serializers import ResourceSerializer
from core.api.views import JSONViewSet
from core.db.transactions import transactional
from core.http.regions import country_names
from core.openapi.fields import describe_field
from core.openapi.operations import BODIES, RESPONSES
from core.openapi.schema import JSONOperationSchema
from core.openapi.values import NAME, JSONSchema, object_of
from core.pages.navigation import start_page_choices


class ExchangeRatesField(WireField):
    """An object of currencies and rates, which replaces all rates."""

    default_error_messages = {"object": _("must be an object of currencies and rates")}

    def to_internal_value(self, data: object) -> dict[str, str]:
        rates = to_object(data)
        if not isinstance(rates, dict):
            self.fail("object")
        return check_rates(rates, self.context["account"].currency, field="")


class AccountSerializer(ResourceSerializer):
    model = Account

    id = IntegerField(read_only=True)
    prefix = TextField(read_only=True)
    initial_module = TextField(read_only=True)
    from_partner = TextField(read_only=True)
    name = TextField(read_only=True)
    time_zone = TextField(read_only=True)
    language = TextField(read_only=True)
    currency = TextField(read_only=True)
    agents_see = TextField(read_only=True)
    link_guests_by_email = BooleanField(read_only=True)
    trash_days = IntegerField(read_only=True)
    inactive_member_months = IntegerField(read_only=True)
    exchange_rates = ExchangeRatesField(read_only=True)
    exchange_rates_on = DateField(read_only=True)
    takes_euro_rates = BooleanField(read_only=True)
    start_page = TextField(read_only=True)
    country = TextField(read_only=True)
    won_reasons = TextListField(max_items=MAX_REASONS, read_only=True)
    lost_reasons = TextListField(max_items=MAX_REASONS, read_only=True)


class AccountSettingsSerializer(ResourceSerializer):
    """The fields of an account that admins may change."""

    agents_see = ChoiceField(AgentsSee.values)
    link_guests_by_email = BooleanField()
    trash_days = IntegerField(min_value=Account.MIN_TRASH_DAYS, max_value=Account.MAX_TRASH_DAYS)
    inactive_member_months = IntegerField(min_value=Account.MIN_INACTIVE_MONTHS, max_value=Account.MAX_INACTIVE_MONTHS)
    exchange_rates = ExchangeRatesField()
    takes_euro_rates = BooleanField()
    country = ChoiceField(["", *country_names("en")])
    start_page = ChoiceField([name for name, _label in start_page_choices()])
    won_reasons = TextListField(max_items=MAX_REASONS)
    lost_reasons = TextListField(max_items=MAX_REASONS)


def url_of_account(request: HttpRequest, account: Account) -> str:
    """Return the URL of the account's own host, with the scheme and the port of the request."""
    _host, colon, port = request.get_host().partition(":")
    return f"{request.scheme}://{account.prefix}.{settings.BASE_DOMAIN}{colon}{port}"


class AccountViewSet(TypedViewSet, JSONViewSet):
    areas = ("settings",)
    areas_to_read = ()
    permission_classes = [IsAdminOrTeamReadOnly]
    body_keys: tuple[str, ...] = ("account",)

    def retrieve(self, request: APIRequest) -> HttpResponse:
        return Response(self.represent(self.account))

    @transactional
    def update(self, request: APIRequest) -> HttpResponse:
        context = self.get_serializer_context()
        serializer = AccountSettingsSerializer(
            self.account, data=self.body.get("account"), partial=True, context=context
        )
        self.check(account=serializer)
        # Null changes nothing, except for a column that may be null. A list is never null.
        nullable = {field.name for field in Account._meta.concrete_fields if field.null}
        values = serializer.values.items()
        self.account.change(**{name: value for name, value in values if value is not None or name in nullable})
        return Response(self.represent(self.account))

    def represent(self, row: Account, **extra: object) -> dict[str, Any]:
        data = AccountSerializer.represent(row, row.zone)
        times = {name: data.pop(name) for name in ("created_at", "updated_at")}
        return {**data, "url": url_of_account(self.request._request, row), **extra, **times}


# The schemas of the OpenAPI document, as far as views and serializers do not tell them

RATES: JSONSchema = {"type": "object", "propertyNames": {"pattern": "^[A-Z]{3}$"}}
NUMBER_OR_TEXT: JSONSchema = {"type": ["string", "number"], "exclusiveMinimum": 0, "maxLength": 255}
describe_field(
    ExchangeRatesField,
    request={**RATES, "additionalProperties": NUMBER_OR_TEXT},
    response={**RATES, "additionalProperties": NAME},
)


def describe_account(schema: JSONOperationSchema, **further: JSONSchema) -> JSONSchema:
    """Return the schema of an account with its URL, and with further properties before the times."""
    properties = schema.output_schema(AccountSerializer)["properties"]
    times = {name: properties.pop(name) for name in ("created_at", "updated_at")}
    properties["url"] = {"type": "string", "format": "uri"}
    return object_of(properties | further | times)


RESPONSES["read_account"] = RESPONSES["update_account"] = lambda schema, _status: schema.component(
    "schemas", "Account", describe_account(schema)
)
BODIES["update_account"] = {"account": AccountSettingsSerializer}
