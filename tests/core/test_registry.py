"""The registry of resources. A failing test names the missing registration."""

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.urls import get_resolver
from django.utils.translation import override

from accounts.pages.examples import examples
from core.api.resources import ResourceViewSet
from core.db.trash import Trashable
from core.pages.template_functions import icon
from core.registry import Registry, registry
from tests.support.tables import table

ADVICE = "add it to RESOURCES in resources.py of its app"


def routed_viewsets() -> set[type[ResourceViewSet]]:
    """Return the viewsets of resources that have a route."""
    views = {getattr(pattern.callback, "cls", None) for pattern in get_resolver().url_patterns}
    return {view for view in views if isinstance(view, type) and issubclass(view, ResourceViewSet)}


def is_registered(viewset: type[ResourceViewSet]) -> bool:
    resource = registry.get(viewset.key)
    return resource is not None and issubclass(viewset, resource.viewset) and resource.model is viewset.model


def test_it_works():
    assert {resource.key for resource in registry} >= {"status", "post", "client", "contact", "contact_list", "deal"}
    assert [resource.key for resource in registry.customers()] == ["client", "contact"]
    assert registry.in_collection("contact_lists").key == "contact_list"
    assert "status" not in registry.trashable()
    assert registry.get("nothing") is None


def test_it_rejects_a_second_registration_of_a_key():
    with pytest.raises(ImproperlyConfigured, match="'client' is registered twice"):
        Registry().register(*[registry.get("client")] * 2)


def test_every_resource_of_the_json_api_is_registered():
    assert len(routed_viewsets()) >= 6
    unregistered = [viewset.__name__ for viewset in routed_viewsets() if not is_registered(viewset)]
    assert unregistered == [], ADVICE


def test_every_trashable_model_is_registered():
    models = [model for model in apps.get_models() if issubclass(model, Trashable)]
    unregistered = set(models) - set(registry.trashable_models().values())
    assert unregistered == set(), f"the trash cannot list its rows: {ADVICE}"


def test_triggers_of_the_change_feed_match_the_registered_resources(db):
    """The first argument of each trigger is the resource's name in the feed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT split_part(encode(tgargs, 'escape'), E'\\\\000', 1), tgrelid::regclass::text FROM pg_trigger"
            " WHERE tgfoid = 'note_change'::regproc"
        )
        in_triggers = set(cursor.fetchall())
    registered = {(resource.key, resource.model._meta.db_table) for resource in registry}
    assert in_triggers - registered == set(), ADVICE
    assert registered - in_triggers == set(), "add a migration with note_changes for its table"


def test_every_id_in_the_path_of_an_example_has_a_sample():
    """Without a sample, the page of the examples shows the id of the document, which may not exist in the account."""
    with_id = [example for example in examples().values() if "{id}" in example.path]
    assert len(with_id) > 20
    assert {example.path for example in with_id if not example.kind_in_path} == set(), (
        f"its collection is unknown: {ADVICE}"
    )
    samples = registry.samples().keys() | {"trash"}
    missing = {name for example in with_id for name in example.id_samples} - samples
    assert missing == set(), "add these to `samples` of the resource"


@table("resource", list(registry))
def test_every_resource_has_translated_labels_and_an_icon(resource):
    assert "<svg" in icon(resource.icon)
    with override("pl"):
        polish = str(resource.label), str(resource.plural_label)
    assert polish != (str(resource.label), str(resource.plural_label))
