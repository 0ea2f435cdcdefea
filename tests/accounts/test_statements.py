"""The number of statements of the pages of this room. It does not depend on the number of rows."""

from accounts.sessions.models import Session
from tests.support.factories import make_client, make_token, make_user
from tests.support.letters import letter, link_in
from tests.support.queries import capture_queries
from tests.support.settings import assert_few_statements, send, texts


def test_settings_of_the_account(acme, settings):
    """Pages for admins, with more rows than a page shows."""
    settings.INVITATION_LIMIT_OF_NEW_ACCOUNTS = 0
    account = acme.account
    group = account.user_groups.create(name="Sales")
    for number in range(30):
        account.invitations.invite(account, email=f"a{number}@b.example", role="agent", by=acme.alice)
        make_client(acme.alice).trash(by=acme.alice)
    for number in range(26):
        make_user(account, role="agent" if number % 2 else "member", name=f"Person {number}")
    for _ in range(3):
        make_token(acme.bob)
    statuses = account.statuses.values_list("kind", "id")
    page = acme.page(acme.alice)
    for path in (
        *("", "/access", f"/groups/{group.id}", "/deals", "/pipelines/1"),
        *("/statuses", "/statuses?kind=deal", "/statuses?kind=client"),
        *(f"/statuses/{id}" for id in dict(statuses).values()),
        *("/trash", "/trash?page=2", "/trash?kind=client"),
        *("/users", "/users?tab=members", "/users?q=person", "/users?tab=invitations", f"/users/{acme.bob.id}"),
    ):
        assert_few_statements(page, f"/app/account{path}")
    for path in ("/trash", "/users?tab=invitations"):
        assert len(texts(page.get(f"/app/account{path}"), ".list li")) == 25
    assert "There are no statuses here yet." in page.get("/app/account/statuses?kind=client")


def test_pages_of_visitors_and_users(acme):
    visitor, carol = acme.page(), acme.page(acme.carol)
    send(visitor, "/app/password", login="carol")
    new_password = link_in(letter(acme.carol.email), acme.host)
    _row, secret = acme.account.invitations.invite(acme.account, email="eve@b.example", role="agent", by=acme.alice)
    for _ in range(3):
        Session.objects.start(acme.carol)
    for page, path, most in (
        *((visitor, path, 2) for path in ("/app/password", "/app/password/sent", new_password)),
        (visitor, "/app/sign-in", 3),
        # The forum, the invitation, whether the e-mail is taken, whether the suggested login is taken.
        (visitor, f"/app/invitation?secret={secret}", 4),
        # The session with its user, the forum and, on the page of security, the sessions.
        (carol, "/app/profile", 2),
        (carol, "/app/profile/security", 3),
    ):
        _response, queries = capture_queries(lambda page=page, path=path: page.get(path, status=200))
        assert len(queries) <= most, (path, queries)
