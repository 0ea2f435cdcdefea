"""What generated requests need to be judged by: credentials, things that exist, and names that nobody has yet.

The document can't say which ids an account has, nor which names are free; so a request that is meant to be right gets them
here. One that is meant to be wrong is sent as it is.
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
    """An account to send requests to, and what there is in it."""

    url: str
    login: str
    password: str
    token: str
    client: httpx.Client

    def __post_init__(self) -> None:
        self.numbers = itertools.count(1)
        # So that one run after another finds its own names free.
        self.mark = uuid4().hex[:6]
        self.ids: dict[str, list[int]] = {}

    def unique(self) -> str:
        return f"{self.mark}{next(self.numbers)}"

    def get(self, path: str) -> Any:
        return (
            self.client.get(self.url + path, headers={"Authorization": f"Bearer {self.token}"})
            .raise_for_status()
            .json()
        )

    @cached_property
    def category(self) -> str:
        answer = self.client.get(f"{self.url}/app/categories.xml", auth=(self.login, self.password)).raise_for_status()
        return xml_values.read(answer.content)[1][0]["name"]

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
        """One of two, the same for the same value."""
        if kind not in self.ids:
            self.ids[kind] = self.some(kind)
        return self.ids[kind][len(str(value)) % len(self.ids[kind])]

    def some(self, kind: str) -> list[int]:
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
LISTED = ("order", "page", "per-page")


def is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def is_external_id(value: Any) -> bool:
    """Whether the document allows it, and the service looks for its holder."""
    if isinstance(value, str):
        return not is_blank(value) and len(value) <= 255 and not xml_values.UNCARRIABLE.search(value)
    return isinstance(value, int | float) and not isinstance(value, bool)


class Help:
    """Makes a request that is meant to be right one that can be."""

    def __init__(self, world: World):
        self.world = world

    def __call__(self, case: schemathesis.Case) -> None:
        if isinstance(case.body, dict) and isinstance(case.body.get("api_token"), str):
            # What takes credentials away, to see whether they are needed, knows of none in a body.
            case.body = {name: value for name, value in case.body.items() if name != "api_token"}
        modes = {location: component.mode for location, component in case.meta.components.items()}

        def right(location: ParameterLocation) -> bool:
            return modes.get(location, case.meta.generation.mode) == GenerationMode.POSITIVE

        in_xml = case.media_type == "application/xml" and isinstance(case.body, dict)
        if in_xml and right(ParameterLocation.BODY) and not right(ParameterLocation.QUERY):
            # What the body says counts, whatever is wrong in the query.
            case.body = {name: value for name, value in case.body.items() if name not in LISTED}
        if right(ParameterLocation.PATH) and case.path_parameters:
            self.path(case)
        if right(ParameterLocation.QUERY) and case.query:
            self.query(case)
        if right(ParameterLocation.HEADER) and case.headers:
            self.headers(case)
        if right(ParameterLocation.BODY) and isinstance(case.body, dict):
            case.body = self.body(case, case.body)
        elif isinstance(case.body, dict):
            self.nobodys_yet(case.body.get("deal"))

    def nobodys_yet(self, deal: Any) -> None:
        """What else is said of a nested client is judged only where its external ids are nobody's yet."""
        client = deal.get("client") if isinstance(deal, dict) else None
        pairs = client.get("external_ids") if isinstance(client, dict) else None
        for key in pairs if isinstance(pairs, dict) else ():
            # One that is wrong stays: it may be all that is wrong with the request.
            if is_external_id(pairs[key]):
                pairs[key] = self.world.unique()

    def path(self, case) -> None:
        given = dict(case.path_parameters)
        if "category_name" in given:
            given["category_name"] = self.world.category
        elif "id" in given:
            things = case.path.split("/")[2]
            kind = {"statuses": "status"}.get(things, things.removesuffix("s"))
            if case.path.startswith("/app/trash"):
                given["id"] = self.world.in_trash()
            elif case.method == "DELETE" and case.path.count("/") == 3:
                given["id"] = self.world.make(kind)
            elif case.path == "/app/posts/{id}.json":
                # A comment reads only its text: what is wrong elsewhere in a body is not noticed.
                kinds = ("task", "post", "comment") if case.method == "GET" else ("task", "post")
                given["id"] = self.world.one(kinds[int(given["id"]) % len(kinds)], given["id"])
            else:
                given["id"] = self.world.one(kind, given["id"])
        case.path_parameters = given

    def query(self, case) -> None:
        given = dict(case.query)
        if isinstance(given.get("q"), str) and not any(letter.isalnum() for letter in given["q"]):
            given["q"] += "a"
        if "order" in given and not case.path.endswith(".json"):
            given["order"] = ORDERS[len(str(given["order"])) % len(ORDERS)]
        if "since" in given:
            given["since"] = "now"
        if case.path.startswith("/app/trash/"):
            # What there is is a client.
            given["resource"] = "client"
        if case.method in ("PUT", "PATCH"):
            # Different ones could belong to different things. What is made systematically comes as it is sent.
            for name, pairs in given.items():
                if isinstance(pairs, dict):
                    given[name] = {key: self.world.unique() for key in pairs}
                elif name.startswith("external_ids["):
                    given[name] = self.world.unique()
        case.query = given

    def headers(self, case) -> None:
        if "Idempotency-Key" in case.headers:
            case.headers["Idempotency-Key"] = self.world.unique()
        if "X-Atomic" in case.headers:
            # The items of a bulk may be anything, as long as each is judged by itself.
            case.headers["X-Atomic"] = "false"

    # Bodies

    def body(self, case, body: dict) -> dict:
        body = dict(body)
        if "strict" in str(case.headers.get("Prefer", "")):
            case.headers["Prefer"] = "handling=lenient"
        if case.media_type == "application/xml":
            return self.element(case, body)
        for key, given in body.items():
            if isinstance(given, dict) and (helper := getattr(self, f"a_{key}", None)):
                body[key] = helper(case, self.references(dict(given), key))
        return body

    def element(self, case, given: dict) -> dict:
        given = dict(given)
        if not is_blank(given.get("category-id")):
            given["category-id"] = self.world.one("category", given["category-id"])
        if not is_blank(given.get("responsible-id")):
            given["responsible-id"] = self.world.one("user", given["responsible-id"])
        if not is_blank(given.get("status")):
            given["status"] = "planned"
        if "order" in given:
            given["order"] = ORDERS[len(str(given["order"])) % len(ORDERS)]
        return self.a_user(case, given) if case.path == "/app/users.xml" else given

    def references(self, given: dict, key: str) -> dict:
        for name, kind in REFERENCES.items():
            if not is_blank(given.get(name)):
                id = self.world.one(kind, given[name])
                given[name] = str(id) if isinstance(given[name], str) else id
        if not is_blank(given.get("status_id")):
            given["status_id"] = self.world.one(f"{key}_status", given["status_id"])
        if isinstance(given.get("contact_list_ids"), list):
            given["contact_list_ids"] = [self.world.one("contact_list", id) for id in given["contact_list_ids"]]
        return self.identified(given)

    def identified(self, given: dict) -> dict:
        if isinstance(given.get("external_ids"), dict):
            given["external_ids"] = {
                key: value if value is None else self.world.unique() for key, value in given["external_ids"].items()
            }
        for place in (given, given.get("additional_fields")):
            if isinstance(place, dict) and not is_blank(place.get("external_id")):
                place["external_id"] = self.world.unique()
        return given

    def a_client(self, case, given: dict) -> dict:
        # What there is may have nothing that a name is built from.
        if case.method != "POST" and ("name" in given or "{" not in case.path) and is_blank(given.get("name")):
            given["name"] = "Ann"
        if "{" not in case.path and case.method != "POST":
            # The ones in the address say which is meant.
            given.pop("external_ids", None)
        if "discount" in given:
            given["discount"] = exact(given["discount"])
        return self.additional(given)

    a_contact = a_client

    def additional(self, given: dict) -> dict:
        for values in (given, given.get("additional_fields")):
            if isinstance(values, dict):
                for name in values:
                    values[name] = exact(values[name])
        return given

    def a_contact_list(self, case, given: dict) -> dict:
        return self.renamed(given, "name")

    def renamed(self, given: dict, *names: str) -> dict:
        for name in names:
            if not is_blank(given.get(name)):
                given[name] = f"{str(given[name])[:200]} {self.world.unique()}"
        return given

    def a_deal(self, case, given: dict) -> dict:
        if isinstance(given.get("client"), dict):
            given.pop("client_id", None)
            given["client"] = self.identified(dict(given["client"]))
        if "price" in given:
            given["price"] = exact(given["price"])
        if "{" not in case.path and case.method != "POST":
            given.setdefault("name", "Order")
            given.pop("external_ids", None)
        return self.additional(given)

    def a_status(self, case, given: dict) -> dict:
        if case.method != "POST":
            given.pop("kind", None)
        return self.renamed(given, "code", "name")

    def a_account(self, case, given: dict) -> dict:
        if not is_blank(given.get("from_partner")):
            given["from_partner"] = PARTNER
        return {**given, "prefix": f"p{self.world.unique()}"}

    def a_user(self, case, given: dict) -> dict:
        unique = self.world.unique()
        return {**given, "login": f"l{unique}", "email": f"{unique}@example.org", "password": PASSWORD}

    def a_post(self, case, given: dict) -> dict:
        if given.get("task_kind") == "comment":
            return given
        if not is_blank(given.get("status")):
            # They would have to be the same.
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
        return self.additional(given)

    def is_task(self, case) -> bool:
        return case.path_parameters["id"] in self.world.ids.get("task", ())


