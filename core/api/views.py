"""The base classes of the API views: `TenantViewSet` for both APIs, `JSONViewSet` for the Account API."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.http import http_date
from django.utils.translation import gettext_lazy as _
from rest_framework import viewsets
from rest_framework.exceptions import PermissionDenied
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request

from core.api import idempotency, preconditions, throttling
from core.api.fields import to_object
from core.api.formats import FORM_TYPES, BodyParser, JSONRenderer, media_type_of
from core.api.negotiation import SingleFormatNegotiation
from core.api.parameters import as_parameters
from core.api.requests import APIRequest
from core.api.serializers import ResourceSerializer
from core.api.unused_hooks import check_view, reject_unused_hooks
from core.db.access import Access
from core.errors import FieldError, FieldErrors
from core.request_shares import hold_share

if TYPE_CHECKING:
    from accounts.account import Account

# Limits of a header that lists names: proxies and clients refuse long headers.
MAX_LISTED_NAMES = 20
MAX_LISTED_NAME_LENGTH = 64
MAX_LIST_BYTES = 2000

NOT_SETTABLE = "is not a field that can be set"
REPEATED = "is given more than once"
METHOD_KEY = "_method"
OVERRIDING_METHODS = ("PUT", "PATCH", "DELETE")

# Parameters whose keys in brackets may be numbers. In other names, the brackets say that the parameter is an item of a list.
KEYED_PARAMETERS = ("external_ids", "additional_fields")

_KEY = re.compile(r"\[.*\]\Z", re.DOTALL)
_ITEM = re.compile(r"([^\[\]]+)\[\d{0,20}\]", re.ASCII)


def join_names(names: Sequence[str]) -> str:
    """Return the names as the value of a header, percent-encoded. Names beyond the limits are cut or omitted."""
    encoded: list[str] = []
    length = 0
    for name in names[:MAX_LISTED_NAMES]:
        encoded.append(quote(name[:MAX_LISTED_NAME_LENGTH], safe="", errors="replace"))
        length += len(encoded[-1]) + 1
        if length > MAX_LIST_BYTES:
            return ",".join(encoded[:-1])
    return ",".join(encoded)


def without_key(name: str) -> str:
    """Return the name of a parameter such as `external_ids[shop]` as `external_ids[key]`."""
    return _KEY.sub("[key]", name)


def without_index(name: str) -> str:
    """Return the name of a parameter such as `tag[]` or `tag[0]` without the brackets, which PHP and JavaScript add to lists."""
    match = _ITEM.fullmatch(name)
    return match[1] if match and match[1] not in KEYED_PARAMETERS else name


def nest_errors(errors: Iterable[FieldError], key: str) -> list[FieldError]:
    """Return the errors of a body with a single object. The field of an error of the object itself is the `key` of the object."""
    return [error if error.field else error.within(key) for error in errors]


def not_settable_errors(names: Iterable[str], errors: Iterable[FieldError]) -> list[FieldError]:
    """Return an error for each ignored name, except for names for which `errors` has an error already."""
    reported = {error.field.partition(".")[0] for error in errors}
    return [FieldError(name, NOT_SETTABLE) for name in names if name not in reported]


def without_indexes(query: QueryDict) -> QueryDict:
    """Return the parameters with the names that `without_index` returns."""
    if all(without_index(name) == name for name in query):
        return query
    parameters = QueryDict(mutable=True)
    for name, values in query.lists():
        for value in values:
            parameters.appendlist(without_index(name), value)
    return parameters


class TenantViewSet(viewsets.ViewSet):
    """The base of all API views. A view belongs to the account of its request.

    `dispatch` calls `initial` and then the handler, which returns a response made by `respond`. `core.api.unused_hooks` lists the
    attributes of DRF that are not used. A subclass that defines such an attribute raises TypeError.
    """

    request: APIRequest

    # OPTIONS is not supported. The response 405 to an unsupported method lists the supported methods.
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    # Secret fields of a response. They are null in the response that is stored for an Idempotency-Key.
    shown_once: tuple[str, ...] = ()
    # The Idempotency-Key of the request, which `initial` sets.
    idempotency_key: str | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_view(cls, TenantViewSet)

    @classmethod
    def as_view(cls, actions: Any = None, **initkwargs: Any) -> Any:
        reject_unused_hooks(cls, initkwargs, source=cls)
        return super().as_view(actions, **initkwargs)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the response: call `initial`, then the handler, once for each Idempotency-Key.

        DRF would render the response in a second pass. Here, handlers return a rendered response.
        """
        self.args, self.kwargs = args, kwargs
        api_request = cast(APIRequest, self.initialize_request(request, *args, **kwargs))
        self.request = api_request
        try:
            self.initial(api_request, *args, **kwargs)
            handler = partial(self.get_handler(), api_request, *args, **kwargs)
            if self.idempotency_key is not None:
                return idempotency.respond_once(self, self.idempotency_key, handler)
            if self.action is not None and preconditions.has_conditions(self):
                return preconditions.respond_if_met(self, handler)
            return handler()
        except Exception as error:  # noqa: BLE001, the handler raises unexpected exceptions again
            return cast(HttpResponse, self.handle_exception(error))

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate and count the request, check permissions and read the Idempotency-Key. Raise an exception to reject it.

        DRF's `initial` is not called: it would also negotiate a format, determine a version and check throttles.
        """
        self.perform_authentication(request)
        self.check_permissions(request)
        accepts_key = idempotency.accepts_key(request.method, self.action)
        self.idempotency_key = idempotency.key_of(request) if accepts_key else None

    def perform_authentication(self, request: Request) -> None:
        super().perform_authentication(request)
        api_request = cast(APIRequest, request)
        hold_share(throttling.django_request(request), api_request.user)
        # Before the permissions are checked, so that requests without permission count too.
        throttling.count_request(api_request)

    def get_handler(self) -> Callable[..., HttpResponse]:
        """Return the handler of the HTTP method, or the handler that responds with 405."""
        name = (self.request.method or "").lower()
        handler: Callable[..., HttpResponse] | None = None
        if name in self.http_method_names:
            handler = getattr(self, name, None)
        return handler or cast(Callable[..., HttpResponse], self.http_method_not_allowed)

    def lock_row(self) -> None:
        """Lock the row of the URL, if there is one, for a conditional write."""

    def prepare_reading(self, action: str) -> None:
        """Change this copy of a view so that it can respond to a GET of the same URL."""
        self.action = action

    def get_content_negotiator(self) -> BaseContentNegotiation:
        """Return the negotiation, which selects the parser of a body. Each view has a single renderer."""
        return SingleFormatNegotiation()

    def respond(self, data: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> HttpResponse:
        """Return the response with the rendered data."""
        renderer = self.renderer_classes[0]()
        content_type = f"{renderer.media_type}; charset={renderer.charset}" if renderer.charset else renderer.media_type
        response = HttpResponse(renderer.render(data), status=status, content_type=content_type, headers=headers)
        # `IdempotentAnswer.from_response` reads this attribute.
        response.data = data  # type: ignore[attr-defined]
        return response

    @property
    def request_options(self) -> list[str]:
        """Options from headers that change the effect of the request. The fingerprint of an idempotent request includes them."""
        return []

    @property
    def account(self) -> "Account":
        """The account, which authentication reads together with the user."""
        return self.request._request.account

    @property
    def access(self) -> Access:
        """The rows of the account that the user may access."""
        user: Any = self.request.user
        access: Access = user.access
        return access

    @property
    def base_url(self) -> str:
        """The URL of the host of the request, without a slash at the end."""
        request = self.request._request
        return f"{request.scheme}://{request.get_host()}"


class JSONViewSet(TenantViewSet):
    """The base of the views of the Account API. It reads JSON bodies and forms, and reports ignored fields and parameters in headers."""

    parser_classes = [BodyParser]
    renderer_classes = [JSONRenderer]

    serializer_class: type[ResourceSerializer]
    # Further keys of a body, besides the key of the resource.
    body_keys: tuple[str, ...] = ()
    # Keys that every body may have. They do not belong to a resource.
    common_keys = frozenset({"api_token", METHOD_KEY})

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.ignored_parameters: list[str] = []

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        is_overridden = self.override_method(request)
        super().initial(request, *args, **kwargs)
        # CSRF: a page of another site can make a browser send a form with the session cookie, but not with a token.
        if request.auth is None and (is_overridden or media_type_of(request) in FORM_TYPES):
            raise PermissionDenied("A form, or another method in the place of POST, needs an api_token")

    def override_method(self, request: Request) -> bool:
        """Replace POST by the method PUT, PATCH or DELETE in `_method` or X-HTTP-Method-Override. Return whether POST was replaced.

        Some clients and proxies support only GET and POST. Raise FieldError for another method.
        """
        if request.method != "POST":
            return False
        name = request.META.get("HTTP_X_HTTP_METHOD_OVERRIDE") or request.query_params.get(METHOD_KEY)
        if not name and isinstance(request.data, dict):
            name = request.data.get(METHOD_KEY)
        method = str(name or "POST").strip().upper()
        if method == "POST":
            return False
        if method not in OVERRIDING_METHODS:
            raise FieldError(METHOD_KEY, f"is not one of {', '.join(OVERRIDING_METHODS)}", "choice")
        request._request.method = method
        self.action = self.action_map.get(method.lower())  # type: ignore[assignment]  # None where the route lacks the method
        return True

    def prepare_reading(self, action: str) -> None:
        super().prepare_reading(action)
        # The body belongs to the write.
        self.__dict__["parameters"] = without_indexes(self.request.query_params)
        self.ignored_parameters = []

    @cached_property
    def parameters(self) -> QueryDict:
        """The parameters of the query. For GET and DELETE, keys of the body that the query does not have are added."""
        query, body = without_indexes(self.request.query_params), self.request.data
        if not body or not isinstance(body, dict) or self.request.method not in ("GET", "HEAD", "DELETE"):
            return query
        parameters = query.copy()
        for name, value in as_parameters(body):
            if without_index(name) not in query:
                parameters.appendlist(without_index(name), value)
        return parameters

    def ignore_parameters(self, known: Collection[str]) -> dict[str, FieldError]:
        """Add the parameters that are not `known` to `ignored_parameters`. In `known`, the key in `name[key]` stands for any key.

        Return errors by parameter: for repeated parameters and, with `Prefer: handling=strict`, for unknown parameters.
        """
        errors = {}
        for name, values in self.parameters.lists():
            if name in self.common_keys:
                continue
            if without_key(name) not in known:
                self.ignored_parameters.append(name)
            elif len(values) > 1:
                errors[name] = FieldError(name, REPEATED)
        if self.ignored_parameters and self.strict:
            allowed = ", ".join(known)
            message = "is not one of the parameters {allowed}" if known else "is not a parameter: there are none"
            for name in self.ignored_parameters:
                errors[name] = FieldError(name, message, "unknown", {"allowed": allowed})
        return errors

    @property
    def body(self) -> dict[str, Any]:
        """The body. Raise FieldError if it is not an object."""
        body = to_object(self.request.data)
        if not isinstance(body, dict):
            raise FieldError("body", _("must be an object"), "object")
        return body

    def represent(self, row: Any) -> dict[str, Any]:
        """Return the response for a row."""
        return self.serializer_class.represent(row, self.account.zone)

    def respond(
        self,
        data: Any,
        *,
        status: int = 200,
        ignored: list[str] | None = None,
        pending: list[str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> HttpResponse:
        """Return the response with the rendered data. Headers name ignored fields, ignored parameters and pending links."""
        headers = dict(headers or {})
        if ignored:
            headers["X-Ignored-Fields"] = join_names(ignored)
        if self.ignored_parameters:
            headers["X-Ignored-Parameters"] = join_names(self.ignored_parameters)
        if pending:
            headers["X-Pending-Links"] = join_names(pending)
        if self.action == "retrieve" and isinstance(data, dict) and data.get("updated_at"):
            headers["Last-Modified"] = http_date(datetime.fromisoformat(data["updated_at"]).timestamp())
        return super().respond(data, status=status, headers=headers)

    @property
    def strict(self) -> bool:
        """True if the client sent `Prefer: handling=strict` (RFC 7240), which makes unknown fields and parameters errors."""
        preferences = self.request.META.get("HTTP_PREFER", "").lower().replace('"', "").replace(" ", "")
        return "handling=strict" in preferences.replace(";", ",").split(",")

    @property
    def request_options(self) -> list[str]:
        return ["strict"] if self.strict else []

    def check(self, **serializers_by_key: ResourceSerializer) -> list[str]:
        """Validate the body, each key with its serializer, and return the names of ignored fields.

        Raise FieldErrors with the errors of all keys. With `Prefer: handling=strict`, an ignored field is an error.
        """
        errors: list[FieldError] = []
        ignored = [name for name in self.body if name not in {*self.common_keys, *self.body_keys, *serializers_by_key}]
        single = len(serializers_by_key) == 1
        for key, serializer in serializers_by_key.items():
            key_errors = serializer.find_errors()
            errors += nest_errors(key_errors, key) if single else [error.within(key) for error in key_errors]
            ignored += serializer.ignored if single else [f"{key}.{name}" for name in serializer.ignored]
        if ignored and self.strict:
            errors += not_settable_errors(ignored, errors)
        if errors:
            raise FieldErrors(errors)
        return ignored
