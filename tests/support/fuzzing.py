"""Complete generated requests with credentials, ids of existing rows and unused names.

The OpenAPI document does not say which ids an account has and which names are unused. This module
puts them into requests that are generated as valid. Requests that are generated as invalid are sent unchanged.
"""

import base64
import itertools
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4
from zlib import crc32

import httpx
import hypothesis
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import AcceptedNegativeData, Failure, FailureGroup
from schemathesis.core.jsonschema import make_validator
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode, create_test
from schemathesis.generation.modes import GenerationMode

from core.api.formats import URL_ENCODED
from tests.support import xml_values
from tests.support.forms import form_of

PARTNER = "demo-partner"
PASSWORD = "kind-of-blue-59"
ORDERS = ("new", "old", "top", "commented", "active", "rejected")


@dataclass
class World:
    """The account that receives the requests, and its rows."""

    url: str
    login: str
    password: str
    token: str
    client: httpx.Client

    def __post_init__(self) -> None:
        self.numbers = itertools.count(1)
        # The names of each run are unique.
        self.prefix = uuid4().hex[:6]
        self.ids: dict[str, list[int]] = {}

    def unique(self) -> str:
        return f"{self.prefix}{next(self.numbers)}"

    def get(self, path: str) -> Any:
        return (
            self.client.get(self.url + path, headers={"Authorization": f"Bearer {self.token}"})
            .raise_for_status()
            .json()
        )

    @cached_property
    def category(self) -> str:
        response = self.client.get(
            f"{self.url}/app/categories.xml", auth=(self.login, self.password)
        ).raise_for_status()
        return xml_values.read(response.content)[1][0]["name"]

    def send(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.client.request(method, self.url + path, json=body, headers=headers).raise_for_status().json()

    def make(self, kind: str, /, **values: Any) -> int:
        name = self.unique()
        if kind == "status":
            body = {"kind": "deal", "code": name, "name": name, **values}
            return self.send("POST", "/app/statuses.json", {"status": body})["id"]
        if kind in ("post", "task"):
            body = {"title": name, **({"task_kind": "task"} if kind == "task" else {})}
            return self.send("POST", "/app/posts.json", {"post": body})["id"]
        if kind == "comment":
            body = {"task_kind": "comment", "post_id": self.one("post", 0), "content": name}
            return self.send("POST", "/app/posts.json", {"post": body})["id"]
        body = {"name": name, "email": f"{name}@example.com"} if kind in ("client", "contact") else {"name": name}
        return self.send("POST", f"/app/{kind}s.json", {kind: body})["id"]

    def in_trash(self) -> int:
        id = self.make("client")
        self.send("DELETE", f"/app/clients/{id}.json")
        return id

    def one(self, kind: str, value: Any) -> int:
        """Return the id of one of two rows; the same value always gives the same row."""
        if kind not in self.ids:
            self.ids[kind] = self.rows(kind)
        return self.ids[kind][len(str(value)) % len(self.ids[kind])]

    def rows(self, kind: str) -> list[int]:
        """Return the ids of rows of the kind, which are created if the account may have none."""
        if kind == "user":
            return [user["id"] for user in self.get("/app/users.json") if user["role"] == "owner"]
        if kind in ("category", "forum"):
            return [self.get(f"/app/posts/{self.one('post', 0)}.json")[f"{kind}_id"]]
        if kind.endswith("_status"):
            return [self.make("status", kind=kind.removesuffix("_status"))]
        return [self.make(kind), self.make(kind)]


REFERENCES = {
    "client_id": "client",
    "contact_id": "contact",
    "responsible_id": "user",
    "category_id": "category",
    "forum_id": "forum",
    "post_id": "post",
}
LIST_PARAMETERS = ("order", "page", "per-page")


def is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def is_external_id(value: Any) -> bool:
    """Return True if the value is a valid external id."""
    if isinstance(value, str):
        return not is_blank(value) and len(value) <= 255 and not xml_values.UNCARRIABLE.search(value)
    return isinstance(value, int | float) and not isinstance(value, bool)


class RequestFixer:
    """Replaces ids and names of a request that was generated as valid, so that it can succeed."""

    def __init__(self, world: World):
        self.world = world

    def __call__(self, case: schemathesis.Case) -> None:
        if isinstance(case.body, dict) and isinstance(case.body.get("api_token"), str):
            # The check that removes credentials does not know of tokens in bodies.
            case.body = {name: value for name, value in case.body.items() if name != "api_token"}
        modes = {location: component.mode for location, component in case.meta.components.items()}

        def is_valid(location: ParameterLocation) -> bool:
            return modes.get(location, case.meta.generation.mode) == GenerationMode.POSITIVE

        in_xml = case.media_type == "application/xml" and isinstance(case.body, dict)
        if in_xml and is_valid(ParameterLocation.BODY) and not is_valid(ParameterLocation.QUERY):
            # Parameters in the body override those of the query, which were generated as invalid.
            case.body = {name: value for name, value in case.body.items() if name not in LIST_PARAMETERS}
        if is_valid(ParameterLocation.PATH) and case.path_parameters:
            self.fix_path(case)
        if is_valid(ParameterLocation.QUERY) and case.query:
            self.fix_query(case)
        if is_valid(ParameterLocation.HEADER) and case.headers:
            self.fix_headers(case)
        if is_valid(ParameterLocation.BODY) and isinstance(case.body, dict):
            case.body = self.fix_body(case, case.body)
        elif isinstance(case.body, dict):
            self.free_external_ids(case.body.get("deal"))

    def free_external_ids(self, deal: Any) -> None:
        """Replace the external ids of a nested client by unused ones: the other fields of an existing client are not validated."""
        client = deal.get("client") if isinstance(deal, dict) else None
        pairs = client.get("external_ids") if isinstance(client, dict) else None
        for key in pairs if isinstance(pairs, dict) else ():
            # An invalid id stays: it may be the only error of the request.
            if is_external_id(pairs[key]):
                pairs[key] = self.world.unique()

    def fix_path(self, case) -> None:
        given = dict(case.path_parameters)
        if "category_name" in given:
            given["category_name"] = self.world.category
        elif "id" in given:
            plural = case.path.split("/")[2]
            kind = {"statuses": "status"}.get(plural, plural.removesuffix("s"))
            if case.path.startswith("/app/trash"):
                given["id"] = self.world.in_trash()
            elif case.method == "DELETE" and case.path.count("/") == 3:
                given["id"] = self.world.make(kind)
            elif case.path == "/app/posts/{id}.json":
                # A comment reads only its text: errors in other fields are not detected.
                kinds = ("task", "post", "comment") if case.method == "GET" else ("task", "post")
                given["id"] = self.world.one(kinds[int(given["id"]) % len(kinds)], given["id"])
            else:
                given["id"] = self.world.one(kind, given["id"])
        case.path_parameters = given

    def fix_query(self, case) -> None:
        given = dict(case.query)
        if isinstance(given.get("q"), str) and not any(letter.isalnum() for letter in given["q"]):
            given["q"] += "a"
        if "order" in given and not case.path.endswith(".json"):
            given["order"] = ORDERS[len(str(given["order"])) % len(ORDERS)]
        if "since" in given:
            given["since"] = "now"
        if case.path.startswith("/app/trash/"):
            # `in_trash` creates a client.
            given["resource"] = "client"
        if case.method in ("PUT", "PATCH"):
            # Two ids could belong to different rows.
            for name, pairs in given.items():
                if isinstance(pairs, dict):
                    given[name] = {key: self.world.unique() for key in pairs}
                elif name.startswith("external_ids["):
                    given[name] = self.world.unique()
        case.query = given

    def fix_headers(self, case) -> None:
        if "Idempotency-Key" in case.headers:
            case.headers["Idempotency-Key"] = self.world.unique()
        if "X-Atomic" in case.headers:
            # The items of a bulk request may be invalid unless it is atomic.
            case.headers["X-Atomic"] = "false"

    # Bodies

    def fix_body(self, case, body: dict) -> dict:
        body = dict(body)
        if "strict" in str(case.headers.get("Prefer", "")):
            case.headers["Prefer"] = "handling=lenient"
        if case.media_type == "application/xml":
            return self.fix_element(case, body)
        for key, given in body.items():
            if isinstance(given, dict) and (helper := getattr(self, f"fix_{key}_fields", None)):
                body[key] = helper(case, self.fix_references(dict(given), key))
        return body

    def fix_element(self, case, given: dict) -> dict:
        given = dict(given)
        if not is_blank(given.get("category-id")):
            given["category-id"] = self.world.one("category", given["category-id"])
        if not is_blank(given.get("responsible-id")):
            given["responsible-id"] = self.world.one("user", given["responsible-id"])
        if not is_blank(given.get("status")):
            given["status"] = "planned"
        if "order" in given:
            given["order"] = ORDERS[len(str(given["order"])) % len(ORDERS)]
        return self.fix_user_fields(case, given) if case.path == "/app/users.xml" else given

    def fix_references(self, given: dict, key: str) -> dict:
        for name, kind in REFERENCES.items():
            if not is_blank(given.get(name)):
                id = self.world.one(kind, given[name])
                given[name] = str(id) if isinstance(given[name], str) else id
        if not is_blank(given.get("status_id")):
            given["status_id"] = self.world.one(f"{key}_status", given["status_id"])
        if isinstance(given.get("contact_list_ids"), list):
            given["contact_list_ids"] = [self.world.one("contact_list", id) for id in given["contact_list_ids"]]
        return self.fix_external_ids(given)

    def fix_external_ids(self, given: dict) -> dict:
        if isinstance(given.get("external_ids"), dict):
            given["external_ids"] = {
                key: value if value is None else self.world.unique() for key, value in given["external_ids"].items()
            }
        for values in (given, given.get("additional_fields")):
            if isinstance(values, dict) and not is_blank(values.get("external_id")):
                values["external_id"] = self.world.unique()
        return given

    def fix_client_fields(self, case, given: dict) -> dict:
        # The existing row may lack the fields that a default name is built from.
        if case.method != "POST" and ("name" in given or "{" not in case.path) and is_blank(given.get("name")):
            given["name"] = "Ann"
        if "{" not in case.path and case.method != "POST":
            # The query has the external ids that identify the row.
            given.pop("external_ids", None)
        if "discount" in given:
            given["discount"] = round_float(given["discount"])
        return self.round_numbers(given)

    fix_contact_fields = fix_client_fields

    def round_numbers(self, given: dict) -> dict:
        for values in (given, given.get("additional_fields")):
            if isinstance(values, dict):
                for name in values:
                    values[name] = round_float(values[name])
        return given

    def fix_contact_list_fields(self, case, given: dict) -> dict:
        return self.rename(given, "name")

    def rename(self, given: dict, *names: str) -> dict:
        for name in names:
            if not is_blank(given.get(name)):
                given[name] = f"{str(given[name])[:200]} {self.world.unique()}"
        return given

    def fix_deal_fields(self, case, given: dict) -> dict:
        if isinstance(given.get("client"), dict):
            given.pop("client_id", None)
            given["client"] = self.fix_external_ids(dict(given["client"]))
        if "price" in given:
            given["price"] = round_float(given["price"])
        if "{" not in case.path and case.method != "POST":
            given.setdefault("name", "Order")
            given.pop("external_ids", None)
        return self.round_numbers(given)

    def fix_status_fields(self, case, given: dict) -> dict:
        if case.method != "POST":
            given.pop("kind", None)
        return self.rename(given, "code", "name")

    def fix_account_fields(self, case, given: dict) -> dict:
        if not is_blank(given.get("from_partner")):
            given["from_partner"] = PARTNER
        return {**given, "prefix": f"p{self.world.unique()}"}

    def fix_user_fields(self, case, given: dict) -> dict:
        unique = self.world.unique()
        return {**given, "login": f"l{unique}", "email": f"{unique}@example.org", "password": PASSWORD}

    def fix_post_fields(self, case, given: dict) -> dict:
        if given.get("task_kind") == "comment":
            return given
        if not is_blank(given.get("status")):
            # `status` and `status_id` would have to name the same status.
            given["status"] = "planned"
            given.pop("status_id", None)
        is_task = not is_blank(given.get("task_kind")) and given["task_kind"] != "feedback"
        if "{" in case.path and "task_kind" in given:
            is_task = self.is_task(case)
            given["task_kind"] = "task" if is_task else "feedback"
        elif "{" in case.path:
            is_task = self.is_task(case)
        if is_task:
            given = {name: value for name, value in given.items() if name not in ("category_id", "forum_id")}
        return self.round_numbers(given)

    def is_task(self, case) -> bool:
        return case.path_parameters["id"] in self.world.ids.get("task", ())


def round_float(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


# Hooks of Schemathesis


class Target:
    """The world that receives the requests. It is global because hooks are registered once per process."""

    world: World | None = None


def rewrite(case) -> None:
    """Change some valid JSON requests into equivalent ones: a form body, or a method override (`docs/interface.md`)."""
    choice = crc32(repr((case.query, case.body)).encode(errors="replace")) % 3
    modes = {component.mode for component in case.meta.components.values()}
    # An invalid request may become valid.
    if not case.path.endswith(".json") or modes - {GenerationMode.POSITIVE}:
        return
    if case.method == "GET" and case.query and choice:
        # Move the parameters to the body.
        case.body, case.media_type, case.query = dict(case.query), "application/json", {}
    if isinstance(case.body, dict) and case.method != "GET" and choice == 1:
        case.media_type = case.headers["Content-Type"] = URL_ENCODED
    if case.method in ("PUT", "PATCH", "DELETE") and choice:
        case.headers["X-HTTP-Method-Override"] = case.method
        case.method = "POST"


@schemathesis.hook
def before_call(context, case, kwargs) -> None:
    # The in-process transport does not decompress responses.
    case.headers["Accept-Encoding"] = "identity"
    if Target.world is not None and case.meta is not None:
        RequestFixer(Target.world)(case)
        rewrite(case)


@schemathesis.hook
def filter_failure(context, failure, case, response) -> bool:
    """Drop the failure if an invalid value becomes valid as XML, which has neither numbers nor empty objects."""
    is_xml = case.media_type == "application/xml"
    return not (is_xml and isinstance(failure, AcceptedNegativeData) and is_valid_as_xml(case, response))


def is_valid_as_xml(case, response) -> bool:
    """Return True if the invalid parts of the request are valid as the server reads them."""
    invalid = {location for location, part in case.meta.components.items() if part.mode == GenerationMode.NEGATIVE}
    if not {parameter.name for parameter in case.operation.query} & set(case.query or {}):
        # Unknown parameters are ignored.
        invalid.discard(ParameterLocation.QUERY)
    if invalid - {ParameterLocation.BODY} or not response.request.body:
        return False
    root, value = xml_values.read(response.request.body)
    if root == "hash" and not isinstance(value, dict):
        value = {}
    schema = case.operation.get_body_for_media_type("application/xml").optimized_schema
    return make_validator(schema, case.operation.schema.adapter.jsonschema_validator_cls).is_valid(value)


class Credentials:
    """Credentials of a request: HTTP Basic for the Forum API, a token for the Account API."""

    def get(self, case, context) -> str:
        return "known"

    def set(self, case, data: str, context) -> None:
        if case.path.endswith(".json"):
            case.headers["Authorization"] = f"Bearer {Target.world.token}"
        else:
            pair = base64.b64encode(f"{Target.world.login}:{Target.world.password}".encode()).decode()
            case.headers["Authorization"] = f"Basic {pair}"


@schemathesis.serializer("application/xml")
def to_xml(context, value) -> bytes:
    schema = context.case.operation.get_body_for_media_type("application/xml").optimized_schema
    return xml_values.write(schema.get("xml", {}).get("name", "hash"), value).encode(errors="replace")


@schemathesis.serializer(URL_ENCODED)
def to_form(context, value) -> bytes:
    return urlencode(list(form_of(value)), errors="surrogatepass").encode()


@schemathesis.deserializer("application/xml")
def from_xml(context, response) -> Any:
    return xml_values.read(response.content)[1]


def without_forms(value: Any) -> Any:
    """Return the document without form bodies. `rewrite` makes forms from JSON."""
    if isinstance(value, dict):
        return {name: without_forms(inner) for name, inner in value.items() if name != URL_ENCODED}
    return [without_forms(inner) for inner in value] if isinstance(value, list) else value


def load(document: dict[str, Any], url: str, *, app: Any = None, **generation: Any):
    """Load the document with every check enabled and deterministic generation."""
    config = SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "generation": {"deterministic": True, "with-security-parameters": False, "database": "none", **generation},
        }
    )
    schema = schemathesis.openapi.from_dict(without_forms(document), config=config)
    schema.config.update(base_url=url)
    schema.app = app
    schema.auth()(Credentials)
    return schema


