"""Generation B: the base of every JSON resource (decisions, section 4)."""

import re
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote
from zoneinfo import ZoneInfo

from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError

from core.api.fields import MISSING, Integer, Time
from core.api.formats import FORM_TYPES, BodyParser, JSONRenderer, media_type_of
from core.api.parameters import as_parameters
from core.api.views import TenantViewSet, in_transaction
from core.db.prepared import Prepared, prepared
from core.db.tenancy import account_of
from core.db.trash import Trashable, TrashedId
from core.errors import ConcurrentUpdate

if TYPE_CHECKING:
    from accounts.models import Account

# Of the names that were ignored: how many are listed, cut after so many characters, in how many bytes. Proxies and clients
# refuse headers that are long.
IGNORED_LISTED, IGNORED_LENGTH, IGNORED_BYTES = 20, 64, 2000
NOT_SETTABLE = "is not a field that can be set"
REPEATED = "is given more than once"
METHOD_KEY = "_method"
OVERRIDING_METHODS = ("PUT", "PATCH", "DELETE")

_KEY = re.compile(r"\[.*\]\Z", re.DOTALL)


def moment(value: datetime | None, zone: ZoneInfo) -> str | None:
    """A time as both generations write it: in the account's zone, to the second, with a numeric offset."""
    return None if value is None else value.astimezone(zone).isoformat(timespec="seconds")


def listed(names: Sequence[str]) -> str:
    """Names as a header lists them: percent-encoded, the first ones, and the beginnings of long ones."""
    written, length = [], 0
    for name in names[:IGNORED_LISTED]:
        written.append(quote(name[:IGNORED_LENGTH], safe="", errors="replace"))
        length += len(written[-1]) + 1
        if length > IGNORED_BYTES:
            return ",".join(written[:-1])
    return ",".join(written)


class ResourceSerializer(serializers.Serializer):
    """The fields of a resource, once, in the order of the wire.

    Reads only what was sent: a PUT names the fields that change. What is not one of its fields, or is read-only, is
    gathered in `ignored`.
    """

    id = Integer(read_only=True)
    created_at = Time(read_only=True)
    updated_at = Time(read_only=True)

    # Of the fields that a row has under another name than the wire.
    sources: ClassVar[dict[str, str]] = {}

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ignored: list[str] = []
        self.values: dict[str, Any] = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        declared = cls._declared_fields
        # Inherited fields come first in a subclass; the times belong at the end.
        order = [name for name in declared if name not in ("created_at", "updated_at")] + ["created_at", "updated_at"]
        cls.names: ClassVar = tuple(name for name in order if not declared[name].write_only)
        cls.times: ClassVar = tuple(name for name in cls.names if isinstance(declared[name], Time))
        cls.columns: ClassVar = tuple(cls.sources.get(name, name) for name in cls.names)
        # Their positions, and those that a new resource needs.
        cls.writable: ClassVar = {name: n for n, (name, field) in enumerate(declared.items()) if not field.read_only}
        cls.needed: ClassVar = {name for name in cls.writable if declared[name].required}

    def get_fields(self) -> dict[str, serializers.Field]:
        given = self.initial_data if isinstance(getattr(self, "initial_data", None), dict) else {}
        names = self.writable.keys() & given.keys() | (set() if self.partial else self.needed)
        declared = self._declared_fields
        return {
            name: type(declared[name])(*declared[name]._args, **declared[name]._kwargs)
            for name in sorted(names, key=self.writable.__getitem__)
        }

    def run_validation(self, data=serializers.empty):
        if data is None or data is serializers.empty:
            raise ValidationError([MISSING])
        if not isinstance(data, dict):
            raise ValidationError(["must be an object"])
        self.ignored = [name for name in data if name not in self.writable]
        return super().run_validation(data)

    def faults(self) -> dict | list:
        """Read what was sent into `values`; what is wrong with it, else nothing."""
        try:
            self.values = self.run_validation(self.initial_data)
        except ValidationError as error:
            return error.detail
        return {}

    @property
    def pending_links(self) -> list[str]:
        """The names of the links to what is in the trash."""
        return [
            name
            for name, value in self.values.items()
            if any(isinstance(id, TrashedId) for id in (value if isinstance(value, list) else [value]))
        ]

    @classmethod
    def represent(cls, row: Any, zone: ZoneInfo) -> dict[str, Any]:
        return cls.show([getattr(row, column) for column in cls.columns], zone)

    @classmethod
    def show(cls, values: Sequence, zone: ZoneInfo) -> dict[str, Any]:
        """What is answered for a row's `columns`."""
        data = dict(zip(cls.names, values, strict=True))
        for name in cls.times:
            data[name] = moment(data[name], zone)
        return data


