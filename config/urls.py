"""All routes of the service. A path is written once, in a URL module; everything else refers to it by the name of its route.

A name begins with its room. For a page the subject follows (`forum-post`), for an API its format and then the subject
(`crm-json-client`, `forum-xml-posts`). A plural names a list. If a page does more than show the subject, the last word names the action
(`forum-post-edit`). There are no namespaces, because Django compares a path with a single list of patterns, in the order below.
"""

from django.urls import URLPattern

from core import error_responses
from core.registry import registry
from core.rooms import import_modules
from forum.xml.urls import categories, first_page

# Django tries these in order. The first page of a forum comes first. The categories come last, as their names match any
# path that no other pattern matches.
urlpatterns: list[URLPattern] = [
    first_page,
    *(pattern for resource in registry for pattern in resource.urls()),
    *(pattern for module in import_modules("urls") for pattern in module.urlpatterns),
    categories,
]

handler400 = error_responses.bad_request
handler403 = error_responses.forbidden
handler404 = error_responses.not_found
handler500 = error_responses.server_error
