"""The OpenAPI document: it is valid, describes exactly the served routes, and has correct examples."""

import itertools
import json
import subprocess
import sys
import tomllib
from functools import cache

import jsonschema_rs
from django.conf import settings
from openapi_spec_validator import OpenAPIV31SpecValidator

from core.openapi.document import document, serialized
from core.openapi.operations import BODIES, QUERY_PARAMETERS, RESPONSES, entries, object_examples
from tests.support import xml_values
from tests.support.client import Client, JSONClient
from tests.support.examples import ROOT
from tests.support.factories import make_client, make_post
from tests.support.routes import routes
from tests.support.tables import table


def operations() -> list[tuple[str, str, dict]]:
    return [
        (method, path, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]


def resolve_reference(definition: dict) -> dict:
    """Return the definition, or the target if it is a reference."""
    while "$ref" in definition:
        target = document()
        for part in definition["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        definition = target
    return definition


def validate(schema: dict, value: object) -> None:
    validator_of(json.dumps(schema)).validate(value)


@cache
def validator_of(text: str) -> jsonschema_rs.Draft202012Validator:
    schema = json.loads(text)
    return jsonschema_rs.Draft202012Validator({**schema, "components": document()["components"]}, validate_formats=True)


def test_it_works(acme):
    response = Client(acme.host).get("/app/openapi.json")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "public, max-age=60"
    served = json.loads(response.content)
    assert served == document()
    assert served["openapi"] == "3.1.0"
    assert served["servers"] == [{"url": "/"}]
    OpenAPIV31SpecValidator(served).validate()


def test_the_version_is_that_of_the_service():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert document()["info"]["version"] == settings.VERSION == project["version"]


def test_the_document_is_the_same_for_all_users_and_hosts(acme, other):
    etags = {
        client.get("/app/openapi.json").headers["ETag"]
        for client in (acme.json(), other.json(), JSONClient("example.test"), JSONClient("api.example.test", "wrong"))
    }
    assert len(etags) == 1


def test_the_document_is_in_english_whatever_the_language_of_its_first_reader_is():
    """A new process builds the document, whose modules are imported only then."""
    program = """
import django
from django.utils.translation import activate
django.setup()
activate("pl")
from core.openapi.document import serialized
print(serialized()[1])
"""
    etag = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert etag.strip() == serialized()[1]


def test_an_unchanged_document_is_not_sent_again(acme, django_assert_num_queries):
    client = Client(acme.host)
    etag = client.get("/app/openapi.json").headers["ETag"]
    # The host is cached.
    with django_assert_num_queries(0):
        response = client.get("/app/openapi.json", headers={"If-None-Match": f'"another", W/{etag}'})
    assert (response.status_code, response.content, response.headers["ETag"]) == (304, b"", etag)
    assert client.get("/app/openapi.json", headers={"If-None-Match": '"another"'}).status_code == 200


def test_it_rejects_an_unknown_host(db):
    response = Client("nobody.example.test").get("/app/openapi.json")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_it_contains_exactly_the_served_routes():
    served = {
        (
            method.lower(),
            "/" + route.replace("<id:id>", "{id}").replace("<category_name:category_name>", "{category_name}"),
        )
        for method, route in routes()
    }
    assert {(method, path) for method, path, _ in operations()} == served


def test_every_entry_of_the_files_is_used():
    """An entry, example or schema whose operation or object is gone would stay unnoticed."""
    served = {f"{method.upper()} {path}" for method, path, _ in operations()}
    assert entries().keys() - served == set()
    assert object_examples().keys() - document()["components"]["schemas"].keys() == set()
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(ids) == len(set(ids))
    assert (RESPONSES.keys() | BODIES.keys() | QUERY_PARAMETERS.keys()) - set(ids) == set()


def test_every_operation_has_a_description_tag_and_security():
    for method, path, operation in operations():
        name = f"{method} {path}"
        assert operation["summary"], name
        assert operation["description"].endswith("."), name
        assert len(operation["tags"]) == 1, name
        assert all(resolve_reference(response)["description"] for response in operation["responses"].values()), name
        public = path in ("/app/openapi.json", "/app/docs/swagger")
        schemes = [] if public else ["bearer", "api_token"] if path.endswith(".json") else ["basic"]
        scopes = operation["security"][0]["bearer"] if "bearer" in schemes else []
        assert operation["security"] == [{scheme: scopes} for scheme in schemes], name
        assert scopes[:1] == ([] if "bearer" not in schemes else ["read"] if method == "get" else ["write"]), name


def examples_of(definition: dict):
    for media_type, content in definition.get("content", {}).items():
        for example in content.get("examples", {}).values():
            value = example["value"]
            if media_type == "application/xml":
                root, value = xml_values.read(value)
                assert root == resolve_reference(content["schema"])["xml"]["name"]
            yield content["schema"], value


# Operations whose body may only have a token.
NO_BODY = (
    "vote.json",
    "follow.json",
    "read.json",
    "restore.json",
    "secret.json",
    "test.json",
    "undo.json",
    "cancel.json",
    "calendar_feed.json",
    "examples.json",
)


def test_examples_match_their_schemas():
    for method, path, operation in operations():
        name = f"{method} {path}"
        request_examples = list(examples_of(operation["requestBody"])) if "requestBody" in operation else []
        assert bool(request_examples) is ("requestBody" in operation) or path.endswith(NO_BODY), name
        examples = {
            status: list(examples_of(resolve_reference(each))) for status, each in operation["responses"].items()
        }
        assert any(each for status, each in examples.items() if status < "3"), name
        for schema, value in [*request_examples, *itertools.chain.from_iterable(examples.values())]:
            validate(schema, value)
        for parameter in map(resolve_reference, operation["parameters"]):
            if "example" in parameter:
                validate(parameter["schema"], parameter["example"])
            assert "example" in parameter or parameter["in"] != "path", name


@table(
    ("name", "path", "key", "values"),
    [
        ("NewPost", "/app/posts.json", "post", {"title": "New"}),
        ("NewComment", "/app/posts/{post}/comments.json", "comment", {"comment": "New"}),
        ("NewWebhook", "/app/webhooks.json", "webhook", {"url": "https://hooks.example.com/new"}),
        ("NewClient", "/app/clients.json", "client", {"name": "New"}),
        ("NewContact", "/app/contacts.json", "contact", {"name": "New"}),
        ("NewExport", "/app/exports.json", "export", {"resource": "client"}),
        ("NewFieldDefinition", "/app/field_definitions.json", "field_definition", {"resource": "deal", "label": "New"}),
        ("NewNote", "/app/notes.json", "note", {"content": "New", "client_id": "{client}"}),
        ("NewUserLink", "/app/user_links.json", "user_link", {"user_id": "{member}", "client_id": "{client}"}),
        ("NewMessage", "/app/messages.json", "message", {"post_id": "{post}", "subject": "New", "text": "New"}),
        ("NewSavedView", "/app/views.json", "view", {"resource": "client", "name": "New"}),
        ("NewStatus", "/app/statuses.json", "status", {"code": "brand-new", "name": "Brand new", "kind": "deal"}),
    ],
)
def test_documented_defaults_are_those_of_a_new_row(acme, name, path, key, values):
    schemas = document()["components"]["schemas"]
    properties = schemas[name]["properties"]
    defaults = {field: schema["default"] for field, schema in properties.items() if "default" in schema}
    ids = {"post": make_post(acme.alice).id, "client": make_client(acme.alice).id, "member": acme.carol.id}
    path, values = path.format(**ids), {field: value.format(**ids) for field, value in values.items()}
    response = acme.json(acme.alice_token).post(path, json={key: values})
    assert response.status_code == 201
    assert defaults
    created = response.json()
    assert {field: created[field] for field in defaults if field in created} == defaults


def test_only_these_schemas_have_defaults():
    """The test above checks the defaults of each. test_create_account.py checks those of accounts, which need a partner."""
    schemas = document()["components"]["schemas"].items()
    with_defaults = {
        name for name, schema in schemas if any("default" in each for each in schema["properties"].values())
    }
    assert with_defaults == {
        "NewAccount",
        "NewAnswer",
        "NewClient",
        "NewComment",
        "NewContact",
        "NewExport",
        "NewFieldDefinition",
        "NewGoal",
        "NewMessage",
        "NewNote",
        "NewPost",
        "NewSavedView",
        "NewStatus",
        "NewUserLink",
        "NewWebhook",
    }
