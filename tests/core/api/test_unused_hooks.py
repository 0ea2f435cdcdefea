"""Defining a DRF attribute that `TenantViewSet` does not use raises a TypeError that names the replacement."""

import pytest
from django.conf import settings
from rest_framework import mixins, viewsets
from rest_framework.decorators import action
from rest_framework.generics import GenericAPIView
from rest_framework.permissions import BasePermission
from rest_framework.renderers import JSONRenderer, StaticHTMLRenderer

from core.api.lists import Listing
from core.api.resources import ResourceViewSet
from core.api.unused_hooks import UNUSED_HOOKS
from core.api.views import JSONViewSet, TenantViewSet
from crm.api.views import ClientViewSet
from tests.support.assertions import assert_refused
from tests.support.tables import table

# The attributes and methods of DRF's views that `TenantViewSet` uses.
USED = {
    "authentication_classes",
    "http_method_names",
    "parser_classes",
    "permission_classes",
    "renderer_classes",
    "schema",
    "serializer_class",
    "settings",
    "allowed_methods",
    "as_view",
    "check_permissions",
    "dispatch",
    "get_authenticate_header",
    "get_authenticators",
    "get_content_negotiator",
    "get_exception_handler",
    "get_exception_handler_context",
    "get_parser_context",
    "get_parsers",
    "get_permissions",
    "handle_exception",
    "http_method_not_allowed",
    "initial",
    "initialize_request",
    "perform_authentication",
    "permission_denied",
    "raise_uncaught_exception",
    # Actions.
    "create",
    "destroy",
    "list",
    "retrieve",
    "update",
    # Attributes of every Django view.
    "view_is_async",
}
# Attributes that DRF or django-filter read from a view but do not declare.
UNDECLARED = {"filterset_class", "filterset_fields", "ordering", "ordering_fields", "search_fields", "throttle_scope"}
# Attributes that `as_view` sets on every viewset.
SET_BY_AS_VIEW = {"basename", "description", "detail", "name", "suffix"}


def test_every_attribute_of_drf_is_used_or_listed():
    """If this fails after an upgrade of DRF, decide whether `TenantViewSet` uses the new hook."""
    declared = {name for name in dir(viewsets.ModelViewSet) if not name.startswith("_")} - SET_BY_AS_VIEW
    assert declared - USED == UNUSED_HOOKS.keys() - UNDECLARED - SET_BY_AS_VIEW


@table("name", UNUSED_HOOKS)
def test_it_rejects_a_class_that_defines_an_unused_hook(name):
    with pytest.raises(TypeError) as error:
        type("ProductViewSet", (JSONViewSet,), {name: None})
    assert str(error.value) == f"ProductViewSet defines {name}, which nothing calls; use {UNUSED_HOOKS[name]}"


@table(
    ("bases", "message"),
    [
        ((mixins.CreateModelMixin, JSONViewSet), r"defines \w+ \(from CreateModelMixin\)"),
        ((GenericAPIView, ResourceViewSet), r"defines \w+ \(from GenericAPIView\)"),
        ((Listing, mixins.DestroyModelMixin, ResourceViewSet), r"defines perform_destroy \(from DestroyModelMixin\)"),
    ],
)
def test_it_rejects_a_mixin_that_defines_an_unused_hook(bases, message):
    with pytest.raises(TypeError, match=message):
        type("ProductViewSet", bases, {})


def test_it_rejects_an_unused_hook_in_a_route():
    with pytest.raises(TypeError, match="ClientViewSet defines throttle_classes"):
        ClientViewSet.as_view({"get": "list"}, throttle_classes=[])


def test_it_rejects_unsupported_values_of_used_attributes():
    class OwnRows(BasePermission):
        def has_object_permission(self, request, view, obj) -> bool:
            return False

    @action(detail=True)
    def archive(self, request, pk): ...

    for attributes, message in (
        ({"renderer_classes": [JSONRenderer, StaticHTMLRenderer]}, "has 2 renderers"),
        ({"renderer_classes": []}, "has 0 renderers"),
        ({"permission_classes": [OwnRows]}, "has_object_permission"),
        ({"archive": archive}, "decorates archive with @action"),
    ):
        with pytest.raises(TypeError, match=message):
            type("ProductViewSet", (JSONViewSet,), attributes)


def test_a_subclass_of_a_routed_view_is_valid():
    """Attributes that `as_view` sets on a class, such as `name`, are not rejected in its subclasses."""
    view = type("ProductViewSet", (ClientViewSet,), {})
    view.as_view({"get": "list"})
    assert type("OtherViewSet", (view,), {"max_page_size": 10}).max_page_size == 10


def test_no_request_reads_an_unused_hook(acme, monkeypatch):
    names_read = set()

    def record(self, name):
        names_read.add(name)
        return object.__getattribute__(self, name)

    monkeypatch.setattr(TenantViewSet, "__getattribute__", record, raising=False)
    for client, path, body in (
        (acme.json(), "/app/clients.json", {"client": {"name": "Ann"}}),
        (acme.xml(), "/app/posts.xml", None),
    ):
        assert client.get(path).status_code == 200
        assert client.post(path, json=body, headers={"Idempotency-Key": "1"}).status_code in (201, 422)
        assert client.options(path).status_code == 405
    assert acme.json("wrong").get("/app/clients.json").status_code == 401
    assert_refused(acme.json().get("/app/clients/1.json"), 404, "not_found")
    assert "initial" in names_read
    assert names_read & UNUSED_HOOKS.keys() == set()


def test_no_setting_of_drf_sets_an_unused_hook():
    """A setting such as DEFAULT_THROTTLE_CLASSES is the default of a hook. The OpenAPI views are plain DRF views, and use two."""
    used_by_openapi_views = {"content_negotiation_class", "metadata_class"}
    defaults = {f"DEFAULT_{name.upper()}" for name in UNUSED_HOOKS.keys() - used_by_openapi_views} | {
        "DEFAULT_FILTER_BACKENDS",
        "DEFAULT_RENDERER_CLASSES",
        "DEFAULT_THROTTLE_RATES",
        "DEFAULT_VERSION",
        "PAGE_SIZE",
    }
    assert settings.REST_FRAMEWORK.keys() & defaults == set()
