"""The examples of the guide for receivers verify real requests."""

import json
import re
import shutil
import subprocess

import pytest

from core.changes.events import kinds
from tests.support.examples import OUTDATED, ROOT, UPDATING
from tests.support.factories import make_client
from tests.support.receiver import add_endpoint, deliver
from webhooks.messages import TEST_EVENT
from webhooks.models import event_types

GUIDE = (ROOT / "docs" / "webhooks.md").read_text()


def example(language: str, word: str) -> str:
    """Return the only example of the guide in this language that contains the word."""
    blocks = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    [block] = [block for block in blocks if word in block]
    return block


@pytest.fixture
def request_and_secret(acme, receiver):
    _endpoint, secret = add_endpoint(acme.account, receiver.url)
    make_client(acme.alice, "Zażółć")
    deliver()
    return receiver.requests[0], secret


def test_python_with_the_library(request_and_secret):
    request, secret = request_and_secret
    names = {"secret": secret, "headers": request.headers, "body": request.body}
    exec(example("python", "standardwebhooks"), names)  # noqa: S102
    assert names["message"] == request.json


def test_python_without_a_library(request_and_secret):
    request, secret = request_and_secret
    names: dict = {}
    exec(example("python", "import base64, hashlib"), names)  # noqa: S102
    assert names["is_valid"](secret, request.headers, request.body)
    assert not names["is_valid"](secret, request.headers, request.body + b" ")


def test_python_with_the_public_key(acme, request_and_secret):
    request, _secret = request_and_secret
    key = acme.account.webhooks.get().public_key
    names: dict = {}
    exec(example("python", "Ed25519PublicKey"), names)  # noqa: S102
    assert names["is_valid"](key, request.headers, request.body)
    assert not names["is_valid"](key, request.headers, request.body + b" ")
    symmetric = request.headers["webhook-signature"].split(" ")[0]
    assert not names["is_valid"](key, request.headers | {"webhook-signature": symmetric}, request.body)


@pytest.mark.skipif(shutil.which("php") is None, reason="php is missing")
def test_php(request_and_secret):
    request, secret = request_and_secret
    code = f"""<?php {example("php", "function is_valid")}
    $input = json_decode(stream_get_contents(STDIN), true);
    echo json_encode([is_valid(...$input), is_valid($input["secret"], $input["headers"], $input["body"] . " ")]);
    """
    values = {"secret": secret, "headers": request.headers, "body": request.body.decode()}
    arguments = ["php", "-r", code.removeprefix("<?php ")]
    result = subprocess.run(arguments, input=json.dumps(values), capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(result.stdout) == [True, False]


def test_the_guide_has_all_named_events():
    def values(part) -> str:
        return f"`{json.dumps(part)}`" if part else ""

    rows = [
        f"| `{kind.type}` | {values(kind.before)} | {values(kind.after)} | {values(kind.ids)} |"
        for kind in kinds.values()
    ]
    table = re.search(r"(\| event \| `before` \| `after` \| ids in the feed \|\n(?:\|---){4}\|\n)((?:\|.*\n)*)", GUIDE)
    shown = table[2].splitlines()
    if UPDATING:
        (ROOT / "docs" / "webhooks.md").write_text(GUIDE.replace(table[0], table[1] + "\n".join(rows) + "\n"))
    else:
        assert shown == rows, OUTDATED


def test_every_event_of_the_guide_exists():
    named = set(re.findall(r"`([a-z_]+\.(?:created|updated|deleted|restored|test))`", GUIDE))
    assert named <= {*event_types(), TEST_EVENT}
    assert len(named) > 4
