"""The registration of the parts of the engine (`core.rooms`)."""

from django.urls import register_converter

from core.api.routing import IdConverter
from core.changes import followers
from core.db import checks  # noqa: F401
from core.jobs.registry import register_loop

register_converter(IdConverter, "id")
register_loop("numbering of changes", followers.number_changes)
register_loop("followers of changes", followers.run_followers)
