"""Moves from an older server: this service as the older one, and a server with nothing but the documented interface."""

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import CommandError, call_command

from core import outbound
from core.changes.models import Change
from core.errors import Conflict, FieldErrors
from forum.posts.models import Post
from team.move_in import client
from team.move_in.client import BusyError
from team.move_in.models import MoveIn, process_page
from tests.support.client import JSONClient
from tests.support.jobs import run_jobs
from tests.support.live import serving
from tests.support.pages import Visitor
from tests.support.people import PASSWORD
from tests.support.receiver import LOOPBACK

PEOPLE = ("responsible_id", "creator_id", "updater_id", "user_id")
LISTS = ("contact_lists", "clients", "contacts", "deals", "tasks", "posts")


@pytest.fixture(autouse=True)
def reachable(settings, monkeypatch):
    settings.WEBHOOK_ALLOW = LOOPBACK
    monkeypatch.setattr(outbound, "resolve_host", lambda host, port: ["127.0.0.1"])
    monkeypatch.setattr(client.OldServer, "interval", 0)


def start(other, url, **values):
    other.mallory.account = other.account
    return MoveIn.start(other.account, by=other.mallory, url=url, **values)


def move_pages(row):
    while process_page(row.account_id, row.id):
        pass


def finished(row):
    run_jobs()
    row.refresh_from_db()
    return row


def contents(json: JSONClient, people: dict[int, str]):
    """Return the rows of all lists, with the logins of people, and without the person who changed a row last."""
    found = {path: json.get(f"/app/{path}.json", params={"per_page": 1000}).json() for path in LISTS}
    for row in (*found["tasks"], *found["posts"]):
        path = f"/app/posts/{row['id']}/comments.json?internal=true"
        found[path] = json.get(path, params={"per_page": 1000}).json()
    return {
        path: [
            {
                name: people.get(value, value) if name in PEOPLE else value
                for name, value in row.items()
                if name != "updater_id"
            }
            for row in rows
        ]
        for path, rows in found.items()
    }


@pytest.mark.django_db(transaction=True)
def test_it_works(acme, other):
    json = acme.json(acme.alice_token)

    def post(path, key, **values):
        response = json.post(path, json={key: values})
        assert response.status_code == 201, response.text
        return response.json()

    status = post("/app/statuses.json", "status", kind="client", code="gold", name="Gold")
    news = post("/app/contact_lists.json", "contact_list", name="News")
    elm = post(
        "/app/clients.json",
        "client",
        name="Elm",
        email="elm@example.com",
        tags=["vip"],
        text3="Long",
        status_id=status["id"],
        external_ids={"shop": "S-1"},
        additional_fields={"size": 7},
    )
    ann = post("/app/contacts.json", "contact", name="Ann", client_id=elm["id"], contact_list_ids=[news["id"]])
    json.put(f"/app/clients/{elm['id']}.json", json={"client": {"contact_id": ann["id"]}})
    post("/app/deals.json", "deal", name="Order", price=149.9, client_id=elm["id"], external_ids={"shop": 7})
    task = post(
        "/app/posts.json", "post", title="Call", task_kind="phone", client_id=elm["id"], responsible_id=acme.bob.id
    )
    idea = post("/app/posts.json", "post", title="Dark mode", content="**Please**", status="planned", tags=["ui"])
    for number in range(26):
        post(f"/app/posts/{idea['id']}/comments.json", "comment", comment=f"Me too {number}")
    post(f"/app/posts/{task['id']}/comments.json", "comment", comment="Busy", internal=True)

    with serving() as port:
        address = f"http://{acme.host}:{port}"
        secrets = {"token": acme.alice_token, "login": "alice", "password": PASSWORD}
        row = start(other, address, forum=address, **secrets)
        assert not any(secret in row.credentials for secret in secrets.values())
        finished(row)
        assert (row.state, row.failure, row.credentials) == ("done", "", "")
        assert row.report == {
            "refused": [],
            "kept": [],
            "roles": {"alice": 1},
        }
        assert row.counts == {
            "user": {"created": 2},
            "status": {"created": 1, "present": 12},
            "category": {"present": 1},
            **{kind: {"created": 1} for kind in ("contact_list", "client", "contact", "deal", "task", "suggestion")},
            "comment": {"created": 27},
        }
        # Ids and times are the same, and so are links to people, whose logins are compared.
        people = {user.id: user.login for user in acme.account.users.all()}
        moved = {user.id: user.login for user in other.account.users.all()}
        assert contents(other.json(), moved) == contents(acme.json(acme.alice_token), people)
        assert not other.account.users.get(login="bob").has_usable_password()
        # The change feed marks the changes, and nobody is notified.
        changes = Change.objects.filter(account_id=other.account.id, resource__in=["client", "post"])
        assert set(changes.values_list("import_id", flat=True)) == {row.id}
        assert not other.account.notifications.exists()

        # A further run takes over what has changed there, and keeps what was changed here.
        json.put(f"/app/clients/{elm['id']}.json", json={"client": {"city": "Hel", "note": "There", "size": None}})
        json.put(f"/app/posts/{idea['id']}.json", json={"post": {"title": "Dark theme", "status": "completed"}})
        own = {"client": {"note": "Here", "phone": "1"}}
        assert other.json().put(f"/app/clients/{elm['id']}.json", json=own).status_code == 200
        finished(start(other, address, forum=address, **secrets))
        row.refresh_from_db()
        assert {kind: row.counts[kind] for kind in ("client", "contact", "suggestion", "comment")} == {
            "client": {"changed": 1},
            "contact": {"unchanged": 1},
            "suggestion": {"changed": 1},
            "comment": {"unchanged": 27},
        }
        assert row.report["kept"] == [{"kind": "client", "id": str(elm["id"]), "fields": ["note"]}]
        client_row, post_row = other.account.clients.get(), other.account.posts.get(id=idea["id"])
        assert (client_row.city, client_row.note, client_row.phone) == ("Hel", "Here", "1")
        assert (post_row.title, post_row.closed) == ("Dark theme", True)


