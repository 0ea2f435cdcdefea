"""The page of `make run` with the e-mails that were sent."""

import contextlib
import http.client

import pytest
from django.core.mail import EmailMultiAlternatives, get_connection

from config.local.mail_page import MailPage


@pytest.fixture
def mail_page(tmp_path):
    mail_page = MailPage(tmp_path, "127.0.0.1", 0)
    mail_page.start()
    yield mail_page
    mail_page.stop()


def get(mail_page: MailPage, path: str, *, status: int = 200) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", mail_page.server.server_address[1], timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", path)
        response = connection.getresponse()
        assert response.status == status
        return response.read().decode()


def test_it_works(mail_page):
    assert "None yet" in get(mail_page, "/")
    backend = get_connection("django.core.mail.backends.filebased.EmailBackend", file_path=str(mail_page.directory))
    message = EmailMultiAlternatives("Zażółć <gęślą>", "Text & more", "a@b.c", ["d@e.f"], connection=backend)
    message.attach_alternative("@media (prefers-color-scheme: dark)<p>Jaźń</p>", "text/html")
    message.send()
    [file] = mail_page.directory.glob("*.log")
    assert "Zażółć &lt;gęślą&gt;" in get(mail_page, "/")
    shown = get(mail_page, f"/{file.name}")
    assert "To: d@e.f" in shown
    assert "Text &amp; more" in shown
    assert "<title>Zażółć &lt;gęślą&gt;</title>" in shown
    # The pages of the service refuse to be shown in a frame.
    for scheme, query in (("light", "not all"), ("dark", "all")):
        assert f'src="/{file.name}/{scheme}"' in shown
        html = get(mail_page, f"/{file.name}/{scheme}").strip()
        assert html == f'<base target="_blank">@media {query}<p>Jaźń</p>'
    assert get(mail_page, f"/{file.name}/text").strip() == "Text & more"


@pytest.mark.parametrize("path", ["/nothing.log", "/../settings.py", "/x", "/%2e%2e/a.log"])
def test_it_rejects_other_paths(mail_page, path):
    assert get(mail_page, path, status=404) == "There is no such e-mail."
