"""API examples that users can run: the operations of the OpenAPI document, filled in with values of the user's account, as code."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from urllib.parse import quote

from django.db.models import Subquery
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.text import slugify
from django.utils.translation import gettext_lazy

from accounts.account.models import Account
from accounts.examples.requests import ExampleResponse
from accounts.hosts.requests import UserRequest
from core.openapi.document import document, resolve
from core.openapi.values import JSONSchema
from core.pages.base import base_url
from core.registry import registry
from core.rows.trash import trash_contents

METHODS = ("get", "post", "put", "patch", "delete")
# The names of the two interfaces, by the format of an example: "json", "xml", or "" for a public operation, which belongs to neither.
INTERFACES: dict[str, str | Promise] = {
    "json": "Account API (JSON)",
    "xml": "Forum API (XML)",
    "": gettext_lazy("Both interfaces"),
}
# The collection in the paths of the trash, and the name of the sample for an id in the trash.
TRASH = "trash"


@dataclass(frozen=True)
class Parameter:
    location: str  # path, query or header
    name: str
    example: str = ""
    description: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    is_number: bool = False
    # True for a parameter of named values. Its text is `name=value&name=value`.
    has_names: bool = False

    @property
    def key(self) -> str:
        return f"{self.location}.{self.name}"

    @property
    def is_shown_first(self) -> bool:
        """False if the form shows the parameter under "More parameters"."""
        return self.required or self.example != ""


@dataclass(frozen=True)
class Example:
    id: str
    method: str
    path: str
    tag: str
    summary: str
    description: str
    # "xml" (with a password), "json" (with a token), or "" for a public operation.
    language: str
    media_type: str
    parameters: tuple[Parameter, ...]
    body: object

    @property
    def slug(self) -> str:
        return slugify(self.tag)

    @property
    def kind(self) -> str:
        """The key of the rows in the collection of the path, or "" if there is none."""
        collection = f"{self.path}//".split("/")[2].partition(".")[0]
        return TRASH if collection == TRASH else registry.key_in_collection(collection)

    @property
    def kind_in_path(self) -> str:
        """The key of the resource, or the name of the sample, whose id is in the path, or "" if there is none."""
        if "{id}" not in self.path:
            return ""
        _root, _app, *parts = self.path.partition(".")[0].split("/")
        if key := registry.key_in_collection("/".join(part for part in parts if part != "{id}")):
            return key
        name = self.path.split("/")[2].removesuffix("s")
        return self.kind or (name if name in registry.samples() else "")

    @property
    def created_kind(self) -> str:
        """The key of the resource that the operation creates, whose id other examples can use; "" if there is none."""
        folder, _slash, name = self.path.rpartition("/")
        return self.kind if self.method == "POST" and "." in name and folder.count("/") == 1 else ""

    @property
    def id_samples(self) -> tuple[str, ...]:
        """The names of the samples for the id in the path, the preferred one first."""
        resource = registry.get(self.kind_in_path)
        return resource.samples_in_path(self.language) if resource else tuple(filter(None, [self.kind_in_path]))

    @property
    def is_destructive(self) -> bool:
        return self.method == "DELETE" or self.id == "ask_deletion"


def to_query_value(value: object) -> str:
    if isinstance(value, dict):
        return "&".join(f"{name}={inner}" for name, inner in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_parameter(definition: JSONSchema) -> Parameter:
    definition = resolve(definition)
    schema = definition["schema"]
    choices = schema.get("enum") or (["true", "false"] if schema.get("type") == "boolean" else [])
    return Parameter(
        location=definition["in"],
        name=definition["name"],
        example=to_query_value(definition.get("example", "")),
        description=definition.get("description", ""),
        required=definition.get("required", False),
        choices=tuple(map(str, choices)),
        is_number=schema.get("type") == "integer",
        has_names=schema.get("type") == "object",
    )


@cache
def examples() -> dict[str, Example]:
    """Return all examples by id, in the order of the document."""
    examples_by_id = {}
    for path, operations in document()["paths"].items():
        for method in METHODS:
            if (operation := operations.get(method)) is None:
                continue
            schemes = [name for scheme in operation["security"] for name in scheme]
            content = operation.get("requestBody", {}).get("content", {})
            media_type = next(iter(content), "")
            request = content.get(media_type, {}).get("examples", {}).get("request", {"value": {} if content else None})
            examples_by_id[operation["operationId"]] = Example(
                id=operation["operationId"],
                method=method.upper(),
                path=path,
                tag=operation["tags"][0],
                summary=operation["summary"],
                description=operation["description"],
                language="xml" if "basic" in schemes else "json" if schemes else "",
                media_type=media_type,
                parameters=tuple(map(read_parameter, operation["parameters"])),
                body=request["value"],
            )
    return examples_by_id


@cache
def sections() -> dict[str, list[Example]]:
    """Return the examples of each page, by the last segment of its path: first the JSON API, then XML, then public operations."""
    examples_by_slug: dict[str, list[Example]] = {}
    order = ["json", "xml", ""]
    for example in sorted(examples().values(), key=lambda example: (order.index(example.language), example.tag)):
        examples_by_slug.setdefault(example.slug, []).append(example)
    return examples_by_slug


# Samples: values of the account for the examples


def read_samples(request: UserRequest, names: set[str]) -> dict[str, object]:
    """Return those of the samples that the account has, by name, and the user's own id as `responsible`."""
    columns = {name: Subquery(sample(request)) for name, sample in registry.samples().items() if name in names}
    samples: dict[str, object] = {}
    if columns:
        samples = dict(Account.objects.filter(id=request.account.id).values(**columns).get())
    if TRASH in names:
        row = trash_contents(request.account, registry.trashable_models(), limit=1).first()
        samples[TRASH] = row and row["id"]
    return {name: value for name, value in samples.items() if value is not None} | {"responsible": request.user.id}


