import io
import re
import shlex
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone

from accounts.account.models import Account
from accounts.tokens.models import APIToken
from tests.support.assertions import read
from tests.support.client import Client


def demo(port=8000, *, bare=True, **options) -> str:
    """Return the output of the command. The account is bare by default, because the full demo takes long."""
    out = io.StringIO()
    call_command("demo", port=port, stdout=out, bare=bare, **options)
    return out.getvalue()


def printed_value(text: str, name: str) -> str:
    return re.search(rf"^  {name} +(.+)$", text, re.MULTILINE)[1]


def curl(line: str):
    """Send the request of a curl command to the application in this process."""
    words = iter(shlex.split(line)[1:])
    auth, headers, data, url = None, {}, None, None
    for word in words:
        if word == "-u":
            auth = tuple(next(words).split(":", 1))
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            data = next(words)
        else:
            url = word
    host, path = re.fullmatch(r"http://([^/]+)(/.*)", url).groups()
    return Client(host, auth=auth).request("POST" if data else "GET", path, content=data, headers=headers)


@pytest.fixture
def local(settings):
    """Let localhost be an address of the demo account."""
    settings.LOCAL_ACCOUNT = "demo"


def test_it_works(db, local):
    text = demo(bare=False)
    account = Account.objects.get()
    assert_content_is_consistent(account)
    forum_response, tasks_response, create_response = [
        curl(line.strip()) for line in text.splitlines() if line.startswith("  curl ")
    ]
    assert forum_response.status_code == 200
    assert "<title>Undo for bulk edits</title>" in forum_response.text
    assert (tasks_response.status_code, len(read(tasks_response))) == (200, 25)
    assert create_response.status_code == 201
    assert read(create_response)["name"] == "Ann Kowalska"
    assert printed_value(text, "Ideas") == "http://localhost:8000/  and  http://demo.example.test:8000/"
    assert printed_value(text, "Partners") == "http://demo-partners.example.test:8000/"
    assert printed_value(text, "settings") == "http://localhost:8000/app/account"
    assert printed_value(text, "API") == "http://localhost:8000/app/account/api  and  http://localhost:8000/app/docs"
    assert printed_value(text, "logins") == "demo (owner), theo (agent), marta (member)"
    assert printed_value(text, "api_token").endswith("/demo")
    for login in ("demo", "theo", "marta"):
        response = Client("demo-partners.example.test", auth=(login, printed_value(text, "password"))).get(
            "/app/users/me.xml"
        )
        assert (response.status_code, f"<login>{login}</login>" in response.text) == (200, True)
    # Changed passwords and users that are not active are not printed.
    account.users.get(login="theo").change_password("another pass phrase")
    account.users.filter(login="marta").update(is_active=False)
    assert printed_value(demo(bare=False), "logins") == "demo (owner)"


def assert_content_is_consistent(account):
    now = timezone.now()
    posts = {post.id: post for post in account.posts.all()}
    comments, changes = list(account.comments.all()), list(account.status_changes.all())
    votes = [*account.votes.all(), *account.proxy_votes.all()]
    assert (account.forums.count(), account.clients.live().count(), account.deals.live().count()) == (2, 299, 120)
    assert account.posts.live().without_tasks().count() == 44
    assert [post.title for post in account.posts.unapproved()] == [
        "List our agency in the directory",
        "Test accounts of the payment providers",
    ]
    for post in posts.values():
        assert post.comments_cache == sum(comment.post_id == post.id for comment in comments), post
        assert post.votes_cache == sum(vote.post_id == post.id for vote in votes), post
        assert post.content_html or not post.content
        last = [change for change in changes if change.post_id == post.id][-1:]
        assert post.status.name == (last[0].name if last else "New"), post
        assert (post.response is None) == all(
            change.response is None for change in changes if change.post_id == post.id
        )
    # No row is older than its user or its post, and none is in the future.
    created_at_by_user = dict(account.users.values_list("id", "created_at"))
    for row in (*posts.values(), *comments, *changes, *votes):
        assert created_at_by_user[row.user_id] <= row.created_at <= now, row
    for row in (*comments, *changes, *votes):
        assert posts[getattr(row, "from_post_id", None) or row.post_id].created_at <= row.created_at, row
    for row in (*comments, *changes):
        assert row.created_at <= posts[row.post_id].updated_at, row
    for rows in (account.posts, account.clients, account.deals, account.contact_lists):
        [*trashed] = rows.trashed()
        assert trashed
        assert all(row.created_at < row.trashed_at <= now for row in trashed)
        assert all(now - row.trashed_at < timedelta(days=30) for row in trashed)


def test_a_second_run_keeps_the_account(db, local):
    """A second run prints the same output, and keeps rows that were created after the first run."""
    first_output = demo()
    created = curl(next(line.strip() for line in first_output.splitlines() if "clients.json" in line))
    assert demo() == first_output
    account = Account.objects.get()
    assert account.clients.get().id == read(created)["id"]
    assert account.posts.count() == 3


def test_changed_passwords_and_revoked_tokens_are_reported(db, settings):
    text = demo()
    assert len(printed_value(text, "password")) == 16
    with override_settings(SECRET_KEY="another-" + settings.SECRET_KEY):
        # The credentials are derived from SECRET_KEY, so those of another key are not valid here.
        second = demo()
    assert printed_value(second, "password") == "(changed since)"
    assert printed_value(second, "api_token") == "(revoked since)"
    Account.objects.get().users.update(password=make_password("another pass phrase"))
    assert printed_value(demo(), "password") == "(changed since)"
    APIToken.objects.update(revoked_at=timezone.now())
    output = demo()
    assert printed_value(output, "api_token") == "(revoked since)"
    assert printed_value(text, "api_token") not in output


def test_variables_are_written_to_a_file_for_shells(db, tmp_path):
    env = tmp_path / "a demo.env"
    text = demo(port=9000, env=env)
    assert "http://localhost:9000/" in text
    assert ":8000" not in text
    password, token = printed_value(text, "password"), printed_value(text, "api_token")
    assert env.read_text() == f"BASE_URL=http://localhost:9000\nPASSWORD={password}\nAPI_TOKEN={token}\n"
    assert text.endswith(
        f"To set BASE_URL, PASSWORD, API_TOKEN in a shell, for the examples of the documents:\n\n  . '{env}'\n"
    )
    APIToken.objects.update(revoked_at=timezone.now())
    Account.objects.get().users.update(password=make_password("another pass phrase"))
    demo(port=9000, env=env)
    assert env.read_text() == "BASE_URL=http://localhost:9000\n"
