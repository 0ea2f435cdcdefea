"""The filter of secrets on Django's debug page in `make dev`."""

import os

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter


class DebugPageFilter(SafeExceptionReporterFilter):
    """Django's filter, which also hides the secrets of forms, and the environment."""

    def get_safe_request_meta(self, request: HttpRequest) -> dict[str, object]:
        # `runserver` adds the environment of the process to that of the request. An address in it may contain a password.
        meta: dict[str, object] = super().get_safe_request_meta(request)
        return {name: value for name, value in meta.items() if name not in os.environ}

    def get_post_parameters(self, request: HttpRequest | None) -> dict[str, object]:
        parameters = super().get_post_parameters(request)
        return {name: self.cleanse_setting(name, value) for name, value in parameters.items()}
