"""Fixtures of the browser tests: Chromium at acme's forum, with the static files of production."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connections
from django.test import override_settings
from playwright.sync_api import Browser, BrowserContext, Page, expect

from accounts.sessions.models import Session
from accounts.users.models import User
from config.wsgi import Application
from tests.support.chromium import ORIGIN, PROGRAM, TIMEOUT_MS, Faults, running
from tests.support.every_page import World
from tests.support.fixtures import Cast, committed, make_cast
from tests.support.live import Threaded, serving

expect.set_options(timeout=TIMEOUT_MS)

# Compression takes long, and the browser needs none.
HASHED_STATIC_FILES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"}}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skipif(PROGRAM is None, reason="needs Chromium, which is not installed"))


@pytest.fixture(scope="package")
def chromium(tmp_path_factory) -> Iterator[Browser]:
    """Start a browser, and the service at every host of example.test."""
    # Imported here, because the middleware reads the settings.
    from django.core.handlers.wsgi import WSGIHandler

    static = tmp_path_factory.mktemp("static")
    with pytest.MonkeyPatch.context() as patch:
        # Django would refuse database queries, because Playwright keeps an event loop running in this thread.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        with override_settings(STORAGES=HASHED_STATIC_FILES, STATIC_ROOT=static, WHITENOISE_USE_FINDERS=False):
            # Leave out large files that no page uses.
            unused = ["redoc", "rest_framework", "*-preset.js*"]
            call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=unused)
            application = Application(WSGIHandler())
            with serving(application, server_class=Threaded) as port, running(port) as browser:
                yield browser
                # While the loop runs, this thread has separate database connections.
                connections.close_all()


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker, chromium) -> Iterator[World]:
    """Commit the rows of the pages, for tests of a module that only read them and are marked with `django_db`."""
    with committed(django_db_blocker):
        yield World(make_cast())


@pytest.fixture(scope="package")
def watched() -> Faults:
    """Collect the faults of all browser contexts."""
    return Faults()


@pytest.fixture
def faults(watched) -> Iterator[Faults]:
    """Fail the test if a browser context has a fault during it."""
    watched.clear()
    yield watched
    assert watched == []


@contextlib.contextmanager
def contexts(chromium: Browser, watched: Faults) -> Iterator[Callable[..., BrowserContext]]:
    """Yield a function that opens browser contexts at acme's forum, and close them at the end."""
    open_contexts = []

    def open_context_with(
        *, secret: str = "", javascript: bool = True, theme: str = "light", width: int = 1200, language: str = "en"
    ) -> BrowserContext:
        context = chromium.new_context(
            base_url=ORIGIN,
            java_script_enabled=javascript,
            color_scheme=theme,
            viewport={"width": width, "height": 800},
            locale=language,
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
        )
        open_contexts.append(context)
        context.set_default_timeout(TIMEOUT_MS)
        watched.watch(context)
        if secret:
            context.add_cookies([{"name": "session", "value": secret, "url": ORIGIN}])
        return context

    yield open_context_with
    for context in open_contexts:
        context.close()


@pytest.fixture(scope="module")
def open_context(chromium, watched) -> Iterator[Callable[..., BrowserContext]]:
    """Return a function that opens contexts which the tests of a module share, with the session of `secret` if it is given."""
    with contexts(chromium, watched) as open_context_with:
        yield open_context_with


@pytest.fixture
def browse(chromium, watched, faults) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page at acme's forum in a context of its own, signed in as the user if one is given."""
    with contexts(chromium, watched) as open_context_with:

        def open_page(user: User | None = None, **options) -> Page:
            secret = "" if user is None else Session.objects.start(user)[1]
            return open_context_with(secret=secret, **options).new_page()

        yield open_page


# Fixtures of the user stories


@pytest.fixture
def acme(transactional_db, acme) -> Cast:
    """Commit the cast, because the service has its own connections."""
    return acme
