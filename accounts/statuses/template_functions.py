from accounts.statuses.models import pipeline_name, status_name
from core.pages.templates import template_filter

template_filter(pipeline_name)
template_filter(status_name)
