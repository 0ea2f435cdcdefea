"""`make dev`: changed code is served after a reload, and an unexpected exception shows Django's debug page."""

import re
import shutil
import sys
from fnmatch import fnmatch

import httpx
import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from django.conf import settings

from tests.support.service import READY

COMMAND = (sys.executable, "-m", "config.local", "--dev")
# Appended to a module of routes: a page with an unexpected exception.
BROKEN_PAGE = """
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

@csrf_exempt
def broken_page(request):
    raise ZeroDivisionError("raised by a changed view")

urlpatterns = [path("app/broken", broken_page), *urlpatterns]
"""
# An address with a password, as shells have them in the variables of other programs.
ADDRESS = "https://ann:hidden-1@example.com"


@pytest.fixture
def tree(tmp_path):
    """Return a copy of the code, for a test that changes it."""
    ignored = shutil.ignore_patterns(".*", "tests", "bench")
    return shutil.copytree(settings.BASE_DIR, tmp_path / "tree", ignore=ignored)


def append(path, text):
    path.write_text(path.read_text() + text)


@pytest.mark.soak
def test_it_works(start_service, tree):
    service = start_service(command=COMMAND, tree=tree, LOG_LEVEL="DEBUG", PIP_INDEX_URL=ADDRESS)
    service.wait_for_output(READY)
    # Changes before that are not noticed.
    service.wait_for(lambda: watching_processes(service) == 2)
    headers = {"Accept": "text/html", "Accept-Language": "pl"}
    with httpx.Client(base_url=f"http://localhost:{service.port}", headers=headers) as client:
        check_static_files(client, tree)
        check_templates(client, tree)
        check_catalogues(client, tree, service)
        # These needed no new process.
        assert "reloading" not in service.output()
        check_python(client, tree, service)
        check_debug_page(client, service)


def watching_processes(service):
    """Return the number of processes that have begun to watch the module that `check_python` changes."""
    return service.output().count("config/urls.py first seen")


def check_static_files(client, tree):
    path = "/static/core/pages/rostrum.css"
    assert f'"{path}"' in client.get("/").text
    append(tree / "core" / "pages" / "static" / "rostrum.css", "/* a changed style */")
    response = client.get(path)
    assert response.text.endswith("/* a changed style */")
    assert response.headers["Cache-Control"] == "max-age=0, public"


def check_templates(client, tree):
    room, subject, template = settings.PAGE_TEMPLATE.split("/")
    append(tree / room / subject / "templates" / template, "<!-- a changed template -->")
    assert client.get("/").text.endswith("<!-- a changed template -->")


def check_catalogues(client, tree, service):
    catalogue = tree / "locale" / "pl" / "LC_MESSAGES" / "django.po"
    with catalogue.open("rb") as file:
        messages = read_po(file)
    assert messages["Sign in"].string in client.get("/").text
    messages["Sign in"].string = "Zmieniony tekst"
    with catalogue.with_suffix(".mo").open("wb") as file:
        write_mo(file, messages)
    service.wait_for(lambda: "Zmieniony tekst" in client.get("/").text)


def check_python(client, tree, service):
    """Change a module that both processes import. A syntax error in between ends neither of them."""
    routes = tree / "config" / "urls.py"
    assert client.get("/app/broken").status_code == 404
    before = routes.read_text()
    routes.write_text(before + "urlpatterns = [")
    service.wait_for(lambda: "SyntaxError" in service.output() and watching_processes(service) == 3)
    routes.write_text(before + BROKEN_PAGE)
    service.wait_for(lambda: service.is_healthy() and client.get("/app/broken").status_code == 500)
    service.wait_for(lambda: service.output().count(" started with 4 threads") == 2)
    assert "ended unexpectedly" not in service.output()


def check_debug_page(client, service):
    response = client.post(
        "/app/broken?page=2",
        data={"login": "ann", "password": "hidden-2", "api_token": "hidden-3"},
        headers={"Authorization": "Bearer hidden-4", "Cookie": "session=hidden-5"},
    )
    assert response.status_code == 500
    page = response.text
    for text in ("ZeroDivisionError", "raised by a changed view", "config/urls.py", "broken_page", "DATABASES"):
        assert text in page
    # Browsers run the script of the page and apply its style.
    assert "<script>" in page
    assert "Content-Security-Policy" not in response.headers
    assert not re.findall("hidden-.*", page)
    assert (service.data / "secret_key").read_text() not in page


def test_the_container_image_has_no_debug_settings():
    patterns = (settings.BASE_DIR / ".dockerignore").read_text().splitlines()
    assert "config/local/*" in patterns
    assert not any(
        fnmatch("config/local/dev_settings.py", pattern.removeprefix("!"))
        for pattern in patterns
        if pattern.startswith("!")
    )
