"""The names of statuses and pipelines in templates."""

from django import template

from accounts.default_names import pipeline_name, status_name

register = template.Library()

register.filter(pipeline_name)
register.filter(status_name)
