"""The page of `make run` with the e-mails that were sent."""

import urllib.error
import urllib.request

import pytest
from django.core.mail import EmailMultiAlternatives, get_connection

from config.local.mail_page import MailPage


@pytest.fixture
def page(tmp_path):
    page = MailPage(tmp_path, "127.0.0.1", 0)
    page.start()
    yield page
    page.stop()


def get(page: MailPage, path: str) -> str:
    port = page.server.server_address[1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as response:
        return response.read().decode()


def test_it_works(page):
    assert "None yet" in get(page, "/")
    backend = get_connection("django.core.mail.backends.filebased.EmailBackend", file_path=str(page.directory))
    message = EmailMultiAlternatives("Zażółć <gęślą>", "Text & more", "a@b.c", ["d@e.f"], connection=backend)
    message.attach_alternative("<p>Jaźń</p>", "text/html")
    message.send()
    [file] = page.directory.glob("*.log")
    assert "Zażółć &lt;gęślą&gt;" in get(page, "/")
    shown = get(page, f"/{file.name}")
    assert "To: d@e.f" in shown
    assert "Text &amp; more" in shown
    assert get(page, f"/{file.name}/html").strip() == "<p>Jaźń</p>"
    assert get(page, f"/{file.name}/text").strip() == "Text & more"


@pytest.mark.parametrize("path", ["/nothing.log", "/../settings.py", "/x", "/%2e%2e/a.log"])
def test_it_rejects_other_paths(page, path):
    with pytest.raises(urllib.error.HTTPError) as error:
        get(page, path)
    assert error.value.code == 404
