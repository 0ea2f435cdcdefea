"""`GET /app/changes.json`: what changed in the account, so that a mirror needs no webhooks."""

from django.http import HttpResponse

from core.api.fields import IntegerField, ScalarField
from core.api.serializers import WireSerializer, format_time
from core.api.views import JSONViewSet
from core.changes.models import KEPT_FOR, Cursor, ExpiredError
from core.errors import FieldError, FieldErrors

NOW = "now"
EXPIRED_MESSAGE = (
    f"is older than the {KEPT_FOR.days} days that changes are kept for: read everything again, from since=now on"
)


class SinceField(ScalarField):
    """A cursor that this account was given, or `now`."""

    default_error_messages = {"cursor": "is not a cursor of this account"}

    def to_internal_value(self, data: str) -> Cursor | str:
        since = NOW if data == NOW else Cursor.read(self.context["account"].id, data)
        if since is None:
            self.fail("cursor")
        return since


class FeedSerializer(WireSerializer):
    """The parameters of the feed."""

    since = SinceField()
    limit = IntegerField(min_value=1, max_value=1000)


class ChangeViewSet(JSONViewSet):
    USUAL = 100

    def list(self, request) -> HttpResponse:
        of_parameters = self.ignore_parameters(("since", "limit"))
        serializer = FeedSerializer(data=self.parameters.dict(), context={"account": self.account})
        errors = {error.field: error for error in serializer.find_errors()} | of_parameters
        if errors:
            raise FieldErrors(errors.values())
        since, limit = (serializer.values.get(name) for name in ("since", "limit"))
        limit = limit or self.USUAL
        changes = self.account.changes
        if since is None:
            since = Cursor(self.account.id)
            changes.assign_numbers(self.account.id)
            rows = changes.filter(number__isnull=False).order_by("number")[: limit + 1]
        elif since == NOW:
            since, rows = changes.newest(self.account.id), []
        else:
            try:
                rows = changes.after(since, limit=limit + 1)
            except ExpiredError:
                raise FieldError("since", EXPIRED_MESSAGE, "expired") from None
        rows = list(rows)
        given = rows[:limit]
        return self.answer(
            {
                "changes": [
                    {
                        "resource": row.resource,
                        "id": row.id,
                        "change": row.change,
                        "at": format_time(row.at, self.account.zone),
                    }
                    for row in given
                ],
                "cursor": str(given[-1].cursor if given else since),
                "more": len(rows) > limit,
            }
        )
