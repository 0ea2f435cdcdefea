"""The base classes of the API views: `TenantViewSet` for both APIs, `JSONViewSet` for the JSON ones."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property, partial
from typing import Any
from urllib.parse import quote

from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext_lazy as _
from rest_framework import viewsets
from rest_framework.exceptions import PermissionDenied
from rest_framework.negotiation import BaseContentNegotiation

from core.api import idempotency, throttling
from core.api.formats import FORM_TYPES, BodyParser, JSONRenderer, media_type_of
from core.api.negotiation import SuffixNegotiation
from core.api.parameters import as_parameters
from core.api.serializers import ResourceSerializer
from core.api.unused_hooks import check_view, refuse_unused_hooks
from core.errors import FieldError, FieldErrors

# Limits of a header that lists names: proxies and clients refuse long headers.
MAX_LISTED_NAMES = 20
MAX_LISTED_NAME_LENGTH = 64
MAX_LIST_BYTES = 2000

NOT_SETTABLE = "is not a field that can be set"
REPEATED = "is given more than once"
METHOD_KEY = "_method"
OVERRIDING_METHODS = ("PUT", "PATCH", "DELETE")

_KEY = re.compile(r"\[.*\]\Z", re.DOTALL)


def join_names(names: Sequence[str]) -> str:
    """Join names for a header: percent-encoded, long names shortened, as many as the limits allow."""
    written, length = [], 0
    for name in names[:MAX_LISTED_NAMES]:
        written.append(quote(name[:MAX_LISTED_NAME_LENGTH], safe="", errors="replace"))
        length += len(written[-1]) + 1
        if length > MAX_LIST_BYTES:
            return ",".join(written[:-1])
    return ",".join(written)


def nest_errors(errors: Iterable[FieldError], key: str) -> list[FieldError]:
    """Return the errors of the one object in a body, which stands under `key`: that is the name only of the object itself."""
    return [error if error.field else error.within(key) for error in errors]


def not_settable_errors(names: Iterable[str], errors: Iterable[FieldError]) -> list[FieldError]:
    """Return an error for each name that was ignored, but for those that have one among `errors`."""
    known = {error.field.partition(".")[0] for error in errors}
    return [FieldError(name, NOT_SETTABLE) for name in names if name not in known]


class TenantViewSet(viewsets.ViewSet):
    """The base of all API views: a view of one account, the request's.

    A request passes `dispatch`, `initial`, the handler, `answer`. The attributes of DRF that this leaves out are listed in
    `core.api.unused_hooks`; a subclass that defines one is a TypeError.
    """

    # Without OPTIONS: a method that a path does not take is answered with 405, which names those that it takes.
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    # Fields of an answer that are shown once: they are left out where an answer is stored to be sent again.
    shown_once: tuple[str, ...] = ()
    # Set by `initial`, for a request that may have a key and has one.
    idempotency_key: str | None = None

    def __init_subclass__(cls, **kwargs) -> None:
        super().__init_subclass__(**kwargs)
        check_view(cls, TenantViewSet)

    @classmethod
    def as_view(cls, actions: dict[str, str] | None = None, **initkwargs) -> Callable[..., HttpResponse]:
        refuse_unused_hooks(cls, initkwargs, source=cls)
        return super().as_view(actions, **initkwargs)

    def dispatch(self, request, *args, **kwargs) -> HttpResponse:
        """Answer a request: run `initial`, then the handler, once for each Idempotency-Key.

        Unlike DRF's, this does not render in a second pass: handlers return a finished response, made by `answer`.
        """
        self.args, self.kwargs = args, kwargs
        self.request = request = self.initialize_request(request, *args, **kwargs)
        try:
            self.initial(request, *args, **kwargs)
            handler = self.get_handler()
            if self.idempotency_key is None:
                return handler(request, *args, **kwargs)
            return idempotency.answer_once(self, self.idempotency_key, partial(handler, request, *args, **kwargs))
        except Exception as error:  # noqa: BLE001, an exception that is no refusal is raised again there
            return self.handle_exception(error)

    def initial(self, request, *args, **kwargs) -> None:
        """Authenticate, count the request, check permissions and read the Idempotency-Key; raise what refuses the request.

        DRF's own `initial` is not called, because all that it does besides is left out here: it negotiates a format, determines a
        version and checks throttles.
        """
        self.perform_authentication(request)
        self.check_permissions(request)
        accepts_key = idempotency.accepts_key(request.method, self.action)
        self.idempotency_key = idempotency.key_of(request) if accepts_key else None

    def perform_authentication(self, request) -> None:
        super().perform_authentication(request)
        # Before the permissions: a request that they refuse counts too.
        throttling.count_request(request)

    def get_handler(self) -> Callable[..., HttpResponse]:
        """Return the method that handles the HTTP method, or the one that refuses it with 405."""
        name = self.request.method.lower()
        handler = getattr(self, name, None) if name in self.http_method_names else None
        return handler or self.http_method_not_allowed

    def get_content_negotiator(self) -> BaseContentNegotiation:
        """Return what chooses the parser of a body. Nothing chooses a renderer, because a view has one."""
        return SuffixNegotiation()

    def answer(self, data, *, status: int = 200, headers: dict[str, str] | None = None) -> HttpResponse:
        """Return the response with the data, rendered."""
        renderer = self.renderer_classes[0]()
        content_type = f"{renderer.media_type}; charset={renderer.charset}" if renderer.charset else renderer.media_type
        response = HttpResponse(renderer.render(data), status=status, content_type=content_type, headers=headers)
        response.data = data
        return response

    @property
    def request_options(self) -> list[str]:
        """The options that headers set and that change what the request does.

        They are part of an idempotent request's fingerprint.
        """
        return []

    @property
    def account(self):
        """The account, which the authentication read together with the user."""
        return self.request._request.account

    @property
    def base_url(self) -> str:
        """The URL of the host that the request was sent to, without a slash at the end."""
        request = self.request._request
        return f"{request.scheme}://{request.get_host()}"


class JSONViewSet(TenantViewSet):
    """The base of the views of the Account API: JSON bodies, forms, parameters, and headers that name what was ignored."""

    parser_classes = [BodyParser]
    renderer_classes = [JSONRenderer]

    serializer_class: type[ResourceSerializer]
    # The keys of a body beside the one of the resource.
    body_keys: tuple[str, ...] = ()
    # The keys that every body may have; they belong to no resource.
    common_keys = frozenset({"api_token", METHOD_KEY})

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.ignored_parameters: list[str] = []

    def initial(self, request, *args, **kwargs) -> None:
        is_overridden = self.override_method(request)
        super().initial(request, *args, **kwargs)
        # A page of another site can make a browser send a form together with the session cookie, but not with a token.
        if request.auth is None and (is_overridden or media_type_of(request) in FORM_TYPES):
            raise PermissionDenied("A form, or another method in the place of POST, needs an api_token")

    def override_method(self, request) -> bool:
        """Replace POST by the PUT, PATCH or DELETE that `_method` or X-HTTP-Method-Override names; return whether one does.

        Some clients and proxies support GET and POST only. Raises FieldError for another method.
        """
        if request.method != "POST":
            return False
        given = request.META.get("HTTP_X_HTTP_METHOD_OVERRIDE") or request.query_params.get(METHOD_KEY)
        if not given and isinstance(request.data, dict):
            given = request.data.get(METHOD_KEY)
        method = str(given or "POST").strip().upper()
        if method == "POST":
            return False
        if method not in OVERRIDING_METHODS:
            raise FieldError(METHOD_KEY, f"is not one of {', '.join(OVERRIDING_METHODS)}", "choice")
        request._request.method = method
        self.action = self.action_map.get(method.lower())
        return True

    @cached_property
    def parameters(self) -> QueryDict:
        """The parameters of the query; on GET and DELETE also the keys of the body that the query does not have."""
        query, body = self.request.query_params, self.request.data
        if not body or not isinstance(body, dict) or self.request.method not in ("GET", "HEAD", "DELETE"):
            return query
        found = query.copy()
        for name, value in as_parameters(body):
            if name not in query:
                found.appendlist(name, value)
        return found

    def ignore_parameters(self, known: Collection[str]) -> dict[str, FieldError]:
        """Collect the parameters that are not `known`, for a header of the answer; `name[key]` is known with any key.

        Return the errors by parameter: for parameters that are given more than once and, with `Prefer: handling=strict`, for unknown ones.
        """
        errors = {}
        for name, values in self.parameters.lists():
            if name in self.common_keys:
                continue
            if _KEY.sub("[key]", name) not in known:
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
        """The body, which has to be an object. Raises FieldError."""
        if not isinstance(self.request.data, dict):
            raise FieldError("body", _("must be an object"), "object")
        return self.request.data

    def represent(self, row) -> dict[str, Any]:
        return self.serializer_class.represent(row, self.account.zone)

    def answer(
        self,
        data,
        *,
        status: int = 200,
        ignored: list[str] | None = None,
        pending: list[str] | None = None,
        headers: dict | None = None,
    ) -> HttpResponse:
        """Return the response with the data; headers name ignored fields and parameters, and pending links."""
        headers = dict(headers or {})
        if ignored:
            headers["X-Ignored-Fields"] = join_names(ignored)
        if self.ignored_parameters:
            headers["X-Ignored-Parameters"] = join_names(self.ignored_parameters)
        if pending:
            headers["X-Pending-Links"] = join_names(pending)
        return super().answer(data, status=status, headers=headers)

    @property
    def strict(self) -> bool:
        """Whether unknown fields and parameters are errors: the client sent `Prefer: handling=strict` (RFC 7240)."""
        preferences = self.request.headers.get("Prefer", "").lower().replace('"', "").replace(" ", "")
        return "handling=strict" in preferences.replace(";", ",").split(",")

    @property
    def request_options(self) -> list[str]:
        return ["strict"] if self.strict else []

    def check(self, **serializers_by_key: ResourceSerializer) -> list[str]:
        """Validate the body, each key with its serializer, and return the names of ignored fields.

        Raises FieldErrors with the errors of all keys; with `Prefer: handling=strict`, an ignored field is an error.
        """
        errors: list[FieldError] = []
        ignored = [name for name in self.body if name not in {*self.common_keys, *self.body_keys, *serializers_by_key}]
        single = len(serializers_by_key) == 1
        for key, serializer in serializers_by_key.items():
            found = serializer.find_errors()
            errors += nest_errors(found, key) if single else [error.within(key) for error in found]
            ignored += serializer.ignored if single else [f"{key}.{name}" for name in serializer.ignored]
        if ignored and self.strict:
            errors += not_settable_errors(ignored, errors)
        if errors:
            raise FieldErrors(errors)
        return ignored
