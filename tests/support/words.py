"""Find untranslated text in templates and in Python, and translations that do not match their messages."""

import ast
import contextlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.frontend import CommandLineInterface
from babel.messages.pofile import read_po

from tests.support.examples import ROOT

ROOMS = ("accounts", "config", "core", "crm", "forum", "webhooks", "team")

# Text that is the same in every language.
NAMES = {
    "API",
    "B",
    "Ctrl",
    "I",
    "English",
    "JSON",
    "K",
    "OpenAPI",
    "Polski",
    "Rostrum",
    "Swagger",
    "UI",
    "XML",
    "curl",
}

WORD = re.compile(r"[^\W\d_]+")
TEXT = r"\"[^\"]*\"|'[^']*'"


def modules() -> list[Path]:
    """Return the Python files of the rooms."""
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def templates() -> list[Path]:
    """Return the templates of the rooms, except for those of programs (`accounts/examples/templates/code`)."""
    paths = (path for room in ROOMS for path in (ROOT / room).glob("**/templates/**/*") if path.is_file())
    return sorted(path for path in paths if path.parent.name != "code")


def is_literal(text: str) -> bool:
    return any(word not in NAMES for word in WORD.findall(text))


# Templates

HUMAN_ATTRIBUTES = {
    "alt",
    "aria-description",
    "aria-label",
    "aria-placeholder",
    "hx-confirm",
    "hx-prompt",
    "label",
    "placeholder",
    "title",
}
HUMAN_METADATA = {"application-name", "description"}
BUTTONS = {"button", "reset", "submit"}
# Elements whose text is not translated. `code` contains what the user types.
UNTRANSLATED_ELEMENTS = {"code", "script", "style", "svg"}
# Tags, outputs and comments of Jinja2.
TAG = re.compile(r"(\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\})", re.DOTALL)
# Parts of an expression that render a literal, and variables that pass text to another template.
RENDERED = re.compile(rf"(?:\|(?:default|yesno)\(|\b(?:or|else) )({TEXT})")
TEXT_VARIABLES = re.compile(
    rf"\b(?:{'|'.join(name.replace('-', '_') for name in sorted(HUMAN_ATTRIBUTES))}) ?= ?({TEXT})"
)


def literals_in_template(source: str, *, markup: bool = True) -> list[str]:
    """Return untranslated text as "line: text". `markup` is True for HTML and XML."""
    page = _without_tags(source)
    if not markup:
        return [f"{number}: {line.strip()}" for number, line in enumerate(page.split("\n"), 1) if is_literal(line)]
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.literals


def _without_tags(source: str) -> str:
    """Return the template without translated text, and with each tag replaced by the literals that it renders."""
    parts, is_translated = [], False
    for part in TAG.split(source):
        name = part[2:].lstrip("- ").partition(" ")[0] if part.startswith("{%") else ""
        if name in {"trans", "endtrans"}:
            is_translated = name == "trans"
        elif part.startswith(("{%", "{{", "{#")):
            parts += [literal.strip("\"'") for literal in _literals_of_tag(part)]
        elif not is_translated:
            parts.append(part)
            continue
        # Keep line breaks, so that line numbers stay right.
        parts.append("\n" * part.count("\n"))
    return "".join(parts)


