"""Swagger UI at /app/docs/swagger, and its static files."""

import gzip
import re

from django.core.management import call_command

from tests.support.client import Client

SWAGGER_UI = "/static/drf_spectacular_sidecar/swagger-ui-dist"


def test_it_works(acme):
    response = Client(acme.host).get("/app/docs/swagger")
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
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', client.get("/app/docs/swagger").text)
    assert len(files) == 4
    for file in files:
        response = client.get(file)
        assert response.status_code == 200, file
        assert response.headers["Cache-Control"] == "max-age=60, public"


def test_the_page_is_served_at_the_hosts_of_both_apis(acme):
    for host in ("acme.example.test", "example.test", "api.example.test"):
        client = Client(host)
        page = client.get("/app/docs/swagger")
        assert (page.status_code, client.head("/app/docs/swagger").status_code) == (200, 200)
        assert client.get(f"{SWAGGER_UI}/swagger-ui.css").status_code == 200
        # A link to the pages, at hosts that have pages.
        assert ('href="/app/account/api"' in page.text) == host.startswith("acme")


def test_a_visitor_gets_no_csrf_token(acme):
    response = Client(acme.host).get("/app/docs/swagger")
    assert "data-csrf-token" not in response.text
    assert (response.headers["Cache-Control"], response.headers["Vary"]) == ("public, max-age=60", "Cookie")
    assert "Set-Cookie" not in response.headers


def test_a_signed_in_user_can_send_requests_with_the_session(acme):
    bob = acme.page(acme.bob)
    response = bob.get("/app/docs/swagger")
    assert response.headers["Cache-Control"] == "private, no-store"
    csrf = response.html.find(id="interface")["data-csrf-token"]
    assert bob.get("/app/account.json", headers={"X-CSRFToken": csrf}).json["prefix"] == "acme"
    assert bob.get("/app/account.json", expect_errors=True).status_int == 401
    member = acme.page(acme.carol)
    csrf = member.get("/app/docs/swagger").html.find(id="interface")["data-csrf-token"]
    assert member.get("/app/account.json", headers={"X-CSRFToken": csrf}, expect_errors=True).status_int == 403


def test_the_recommended_credentials_come_first(acme):
    document = Client(acme.host).get("/app/openapi.json").json()
    assert list(document["components"]["securitySchemes"]) == ["bearer", "api_token", "basic"]
    tags = [tag["name"] for tag in document["tags"]]
    assert tags[-2:] == ["Forum API (XML)", "Documentation"]
    assert set(tags) == {operation["tags"][0] for path in document["paths"].values() for operation in path.values()}


def test_it_rejects_an_unknown_host(acme):
    client = Client("nobody.example.test")
    assert client.get("/app/docs/swagger").status_code == 404
    assert client.get(f"{SWAGGER_UI}/swagger-ui.css").status_code == 404


def test_it_rejects_unknown_files(acme):
    for path in ("/static/", "/static/nothing.js", "/static/%2e%2e/manage.py"):
        response = Client(acme.host).get(path)
        assert response.status_code == 404
        assert response.text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<errors>')


def test_the_page_needs_no_request_to_another_host(acme):
    client = Client(acme.host)
    script = client.get("/static/core/pages/interface.js").text
    assert "validatorUrl: null" in script
    assert 'const { document: address, csrfToken } = document.getElementById("interface").dataset;' in script
    assert "url: address," in script
    assert '<div id="interface" data-document="/app/openapi.json"></div>' in client.get("/app/docs/swagger").text


def test_files_are_collected_compressed_and_named_by_their_hash(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    backend = "whitenoise.storage.CompressedManifestStaticFilesStorage"
    settings.STORAGES = {"staticfiles": {"BACKEND": backend}}
    # Compressing the large files takes long.
    large = ["redoc", "rest_framework", "*.js.map", "*-bundle.js", "*-preset.js"]
    call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=large)
    assert (tmp_path / "staticfiles.json").exists()
    (script,) = (tmp_path / "core" / "pages").glob("interface.????????????.js")
    assert script.read_bytes() == (tmp_path / "core" / "pages" / "interface.js").read_bytes()
    (styles,) = tmp_path.glob("drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.????????????.css.gz")
    assert gzip.decompress(styles.read_bytes())
