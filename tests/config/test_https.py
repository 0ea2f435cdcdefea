"""Plain http is redirected, served, or served only for both APIs, depending on HTTPS."""

import runpy

import pytest

from config import settings as settings_module
from config.wsgi import application
from tests.support.client import Client, JSONClient
from tests.support.factories import PASSWORD
from tests.support.tables import table

ALICE = ("alice", PASSWORD)
HTML = {"Accept": "text/html"}


@pytest.fixture
def https(settings, monkeypatch):
    """Return a function that applies a value of the environment variable HTTPS."""

    def set_https(mode: str) -> None:
        monkeypatch.setenv("HTTPS", mode)
        loaded = runpy.run_path(settings_module.__file__)
        for name in ("HTTPS", "HTTPS_FOR_PAGES_ONLY", "SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS"):
            setattr(settings, name, loaded[name])
        monkeypatch.setattr(application.django, "_middleware_chain", None)
        application.django.load_middleware()

    yield set_https
    monkeypatch.undo()
    application.django.load_middleware()


API_REQUESTS = {
    "JSON": lambda acme: acme.json().post("/app/clients.json", json={"client": {"name": "Ann"}}),
    "JSON with a slash": lambda acme: acme.json().get("/app/clients.json/"),
    "XML": lambda acme: acme.xml().send_xml("POST", "/app/posts.xml", "<post><title>a</title></post>"),
    "XML of the first category": lambda acme: acme.xml().get("/"),
    "XML of a category": lambda acme: acme.xml().get("/General"),
}
PAGE_REQUESTS = {
    "the forum": lambda acme: Client(acme.host).get("/?order=top", headers=HTML),
    "a category": lambda acme: Client(acme.host).get("/General?order=top", headers=HTML),
    "the settings": lambda acme: Client(acme.host).get("/app/account?order=top"),
    "a form": lambda acme: Client(acme.host).post("/app/sign-in?order=top", data={"login": "alice"}),
}


@table(
    ("mode", "redirected"),
    [("off", set()), ("pages", set(PAGE_REQUESTS)), ("on", {*API_REQUESTS, *PAGE_REQUESTS})],
)
def test_it_works(acme, https, mode, redirected):
    https(mode)
    for name, request in (API_REQUESTS | PAGE_REQUESTS).items():
        response = request(acme)
        assert (response.status_code == 301) == (name in redirected), name
        if name in redirected:
            assert response.headers["Location"].startswith(f"https://{acme.host}/"), name
            assert response.headers["Location"].endswith("?order=top") or name in API_REQUESTS, name
        else:
            assert response.status_code < 400 or name == "a form", name


def test_nothing_is_redirected_over_https(acme, https, settings):
    settings.TRUST_PROXY = "forwarded"
    https("pages")
    client = JSONClient(acme.host, acme.bob_token)
    client.headers["Forwarded"] = "for=192.0.2.1;proto=https"
    assert client.get("/app/clients.json").status_code == 200
    assert client.get("/", headers=HTML).status_code == 200