@dataclass
class Findings:
    """The number of requests by mode and status, and the failures."""

    answers: Counter = field(default_factory=Counter)
    failures: list[tuple[Failure, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n\n".join(
            f"{type(failure).__name__}: {failure.message}\n{request}" for failure, request in self.failures
        )


def examine(schema, label: str, findings: Findings, *, systematic: int, random: int, seed: int = 0) -> None:
    """Send requests to one operation: its examples, about `systematic` systematic and at most `random` random ones."""

    def check(case) -> None:
        try:
            response = case.call_and_validate()
            findings.answers[case.meta.generation.mode.value, response.status_code] += 1
        except FailureGroup as group:
            request = f"{case.as_curl_command()}\n{case.meta.phase.data}"
            findings.failures += [(failure, request) for failure in group.exceptions]

    settings = hypothesis.settings(
        max_examples=random,
        derandomize=not seed,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    test = create_test(
        operation=schema.find_operation_by_label(label),
        test_func=check,
        config=HypothesisTestConfig(project=schema.config, modes=list(HypothesisTestMode), settings=settings),
    )
    examples = getattr(test, "hypothesis_explicit_examples", [])
    test.hypothesis_explicit_examples = examples[:: max(1, len(examples) // systematic)]
    (hypothesis.seed(seed)(test) if seed else test)()
