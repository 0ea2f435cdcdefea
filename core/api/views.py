"""The base classes of the API views: `TenantViewSet` for both APIs, `JSONViewSet` for the Account API."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, cast
from urllib.parse import quote

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.utils.http import http_date
from django.utils.translation import gettext_lazy as _
from rest_framework import viewsets
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.fields import to_object
from core.api.serializers import ResourceSerializer, Values
from core.errors import FieldError, FieldErrors, MissingScopes, Throttled
from core.http import idempotency, preconditions, throttling
from core.http.formats import FORM_TYPES, BodyParser, JSONRenderer, as_parameters, media_type_of
from core.http.requests import RequestOfAPI
from core.limits.request_shares import hold_share
from core.rows.access import Access
from core.rows.scopes import ALL_ROWS, areas
from core.tenants import TenantAccount

T = TypeVar("T")

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


def remove_key(name: str) -> str:
    """Return the name of a parameter such as `external_ids[shop]` as `external_ids[key]`."""
    return _KEY.sub("[key]", name)


def remove_index(name: str) -> str:
    """Return the name of a parameter such as `tag[]` or `tag[0]` without the brackets, which PHP and JavaScript add to lists."""
    match = _ITEM.fullmatch(name)
    return match[1] if match and match[1] not in KEYED_PARAMETERS else name


def nest_errors(errors: Iterable[FieldError], key: str) -> list[FieldError]:
    """Return the errors of a body with a single object. The field of an error of the object itself is the `key` of the object."""
    return [error if error.field else error.move_into(key) for error in errors]


def not_settable_errors(names: Iterable[str], errors: Iterable[FieldError]) -> list[FieldError]:
    """Return an error for each ignored name, except for names for which `errors` has an error already."""
    reported = {error.field.partition(".")[0] for error in errors}
    return [FieldError(name, NOT_SETTABLE) for name in names if name not in reported]


def remove_indexes(query: QueryDict) -> QueryDict:
    """Return the parameters with the names that `remove_index` returns."""
    if all(remove_index(name) == name for name in query):
        return query
    parameters = QueryDict(mutable=True)
    for name, values in query.lists():
        for value in values:
            parameters.appendlist(remove_index(name), value)
    return parameters


class TenantViewSet(viewsets.GenericViewSet[Any]):
    """The base of all API views. A view belongs to the account of its request.

    It differs from DRF's `GenericViewSet` in these hooks: `dispatch` calls the handler at most once for each Idempotency-Key,
    `initial` checks throttles before permissions, and `get_object` applies no filters of a list.
    """

    if TYPE_CHECKING:
        # The stubs know nothing of `WireSerializer`, nor that every list has pages.
        def get_serializer(self, *args: object, **kwargs: object) -> Any: ...
        def paginate_queryset(self, queryset: QuerySet[Any, T] | Sequence[T]) -> list[T]: ...

    request: RequestOfAPI

    # OPTIONS is not supported. The response 405 to an unsupported method lists the supported methods.
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    lookup_field = "id"
    # DRF would add `Allow` to every response.
    default_response_headers: dict[str, str] = {}
    # Secret fields of a response. They are null in the response that is stored for an Idempotency-Key.
    shown_once: tuple[str, ...] = ()
    # The Idempotency-Key of the request, which `initial` sets.
    idempotency_key: str | None = None

    @classmethod
    def for_account(cls, account: TenantAccount, access: Access) -> Self:
        """Return a view without a request, whose querysets have the rows of an account. Prepared queries are built with it."""
        view = cls()
        view.account, view.access = account, access
        return view

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Return the response, as DRF does, but pass the handler to `respond_once` or `respond_if_met`."""
        self.args, self.kwargs = args, kwargs
        self.request = cast(RequestOfAPI, self.initialize_request(request, *args, **kwargs))
        self.headers = self.default_response_headers
        try:
            self.initial(self.request, *args, **kwargs)
            handler = partial(self.get_handler(), self.request, *args, **kwargs)
            response: Any
            if self.idempotency_key is not None:
                response = idempotency.respond_once(self, self.idempotency_key, handler)
            elif self.action is not None and preconditions.has_conditions(self):
                response = preconditions.respond_if_met(self, handler)
            else:
                response = handler()
        except Exception as error:  # noqa: BLE001, the handler raises unexpected exceptions again
            response = self.handle_exception(error)
        return self.finalize_response(self.request, response, *args, **kwargs)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Authenticate and count the request, check permissions and read the Idempotency-Key. Raise an exception to reject it.

        DRF checks throttles last. Here, requests without permission count too.
        """
        self.format_kwarg = self.get_format_suffix(**kwargs)
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        self.perform_authentication(request)
        self.check_throttles(request)
        self.check_permissions(request)
        accepts_key = idempotency.accepts_key(request.method, self.action)
        self.idempotency_key = idempotency.key_of(request) if accepts_key else None

    def perform_authentication(self, request: Request) -> None:
        super().perform_authentication(request)
        hold_share(throttling.django_request(request), cast(RequestOfAPI, request).user)

    def throttled(self, request: Request, wait: float) -> NoReturn:
        raise Throttled(int(wait))

    def get_handler(self) -> Callable[..., HttpResponse]:
        """Return the handler of the HTTP method, or the handler that responds with 405."""
        name = (self.request.method or "").lower()
        handler: Callable[..., HttpResponse] | None = None
        if name in self.http_method_names:
            handler = getattr(self, name, None)
        return handler or cast(Callable[..., HttpResponse], self.http_method_not_allowed)

    def render(self, response: Any) -> HttpResponse:
        """Render the response within the view. Django renders it after the view, when a transaction has ended."""
        finalized: HttpResponse = self.finalize_response(self.request, response, *self.args, **self.kwargs)
        return finalized.render() if isinstance(finalized, Response) else finalized

    def get_object(self, *, locked: bool = False) -> Any:
        """Return the row of the URL. Raise Http404 if there is none, or if the user may not access it."""
        row = self.find_object(self.kwargs[self.lookup_url_kwarg or self.lookup_field], locked=locked)
        if row is None:
            raise Http404
        row.account = self.account
        self.check_object_permissions(self.request, row)
        return row

    def find_object(self, id: int, *, locked: bool) -> Any:
        """Return the row of `get_queryset` with an id, or None."""
        rows: Any = self.get_queryset()
        return (rows.locked() if locked else rows).filter(**{self.lookup_field: id}).first()

    def lock_row(self) -> None:
        """Lock the row of the URL, if there is one, for a conditional write."""

    def prepare_reading(self, action: str) -> None:
        """Change this copy of a view so that it can respond to a GET of the same URL."""
        self.action = action

    def get_serializer_context(self) -> Values:
        """Return the context of the serializer, which its fields use for lookups."""
        return {"account": self.account, "access": self.access}

    @property
    def request_options(self) -> list[str]:
        """Options from headers that change the effect of the request. The fingerprint of an idempotent request includes them."""
        return []

    @cached_property
    def account(self) -> TenantAccount:
        """The account, which authentication reads together with the user."""
        return self.request._request.account

    @cached_property
    def access(self) -> Access:
        """The rows of the account that the user may access."""
        return self.request.user.access

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
    # The scopes of a token that a request needs besides `read` or `write`: the areas of what it reads or changes. `areas_to_read` are
    # others for a request that only reads.
    areas: tuple[str, ...] = (ALL_ROWS,)
    areas_to_read: tuple[str, ...] | None = None
    # Keys that every body may have. They do not belong to a resource.
    common_keys = frozenset({"api_token", METHOD_KEY})

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.ignored_parameters: list[str] = []
        self.ignored_fields: list[str] = []
        # The names of fields that link to a row in the trash.
        self.pending_links: list[str] = []

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        is_overridden = self.override_method(request)
        super().initial(request, *args, **kwargs)
        # CSRF: a page of another site can make a browser send a form with the session cookie, but not with a token.
        if request.auth is None and (is_overridden or media_type_of(request) in FORM_TYPES):
            raise PermissionDenied("A form, or another method in the place of POST, needs an api_token")

    def check_permissions(self, request: Request) -> None:
        super().check_permissions(request)
        writes = request.method not in SAFE_METHODS
        self.check_scopes(self.needed_areas(writes=writes), writes=writes)

    def check_scopes(self, needed: Collection[str], *, writes: bool = False) -> None:
        """Raise MissingScopes if the token of the request lacks a scope for these areas."""
        token = self.request.auth
        if token is not None and (missing := token.find_missing_scopes(needed, writes=writes)):
            raise MissingScopes(missing)

    def needed_areas(self, *, writes: bool) -> list[str]:
        return areas.expand(self.areas if writes or self.areas_to_read is None else self.areas_to_read)

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
        self.__dict__["parameters"] = remove_indexes(self.request.query_params)
        self.ignored_parameters, self.ignored_fields, self.pending_links = [], [], []

    @cached_property
    def parameters(self) -> QueryDict:
        """The parameters of the query. For GET and DELETE, keys of the body that the query does not have are added."""
        query, body = remove_indexes(self.request.query_params), self.request.data
        if not body or not isinstance(body, dict) or self.request.method not in ("GET", "HEAD", "DELETE"):
            return query
        parameters = query.copy()
        for name, value in as_parameters(body):
            if remove_index(name) not in query:
                parameters.appendlist(remove_index(name), value)
        return parameters

    def ignore_parameters(self, known: Collection[str]) -> dict[str, FieldError]:
        """Add the parameters that are not `known` to `ignored_parameters`. In `known`, the key in `name[key]` stands for any key.

        Return errors by parameter: for repeated parameters and, with `Prefer: handling=strict`, for unknown parameters.
        """
        errors = {}
        for name, values in self.parameters.lists():
            if name in self.common_keys:
                continue
            if remove_key(name) not in known:
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
    def body(self) -> dict[str, object]:
        """The body. Raise FieldError if it is not an object."""
        body = to_object(self.request.data)
        if not isinstance(body, dict):
            raise FieldError("body", _("must be an object"), "object")
        return body

    def represent(self, row: Any) -> Values:
        return self.serializer_class.represent(row, self.account.zone)

    def finalize_response(self, request: Request, response: Any, *args: object, **kwargs: object) -> Any:
        """Add the headers that name ignored fields, ignored parameters and pending links, and the time of the last change.

        Neither the response to an error nor a stored response is a `Response`.
        """
        if isinstance(response, Response):
            names = {
                "X-Ignored-Fields": self.ignored_fields,
                "X-Ignored-Parameters": self.ignored_parameters,
                "X-Pending-Links": self.pending_links,
            }
            for header, listed in names.items():
                if listed:
                    response.headers[header] = join_names(listed)
            data = response.data
            if self.action == "retrieve" and isinstance(data, dict) and data.get("updated_at"):
                response.headers["Last-Modified"] = http_date(datetime.fromisoformat(data["updated_at"]).timestamp())
        return super().finalize_response(request, response, *args, **kwargs)

    @property
    def strict(self) -> bool:
        """True if the client sent `Prefer: handling=strict` (RFC 7240), which makes unknown fields and parameters errors."""
        preferences = self.request.META.get("HTTP_PREFER", "").lower().replace('"', "").replace(" ", "")
        return "handling=strict" in preferences.replace(";", ",").split(",")

    @property
    def request_options(self) -> list[str]:
        return ["strict"] if self.strict else []

    def check(self, **serializers_by_key: ResourceSerializer) -> None:
        """Validate the body, each key with its serializer, and set `ignored_fields` and `pending_links`.

        Raise FieldErrors with the errors of all keys. With `Prefer: handling=strict`, an ignored field is an error.
        """
        errors: list[FieldError] = []
        ignored = [name for name in self.body if name not in {*self.common_keys, *self.body_keys, *serializers_by_key}]
        single = len(serializers_by_key) == 1
        for key, serializer in serializers_by_key.items():
            key_errors = serializer.find_errors()
            errors += nest_errors(key_errors, key) if single else [error.move_into(key) for error in key_errors]
            ignored += serializer.ignored if single else [f"{key}.{name}" for name in serializer.ignored]
        if ignored and self.strict:
            errors += not_settable_errors(ignored, errors)
        if errors:
            raise FieldErrors(errors)
        self.ignored_fields = ignored
        self.pending_links = [name for serializer in serializers_by_key.values() for name in serializer.pending_links]
