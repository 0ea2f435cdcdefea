"""The settings of the service with Django's own PostgreSQL backend, which prepares no statements."""

from config.settings import *  # noqa: F403
from config.settings import DATABASES

DATABASES["default"]["ENGINE"] = "django.db.backends.postgresql"
