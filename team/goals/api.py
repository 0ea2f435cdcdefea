"""Goals in the Account API (JSON)."""

from contextlib import suppress
from typing import Any

from django.db.models import QuerySet

from accounts.hosts.api import ShortSettingsViewSet
from accounts.roles.models import ASSIGNABLE
from core.api.fields import ChoiceField, IntegerField, RelatedField
from core.api.filters import ListFilters
from core.api.serializers import ResourceSerializer
from core.errors import FieldError, FieldErrors
from team.goals.models import MAX_TARGET, Goal


class GoalSerializer(ResourceSerializer):
    model = Goal

    user_id = RelatedField("users", **ASSIGNABLE)
    period = ChoiceField(Goal.Period.values)
    measure = ChoiceField(Goal.Measure.values)
    target = IntegerField(required=True, min_value=1, max_value=MAX_TARGET)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Leave out nulls, except for the user: a goal without one is that of the team."""
        return {name: value for name, value in values.items() if value is not None or name == "user_id"}


class GoalFilters(ListFilters):
    # The list is short, and not searched.
    q = updated_since = None  # type: ignore[assignment]  # removes the filter of the base class


class GoalViewSet(ShortSettingsViewSet):
    """CRUD of goals: admins write them, and the team reads them. The list is ordered by id."""

    model = Goal
    serializer_class = GoalSerializer
    filterset_class = GoalFilters

    def get_queryset(self) -> QuerySet[Goal]:
        return self.account.goals.order_by("id")

    def find_existing(self, given: object) -> Goal | None:
        """Return the goal for the same user, period and measure, which a POST updates."""
        if not isinstance(given, dict):
            return None
        with suppress(FieldErrors, FieldError):
            values = self.get_serializer(None, data=given).read()
            default = Goal()
            same = {name: values.get(name, getattr(default, name)) for name in ("user_id", "period", "measure")}
            return self.account.goals.locked().filter(**same).first()
        return None

    def perform_destroy(self, row: Goal) -> None:
        row.delete()
