"""Preferences that pages store for a user, such as the columns of a list. Each is a small JSON value with a key."""

import orjson
from django.db.models import F, Func, JSONField, Value
from django.utils.translation import gettext_lazy as _

from accounts.users.models import User
from core.errors import FieldError

# The bytes of a preference, and the number of preferences of a user.
MAX_PREFERENCE_SIZE, MAX_PREFERENCES = 4000, 40


def are_preferences(value: object) -> bool:
    """Return whether a value has the limits of the preferences of a user."""
    return (
        isinstance(value, dict)
        and len(value) <= MAX_PREFERENCES
        and all(len(orjson.dumps(each)) <= MAX_PREFERENCE_SIZE for each in value.values())
    )


def set_preference(user: User, key: str, value: object) -> None:
    """Store a preference. Other preferences, which another request may store at the same time, stay. Raise FieldError."""
    if len(orjson.dumps(value)) > MAX_PREFERENCE_SIZE or len({*user.preferences, key}) > MAX_PREFERENCES:
        raise FieldError("preferences", _("is too long"), "too_long")
    stored = Func(
        F("preferences"), Value([key]), Value(value, JSONField()), function="jsonb_set", output_field=JSONField()
    )
    User.objects.filter(pk=user.pk).update(preferences=stored)
    user.preferences = {**user.preferences, key: value}
