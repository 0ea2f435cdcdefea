"""Signing up: the address that leads to signing in."""

from django.core import mail

from forum.forums.models import Forum


def test_it_works(acme):
    """The address of the former page leads to that for signing in, where an e-mail is enough."""
    visitor = acme.page()
    response = visitor.get("/app/sign-up?next=/app/posts/new")
    assert (response.status_code, response.headers["Location"]) == (303, "/app/sign-in?next=%2Fapp%2Fposts%2Fnew")
    assert "the code makes you a member" in response.follow()
    visitor.post("/app/sign-up", {"email": "dan@example.com"}, status=403)
    assert mail.outbox == []


def test_it_rejects_sign_ups_in_a_closed_forum(acme, monkeypatch):
    monkeypatch.setattr(Forum, "takes_sign_ups", False)
    assert "Members join by invitation" in acme.page().get("/app/sign-up")


def test_it_redirects_only_to_paths_of_the_host(acme):
    """Users are redirected at once."""
    response = acme.page(acme.carol).get("/app/sign-up?next=/app/roadmap")
    assert (response.status_code, response.headers["Location"]) == (303, "/app/roadmap")
    assert acme.page().get("/app/sign-up?next=https://evil.example/").headers["Location"] == "/app/sign-in?next=%2F"
