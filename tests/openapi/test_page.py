"""Swagger UI at /app/docs, and its static files."""

import gzip
import re

import pytest
from django.core.management import call_command

from tests.support.client import Client

SWAGGER_UI = "/static/drf_spectacular_sidecar/swagger-ui-dist"


def test_it_works(acme):
    response = Client(acme.host).get("/app/docs")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    # The page has no external resources and no inline code that the content security policy would block.
    assert not re.search(r"https?://|<script>|<style| style=| on[a-z]+=", response.text)
    assert '<a href="/app/openapi.json">' in response.text.partition("<noscript>")[2].partition("</noscript>")[0]


def test_all_referenced_files_are_served(acme):
    client = Client(acme.host)
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', client.get("/app/docs").text)
    assert len(files) == 4
    for file in files:
        response = client.get(file)
        assert response.status_code == 200, file
        assert response.headers["Cache-Control"] == "max-age=60, public"


@pytest.mark.parametrize("host", ["acme.example.test", "example.test", "api.example.test"])
def test_the_page_is_served_at_the_hosts_of_both_apis(acme, host):
    client = Client(host)
    assert client.get("/app/docs").status_code == 200
    assert client.head("/app/docs").status_code == 200
    assert client.get(f"{SWAGGER_UI}/swagger-ui.css").status_code == 200
    # A link to the pages, at hosts that have pages.
    assert ('href="/app/account/api"' in client.get("/app/docs").text) == host.startswith("acme")


def test_it_rejects_an_unknown_host(acme):
    client = Client("nobody.example.test")
    assert client.get("/app/docs").status_code == 404
    assert client.get(f"{SWAGGER_UI}/swagger-ui.css").status_code == 404


@pytest.mark.parametrize("path", ["/static/", "/static/nothing.js", "/static/%2e%2e/manage.py"])
def test_it_rejects_unknown_files(acme, path):
    response = Client(acme.host).get(path)
    assert response.status_code == 404
    assert response.text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<errors>')


def test_the_page_needs_no_request_to_another_host(acme):
    client = Client(acme.host)
    script = client.get("/static/core/interface.js").text
    assert "validatorUrl: null" in script
    assert 'url: document.getElementById("interface").dataset.document' in script
    assert '<div id="interface" data-document="/app/openapi.json"></div>' in client.get("/app/docs").text


def test_files_are_collected_compressed_and_named_by_their_hash(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    backend = "whitenoise.storage.CompressedManifestStaticFilesStorage"
    settings.STORAGES = {"staticfiles": {"BACKEND": backend}}
    call_command("collectstatic", interactive=False, verbosity=0)
    assert (tmp_path / "staticfiles.json").exists()
    (script,) = (tmp_path / "core").glob("interface.????????????.js")
    assert script.read_bytes() == (tmp_path / "core" / "interface.js").read_bytes()
    (bundle,) = tmp_path.glob("drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.????????????.js.gz")
    assert gzip.decompress(bundle.read_bytes())
