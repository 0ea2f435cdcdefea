"""Attributes of Django REST framework's views that `TenantViewSet` does not use, and their replacements.

Without this check, such an attribute would have no effect: a view that limits its rows in `get_queryset`, or its rate in
`throttle_classes`, would look safe but would not be. A view class that defines one of these attributes raises TypeError on import.
"""

from collections.abc import Iterable
from typing import Any

from rest_framework.decorators import MethodMapper
from rest_framework.permissions import BasePermission
from rest_framework.views import APIView

# These texts complete the sentence "use …".
_USE_ONE_RENDERER = "`renderer_classes` with one renderer: the route selects the view, and each view has one format"
_USE_ROUTE = "a route in a `urls.py`: `as_view({method: action})`"
_USE_MODEL_METHOD = (
    "a method of the model or its QuerySet, such as `may_be_changed_by` or `visible_to`, that the view calls"
)

# `make docs` writes these into the table in the section "Views and Django REST framework" of CONTRIBUTING.md.
REPLACEMENTS: dict[tuple[str, ...], str] = {
    ("queryset", "get_queryset"): "`rows_of`; in a `Listing`, `list_rows_of`",
    ("get_object", "lookup_field", "lookup_url_kwarg"): "`find`, with the `<id:id>` of the path",
    ("filter_backends", "filter_queryset", "filterset_class", "filterset_fields"): "`filters`, a `ListFilters` class",
    ("search_fields",): "the parameter `q`, which searches what the model declares as searched",
    ("ordering", "ordering_fields"): "`default_order` and `orders`",
    ("pagination_class", "paginator", "paginate_queryset", "get_paginated_response"): (
        "`Listing` or `Paged`, with `max_page_size`"
    ),
    ("get_serializer", "get_serializer_class"): "`serializer_class`, or override `serializer`",
    ("get_serializer_context",): "`context`",
    ("perform_create", "perform_update"): "`create_row` and `update_row`",
    ("perform_destroy",): "`destroy`, or the model's `trash`",
    ("partial_update",): "`update`: PUT and PATCH both change only the fields that are sent",
    ("get_success_headers",): "`location_of`",
    ("throttle_classes", "throttle_scope", "get_throttles", "check_throttles", "throttled"): (
        "`core.api.throttling`, which counts every request; a view counts more by calling `accounts.throttling`"
    ),
    ("check_object_permissions",): _USE_MODEL_METHOD,
    (
        "content_negotiation_class",
        "perform_content_negotiation",
        "get_format_suffix",
        "get_renderers",
    ): _USE_ONE_RENDERER,
    ("get_renderer_context",): "`respond`, which passes only the data to the renderer",
    ("default_response_headers", "finalize_response"): "`respond(data, headers=…)`",
    ("versioning_class", "determine_version"): "another path: the APIs have no versions",
    ("metadata_class", "options"): "the OpenAPI document: OPTIONS is answered with 405",
    ("name", "description", "suffix", "get_view_name", "get_view_description"): (
        "the `openapi` module of the room, which describes each operation"
    ),
    ("basename", "detail", "get_extra_actions", "get_extra_action_url_map"): _USE_ROUTE,
    ("reverse_action",): "`django.urls.reverse`",
    ("setup",): "`initial`",
}
UNUSED_HOOKS = {name: replacement for names, replacement in REPLACEMENTS.items() for name in names}


def reject_unused_hooks(view: type, names: Iterable[str], *, source: type) -> None:
    """Raise TypeError if one of `names` is an unused hook. `source` is the class from which `view` has the names."""
    for name in names:
        if name in UNUSED_HOOKS:
            origin = "" if source is view else f" (from {source.__name__})"
            raise TypeError(f"{view.__name__} defines {name}{origin}, which nothing calls; use {UNUSED_HOOKS[name]}")


def check_view(view: type[APIView], base: type[APIView]) -> None:
    """Raise TypeError if `view`, a subclass of `base`, has an attribute that has an effect in DRF but not in `base`."""
    for source in view.__mro__:
        # Other subclasses of `base` were checked when they were defined. `base` and its own base classes are not checked.
        if source is view or not (issubclass(source, base) or issubclass(base, source)):
            reject_unused_hooks(view, vars(source), source=source)
    for name, value in vars(view).items():
        if isinstance(getattr(value, "mapping", None), MethodMapper):
            raise TypeError(f"{view.__name__} decorates {name} with @action, which nothing reads; use {_USE_ROUTE}")
    if "renderer_classes" in vars(view) and len(view.renderer_classes) != 1:
        raise TypeError(f"{view.__name__} has {len(view.renderer_classes)} renderers; use {_USE_ONE_RENDERER}")
    for permission in view.permission_classes:
        inherited: Any = BasePermission.has_object_permission
        if getattr(permission, "has_object_permission", inherited) is not inherited:
            raise TypeError(
                f"{view.__name__} has a permission class with has_object_permission ({getattr(permission, '__name__', permission)}), "
                f"which nothing calls; use {_USE_MODEL_METHOD}"
            )
