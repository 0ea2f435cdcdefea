"""The functions and filters of this app for templates, which these modules register."""

from accounts.sign_in import template_functions as site_functions  # noqa: F401
from accounts.statuses import template_functions as status_filters  # noqa: F401
