"""What the viewsets of both generations share."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from django.db import IntegrityError, OperationalError, transaction
from django.http import HttpResponse
from django.urls import register_converter
from psycopg.errors import DeadlockDetected, ForeignKeyViolation, UniqueViolation
from rest_framework import viewsets

from core.api import idempotency, throttling
from core.errors import ConcurrentUpdate

Result = TypeVar("Result")

TRIES = 4
CAME_SECOND = (DeadlockDetected, ForeignKeyViolation, UniqueViolation)


class IdConverter:
    """An id in a path: as many digits as a 64-bit number surely holds."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


register_converter(IdConverter, "id")


def in_transaction(act: Callable[[], Result]) -> Result:
    """Do all of it or nothing; again, if another transaction came first.

    The other one committed what this one had looked for in vain, or the two waited for each other. Validation is part of
    the act, so the second try finds the other's row and says so.
    """
    for _ in range(TRIES - 1):
        try:
            with transaction.atomic():
                return act()
        except ConcurrentUpdate:
            continue
        except (OperationalError, IntegrityError) as error:
            if not isinstance(error.__cause__, CAME_SECOND):
                raise
    with transaction.atomic():
        return act()


class TenantViewSet(viewsets.ViewSet):
    """A view of the request's account. `account` is what the authentication read with the user."""

    # A path answers in one format, and the methods it takes are named where one is refused.
    default_response_headers: dict[str, str] = {}
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    # The fields of an answer that are shown once, and so are not stored to be sent again.
    shown_once: tuple[str, ...] = ()

    @property
    def manner(self) -> list[str]:
        """What the headers say of how the request is to be carried out."""
        return []

    def answer(self, data, *, status: int = 200, headers: dict[str, str] | None = None) -> HttpResponse:
        """What the viewset's renderer makes of the data."""
        [renderer] = self.get_renderers()
        kind = f"{renderer.media_type}; charset={renderer.charset}" if renderer.charset else renderer.media_type
        response = HttpResponse(renderer.render(data), status=status, content_type=kind, headers=headers)
        response.data = data
        return response

    def initial(self, request, *args, **kwargs) -> None:
        self.perform_authentication(request)
        self.check_permissions(request)
        # Lists are asked for by POST too, in generation A.
        if request.method == "POST" and self.action not in (None, "list") and (key := idempotency.key_of(request)):
            act = partial(self.post, request, *args, **kwargs)
            self.post = lambda *_, **__: in_transaction(lambda: idempotency.once(self, key, act))

    def perform_authentication(self, request) -> None:
        super().perform_authentication(request)
        # Before the permissions: a refusal is an answer too.
        throttling.count_request(request)

    @property
    def account(self):
        return self.request._request.account

    @property
    def base_url(self) -> str:
        """Where this request was sent: scheme, host and port, without a slash at the end."""
        request = self.request._request
        return f"{request.scheme}://{request.get_host()}"
