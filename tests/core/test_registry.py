"""The registry of resources. A failing test names the missing registration."""

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import override

from accounts.examples.operations import examples
from core.pages.template_functions import icon
from core.registry import Registry, registry
from core.rows.trash import Trashable

ADVICE = "register it in the module `registration` of its subject"


def test_it_works():
    assert {resource.key for resource in registry} >= {"status", "post", "client", "contact", "contact_list", "deal"}
    assert [resource.key for resource in registry.customers()] == ["client", "contact"]
    assert registry.find_by_collection("contact_lists").key == "contact_list"
    assert "status" not in registry.trashable()
    assert registry.get("nothing") is None


def test_it_rejects_a_second_registration_of_a_key():
    registered = Registry()
    registered.register(registry["client"])
    with pytest.raises(ImproperlyConfigured, match="'client' is registered twice"):
        registered.register(registry["client"])


def test_every_trashable_model_is_registered():
    models = [model for model in apps.get_models() if issubclass(model, Trashable)]
    unregistered = set(models) - set(registry.trashable_models().values())
    assert unregistered == set(), f"the trash cannot list its rows: {ADVICE}"


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


def test_every_resource_has_translated_labels_and_an_icon():
    for resource in registry:
        assert "<svg" in icon(resource.icon)
        with override("pl"):
            polish = str(resource.label), str(resource.plural_label)
        assert polish != (str(resource.label), str(resource.plural_label)), resource.key
