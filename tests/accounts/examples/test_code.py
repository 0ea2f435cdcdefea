"""The code of the examples: each language sends the request that the example describes."""

import json
import shutil
import subprocess
import threading
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.examples import operations
from accounts.examples.operations import CODE_LANGUAGES, ExampleRequest, FilledExample, document_body, examples

# The interpreter of each language, and the suffix of its files.
INTERPRETERS = {
    "curl": (["sh"], "sh"),
    "php": (["php", "-n"], "php"),
    "python": (["python3", "-I"], "py"),
    "javascript": (["node"], "mjs"),
    "ruby": (["ruby"], "rb"),
}
each_language = pytest.mark.parametrize(
    "key",
    [
        pytest.param(
            key, marks=pytest.mark.skipif(not shutil.which(command[0]), reason=f"{command[0]} is not installed")
        )
        for key, (command, _suffix) in INTERPRETERS.items()
    ],
)
# The headers that the examples set. The libraries add others.
HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "Prefer", "X-Atomic", "If-None-Match")
HOSTILE = "'; echo \"$HOME\" `id` $(id) ${id} #{id} \\' \\\\ \"\"\" ''' <?php ?> </code> \t\r\x01\x7f\u2028 Łódź 😀 \\"


class Recorder(BaseHTTPRequestHandler):
    """A server that records the requests and answers each with its number."""

    received: list[tuple]

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        headers = {name: self.headers[name] for name in HEADERS if name in self.headers}
        # Libraries add this type to requests without a body.
        if not body:
            headers.pop("Content-Type", None)
        if headers.get("Authorization", "").startswith("Basic "):
            headers["Authorization"] = b64decode(headers["Authorization"][6:]).decode()
        self.received.append((self.command, self.path, headers, body))
        content = f"answer {len(self.received)}\n".encode()
        self.send_response(404 if len(self.received) % 2 else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815, the names of http.server

    def log_message(self, *args) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    handler = type("Handler", (Recorder,), {"received": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def join(key: str, programs: list[str]) -> str:
    """Return one program that runs all programs, because an interpreter takes longer to start than to send a request."""
    if key == "javascript":
        return "\n".join(f"{{\n{program}\n}}" for program in programs)
    if key == "php":
        return "<?php\n" + "\n".join(f"{program.removeprefix('<?php')}\n" for program in programs)
    return "\n".join(programs) + "\n"


def run(key: str, program: str, tmp_path) -> str:
    command, suffix = INTERPRETERS[key]
    path = tmp_path / f"program.{suffix}"
    path.write_bytes(program.encode())
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    done = subprocess.run([*command, str(path)], capture_output=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return done.stdout.decode()


def expected(request: ExampleRequest, address: str) -> tuple:
    headers = dict(request.headers)
    if request.login:
        headers["Authorization"] = f"{request.login}:PASSWORD"
    return request.method, request.url.removeprefix(address), headers, request.body


def send_all(key: str, requests: list[ExampleRequest], server, tmp_path) -> None:
    address = f"http://127.0.0.1:{server.server_address[1]}"
    programs = [CODE_LANGUAGES[key].write(request) for request in requests]
    output = run(key, join(key, programs), tmp_path)
    received = server.RequestHandlerClass.received
    assert received == [expected(request, address) for request in requests]
    # Each program prints the response, even if it is an error.
    assert output.split() == [word for number in range(1, len(requests) + 1) for word in ("answer", str(number))]


@each_language
def test_it_works(key, server, tmp_path):
    """Every example sends the same request in every language."""
    address = f"http://127.0.0.1:{server.server_address[1]}"
    requests = [
        FilledExample(
            example,
            address,
            "ann",
            {parameter.key: parameter.example for parameter in example.parameters},
            document_body(example),
        ).request
        for example in examples().values()
    ]
    assert {request.method for request in requests} == {"GET", "POST", "PUT", "PATCH", "DELETE"}
    send_all(key, requests, server, tmp_path)


@each_language
def test_it_rejects_no_text(key, server, tmp_path):
    """Texts with special characters of the language are sent unchanged, also at their end."""
    address = f"http://127.0.0.1:{server.server_address[1]}"
    url = f"{address}/it's%20%22$HOME%60"
    headers = {"Prefer": '"it\'s" \\ `id` $(id) #{id}', "Content-Type": "text/plain"}
    ends = ["", "\n", '"', '""', "'", "\\", '\n\\"""', "`", "?>"]
    requests = [ExampleRequest("POST", url, "", headers, HOSTILE + end) for end in ends]
    login = ExampleRequest("GET", address + "/", '"Łucja" o\'Hara \\ $HOME #{id} `id`')
    send_all(key, [*requests, login], server, tmp_path)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")) | st.text("'\"\\`$#{}\n\r?><")
# Programs that print literals as a JSON array.
PRINT = {
    "php": (operations.php_literal, "<?php\necho json_encode([{}]);"),
    "python": (operations.python_literal, "import json\nprint(json.dumps([{}]))"),
    "javascript": (operations.javascript_literal, "console.log(JSON.stringify([{}]));"),
    "ruby": (operations.ruby_literal, 'require "json"\nputs JSON.generate([{}])'),
}


@each_language
@settings(max_examples=3, deadline=None)
@given(values=st.lists(texts, min_size=100, max_size=100))
def test_literals_mean_their_texts(key, tmp_path_factory, values):
    if key == "curl":
        program = "".join(f"printf '%s\\0' {operations.shell_literal(value)}\n" for value in values)
        assert run(key, program, tmp_path_factory.mktemp("sh")).split("\0")[:-1] == values
        return
    literal, program = PRINT[key]
    output = run(key, program.replace("{}", ", ".join(map(literal, values))), tmp_path_factory.mktemp(key))
    assert json.loads(output) == values