def _literals_of_tag(tag: str) -> list[str]:
    """Return the literals that a tag renders."""
    if tag.startswith("{#"):
        return []
    contents = tag[2:-2].strip("- ")
    literals = re.findall(rf"^(?:{TEXT})", contents) if tag.startswith("{{") else []
    return [*literals, *RENDERED.findall(contents), *TEXT_VARIABLES.findall(contents)]


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.literals: list[str] = []
        self.untranslated: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        for name, value in values.items():
            if self.is_visible(tag, name, values) and is_literal(value):
                self.add(f'{name}="{value}"')
        if tag in UNTRANSLATED_ELEMENTS:
            self.untranslated.append(tag)

    def is_visible(self, tag: str, name: str, values: dict[str, str]) -> bool:
        """Return True if the value of the attribute is shown to people."""
        if name.startswith("data-"):
            # Data attributes hold texts for scripts, but also names and numbers. Only a text looks like a sentence.
            return bool(re.match(r"\s*[^\W\d_a-z]", values[name]) or re.search(r"[^\W\d_] [^\W\d_]", values[name]))
        if tag == "meta":
            described_property = values.get("name") or values.get("property", "").removeprefix("og:")
            return name == "content" and described_property in HUMAN_METADATA | HUMAN_ATTRIBUTES
        if tag == "input" and name == "value":
            return values.get("type") in BUTTONS
        return name in HUMAN_ATTRIBUTES

    def handle_endtag(self, tag: str) -> None:
        if self.untranslated and self.untranslated[-1] == tag:
            self.untranslated.pop()

    def handle_data(self, data: str) -> None:
        if not self.untranslated:
            first = self.getpos()[0]
            for number, line in enumerate(data.split("\n"), first):
                if is_literal(line):
                    self.add(line.strip(), number)

    def unknown_decl(self, data: str) -> None:
        self.handle_data(data.removeprefix("CDATA["))

    def close(self) -> None:
        super().close()
        if self.untranslated:
            # An unclosed element would hide all that follows.
            self.add(f"<{self.untranslated[-1]}> is opened more often than closed")

    def add(self, text: str, line: int | None = None) -> None:
        self.literals.append(f"{line or self.getpos()[0]}: {text}")


# Python

HUMAN_NAMES = {"empty_label", "error_messages", "help_text", "help_texts", "label", "labels"}
GETTEXT = re.compile(r"_|n?p?gettext(_lazy|_noop)?")
LEVELS = {"debug", "error", "info", "success", "warning"}


def literals_in_python(source: str) -> list[str]:
    """Return the texts of forms, messages and errors that are not wrapped in gettext, as "line: code"."""
    literals = {}
    for node in ast.walk(ast.parse(source)):
        for value in _visible_values(node):
            if _is_literal_code(value):
                literals[value.lineno, value.col_offset] = f"{value.lineno}: {ast.unparse(value)}"
    return [line for _, line in sorted(literals.items())]


def _visible_values(node: ast.AST) -> Iterator[ast.expr]:
    """Return the expressions of a node whose values are shown to people."""
    match node:
        case ast.keyword(arg=name, value=value) if name in HUMAN_NAMES:
            yield value
        case ast.keyword(arg="choices", value=ast.List(elts=pairs) | ast.Tuple(elts=pairs)):
            yield from (pair.elts[1] for pair in pairs if isinstance(pair, ast.Tuple) and len(pair.elts) == 2)
        case ast.keyword(arg="attrs", value=ast.Dict(keys=keys, values=values)):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value in HUMAN_ATTRIBUTES:
                    yield value
        case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)], value=value) if name in HUMAN_NAMES:
            yield value
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments, keywords=keywords):
            if name == "ValidationError":
                yield from arguments[:1]
            elif name == "add_error":
                yield from arguments[1:2]
            elif name == "add_message":
                yield from arguments[2:3]
            elif name in LEVELS and _name_of(node.func).endswith("messages"):
                yield from arguments[1:2]
            else:
                return
            yield from (keyword.value for keyword in keywords if keyword.arg in {"message", "error"})


def _name_of(function: ast.expr) -> str:
    return ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""