def exact(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


# Everything


class Stage:
    """The world that requests are sent to at the moment; hooks are registered once for a process."""

    world: World | None = None


def respell(case) -> None:
    """Send every third request of the JSON interface in another way that means the same (`docs/interface.md`)."""
    choice = crc32(repr((case.query, case.body)).encode(errors="replace")) % 3
    modes = {component.mode for component in case.meta.components.values()}
    # What is meant to be wrong would have to be judged anew.
    if not case.path.endswith(".json") or modes - {GenerationMode.POSITIVE}:
        return
    if case.method == "GET" and case.query and choice:
        # The parameters are in the body.
        case.body, case.media_type, case.query = dict(case.query), "application/json", {}
    if isinstance(case.body, dict) and case.method != "GET" and choice == 1:
        case.media_type = case.headers["Content-Type"] = URL_ENCODED
    if case.method in ("PUT", "PATCH", "DELETE") and choice:
        case.headers["X-HTTP-Method-Override"] = case.method
        case.method = "POST"


@schemathesis.hook
def before_call(context, case, kwargs) -> None:
    # What is called in this process unpacks nothing.
    case.headers["Accept-Encoding"] = "identity"
    if Stage.world is not None and case.meta is not None:
        Help(Stage.world)(case)
        respell(case)


@schemathesis.hook
def filter_failure(context, failure, case, response) -> bool:
    """XML has no numbers, and no objects without anything in them: what is wrong may be right as it is written."""
    is_xml = case.media_type == "application/xml"
    return not (is_xml and isinstance(failure, AcceptedNegativeData) and reads_as_right(case, response))


def reads_as_right(case, response) -> bool:
    wrong = {location for location, part in case.meta.components.items() if part.mode == GenerationMode.NEGATIVE}
    if not {parameter.name for parameter in case.operation.query} & set(case.query or {}):
        # Parameters that there are not are ignored.
        wrong.discard(ParameterLocation.QUERY)
    if wrong - {ParameterLocation.BODY} or not response.request.body:
        return False
    root, value = xml_values.read(response.request.body)
    if root == "hash" and not isinstance(value, dict):
        value = {}
    schema = case.operation.get_body_for_media_type("application/xml").optimized_schema
    return make_validator(schema, case.operation.schema.adapter.jsonschema_validator_cls).is_valid(value)


class Credentials:
    """HTTP Basic for generation A, the token for generation B."""

    def get(self, case, context) -> str:
        return "known"

    def set(self, case, data: str, context) -> None:
        if case.path.endswith(".json"):
            case.headers["Authorization"] = f"Bearer {Stage.world.token}"
        else:
            pair = base64.b64encode(f"{Stage.world.login}:{Stage.world.password}".encode()).decode()
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
    """The document without bodies that are forms: what is sent as a form is made from JSON (`respell`)."""
    if isinstance(value, dict):
        return {name: without_forms(inner) for name, inner in value.items() if name != URL_ENCODED}
    return [without_forms(inner) for inner in value] if isinstance(value, list) else value


def load(document: dict[str, Any], url: str, *, app: Any = None, **generation: Any):
    """The document, ready to make requests of: every check is on, and what is generated does not change from run to run."""
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
    """What was sent, by what it was meant to be and how it was answered, and what is wrong with the answers."""

    answers: Counter = field(default_factory=Counter)
    failures: list[tuple[Failure, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n\n".join(
            f"{type(failure).__name__}: {failure.message}\n{request}" for failure, request in self.failures
        )


def examine(schema, label: str, findings: Findings, *, systematic: int, random: int, seed: int = 0) -> None:
    """Send requests to one operation: its examples, at most so many systematic ones, and random ones."""

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
