"""The code of an API example in several languages. Each uses only the standard library of its language.

`examples.js` builds the same code when a field of an example changes. A test compares both.
"""

import re
from dataclasses import asdict, dataclass, field

from django.template.loader import render_to_string

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