class JSONViewSet(TenantViewSet):
    parser_classes = [BodyParser]
    renderer_classes = [JSONRenderer]

    serializer_class: type[ResourceSerializer]
    # The top level of a body: the token, the resources, and what the endpoint names besides.
    body_keys: tuple[str, ...] = ()
    # What else may be there, and belongs to no resource.
    common_keys = frozenset({"api_token", METHOD_KEY})

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.ignored_parameters: list[str] = []

    def initial(self, request, *args, **kwargs) -> None:
        is_overridden = self.override_method(request)
        super().initial(request, *args, **kwargs)
        # A page of another site can have a browser send forms, and with them the session's cookie, but no token.
        if request.auth is None and (is_overridden or media_type_of(request) in FORM_TYPES):
            raise PermissionDenied("A form, or another method in the place of POST, needs an api_token")

    def override_method(self, request) -> bool:
        """Take PUT, PATCH or DELETE in the place of POST, where `_method` or X-HTTP-Method-Override says so.

        Some clients and the servers between know GET and POST alone. Raises ValidationError for another method.
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
            raise ValidationError({METHOD_KEY: [f"is not one of {', '.join(OVERRIDING_METHODS)}"]})
        request._request.method = method
        self.action = self.action_map.get(method.lower())
        return True

    @cached_property
    def parameters(self) -> QueryDict:
        """The parameters of the query; on GET and DELETE also the keys of the body that the query does not name."""
        query, body = self.request.query_params, self.request.data
        if not body or not isinstance(body, dict) or self.request.method not in ("GET", "HEAD", "DELETE"):
            return query
        found = query.copy()
        for name, value in as_parameters(body):
            if name not in query:
                found.appendlist(name, value)
        return found

    def ignore_parameters(self, known: Collection[str]) -> dict[str, list[str]]:
        """Note the parameters that a list does not know, for the answer to name. `name[key]` in `known` is one with any key.

        Returns what is wrong: parameters that are given more than once, and with `Prefer: handling=strict` unknown ones.
        """
        errors = {}
        for name, values in self.parameters.lists():
            if name in self.common_keys:
                continue
            if _KEY.sub("[key]", name) not in known:
                self.ignored_parameters.append(name)
            elif len(values) > 1:
                errors[name] = [REPEATED]
        if self.ignored_parameters and self.strict:
            rule = f"is not one of the parameters {', '.join(known)}" if known else "is not a parameter: there are none"
            errors |= {name: [rule] for name in self.ignored_parameters}
        return errors

    @property
    def given(self) -> dict[str, Any]:
        """The body."""
        if not isinstance(self.request.data, dict):
            raise ValidationError({"body": ["must be an object"]})
        return self.request.data

    def body(self, key: str):
        """What the body has under `key`. Other keys are noted as ignored."""
        return self.given.get(key)

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
        headers = dict(headers or {})
        if ignored:
            headers["X-Ignored-Fields"] = listed(ignored)
        if self.ignored_parameters:
            headers["X-Ignored-Parameters"] = listed(self.ignored_parameters)
        if pending:
            headers["X-Pending-Links"] = listed(pending)
        return super().answer(data, status=status, headers=headers)

    @property
    def strict(self) -> bool:
        """Whether the client would rather have unknown fields refused (RFC 7240)."""
        preferences = self.request.headers.get("Prefer", "").lower().replace('"', "").replace(" ", "")
        return "handling=strict" in preferences.replace(";", ",").split(",")

    @property
    def manner(self) -> list[str]:
        return ["strict"] if self.strict else []

    def check(self, **serializers_by_key: ResourceSerializer) -> list[str]:
        """Validate what the body has under each key; every fault of all of them at once.

        Returns the names that were ignored. With `Prefer: handling=strict` they are faults.
        """
        faults: dict[str, Any] = {}
        ignored = [name for name in self.given if name not in {*self.common_keys, *self.body_keys, *serializers_by_key}]
        single = len(serializers_by_key) == 1
        for key, serializer in serializers_by_key.items():
            found = serializer.faults()
            if isinstance(found, list):
                faults[key] = found
            elif found:
                faults |= found if single else {key: found}
            ignored += serializer.ignored if single else [f"{key}.{name}" for name in serializer.ignored]
        if ignored and self.strict:
            faults |= {name: [NOT_SETTABLE] for name in ignored if name not in faults}
        if faults:
            raise ValidationError(faults)
        return ignored


class ResourceViewSet(JSONViewSet):
    """Create, read, update and delete one kind of resource of the account."""

    key: str
    # The name of the route of one row.
    route: str
    # What a row is; of those that go to the trash, it says here which viewset answers them when they come back.
    model: type[Model]
    trashable: ClassVar[dict[str, type["ResourceViewSet"]]] = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "model" in vars(cls) and issubclass(cls.model, Trashable):
            ResourceViewSet.trashable[cls.key] = cls

    @staticmethod
    def rows_of(account: "Account") -> QuerySet:
        """The rows that a path may name, with all that they are answered with: the account's, and none in the trash."""
        raise NotImplementedError

    def rows(self) -> QuerySet:
        return self.rows_of(self.account)

    def locate(self, row) -> str:
        """Return the URL where a row is read."""
        return self.base_url + reverse(self.route, args=[row.id])

    def find(self, id: int, *, locked: bool = False):
        row = found_by(type(self)).first(account_id=self.account.id, id=id, locked=locked)
        if row is None:
            raise Http404
        row.account = self.account
        return row

    def context(self) -> dict[str, Any]:
        """What the fields look things up by."""
        return {"account": self.account}

    def serializer(self, data, row=None, context: dict | None = None) -> ResourceSerializer:
        return self.serializer_class(row, data=data, partial=row is not None, context=context or self.context())

    def create(self, request) -> HttpResponse:
        return self.write(lambda: self.meant(self.content(None)))

    def retrieve(self, request, id: int) -> HttpResponse:
        values = shown_by(type(self)).first(account_id=self.account.id, ids=[id])
        if values is None:
            raise Http404
        return self.answer(self.serializer_class.show(values, self.account.zone))

    def update(self, request, id: int) -> HttpResponse:
        return self.write(lambda: self.find(id, locked=True))

    def meant(self, given: Any):
        """The row, locked, that a create means instead of a new one; none unless the resource has such a rule."""
        return

    def content(self, row) -> Any:
        """What is to be written to the row, or to a new one: what the body has under the key."""
        return self.complete(self.body(self.key), row)

    def complete(self, given: Any, row=None) -> Any:
        """What a body has for one resource, with what it says besides."""
        return given

    def write(self, which: Callable[[], Any], content: Callable[[Any], Any] | None = None) -> HttpResponse:
        """Change the row that `which` finds, locked; where it finds none, make one."""

        def act():
            row = which()
            serializer = self.serializer((content or self.content)(row), row)
            try:
                ignored = self.check(**{self.key: serializer})
            except ValidationError:
                # It may be there by now, and what is wrong with the new one just that.
                if row is None and which() is not None:
                    raise ConcurrentUpdate("Another request made it meanwhile") from None
                raise
            pending = serializer.pending_links
            if row is None:
                return self.make(serializer.values), ignored, pending, True
            self.change(row, serializer.values)
            return row, ignored, pending, False

        row, ignored, pending, made = in_transaction(act)
        headers = {"Location": self.locate(row)} if made else {}
        status = 201 if made else 200
        return self.answer(self.represent(row), status=status, ignored=ignored, pending=pending, headers=headers)

    def destroy(self, request, id: int) -> HttpResponse:
        in_transaction(lambda: self.find(id, locked=True).trash(by=request.user))
        return self.answer("ok")

    def make(self, values: dict[str, Any]):
        raise NotImplementedError

    def change(self, row, values: dict[str, Any]) -> None:
        raise NotImplementedError


@cache
def found_by(viewset: type[ResourceViewSet]) -> Prepared:
    """The row of an id."""

    @prepared(account_id=int, id=int)
    def found(account_id, id, locked):
        rows = viewset.rows_of(account_of(account_id)).filter(id=id)[:1]
        return rows.locked() if locked else rows

    return found


@cache
def shown_by(viewset: type[ResourceViewSet]) -> Prepared:
    """What is answered for the rows of some ids, in no order."""

    @prepared(account_id=int, ids=list)
    def shown(account_id, ids):
        rows = viewset.rows_of(account_of(account_id)).order_by().filter(id__any=ids)
        return rows.values_list(*viewset.serializer_class.columns)

    return shown


RESOURCE = {"post": "create"}
BULK = {"post": "bulk"}
RESOURCE_ITEM = {"get": "retrieve", "put": "update", "patch": "update", "delete": "destroy"}
