"""The functions and filters of this app for templates, which these modules register."""

from accounts.pages import site_functions, status_filters  # noqa: F401
