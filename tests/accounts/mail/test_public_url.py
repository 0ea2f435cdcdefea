"""Links in e-mails are built from the stored host and the settings, and not from the Host header."""

import re

from django.core import mail

from accounts.hosts.addresses import host_cache
from accounts.hosts.names import public_url
from tests.support.factories import PASSWORD, make_forum
from tests.support.pages import Visitor
from tests.support.settings import send, token_of
from tests.support.tables import table


@table(
    ("https", "port", "name", "url"),
    [
        (False, None, "acme", "http://acme.example.test"),
        (False, 80, "acme", "http://acme.example.test"),
        (False, 443, "acme", "http://acme.example.test:443"),
        (False, 8101, "ideas.customer.test", "http://ideas.customer.test:8101"),
        (True, None, "acme", "https://acme.example.test"),
        (True, 443, "ideas.customer.test", "https://ideas.customer.test"),
        (True, 80, "acme", "https://acme.example.test:80"),
        (True, 8443, "acme", "https://acme.example.test:8443"),
        # HTTPS may be `pages` too.
        ("pages", None, "acme", "https://acme.example.test"),
    ],
)
def test_it_works(settings, https, port, name, url):
    settings.HTTPS, settings.PUBLIC_PORT = https, port
    assert public_url(name) == url


def reset_password(acme, visitor):
    send(visitor, "/app/password", login="carol")


def invite(acme, visitor):
    visitor.sign_in("alice")
    send(visitor, "/app/account/users", do="invite", email="new@example.com", role="agent")


def change_email(acme, visitor):
    visitor.sign_in("carol")
    send(visitor, "/app/profile/security", part="email", email="new@example.com", current=PASSWORD)


def change_password(acme, visitor):
    visitor.sign_in("carol")
    new = "grasshopper lighthouse vinegar"
    send(visitor, "/app/profile/security", part="password", current=PASSWORD, password=new)


@table("send_email", [reset_password, invite, change_email, change_password])
def test_links_in_emails_ignore_the_host_header(acme, settings, send_email):
    settings.PUBLIC_PORT = 8101
    send_email(acme, Visitor("ACME.Example.Test.:1234"))
    # A sign-in from a new browser is reported, too.
    assert mail.outbox
    for letter in mail.outbox:
        links = re.findall(r"https?://[^/\s]+", letter.body)
        assert links
        assert set(links) == {"http://acme.example.test:8101"}
        assert "1234" not in letter.body


def test_links_in_emails_from_a_custom_domain(acme, settings):
    settings.PUBLIC_PORT = 8101
    forum = make_forum(acme.account, "ideas")
    reset_password(acme, Visitor("ideas.example.org.:8"))
    [letter] = mail.outbox
    links = re.findall(r"https?://[^/\s]+", letter.body)
    assert set(links) == {f"http://acme--{forum.host_id}.example.test:8101"}


def test_links_of_the_local_account_have_its_own_address(acme, settings):
    """`localhost` stands for an account only on a developer's machine."""
    settings.LOCAL_ACCOUNT, settings.PUBLIC_PORT = "acme", 8101
    host_cache.clear()
    visitor = Visitor("localhost:9")
    visitor.post("/app/password", {"login": "carol", "csrfmiddlewaretoken": token_of(visitor)})
    [letter] = mail.outbox
    assert re.findall(r"https?://[^/\s]+", letter.body) == ["http://acme.example.test:8101"]
