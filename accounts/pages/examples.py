"""Examples that run: every operation of the OpenAPI document, filled in with values of the user's own account."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from django.db.models import Subquery
from django.http import Http404, HttpRequest
from django.utils.text import slugify
from django.utils.translation import gettext as _

from accounts.models import Account
from accounts.pages.running import Answer, run
from core.db.trash import trash_contents
from core.openapi.document import document
from core.pages.base import Page, base_url
from core.registry import registry

METHODS = ("get", "post", "put", "patch", "delete")
PASSWORD, TOKEN = "PASSWORD", "YOUR_API_TOKEN"
# The name of the sample for an id in the trash, and the collection in its paths.
TRASH = "trash"


@dataclass(frozen=True)
class Parameter:
    place: str  # path, query or header
    name: str
    example: str = ""
    description: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    is_number: bool = False
    # Several values, each with a name: `name=value`, more of them after an `&`.
    has_names: bool = False

    @property
    def key(self) -> str:
        return f"{self.place}.{self.name}"


@dataclass(frozen=True)
class Example:
    """An operation of the document."""

    id: str
    method: str
    path: str
    tag: str
    summary: str
    description: str
    # "xml" needs a password, "json" a token; "" is public.
    language: str
    media_type: str
    parameters: tuple[Parameter, ...]
    body: Any

    @property
    def slug(self) -> str:
        return slugify(self.tag)

    @property
    def kind(self) -> str:
        """The key of the resource that the path is about; "" if there is none."""
        collection = f"{self.path}//".split("/")[2].partition(".")[0]
        resource = registry.in_collection(collection)
        return resource.key if resource else TRASH if collection == TRASH else ""

    @property
    def needs(self) -> str:
        """The key of the resource whose id is in the path."""
        return self.kind if "{id}" in self.path else ""

    @property
    def makes(self) -> str:
        """The key of the resource that it creates; the answer has an id for other examples to use."""
        folder, _slash, name = self.path.rpartition("/")
        return self.kind if self.method == "POST" and "." in name and folder.count("/") == 1 else ""

    @property
    def id_samples(self) -> tuple[str, ...]:
        """The names of the samples for the id in the path, the preferred one first."""
        resource = registry.get(self.needs)
        return resource.samples_in_path(self.language) if resource else tuple(filter(None, [self.needs]))

    @property
    def is_destructive(self) -> bool:
        return self.method == "DELETE"


def resolved(definition: dict[str, Any]) -> dict[str, Any]:
    """Follow the references of a definition in the document."""
    while "$ref" in definition:
        found: Any = document()
        for part in definition["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        definition = found
    return definition


def in_words(value: Any) -> str:
    """Return a value as a query string has it."""
    if isinstance(value, dict):
        return "&".join(f"{name}={inner}" for name, inner in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_parameter(definition: dict[str, Any]) -> Parameter:
    definition = resolved(definition)
    schema = definition["schema"]
    choices = schema.get("enum") or (["true", "false"] if schema.get("type") == "boolean" else [])
    return Parameter(
        place=definition["in"],
        name=definition["name"],
        example=in_words(definition.get("example", "")),
        description=definition.get("description", ""),
        required=definition.get("required", False),
        choices=tuple(map(str, choices)),
        is_number=schema.get("type") == "integer",
        has_names=schema.get("type") == "object",
    )


@cache
def examples() -> dict[str, Example]:
    """Return all examples by id, in the order of the document."""
    found = {}
    for path, operations in document()["paths"].items():
        for method in METHODS:
            if (operation := operations.get(method)) is None:
                continue
            schemes = [name for scheme in operation["security"] for name in scheme]
            sent = operation.get("requestBody", {}).get("content", {})
            media_type = next(iter(sent), "")
            shown = sent.get(media_type, {}).get("examples", {}).get("request", {"value": {} if sent else None})
            found[operation["operationId"]] = Example(
                id=operation["operationId"],
                method=method.upper(),
                path=path,
                tag=operation["tags"][0],
                summary=operation["summary"],
                description=operation["description"],
                language="xml" if "basic" in schemes else "json" if schemes else "",
                media_type=media_type,
                parameters=tuple(map(read_parameter, operation["parameters"])),
                body=shown["value"],
            )
    return found


@cache
def sections() -> dict[str, list[Example]]:
    """Return the examples by the last segment of their page's path: JSON first, then XML, then the public ones."""
    found: dict[str, list[Example]] = {}
    order = ["json", "xml", ""]
    for example in sorted(examples().values(), key=lambda example: (order.index(example.language), example.tag)):
        found.setdefault(example.slug, []).append(example)
    return found


