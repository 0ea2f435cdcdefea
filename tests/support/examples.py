"""Run the examples of the documents in order against the demo account.

A console block has `curl` lines, each with its response:

    $ curl -u "demo:$PASSWORD" http://demo.localhost:8000/app/users/me.xml
    HTTP/1.1 200 OK

    <?xml …

If the last line of a response is …, the document shows only its beginning. $CURSOR is the last cursor returned.

Other documents are pasted into a shell as a whole. They have sh blocks, each followed by an http block with its responses.
There, `…}` ends an object that has more fields than shown.

Values that change from run to run (times, account ids, new tokens, cursors) are shown as fixed samples. `make docs` sets
UPDATE_DOCS=1: the responses are then written into the documents instead of compared, by tests that run in one process. If a created row
has another id than the document shows, the later commands get the new id.
"""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.support.client import Client

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.DOTALL)
HTTP_BLOCK = re.compile(r"(?<=^```http\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
PASTE_COMMAND = re.compile(r"^\$ (sed .*)$", re.MULTILINE)
SHOWN_HEADERS = (
    "Location",
    "Link",
    "Allow",
    "WWW-Authenticate",
    "X-Ignored-Fields",
    "X-Ignored-Parameters",
    "X-Pending-Links",
    "Idempotent-Replayed",
)
CREATED = re.compile(r"^Location: \S+/(\d+)\.\w+$", re.MULTILINE)
# The ids in a command: in the path, in the query, and in a JSON body.
IDS = re.compile(r"""(?<=/app/)[a-z_/]+\d+|(?<=_id=)\d+|(?<=view=)\d+|(?<=_id": )\d+|(?<=ids": \[)[\d, ]+""")
UPDATING = os.environ.get("UPDATE_DOCS") == "1"
OUTDATED = "the response differs from the document; if the change is intended, run `make docs`"

# The placeholder for fields that are not shown.
MORE = "…"

# The reason phrases of the server. Those of Python depend on its version: 3.13 changed them.
PHRASES = {413: "Payload Too Large", 422: "Unprocessable Entity"}

SAMPLES = (
    (re.compile(r"whsec_[A-Za-z0-9+/]{43}="), "whsec_MfKQ…"),
    (re.compile(r"whpk_[A-Za-z0-9+/]{43}="), "whpk_Pnsb…"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d"), "2026-11-21T12:00:00+00:00"),
    (re.compile(r'"id": \d{10,16}\b'), '"id": 271828182845904'),
    (re.compile(r'"id": "[0-9a-f]{16}"'), '"id": "c34a703b3e52b1d9"'),
    (re.compile(r"[A-Za-z0-9]{32}/"), "x7Kq…/"),
    (re.compile(r"\.txt\?token=[A-Za-z0-9%+_-]+"), ".txt?token=x7Kq…"),
    (re.compile(r"tasks\.ics\?token=[A-Za-z0-9_-]+"), "tasks.ics?token=x7Kq…"),
    (re.compile(r'"cursor": "[A-Za-z0-9_=-]{32}"'), '"cursor": "AAAAAAAAAA0ABkb…"'),
)


@dataclass
class Example:
    command: str
    shown: str
    method: str = "GET"
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    auth: tuple[str, str] | None = None
    # The status of the response, and a variable for later examples.
    status: int = 0
    cursor: str | None = None

    def read(self, variables: dict[str, str]) -> None:
        """Parse the command. Raise AssertionError for an option that is not supported here."""
        for name, value in variables.items():
            self.command = _expand(self.command, name, value)
        words = shlex.split(self.command.replace("\\\n", " "))
        assert words.pop(0) == "curl"
        method, globbing = None, True
        while words:
            word = words.pop(0)
            if word == "-X":
                method = words.pop(0)
            elif word == "-I":
                method = "HEAD"
            elif word == "-g":
                globbing = False
            elif word == "-H":
                name, _, value = words.pop(0).partition(": ")
                self.headers[name] = value
            elif word == "-d":
                self.body = words.pop(0)
            elif word == "-u":
                login, _, password = words.pop(0).partition(":")
                self.auth = (login, password)
            else:
                assert not word.startswith("-"), f"{word} is not supported in {self.command}"
                self.url = word
        assert not (globbing and set(self.url) & set("[]{}")), (
            f"curl interprets the brackets as a pattern, write -g: {self.command}"
        )
        self.method = method or ("POST" if self.body is not None else "GET")

    def run(self) -> str:
        """Send the request, and return the response as the document shows it."""
        address = urlsplit(self.url)
        headers = dict(self.headers)
        if self.body is not None:
            headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        with Client(address.netloc, auth=self.auth) as client:
            client.headers["User-Agent"] = "curl/8.5.0"
            path = address.path + (f"?{address.query}" if address.query else "")
            response = client.request(self.method, path, headers=headers, content=(self.body or "").encode())
        self.status = response.status_code
        phrase = PHRASES.get(response.status_code) or HTTPStatus(response.status_code).phrase
        body = "" if self.method == "HEAD" else response.text
        if body and response.headers["Content-Type"] == "application/json":
            data = json.loads(body)
            self.cursor = data.get("cursor") if isinstance(data, dict) else None
        return shown(f"HTTP/1.1 {response.status_code} {phrase}", response.headers, body)


def shown(status: str, headers: Mapping[str, str], body: str, outline: Any = None) -> str:
    """Return a response as a document shows it: relevant headers, indented JSON, samples."""
    lines = [status, *(f"{name}: {headers[name]}" for name in SHOWN_HEADERS if name in headers)]
    if body and headers["Content-Type"] == "application/json":
        body = pretty(_cut(json.loads(body), outline)).replace(f'"{MORE}": null', MORE) + "\n"
    text = "\n".join(lines) + "\n" + (f"\n{body}" if body else "")
    for pattern, sample in SAMPLES:
        text = pattern.sub(sample, text)
    return text


def _cut(value: Any, outline: Any) -> Any:
    """Return `value` with only the fields of its outline, where the outline is shortened."""
    if isinstance(value, dict) and isinstance(outline, dict):
        more = MORE in outline
        fields = {name: _cut(inner, outline.get(name)) for name, inner in value.items() if name in outline or not more}
        return fields | {MORE: None} if more else fields
    if isinstance(value, list) and isinstance(outline, list) and outline:
        return [_cut(inner, outline[0]) for inner in value]
    return value


def _expand(command: str, name: str, value: str) -> str:
    """Expand a variable as a shell does: in double quotes or unquoted, not in single quotes."""
    parts = command.split("'")
    return "'".join(part.replace(f"${name}", value) if not index % 2 else part for index, part in enumerate(parts))


def pretty(value, margin: str = "") -> str:
    """Return JSON with short lists and objects on one line."""
    short = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(margin) + len(short) <= 110:
        return short
    inner = margin + "  "
    if isinstance(value, dict):
        items = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {pretty(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{margin}}}"
    return "[\n" + ",\n".join(inner + pretty(item, inner) for item in value) + f"\n{margin}]"


def examples_of(block: str) -> Iterator[Example]:
    """Return the examples of a block. Each is a line that starts with `$ ` and its response.

    Backslashes and open quotes continue the line.
    """
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        last = 0
        while lines[last].endswith("\\") or "\n".join(lines[: last + 1]).count("'") % 2:
            last += 1
        yield Example("\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :]).rstrip("\n") + "\n")


def truncate_like(response: str, shown: str) -> str:
    """Return the beginning of a response that has as many lines as the document shows."""
    lines = response.split("\n")
    length = shown.count("\n") - 1
    return "\n".join([*lines[:length], "…", ""]) if len(lines) > length + 1 else response


def run_document(path: Path, variables: dict[str, str]) -> list[Example]:
    """Run every example of a document in order. Raise AssertionError at the first response that differs."""
    examples = []
    # The new ids of created rows, by the ids that the document shows.
    ids: dict[str, str] = {}

    def replace_ids(match: re.Match) -> str:
        return re.sub(r"\d+", lambda number: ids.get(number[0], number[0]), match[0])

    def run_block(match: re.Match) -> str:
        texts = []
        for example in examples_of(match[0]):
            command = example.command = IDS.sub(replace_ids, example.command)
            example.read(variables)
            response = example.run()
            if example.shown.endswith("\n…\n"):
                response = truncate_like(response, example.shown)
            if UPDATING and (former := CREATED.search(example.shown)) and (created := CREATED.search(response)):
                ids[former[1]] = created[1]
            if example.cursor:
                variables["CURSOR"] = example.cursor
            if not UPDATING:
                assert response == example.shown, f"{path.name}: {OUTDATED}: $ {command}"
            examples.append(example)
            texts.append(f"$ {command}\n{response}")
        return "\n".join(texts) if texts else match[0]

    text = path.read_text()
    updated = BLOCK.sub(run_block, text)
    if UPDATING:
        path.write_text(updated)
    return examples


def paste(path: Path, environment: Mapping[str, str]) -> list[str]:
    """Run all sh blocks of a document with the `$ sed …` command in its text, and return the output of curl -i for each."""
    command = PASTE_COMMAND.search(path.read_text())[1]
    completed = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert completed.returncode == 0, completed.stdout[-2000:] + completed.stderr
    return re.split(r"^(?=HTTP/)", completed.stdout.replace("\r\n", "\n"), flags=re.MULTILINE)[1:]


def compare_pasted(path: Path, responses: list[str], address: str) -> None:
    """Assert that the document shows these responses; `address` replaces localhost:8000."""
    remaining = iter(responses)

    def compare_block(match: re.Match) -> str:
        texts = []
        for text in re.split(r"\n(?=HTTP/)", match[0]):
            _, _, expected = text.partition("\n\n")
            head, _, body = next(remaining).replace(address, "localhost:8000").partition("\n\n")
            status, *lines = head.split("\n")
            headers = httpx.Headers([line.split(": ", 1) for line in lines])
            outline = re.sub(rf"{MORE}(?=\s*}})", f'"{MORE}": null', expected)
            response = shown(status.strip(), headers, body.strip(), json.loads(outline))
            if not UPDATING:
                assert response == text.rstrip("\n") + "\n", f"{path.name}: {OUTDATED}"
            texts.append(response)
        return "\n".join(texts)

    updated = HTTP_BLOCK.sub(compare_block, path.read_text())
    assert list(remaining) == []
    if UPDATING:
        path.write_text(updated)
