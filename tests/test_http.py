"""The responses of every route as REDbot's httplint sees them."""

import time

import httpx
import pytest
from httplint import HttpRequestLinter, HttpResponseLinter
from httplint.note import levels

from tests.support.fill import fill_both
from tests.support.fixtures import make_cast, make_other
from tests.support.routes import TABLE, caller, send
from tests.support.tables import undone

# Findings that remain, each with the reason.
EXPLAINED = {
    "CC_CONFLICTING": "`private` is for caches that do not know `no-store`",
    "STORE_PUBLIC_UNNECESSARY": "`public` lets caches store the document although the request may have credentials",
    "CREATED_WITHOUT_LOCATION": "the Forum API has no address for one user",
}


def findings(response: httpx.Response) -> set[str]:
    asked = HttpRequestLinter(start_time=time.time())
    asked.process_request_topline(response.request.method.encode(), str(response.request.url).encode(), b"HTTP/1.1")
    asked.process_headers(response.request.headers.raw)
    asked.finish_content(True)
    answered = HttpResponseLinter(start_time=time.time(), _related=asked)
    answered.process_response_topline(b"HTTP/1.1", str(response.status_code).encode(), b"")
    # The server adds the date.
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()).encode()
    answered.process_headers([*response.headers.raw, (b"Date", date)])
    answered.feed_content(response.content)
    answered.finish_content(True)
    faults = {
        (type(note).__name__, str(note.summary)) for note in answered.notes if note.level in (levels.WARN, levels.BAD)
    }
    return {text for name, text in faults if name not in EXPLAINED}


@pytest.mark.soak
def test_it_works(db):
    world = fill_both(make_cast(), make_other())
    found = {}
    for row in TABLE:
        for user in (world.acme.alice, None):
            with undone({}):
                client = caller(row, world.acme.host, user)
                found[str(row[:2]), user] = findings(send(row, client, world.acme_ids, world.acme_ids))
    assert {request: faults for request, faults in found.items() if faults} == {}
