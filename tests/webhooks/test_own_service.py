"""Webhooks to the service itself: known addresses are rejected when they are entered, and all requests are refused."""

import pytest

from core.errors import FieldError
from tests.support.assertions import assert_refused
from tests.support.client import JSONClient
from tests.support.factories import make_client
from tests.support.receiver import add_endpoint, deliver
from tests.support.tables import table
from webhooks.models import check_url


@pytest.fixture
def user_agent(acme, receiver) -> str:
    """Return the User-Agent of requests to webhooks."""
    add_endpoint(acme.account, receiver.url)
    make_client(acme.alice)
    deliver()
    return receiver.requests[0].headers["user-agent"]


@table("host", ["acme.example.test", "example.test", "unknown.example", "203.0.113.5"])
@table("path", ["/", "/app/clients.json", "/app/posts.xml", "/app/sign-in", "/no/such/page"])
def test_it_works(acme, user_agent, host, path):
    """The service refuses requests of webhooks to its names and public addresses, whatever the token permits."""
    client = JSONClient(host, acme.alice_token)
    response = client.post(path, json={"client": {"name": "Loop"}}, headers={"User-Agent": user_agent})
    assert_refused(response, 403, "forbidden", message="A webhook can't call this service")
    assert not acme.account.clients.filter(name="Loop").exists()


@table(
    "url",
    [
        "https://example.test/",
        "https://EXAMPLE.test./x",
        "https://acme.example.test/",
        "https://a.b.c.example.test/",
        "https://api.example.test/app/clients.json?api_token=x",
        "https://ideas.of-other.example/",
        "https://IDEAS.of-other.example./",
        "https://ideas。of-other.example/",
        "https://xn--bcher-kva.example/",
        "https://bücher.example/",
    ],
)
def test_it_rejects_addresses_of_the_service(acme, other, url):
    for name in ("ideas.of-other.example", "xn--bcher-kva.example"):
        other.account.hosts.create(name=name)
    with pytest.raises(FieldError) as caught:
        check_url(url)
    assert (caught.value.field, caught.value.code) == ("url", "own")


def test_a_name_that_contains_the_name_of_the_service_is_another(db):
    for url in ("https://notexample.test/", "https://example.test.example.com/"):
        check_url(url)