def samples_used_by(section: list[Example]) -> set[str]:
    """Return the names of the samples that the examples can use."""
    names = set()
    for example in section:
        names |= set(example.id_samples)
        names |= {sample_name(name) for name in re.findall(r"\w+_ids?\b", json.dumps(example.body)) if name}
        names |= set(re.findall(r'"resource": "(\w+)"', json.dumps(example.body)))
        names |= {sample_name(parameter.name) for parameter in example.parameters if parameter.example}
    return names


def sample_name(name: str) -> str:
    """Return the name of the sample for a field or parameter: `client` for `client_id`, `contact_list` for `contact_list_ids`."""
    return re.sub("_ids?$", "", name)


def replace_ids(value: object, samples: Mapping[str, object]) -> object:
    """Return a JSON body with ids of the account. Leave out the id fields for which there is no sample."""
    if isinstance(value, list):
        return [replace_ids(inner, samples) for inner in value]
    if not isinstance(value, dict):
        return value
    replaced: dict[str, object] = {}
    for name, inner in value.items():
        if name == "ids" and value.get("resource") in samples:
            # Rows of any resource.
            replaced[name] = [samples[value["resource"]]]
        elif not name.endswith(("_id", "_ids")):
            replaced[name] = replace_ids(inner, samples)
        elif sample_name(name) in samples:
            id = samples[sample_name(name)]
            replaced[name] = [id] if name.endswith("s") else id
        elif name == "external_ids":
            replaced[name] = inner
    return replaced


def indent_xml(xml: str, samples: Mapping[str, object] | None) -> str:
    """Return an XML body with each child on its own line, and with the id of the user as `responsible-id` if there are samples."""
    if samples is not None:
        xml = re.sub(r"(<responsible-id[^>]*>)\d+<", rf"\g<1>{samples['responsible']}<", xml)
    match = re.fullmatch(r"(<[\w-]+>)(.*)(</[\w-]+>)", xml, re.DOTALL)
    if match is None:
        return xml
    start, children, end = match.groups()
    lines = (f"  {child[0]}" for child in re.finditer(r"<([\w-]+).*?</\1>", children))
    return "\n".join([start, *lines, end])


# The code in several languages. Each uses only the standard library of its language. `examples.js` builds the same code when a field of an
# example changes. A test compares both.

PASSWORD_PLACEHOLDER, TOKEN_PLACEHOLDER = "PASSWORD", "YOUR_API_TOKEN"


@dataclass(frozen=True)
class ExampleRequest:
    """The request that the code sends."""

    method: str
    url: str
    # The login for HTTP Basic authentication, or "" if the request has a token or no credentials.
    login: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


def shell_literal(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def has_control_character(text: str) -> bool:
    """Return whether the text has a control character that a literal must not contain as it is. A line feed is allowed."""
    return re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text) is not None


def escape_control_characters(text: str) -> str:
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", lambda match: f"\\x{ord(match[0]):02x}", text)


def python_literal(text: str) -> str:
    text = escape_control_characters(text.replace("\\", "\\\\").replace('"', '\\"'))
    if "\n" not in text:
        return f'"{text}"'
    # Between triple quotation marks, escapes are only needed for several marks in a row and for a mark at the end.
    text = re.sub(r'\\"(?!\Z)(?!\\")', '"', text)
    return f'"""{text}"""'


def javascript_literal(text: str) -> str:
    text = escape_control_characters(text.replace("\\", "\\\\"))
    if "\n" not in text:
        return '"' + text.replace('"', '\\"') + '"'
    return "`" + text.replace("`", "\\`").replace("${", "\\${") + "`"


def php_literal(text: str, interpolation: str = "$") -> str:
    text = text.replace("\\", "\\\\")
    if not has_control_character(text):
        return "'" + text.replace("'", "\\'") + "'"
    return '"' + escape_control_characters(text.replace('"', '\\"').replace(interpolation, f"\\{interpolation}")) + '"'


def ruby_literal(text: str) -> str:
    return php_literal(text, "#")


