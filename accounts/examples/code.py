"""The code of an API example in several languages. Each uses only the standard library of its language.

`examples.js` builds the same code when a field of an example changes. A test compares both.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

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


# Literals


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


def php_literal(text: str) -> str:
    text = text.replace("\\", "\\\\")
    if not has_control_character(text):
        return "'" + text.replace("'", "\\'") + "'"
    return '"' + escape_control_characters(text.replace('"', '\\"').replace("$", "\\$")) + '"'


def ruby_literal(text: str) -> str:
    text = text.replace("\\", "\\\\")
    if not has_control_character(text):
        return "'" + text.replace("'", "\\'") + "'"
    return '"' + escape_control_characters(text.replace('"', '\\"').replace("#", "\\#")) + '"'


# Programs


def curl(request: ExampleRequest) -> str:
    method = "" if request.method == "GET" else f" -X {request.method}"
    lines = [f"curl{method} {shell_literal(request.url)}"]
    if request.login:
        lines.append(f"-u {shell_literal(f'{request.login}:{PASSWORD_PLACEHOLDER}')}")
    lines += [f"-H {shell_literal(f'{name}: {value}')}" for name, value in request.headers.items()]
    if request.body:
        lines.append(f"-d {shell_literal(request.body)}")
    return " \\\n  ".join(lines)


def php(request: ExampleRequest) -> str:
    headers = [f"        {php_literal(f'{name}: {value}')}," for name, value in request.headers.items()]
    if request.login:
        credentials = php_literal(f"{request.login}:{PASSWORD_PLACEHOLDER}")
        headers.insert(0, f"        'Authorization: Basic ' . base64_encode({credentials}),")
    lines = [
        "<?php",
        "$context = stream_context_create(['http' => [",
        f"    'method' => '{request.method}',",
        *(["    'header' => [", *headers, "    ],"] if headers else []),
        *([f"    'content' => {php_literal(request.body)},"] if request.body else []),
        "    'ignore_errors' => true,",
        "]]);",
        f"echo file_get_contents({php_literal(request.url)}, false, $context);",
    ]
    return "\n".join(lines)


def python(request: ExampleRequest) -> str:
    headers = [f"        {python_literal(name)}: {python_literal(value)}," for name, value in request.headers.items()]
    imports = ["import urllib.error", "import urllib.request", ""]
    if request.login:
        imports.insert(0, "import base64")
        credentials = python_literal(f"{request.login}:{PASSWORD_PLACEHOLDER}")
        headers.insert(0, '        "Authorization": "Basic " + base64.b64encode(credentials.encode()).decode(),')
        imports.append(f"credentials = {credentials}")
    lines = [
        *imports,
        "request = urllib.request.Request(",
        f"    {python_literal(request.url)},",
        f'    method="{request.method}",',
        *(["    headers={", *headers, "    },"] if headers else []),
        *([f"    data={python_literal(request.body)}.encode(),"] if request.body else []),
        ")",
        "try:",
        "    response = urllib.request.urlopen(request)",
        "except urllib.error.HTTPError as error:",
        "    response = error",
        "print(response.read().decode())",
    ]
    return "\n".join(lines)


def javascript(request: ExampleRequest) -> str:
    headers = [
        f"    {javascript_literal(name)}: {javascript_literal(value)}," for name, value in request.headers.items()
    ]
    credentials = []
    if request.login:
        literal = javascript_literal(f"{request.login}:{PASSWORD_PLACEHOLDER}")
        credentials = [f"const credentials = new TextEncoder().encode({literal});"]
        headers.insert(0, '    "Authorization": "Basic " + btoa(String.fromCharCode(...credentials)),')
    lines = [
        *credentials,
        f"const response = await fetch({javascript_literal(request.url)}, {{",
        f'  method: "{request.method}",',
        *(["  headers: {", *headers, "  },"] if headers else []),
        *([f"  body: {javascript_literal(request.body)},"] if request.body else []),
        "});",
        "console.log(await response.text());",
    ]
    return "\n".join(lines)


def ruby(request: ExampleRequest) -> str:
    lines = [
        'require "net/http"',
        "",
        f"uri = URI({ruby_literal(request.url)})",
        f"request = Net::HTTP::{request.method.capitalize()}.new(uri)",
    ]
    if request.login:
        lines.append(f"request.basic_auth {ruby_literal(request.login)}, {ruby_literal(PASSWORD_PLACEHOLDER)}")
    lines += [f"request[{ruby_literal(name)}] = {ruby_literal(value)}" for name, value in request.headers.items()]
    if request.body:
        lines.append(f"request.body = {ruby_literal(request.body)}")
    lines += [
        'response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https") { |http| http.request(request) }',
        "puts response.body",
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class CodeLanguage:
    key: str
    name: str
    write: Callable[[ExampleRequest], str]


CODE_LANGUAGES = {
    language.key: language
    for language in (
        CodeLanguage("curl", "curl", curl),
        CodeLanguage("php", "PHP", php),
        CodeLanguage("python", "Python", python),
        CodeLanguage("javascript", "JavaScript", javascript),
        CodeLanguage("ruby", "Ruby", ruby),
    )
}


def code_language(key: str | None) -> CodeLanguage:
    """Return the language with this key, or curl if there is none."""
    return CODE_LANGUAGES.get(key or "", CODE_LANGUAGES["curl"])
