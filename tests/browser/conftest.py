"""Chromium at acme's forum, with the static files that production serves."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connections
from django.test import override_settings
from playwright.sync_api import Browser, Page

from accounts.models import Session, User
from config.wsgi import Application
from tests.browser.chromium import ORIGIN, PROGRAM, Faults, running
from tests.browser.pages import World
from tests.client import Everybody
from tests.factories import make_account, make_token, make_user
from tests.fixtures import Cast
from tests.live import Threaded, serving

COLLECTED = {"staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skipif(PROGRAM is None, reason="needs Chromium, which is not installed"))


@pytest.fixture(scope="package")
def chromium(tmp_path_factory) -> Iterator[Browser]:
    """A browser, and the service that it finds at every host of example.test."""
    # Imported here, as the middleware reads the settings.
    from django.core.handlers.wsgi import WSGIHandler

    static = tmp_path_factory.mktemp("static")
    with pytest.MonkeyPatch.context() as patch:
        # Playwright runs an event loop in this thread, between its calls too.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        with override_settings(STORAGES=COLLECTED, STATIC_ROOT=static, WHITENOISE_USE_FINDERS=False):
            # What no page has is large.
            call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=["redoc", "*-preset.js*"])
            application = Application(WSGIHandler(), admission=Everybody(), probes=Everybody())
            with serving(application, server_class=Threaded) as port, running(port) as browser:
                yield browser
                # While the loop runs this thread has connections of its own to the database.
                connections.close_all()


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker, chromium) -> Iterator[World]:
    """What the pages show, committed, for the tests of a module that only read it (and are marked with `django_db`)."""
    with django_db_blocker.unblock():
        try:
            account, alice, token = make_account("acme", login="alice", name="Acme")
            bob = make_user(account, "bob", role=User.Role.AGENT, name="Bob Nowak")
            carol = make_user(account, "carol", name="Carol Member")
            yield World(Cast(account, alice, token, bob, make_token(bob), carol, "acme.example.test"))
        finally:
            call_command("flush", interactive=False, verbosity=0, inhibit_post_migrate=True)


@pytest.fixture
def browse(chromium) -> Iterator[Callable[..., Page]]:
    """A page at acme's forum, as a user if one is named, or the secret of a session. The test fails with what goes wrong in it."""
    faults, contexts = Faults(), []

    def open_page(
        user: User | None = None,
        *,
        secret: str = "",
        javascript: bool = True,
        theme: str = "light",
        width: int = 1200,
        language: str = "en",
    ) -> Page:
        context = chromium.new_context(
            base_url=ORIGIN,
            java_script_enabled=javascript,
            color_scheme=theme,
            viewport={"width": width, "height": 800},
            locale=language,
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        context.set_default_timeout(10_000)
        faults.watch(context)
        if user is not None:
            _row, secret = Session.objects.open(user)
        if secret:
            context.add_cookies([{"name": "session", "value": secret, "url": ORIGIN}])
        return context.new_page()

    open_page.faults = faults
    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


# What people do from page to page


@pytest.fixture
def acme(transactional_db, acme) -> Cast:
    """Committed, as the service has connections of its own."""
    return acme


@pytest.fixture(params=[True, False], ids=["javascript", "none"])
def javascript(request) -> bool:
    """A test that takes it goes both ways."""
    return request.param