@dataclass(frozen=True)
class CodeLanguage:
    key: str
    name: str

    def write(self, request: ExampleRequest) -> str:
        """Return the program, from the template of the language."""
        context = asdict(request)
        if request.login:
            context |= {"credentials": f"{request.login}:{PASSWORD_PLACEHOLDER}", "password": PASSWORD_PLACEHOLDER}
        return render_to_string(f"accounts/examples/code/{self.key}.txt", context)


CODE_LANGUAGES = {
    language.key: language
    for language in (
        CodeLanguage("curl", "curl"),
        CodeLanguage("php", "PHP"),
        CodeLanguage("python", "Python"),
        CodeLanguage("javascript", "JavaScript"),
        CodeLanguage("ruby", "Ruby"),
    )
}


def code_language(key: str | None) -> CodeLanguage:
    """Return the language with this key, or curl if there is none."""
    return CODE_LANGUAGES.get(key or "", CODE_LANGUAGES["curl"])


# Examples as they are displayed and executed


@dataclass
class FilledExample:
    """An example with the values of its fields and, once it has been executed, with the response."""

    example: Example
    address: str
    login: str
    # The values of the fields, by `Parameter.key`.
    values: dict[str, str]
    body: str | None
    # True if the account has no row for the id in the path.
    is_missing_row: bool = False
    token: str = TOKEN_PLACEHOLDER
    code_language: CodeLanguage = CODE_LANGUAGES["curl"]
    response: ExampleResponse | None = None
    # The reason why the example was not executed.
    error: str = ""
    # The example that creates the missing row.
    creation: Example | None = None

    @property
    def rows(self) -> int:
        return min(24, (self.body or "").count("\n") + 2)

    def filled_parameters(self, location: str) -> Iterator[tuple[Parameter, str]]:
        """Yield the parameters in this location that have a value, with their values."""
        for parameter in self.example.parameters:
            value = self.values.get(parameter.key, "")
            if parameter.location == location and value:
                yield parameter, value

    @property
    def path(self) -> str:
        path = self.example.path
        for parameter in self.example.parameters:
            if parameter.location == "path":
                value = quote(self.values.get(parameter.key, ""), safe="")
                path = path.replace(f"{{{parameter.name}}}", value)
        return path

    @property
    def query(self) -> str:
        pairs = []
        for parameter, value in self.filled_parameters("query"):
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
        return {parameter.name: " ".join(value.split()) for parameter, value in self.filled_parameters("header")}

    @property
    def request(self) -> ExampleRequest:
        headers = self.headers
        if self.example.language == "json":
            headers = {"Authorization": f"Bearer {self.token}", **headers}
        if self.body:
            headers["Content-Type"] = self.example.media_type
        login = self.login if self.example.language == "xml" else ""
        return ExampleRequest(self.example.method, self.address + self.target, login, headers, self.body or "")

    @property
    def code(self) -> str:
        """The code of the example. `examples.js` builds the same code when a field changes."""
        return self.code_language.write(self.request)


def document_body(example: Example, samples: Mapping[str, object] | None = None) -> str | None:
    """Return the indented body of the document, with the ids of the samples if there are any. Return None if there is no body."""
    body = example.body
    if isinstance(body, str):
        return indent_xml(body, samples)
    if body is None:
        return None
    return json.dumps(body if samples is None else replace_ids(body, samples), indent=2, ensure_ascii=False)


def fill_example(
    example: Example, request: UserRequest, samples: Mapping[str, object], *, token: str = ""
) -> FilledExample:
    """Fill in the example with the samples. The other fields get the values of the document.

    The code has the token, or a placeholder, and is in the language that the parameter `lang` of the request selects.
    """
    values = {parameter.key: parameter.example for parameter in example.parameters}
    id = next((samples[name] for name in example.id_samples if name in samples), None)
    if id is not None:
        values["path.id"] = str(id)
    for parameter in example.parameters:
        if parameter.example and parameter.location == "query" and parameter.name.endswith("_id"):
            values[parameter.key] = str(samples.get(sample_name(parameter.name), ""))
        elif parameter.location == "path" and parameter.name in samples:
            values[parameter.key] = str(samples[parameter.name])
    if "query.resource" in values:
        # Select all kinds, because the trash may have no resource of the documented kind.
        values["query.resource"] = ""
    is_missing_row = bool(example.kind_in_path) and id is None

    def creates_row(other: Example) -> bool:
        """Return whether another example in the same language creates a row for the path of this one."""
        return (other.created_kind, other.language) == (example.kind_in_path, example.language)

    return FilledExample(
        example,
        base_url(request),
        request.user.login,
        values,
        document_body(example, samples),
        is_missing_row=is_missing_row,
        token=token or TOKEN_PLACEHOLDER,
        code_language=code_language(request.GET.get("lang")),
        creation=next(filter(creates_row, examples().values()), None) if is_missing_row else None,
    )