def user_xml(login: str) -> str:
    return f"<user><login>{login}</login><email>ann@EXAMPLE.com</email><name>{login.title()}</name></user>"


class OldServer:
    """A server with nothing but the documented interface: lists of tasks in JSON, the forum in XML, and single clients."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        # The statuses of the answers to the next requests, instead of the rows.
        self.failures: list[tuple[int, dict[str, str]]] = []

    def answer(self, path: str, query: dict[str, list[str]], authorization: str) -> tuple[int, str]:
        if path.endswith(".json"):
            assert query["api_token"] == ["s/acme"], query
            tasks = [
                {
                    "id": 900 + n,
                    "title": f"Call {n}",
                    "client_id": 500,
                    "task_kind": "task",
                    "mood": "good",
                    "odd": {"a": 1},
                }
                for n in range(7)
            ]
            tasks[3] |= {"title": "", "client_id": 501}
            tasks[4] |= {"priority": "high", "scheduled_at": "whenever"}
            page = int(query.get("page", ["1"])[0])
            bodies = {
                "/app/tasks.json": tasks[5 * page - 5 : 5 * page],
                "/app/clients/500.json": {"client": {"id": 500, "name": "Oak", "email": "oak@example.com"}},
            }
            return (200, json.dumps(bodies[path])) if path in bodies else (404, "{}")
        assert authorization == "Basic YW5uOnB3", authorization
        post = "<id type='integer'>{}</id><title>Idea</title><content>Text</content><agent>Old</agent>"
        post += "<created-at type='datetime'>2009-01-26T18:06:53+01:00</created-at><votes-cache type='integer'>4</votes-cache>"
        single = (
            post
            + "<status>someday</status><kind>suggestion</kind><responsible-id nil='true'/><category-id type='integer'>8</category-id>"
        )
        comment = (
            "<comment><id type='integer'>71</id><comment>Yes</comment><agent>Old</agent><kind nil='true'/></comment>"
        )
        listed = f"<posts type='array'><post>{post.format(70)}</post></posts>"
        bodies = {
            "/app/users/me.xml": user_xml("ann"),
            "/app/users/team.xml": f"<users type='array'>{user_xml('ann')}{user_xml('ann2')}</users>",
            "/app/categories.xml": "<categories type='array'><category><id type='integer'>8</id><name>Web shop</name></category></categories>",
            "/Web%20shop": listed if query.get("page") == ["1"] else "<posts type='array'/>",
            "/app/posts/70.xml": f"<hash><comments type='array'>{comment}</comments><post>{single.format(70)}</post></hash>",
        }
        return (200, bodies[path]) if path in bodies else (404, "<hash/>")

    @contextlib.contextmanager
    def running(self) -> Iterator[str]:
        old = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                old.requests[parts.path] += 1
                headers: dict[str, str] = {}
                if old.failures:
                    (status, headers), body = old.failures.pop(0), ""
                else:
                    status, body = old.answer(parts.path, parse_qs(parts.query), self.headers["Authorization"] or "")
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body.encode())), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


@pytest.fixture
def old():
    return OldServer()


SECRETS = {"token": "s/acme", "login": "ann", "password": "pw"}


def test_it_moves_what_the_documented_interface_gives(other, old):
    with old.running() as url:
        row = finished(start(other, url, forum=url, **SECRETS))
    assert (row.state, row.failure) == ("done", "")
    assert row.counts == {
        "user": {"created": 1, "present": 1},
        "category": {"created": 1},
        "client": {"created": 1},
        "task": {"created": 6, "refused": 1},
        "suggestion": {"created": 1},
        "comment": {"created": 1},
    }
    assert row.report == {
        "missing": ["status", "contact_list", "client", "contact", "deal"],
        "fields": {"task.mood": 7, "task.odd": 7},
        "links": {"task.client_id": 1},
        "votes": {"suggestion": 4},
        "refused": [
            {"kind": "task", "id": "903", "reason": "title: can't be blank"},
            {"kind": "task", "id": "904", "reason": "priority: is not a whole number"},
            {
                "kind": "task",
                "id": "904",
                "reason": "scheduled_at: is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)",
            },
        ],
        "kept": [],
    }
    assert old.requests["/app/clients/500.json"] == 1
    task = other.account.posts.get(id=900)
    assert (task.client_id, task.additional_fields) == (500, {"mood": "good"})
    idea = Post.objects.get(account=other.account, id=70)
    assert (idea.status.name, idea.category_id, idea.agent, idea.comments_cache) == ("someday", 8, "Old", 1)
    assert idea.created_at.isoformat() == "2009-01-26T17:06:53+00:00"
    # The next id is above those of the older server.
    created = other.json().post("/app/clients.json", json={"client": {"name": "New"}}).json()
    assert created["id"] > 906


def test_it_waits_and_continues_where_it_was_interrupted(other, old, monkeypatch):
    with old.running() as url:
        row = start(other, url, **SECRETS, in_job=False)
        old.failures = [(429, {"Retry-After": "7"})]
        with pytest.raises(BusyError) as caught:
            process_page(other.account.id, row.id)
        assert caught.value.seconds == 7
        with monkeypatch.context() as killed:
            killed.setattr(MoveIn, "finish", lambda *arguments: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                move_pages(row)
        assert other.account.posts.count() == 6
        move_pages(row)
        row.refresh_from_db()
        assert (row.state, row.counts["task"]) == ("done", {"created": 6, "refused": 1})
        assert not process_page(other.account.id, row.id)


def test_it_rejects_what_it_cannot_read(other, old, settings, monkeypatch):
    with old.running() as url:
        for failure, message in (
            ((401, {}), "The older server refuses the credentials. Enter them again."),
            (
                (302, {"Location": "http://169.254.169.254/"}),
                "The older server answers with an error. Check its address.",
            ),
            ((200, {}), "The older server does not answer in JSON. Check its address."),
        ):
            old.failures = [failure]
            row = finished(start(other, url, token="t"))
            assert (row.state, row.failure, row.credentials) == ("failed", message, ""), failure
        monkeypatch.setattr(client, "MAX_BODY_BYTES", 100)
        assert finished(start(other, url, token="s/acme")).failure == "The older server sends too large an answer."
        start(other, url, token="t")
        with pytest.raises(Conflict):
            start(other, url, token="t")
    settings.WEBHOOK_ALLOW = ()
    other.account.move_ins.update(state="done")
    for values, field in (
        ({"url": "https://127.0.0.1", "token": "t"}, "url"),
        ({"url": "ftp://example.com", "token": "t"}, "url"),
        ({"url": "https://example.com"}, "token"),
        ({"url": "https://example.com", "token": "a\nb"}, "token"),
    ):
        with pytest.raises(FieldErrors) as errors:
            start(other, **values)
        assert [error.field for error in errors.value.errors] == [field], values
    # The name of the server has a private address.
    row = finished(start(other, "https://old.example.com", token="t"))
    assert row.failure == "The address is not public: it belongs to a private or special network."


def test_the_command(other, old, monkeypatch, capsys):
    monkeypatch.setenv("MOVE_IN_TOKEN", "s/acme")
    monkeypatch.setenv("MOVE_IN_PASSWORD", "pw")
    with old.running() as url:
        call_command("move_in", "--from", url, "--account", "other", "--forum", url, "--login", "ann")
        output = capsys.readouterr().out
        assert "task: 6 created, 1 refused\n" in output
        assert 'votes: {"suggestion": 4}\n' in output
        old.failures = [(403, {})]
        with pytest.raises(CommandError, match="refuses the credentials"):
            call_command("move_in", "--from", url, "--account", "other")
    for account, message in (("nobody", "There is no account nobody."), ("other", "No move is running.")):
        with pytest.raises(CommandError, match=message):
            call_command("move_in", "--from", "https://example.com", "--account", account, "--continue")


def test_an_owner_moves_on_the_page(other, old):
    page = Visitor(other.host).start_session(other.mallory).get("/app/account/move-in")
    form = page.forms["move-in"]
    with old.running() as url:
        form["url"], form["forum"], form["token"], form["login"], form["password"] = url, url, "s/acme", "ann", "pw"
        tested = form.submit("do", value="test")
        assert "The connection works, and the credentials are accepted." in tested
        assert "s/acme" not in tested
        old.failures = [(401, {})]
        refused = form.submit("do", value="test", status=422)
        assert "The older server refuses the credentials" in refused
        started = form.submit("do", value="start").follow()
        assert "The move has begun." in started
        assert "A move is running already." in form.submit("do", value="start", status=422)
        run_jobs()
    report = started.click("Refresh")
    for text in ("Done", "Votes, whose voters the server does not name", "<bdi>903</bdi>", "Move again"):
        assert text in report
    assert report.forms["move-in"]["url"].value == url
    assert "Can&#39;t be blank" in report.forms["move-in"].submit("do", value="start", status=422)