def _is_literal_code(node: ast.expr) -> bool:
    """Return True if the expression contains a literal text."""
    match node:
        case ast.Constant(value=str(text)):
            return is_literal(text)
        case ast.JoinedStr(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            return any(_is_literal_code(part) for part in parts)
        case ast.Dict(values=values):
            return any(_is_literal_code(value) for value in values)
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, op=ast.Add(), right=other):
            return _is_literal_code(one) or _is_literal_code(other)
        case ast.BinOp(left=text, op=ast.Mod()) | ast.Call(func=ast.Attribute(value=text, attr="format")):
            return _is_literal_code(text)
        case ast.Call(func=ast.Name(id=name), args=arguments) if GETTEXT.fullmatch(name):
            # A message that is formatted before the gettext call is not in the catalogue.
            return any(not isinstance(part, ast.Constant) and _is_literal_code(part) for part in arguments)
    return False


# Messages of errors


def untranslated_errors(source: str) -> list[str]:
    """Return the untranslated messages of field errors, as "line: code"."""
    errors = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="FieldError"), args=[_, message, *_]):
                messages = [message]
            case ast.Assign(targets=[ast.Name(id="default_error_messages")], value=ast.Dict(values=messages)):
                pass
            case ast.Assign(targets=[ast.Name(id="message")], value=message):
                messages = [message]
            case _:
                continue
        errors += [f"{message.lineno}: {ast.unparse(message)}" for message in messages if _is_literal_code(message)]
    return errors


def fields_of_errors(source: str) -> set[str]:
    """Return the names of the fields that field errors are raised for."""
    fields = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="FieldError"), args=[ast.Constant(value=str(field)), *_]) if field:
                fields.add(field)
    return fields


# Translations


def parse(po: bytes) -> Catalog:
    """Return the catalogue in a PO file. Raise PoFileError if it is invalid."""
    return read_po(BytesIO(po), locale="pl", abort_invalid=True)


def make_catalogue(text: str) -> Catalog:
    """Return a Polish catalogue with these messages."""
    plural_forms = "nplurals=4; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 ? 1 : n%1==0 ? 2 : 3);"
    return parse(f'msgid ""\nmsgstr "Plural-Forms: {plural_forms}\\n"\n\n{text}'.encode())


def extract(directory: Path, pot: Path) -> Catalog:
    """Return the messages that `make messages` extracts from the files in a directory. `pot` is the file to write them to."""
    keywords = re.search(r"^keywords = (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    options = [
        "--mapping=babel.cfg",
        f"--keywords={keywords}",
        "--add-comments=Translators:",
        "--sort-output",
        f"--output={pot}",
    ]
    with contextlib.chdir(directory):
        CommandLineInterface().run(["pybabel", "--quiet", "extract", *options, "."])
    return parse(pot.read_bytes())


def untranslated(catalog: Catalog) -> list[str]:
    """Return a line for each message that is fuzzy or not translated."""
    lines = []
    for message in catalog:
        forms = message.string if message.pluralizable else [message.string]
        number_of_forms = catalog.num_plurals if message.pluralizable else 1
        if message.fuzzy:
            lines.append(f"fuzzy: {message.id!r}")
        elif len(forms) != number_of_forms or not all(forms):
            lines.append(f"not translated: {message.id!r}")
    return lines


# Placeholders and HTML tags.
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[%ds]|%|\{\w*\}|</?[a-z]\w*")


def disagreements(catalog: Catalog) -> list[str]:
    """Return the translations whose placeholders or number of plural forms do not match the message."""
    errors = []
    for message in catalog:
        if message.pluralizable and len(message.string) != catalog.num_plurals:
            errors.append(f"{message.id!r} has {len(message.string)} forms of {catalog.num_plurals}")
        errors += [
            f"{message.id!r} has other placeholders than {form!r}"
            for form, allowed in _forms(message)
            if form and _placeholders(form) not in map(_placeholders, allowed)
        ]
    return errors


def _forms(message: Message) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return each translation with the messages it may match. The first plural form is for 1 and may omit the number."""
    if not message.id:
        return
    if not message.pluralizable:
        yield message.string, (message.id,)
        return
    for number, form in enumerate(message.string):
        yield form, message.id if number == 0 else message.id[1:]


def _placeholders(text: str) -> list[str]:
    return sorted(PLACEHOLDER.findall(text))