# Samples: values that the account has


def read_samples(request: HttpRequest, needed: set[str]) -> dict[str, Any]:
    """Return the needed samples that the account has, by name, and the user's own id as `responsible`."""
    columns = {name: Subquery(sample(request)) for name, sample in registry.samples().items() if name in needed}
    found = Account.objects.filter(id=request.account.id).values(**columns).get() if columns else {}
    if TRASH in needed:
        row = trash_contents(request.account, registry.trashable_models(), limit=1).first()
        found[TRASH] = row and row["id"]
    return {name: value for name, value in found.items() if value is not None} | {"responsible": request.user.id}


def needed_by(shown: list[Example]) -> set[str]:
    """Return the names of the samples that the examples can use."""
    found = set()
    for example in shown:
        found |= set(example.id_samples)
        found |= {sample_name(name) for name in re.findall(r"\w+_ids?\b", json.dumps(example.body)) if name}
        found |= {sample_name(parameter.name) for parameter in example.parameters if parameter.example}
    return found


def sample_name(name: str) -> str:
    """Return the sample for a field or parameter: `client` for `client_id`, `contact_list` for `contact_list_ids`."""
    return re.sub("_ids?$", "", name)


def with_ids(value: Any, newest: Mapping[str, Any]) -> Any:
    """Return a body with the account's own ids, and without the fields for which it has no sample."""
    if isinstance(value, list):
        return [with_ids(inner, newest) for inner in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, inner in value.items():
        if not name.endswith(("_id", "_ids")):
            found[name] = with_ids(inner, newest)
        elif sample_name(name) in newest:
            own = newest[sample_name(name)]
            found[name] = [own] if name.endswith("s") else own
        elif name == "external_ids":
            found[name] = inner
    return found


def laid_out(xml: str, newest: Mapping[str, Any]) -> str:
    """Return an XML body with each child on a line of its own."""
    own = rf"\g<1>{newest['responsible']}<"
    xml = re.sub(r"(<responsible-id[^>]*>)\d+<", own, xml)
    start, children, end = re.fullmatch(r"(<[\w-]+>)(.*)(</[\w-]+>)", xml, re.DOTALL).groups()
    lines = (f"  {child[0]}" for child in re.finditer(r"<([\w-]+).*?</\1>", children))
    return "\n".join([start, *lines, end])


# An example as it is shown and sent


@dataclass
class Trial:
    """An example with values in its fields."""

    example: Example
    address: str
    login: str
    values: dict[str, str]
    body: str | None
    # Whether the account has no row that its path could name.
    lacks: bool = False
    token: str = TOKEN
    answer: Answer | None = None
    refusal: str = ""
    # The example that creates such a row.
    maker: Example | None = None

    @property
    def fields(self) -> Iterator[dict[str, Any]]:
        for parameter in self.example.parameters:
            value = self.values.get(parameter.key, "")
            yield {"parameter": parameter, "value": value}

    @property
    def first_fields(self) -> list[dict[str, Any]]:
        return [found for found in self.fields if found["parameter"].required or found["parameter"].example]

    @property
    def other_fields(self) -> list[dict[str, Any]]:
        return [found for found in self.fields if not (found["parameter"].required or found["parameter"].example)]

    @property
    def rows(self) -> int:
        return min(24, (self.body or "").count("\n") + 2)

    def given(self, place: str) -> Iterator[tuple[Parameter, str]]:
        for parameter in self.example.parameters:
            value = self.values.get(parameter.key, "")
            if parameter.place == place and value:
                yield parameter, value

    @property
    def path(self) -> str:
        path = self.example.path
        for parameter in self.example.parameters:
            if parameter.place == "path":
                value = quote(self.values.get(parameter.key, ""), safe="")
                path = path.replace(f"{{{parameter.name}}}", value)
        return path

    @property
    def query(self) -> str:
        pairs = []
        for parameter, value in self.given("query"):
            if parameter.has_names:
                for part in value.split("&"):
                    name, _, inner = part.partition("=")
                    pairs.append((f"{parameter.name}[{name}]", inner))
            else:
                pairs.append((parameter.name, value))
        return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in pairs)

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def headers(self) -> dict[str, str]:
        return {parameter.name: " ".join(value.split()) for parameter, value in self.given("header")}

    @property
    def curl(self) -> str:
        """The command for curl, as `examples.js` writes it for the values in the fields."""
        method = "" if self.example.method == "GET" else f" -X {self.example.method}"
        lines = [f"curl{method} {shell_quoted(self.address + self.target)}"]
        if self.example.language == "xml":
            lines.append(f"-u {shell_quoted(f'{self.login}:{PASSWORD}')}")
        elif self.example.language == "json":
            lines.append(f"-H {shell_quoted(f'Authorization: Bearer {self.token}')}")
        lines += [f"-H {shell_quoted(f'{name}: {value}')}" for name, value in self.headers.items()]
        if self.body:
            lines.append(f"-H {shell_quoted(f'Content-Type: {self.example.media_type}')}")
            lines.append(f"-d {shell_quoted(self.body)}")
        return " \\\n  ".join(lines)


