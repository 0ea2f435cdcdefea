"""The settings of `make dev`. Production cannot use them by mistake: the container image leaves this module out."""

from config.settings import *  # noqa: F403
from config.settings import LOGGING

DEBUG = True
# Static files are served from the source directories, although `make run` has collected them in DATA_DIR.
STATIC_ROOT = None
STORAGES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_USE_FINDERS = True
# The debug page hides the cookie with this name.
SESSION_COOKIE_NAME = "session"
DEFAULT_EXCEPTION_REPORTER_FILTER = "config.local.debug_page.DebugPageFilter"
# The access log has the same lines.
LOGGING["loggers"]["django.server"]["level"] = "CRITICAL"
