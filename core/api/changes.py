"""`GET /app/changes.json`: what changed in the account, so that a mirror needs no webhooks."""

from django.http import HttpResponse
from rest_framework.exceptions import ValidationError
from rest_framework.serializers import Serializer

from core.api.fields import Integer, Scalar
from core.api.resources import JSONViewSet, moment
from core.changes.models import KEPT_FOR, Cursor, ExpiredError

NOW = "now"
EXPIRED = f"is older than the {KEPT_FOR.days} days that changes are kept for: read everything again, from since=now on"


class Since(Scalar):
    """A cursor that this account was given, or `now`."""

    default_error_messages = {"cursor": "is not a cursor of this account"}

    def to_internal_value(self, data: str) -> Cursor | str:
        since = NOW if data == NOW else Cursor.read(self.context["account"].id, data)
        if since is None:
            self.fail("cursor")
        return since


class FeedSerializer(Serializer):
    """The parameters of the feed."""

    since = Since()
    limit = Integer(low=1, high=1000)


class ChangeViewSet(JSONViewSet):
    USUAL = 100

    def list(self, request) -> HttpResponse:
        errors = self.ignore_parameters(("since", "limit"))
        serializer = FeedSerializer(data=self.parameters.dict(), context={"account": self.account})
        if not serializer.is_valid() or errors:
            raise ValidationError({**serializer.errors, **errors})
        since, limit = (serializer.validated_data.get(name) for name in ("since", "limit"))
        limit = limit or self.USUAL
        changes = self.account.changes
        if since is None:
            since = Cursor(self.account.id)
            changes.number(self.account.id)
            rows = changes.filter(number__isnull=False).order_by("number")[: limit + 1]
        elif since == NOW:
            since, rows = changes.newest(self.account.id), []
        else:
            try:
                rows = changes.after(since, most=limit + 1)
            except ExpiredError:
                raise ValidationError({"since": [EXPIRED]}) from None
        rows = list(rows)
        given = rows[:limit]
        return self.answer(
            {
                "changes": [
                    {
                        "resource": row.resource,
                        "id": row.id,
                        "change": row.change,
                        "at": moment(row.at, self.account.zone),
                    }
                    for row in given
                ],
                "cursor": str(given[-1].cursor if given else since),
                "more": len(rows) > limit,
            }
        )
