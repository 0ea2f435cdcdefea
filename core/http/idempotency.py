"""The `Idempotency-Key` header: a client that did not receive the response can repeat its request, which is carried out only once.

The transaction of the request also stores its response. The response of a rejected request is not stored, because nothing was
committed: the client may use the key again for a corrected request.
"""

import hashlib
import json
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Self
from urllib.parse import parse_qsl

from django.conf import settings
from django.db import models
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from core.db import locks
from core.db.transactions import in_transaction
from core.errors import Conflict, FieldError
from core.http.requests import ViewOfAPI
from core.tenants import TenantUser

KEPT_FOR = timedelta(hours=24)
MAX_KEY_LENGTH = 255


class IdempotentAnswerQuerySet(models.QuerySet["IdempotentAnswer"]):
    def outdated(self) -> Self:
        """Return the responses that are too old to be repeated."""
        return self.filter(created_at__lt=timezone.now() - KEPT_FOR)


class IdempotentAnswer(models.Model):
    """The stored response to the first request with a key."""

    pk = models.CompositePrimaryKey("account_id", "caller", "key")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, related_name="+", db_index=False)
    # The token, or the user for HTTP Basic and for forms of pages.
    caller = models.CharField(max_length=255)
    key = models.CharField(max_length=255)
    # SHA-256 of the request, or of the values of a form.
    fingerprint = models.BinaryField()
    status = models.SmallIntegerField()
    # For a form, the id of the row that it has created.
    headers = models.JSONField()
    body = models.BinaryField()
    # Without an index, because the table has only the rows of one day and begins with the oldest rows.
    created_at = models.DateTimeField(default=timezone.now)

    objects = IdempotentAnswerQuerySet.as_manager()

    class Meta:
        db_table = "core_idempotentanswer"

    def __str__(self) -> str:
        return self.key

    @classmethod
    def from_response(cls, view: ViewOfAPI, response: HttpResponse, **values: object) -> Self:
        """Return a new row that stores `response`, without the secrets that are `shown_once`."""
        body = response.content
        data: object = getattr(response, "data", None)
        # Only some actions of a view respond with a secret.
        if isinstance(data, dict) and (secrets := [name for name in view.shown_once if name in data]):
            body = view.render(Response({**data, **dict.fromkeys(secrets)})).content
        return cls(status=response.status_code, headers=dict(response.headers), body=body, **values)

    def replay(self) -> HttpResponse:
        headers = {**self.headers, "Idempotent-Replayed": "true"}
        return HttpResponse(bytes(self.body), status=self.status, headers=headers)


def accepts_key(method: str | None, action: str | None) -> bool:
    """Return whether a request may have a key: any POST, except for lists, which the Forum API also serves by POST."""
    return method == "POST" and action not in (None, "list")


def key_of(request: Request) -> str | None:
    """Return the key of a request, or None. Raise FieldError for an invalid key."""
    key: str | None = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable():
        # The server passes a header that is not ASCII as an empty header. If it were ignored, the request might be carried out twice.
        raise FieldError("idempotency_key", "must be 1-255 printable characters of ASCII")
    if len(key) > MAX_KEY_LENGTH:
        raise FieldError("idempotency_key", f"is too long (maximum is {MAX_KEY_LENGTH} characters)")
    return key


def respond_once(view: ViewOfAPI, key: str, handler: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the response of `handler`, or the stored response if the request was carried out before.

    Raise Conflict while the first request is running, and FieldError for a different request with the same key.
    """
    return in_transaction(lambda: _respond_once(view, key, handler))


def _respond_once(view: ViewOfAPI, key: str, handler: Callable[[], HttpResponse]) -> HttpResponse:
    request = view.request
    identity = {
        "account_id": view.account.id,
        "caller": f"token {request.auth.id}" if request.auth else f"user {request.user.id}",
        "key": key,
    }
    if not locks.try_acquire(("idempotency key", *identity.values())):
        raise Conflict("The first request with this Idempotency-Key is still being carried out; try again")
    fingerprint = fingerprint_of(request, view.request_options)
    stored = IdempotentAnswer.objects.filter(**identity).first()
    if stored is not None and stored.created_at < timezone.now() - KEPT_FOR:
        stored.delete()
        stored = None
    if stored is not None:
        if bytes(stored.fingerprint) != fingerprint:
            raise FieldError("idempotency_key", "was used for another request in the last 24 hours")
        return stored.replay()
    response = view.render(handler())
    IdempotentAnswer.from_response(view, response, fingerprint=fingerprint, **identity).save(force_insert=True)
    return response


def fingerprint_of(request: Request, options: list[str]) -> bytes:
    """Return the SHA-256 of method, path, query, body and `options`.

    A token is left out, because a client may send it in different places. Raise ParseError for a body that is nested too deeply.
    """
    query = [pair for pair in parse_qsl(request.META["QUERY_STRING"], keep_blank_values=True) if pair[0] != "api_token"]
    body: object = request.data

    def encode(value: object) -> str:
        # A file of a form (`core.http.formats.UploadParser`) has a digest.
        return getattr(value, "sha256", None) or repr(value)

    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name != "api_token"}
    try:
        text = json.dumps([request.method, request.path, query, body, *options], sort_keys=True, default=encode)
    except RecursionError:
        raise ParseError("The body is nested too deeply") from None
    return hashlib.sha256(text.encode()).digest()


def new_form_key() -> str:
    return secrets.token_urlsafe(16)


class KeyedForm:
    """The key of a form of a page that a user has sent, and the row that the form has created. Use it in a transaction.

    `name` tells the forms of the pages apart. A form without a key gets a new one for each request.
    """

    def __init__(self, user: TenantUser, name: str, form_key: str) -> None:
        key = hashlib.sha256(json.dumps([name, form_key or new_form_key()]).encode()).hexdigest()
        self.identity = {"account_id": user.account_id, "caller": f"form of user {user.id}", "key": key}

    def lock(self) -> None:
        """Wait until a simultaneous request with the same form has ended, such as that of the first click of a double click."""
        locks.acquire(tuple(self.identity.values()))

    @property
    def stored(self) -> IdempotentAnswer | None:
        """The stored key, or None if the form was not sent before, or longer ago than keys are kept."""
        return IdempotentAnswer.objects.filter(**self.identity, created_at__gte=timezone.now() - KEPT_FOR).first()

    def store(self, id: int, digest: bytes) -> None:
        """Store the id of the row that the form has created, or changed, and the digest of the values that were sent."""
        stored = IdempotentAnswer(status=303, headers={"id": id}, body=b"", fingerprint=digest, **self.identity)
        IdempotentAnswer.objects.bulk_create(
            [stored],
            update_conflicts=True,
            unique_fields=[*self.identity],
            update_fields=["headers", "fingerprint", "created_at"],
        )
