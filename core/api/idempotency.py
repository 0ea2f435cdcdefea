"""`Idempotency-Key`: what is sent again because its answer was lost is carried out once (decisions, section 4).

The answer is stored in the transaction that it tells of, so that either both are there or neither. A refusal is not stored:
nothing was carried out, and the same key may be used for a request that is put right.
"""

import hashlib
import json
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Self
from urllib.parse import parse_qsl

from django.conf import settings
from django.db import connection, models
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from core.db import locks
from core.errors import Conflict, FieldError

KEPT_FOR = timedelta(hours=24)
KEY_LENGTH = 255


class IdempotentAnswerQuerySet(models.QuerySet):
    def erase(self, *, most: int) -> int:
        """Erase at most `most` of those that are kept no longer; returns how many."""
        table = self.model._meta.db_table
        with connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE created_at < %s LIMIT %s))",  # noqa: S608
                [timezone.now() - KEPT_FOR, most],
            )
            return cursor.rowcount


class IdempotentAnswer(models.Model):
    """What was answered to the first request with a key."""

    pk = models.CompositePrimaryKey("account_id", "caller", "key")
    account = models.ForeignKey(settings.ACCOUNT_MODEL, models.CASCADE, related_name="+", db_index=False)
    # The token, or in generation A the user.
    caller = models.CharField(max_length=255)
    key = models.CharField(max_length=255)
    # SHA-256 of the request.
    fingerprint = models.BinaryField()
    status = models.SmallIntegerField()
    headers = models.JSONField()
    body = models.BinaryField()
    # Without an index: the table holds no more than a day, the oldest in front.
    created_at = models.DateTimeField(default=timezone.now)

    objects = IdempotentAnswerQuerySet.as_manager()

    class Meta:
        db_table = "accounts_idempotentanswer"

    def __str__(self) -> str:
        return self.key

    @classmethod
    def of(cls, view, response: HttpResponse, **identity) -> Self:
        body = response.content
        if view.shown_once:
            # A secret is stored nowhere, and so not here.
            body = view.answer({**response.data, **dict.fromkeys(view.shown_once)}).content
        return cls(status=response.status_code, headers=dict(response.headers), body=body, **identity)

    def replay(self, view) -> HttpResponse:
        headers = {**self.headers, "Idempotent-Replayed": "true"}
        return HttpResponse(bytes(self.body), status=self.status, headers=headers)


def key_of(request: Request) -> str | None:
    """The key of a request, if it has one. Raises FieldError."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable():
        # The server hands on what is not ASCII as nothing; to go on without a key would be to risk doing it twice.
        raise FieldError("idempotency_key", "must be 1-255 printable characters of ASCII")
    if len(key) > KEY_LENGTH:
        raise FieldError("idempotency_key", f"is too long (maximum is {KEY_LENGTH} characters)")
    return key


def once(view, key: str, act: Callable[[], HttpResponse]) -> HttpResponse:
    """The answer of `act`, or the stored one if it was carried out before; within the transaction of both.

    Raises Conflict while the first is still running, and FieldError for another request under the same key.
    """
    request = view.request
    identity = {
        "account_id": view.account.id,
        "caller": f"token {request.auth.id}" if request.auth else f"user {request.user.id}",
        "key": key,
    }
    if not locks.try_to_hold("idempotency key", *identity.values()):
        raise Conflict("The first request with this Idempotency-Key is still being carried out; try again")
    fingerprint = fingerprint_of(request, view.manner)
    stored = IdempotentAnswer.objects.filter(**identity).first()
    if stored is not None and stored.created_at < timezone.now() - KEPT_FOR:
        stored.delete()
        stored = None
    if stored is not None:
        if bytes(stored.fingerprint) != fingerprint:
            raise FieldError("idempotency_key", "was used for another request in the last 24 hours")
        return stored.replay(view)
    response = act()
    IdempotentAnswer.of(view, response, fingerprint=fingerprint, **identity).save(force_insert=True)
    return response


def fingerprint_of(request: Request, manner: list[str]) -> bytes:
    """SHA-256 of what was asked: method, address and body, but for the token, which may be sent in any place; and in what manner,
    where headers say that."""
    query = [pair for pair in parse_qsl(request.META["QUERY_STRING"], keep_blank_values=True) if pair[0] != "api_token"]
    body: Any = request.data
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name != "api_token"}
    try:
        asked = json.dumps([request.method, request.path, query, body, *manner], sort_keys=True, default=repr)
    except RecursionError:
        raise ParseError("The body is nested too deeply") from None
    return hashlib.sha256(asked.encode()).digest()


def new_form_key() -> str:
    return secrets.token_urlsafe(16)


def location_of_form(user, form_key: str, said: dict[str, Any]) -> str | None:
    """The address that was answered if this very form was sent with the same words before."""
    stored = IdempotentAnswer.objects.filter(**_identity_of_form(user, form_key, said)).first()
    return stored.headers["Location"] if stored is not None else None


def once_from_form(user, form_key: str, said: dict[str, Any], act: Callable[[], str]) -> str:
    """The address that `act` answers, or that of the first time, in one transaction. The second of two at once waits for the
    first: whoever clicked twice gets one answer."""
    identity = _identity_of_form(user, form_key, said)
    locks.hold(tuple(identity.values()))
    if (location := location_of_form(user, form_key, said)) is not None:
        return location
    location = act()
    answer = IdempotentAnswer(status=303, headers={"Location": location}, body=b"", fingerprint=b"", **identity)
    answer.save(force_insert=True)
    return location


def _identity_of_form(user, form_key: str, said: dict[str, Any]) -> dict[str, Any]:
    # Without a key it is a form of its own; with other words it is another one.
    words = json.dumps([form_key or new_form_key(), said], sort_keys=True)
    key = hashlib.sha256(words.encode()).hexdigest()
    return {"account_id": user.account_id, "caller": f"form of user {user.id}", "key": key}
