"""The names of statuses and pipelines on pages, and the reasons for winning and losing deals: defaults are translated."""

from django.utils.translation import gettext

from accounts.account.models import DEFAULT_LOST_REASONS, DEFAULT_WON_REASONS
from accounts.statuses.models import Status
from accounts.statuses.pipelines import Pipeline

# Default names are translated, and names that a team has chosen are not.
DEFAULT_NAMES: dict[tuple[str, str], str] = {(kind, code): name for kind, code, name, *_ in Status.DEFAULTS}
DEFAULT_NAMES[Status.Kind.DEAL, ""] = Status.NONE_NAME
TRANSLATABLE_NAMES = frozenset(DEFAULT_NAMES.values())
DEFAULT_REASONS = (*DEFAULT_WON_REASONS, *DEFAULT_LOST_REASONS)


def status_name(status: Status | str) -> str:
    """Return the name of a status, translated if it is a default name.

    The value is a `Status`, or the former name of one as a string.
    """
    if isinstance(status, str):
        return gettext(status) if status in TRANSLATABLE_NAMES else status
    return gettext(status.name) if DEFAULT_NAMES.get((status.kind, status.code)) == status.name else status.name


def pipeline_name(pipeline: Pipeline) -> str:
    """Return the name of a pipeline, translated if it is the default name."""
    return gettext(pipeline.name) if pipeline.name == Pipeline.DEFAULT_NAME else pipeline.name


def reason_text(reason: str) -> str:
    """Return a reason for winning or losing a deal, translated if it is a default one."""
    return gettext(reason) if reason in DEFAULT_REASONS else reason


def stored_reason(text: str) -> str:
    """Return the default reason with this `reason_text`, or the text if there is none."""
    return next((reason for reason in DEFAULT_REASONS if gettext(reason) == text), text)
