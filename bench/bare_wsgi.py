import os
from collections.abc import Callable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.bare_settings"
application = get_wsgi_application()


def make_application() -> Callable[..., Any]:
    return application