def shell_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def try_out(example: Example, request: HttpRequest, newest: Mapping[str, Any], *, token: str = TOKEN) -> Trial:
    values = {parameter.key: parameter.example for parameter in example.parameters}
    own = next((newest[name] for name in example.id_samples if name in newest), None)
    if own is not None:
        values["path.id"] = str(own)
    for parameter in example.parameters:
        if parameter.example and parameter.place == "query" and parameter.name.endswith("_id"):
            values[parameter.key] = str(newest.get(sample_name(parameter.name), ""))
        elif parameter.place == "path" and parameter.name in newest:
            values[parameter.key] = newest[parameter.name]
    if "query.resource" in values:
        # All kinds, because the trash may have none of the documented one.
        values["query.resource"] = ""
    body = example.body
    if isinstance(body, str):
        body = laid_out(body, newest)
    elif body is not None:
        body = json.dumps(with_ids(body, newest), indent=2, ensure_ascii=False)
    lacks = bool(example.needs) and own is None
    return Trial(
        example,
        base_url(request),
        request.user.login,
        values,
        body,
        lacks=lacks,
        token=token,
        maker=creation_for(example) if lacks else None,
    )


def creation_for(example: Example) -> Example | None:
    """Return the example that creates a row for the example's path, in the same language."""
    wanted = (example.needs, example.language)
    return next((each for each in examples().values() if (each.makes, each.language) == wanted), None)


class Examples(Page):
    """The examples with one tag."""

    access = "team"
    template_name = "accounts/examples.html"

    def get(self, request, section: str):
        return self.show(self.trials(section), section)

    def post(self, request, section: str):
        """Run an example as the signed-in user, for browsers without JavaScript."""
        shown = self.trials(section)
        trial = next((trial for trial in shown if trial.example.id == request.POST.get("operation")), None)
        if trial is None:
            raise Http404
        trial.values = {key: request.POST.get(key, "").strip() for key in trial.values}
        if trial.body is not None:
            trial.body = request.POST.get("body", "").replace("\r\n", "\n")
        if any("/" in value for _parameter, value in trial.given("path")):
            # With a slash it would be the path of another view.
            trial.refusal = _("A value in the path can't have a slash.")
        elif trial.example.is_destructive and "sure" not in request.POST:
            trial.refusal = _("Nothing was deleted: tick the box to confirm, then run it.")
        if trial.refusal:
            return self.show(shown, section, status=422)
        trial.answer = run(request, trial.example, trial.target, trial.headers, trial.body)
        return self.show(shown, section)

    def trials(self, section: str) -> list[Trial]:
        if section not in sections():
            raise Http404
        shown = sections()[section]
        newest = read_samples(self.request, needed_by(shown))
        return [try_out(example, self.request, newest) for example in shown]

    def show(self, shown: list[Trial], section: str, *, status: int = 200):
        return self.render(
            http_status=status,
            part="api",
            trials=shown,
            tag=shown[0].example.tag,
            section=section,
            sections=[(slug, found[0].tag) for slug, found in sections().items()],
        )
