"""A read-only database, as after a failover: 503 on every path, and a new connection for the next request."""

import re
from datetime import timedelta

import psycopg
import pytest
from django.db import OperationalError, connection
from django.db.utils import load_backend
from django.utils import timezone

from accounts.sessions.models import Session
from accounts.tokens.models import APIToken
from config.environment import database
from config.local.postgres import Cluster
from core.http.readiness import readiness
from tests.support.client import JSONClient
from tests.support.factories import make_client, make_comment, make_post, make_token
from tests.support.fill import fill_both
from tests.support.followers import run_followers
from tests.support.page_routes import ROUTES, make_rows, path_of
from tests.support.routes import TABLE, caller, send

pytestmark = pytest.mark.machinery


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def read_only(transactional_db):
    """Return a function that makes the test database read-only for new and existing connections."""
    name = connection.ops.quote_name(connection.settings_dict["NAME"])

    def make_read_only():
        execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        connection.close()
        readiness.close()

    yield make_read_only
    execute("SET default_transaction_read_only = off")
    execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    connection.close()
    readiness.close()


def end_request() -> bool:
    """Clean up as at the end of a request. Return True if that closed the connection."""
    connection.close_if_unusable_or_obsolete()
    return connection.connection is None


def xml(acme, method, path, body=""):
    return acme.xml(acme.bob).send_xml(method, path, body)


WRITES = {
    "XML, create": lambda acme: xml(acme, "POST", "/app/posts.xml", "<post><title>a</title></post>"),
    "XML, delete": lambda acme: xml(acme, "DELETE", f"/app/posts/{acme.post.id}.xml"),
    "JSON, create": lambda acme: acme.json().post("/app/clients.json", json={"client": {"name": "a"}}),
    "JSON, update": lambda acme: acme.json().put(f"/app/clients/{acme.client.id}.json", json={"client": {"name": "b"}}),
    "JSON, delete": lambda acme: acme.json().delete(f"/app/clients/{acme.client.id}.json"),
    "JSON, many": lambda acme: acme.json().post("/app/clients/bulk.json", json={"clients": [{"name": "a"}]}),
    "JSON, with a key": lambda acme: acme.json().post(
        "/app/clients.json", json={"client": {"name": "a"}}, headers={"Idempotency-Key": "a"}
    ),
    "page, sign-in": lambda acme: acme.form.submit(expect_errors=True),
}
READS = {
    "XML": lambda acme: acme.xml(acme.bob).get("/app/users/me.xml"),
    "JSON": lambda acme: acme.json().get("/app/tasks.json"),
    "page": lambda acme: acme.page().get("/"),
    "page, sign-in": lambda acme: acme.page().get("/app/sign-in"),
    # Their use is not stored.
    "a token that has not been used": lambda acme: JSONClient(acme.host, acme.alice_token).get("/app/tasks.json"),
    "a session that has not been used": lambda acme: acme.visitor.get("/"),
}


@pytest.fixture
def read_only_cast(acme, read_only):
    """Make the database read-only, and return the cast with the rows that the requests need."""
    acme.post, acme.client = make_post(acme.bob), make_client(acme.bob)
    acme.visitor = acme.page(acme.carol)
    acme.form = acme.page().get("/app/sign-in?password=1").forms["sign-in"]
    acme.form["login"], acme.form["password"] = "carol", "correct horse battery"
    assert acme.json().get("/app/tasks.json").status_code == 200
    APIToken.objects.filter(user=acme.bob).update(last_used_at=timezone.now() + timedelta(hours=1))
    APIToken.objects.filter(user=acme.alice).update(last_used_at=None)
    Session.objects.update(seen_at=timezone.now() - timedelta(hours=2))
    read_only()
    return acme


def test_it_works(read_only_cast):
    """Reads succeed. Each write is rejected, and its connection closed: the next one may reach a server that accepts writes."""
    reads = {name: (read(read_only_cast).status_code, end_request()) for name, read in READS.items()}
    assert reads == dict.fromkeys(READS, (200, False))
    rejected = {}
    for name, write in WRITES.items():
        response = write(read_only_cast)
        rejected[name] = response.status_code, response.headers["Retry-After"], end_request()
    assert rejected == dict.fromkeys(WRITES, (503, "5", True))


def test_readiness_fails(read_only_cast, settings):
    for _ in range(2):
        response = read_only_cast.json().get("/readyz")
        assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    # Reads succeed if they cannot be counted.
    settings.RATE_LIMIT = 600
    assert read_only_cast.json().get("/app/tasks.json").status_code == 200
    # The next connection may reach a server that accepts writes.
    assert end_request()
    execute("SET default_transaction_read_only = off")
    execute(f"ALTER DATABASE {connection.settings_dict['NAME']} SET default_transaction_read_only = off")
    assert read_only_cast.json().get("/readyz").status_code == 200


def test_notifications_of_a_suggestion_stay_unread(acme, read_only):
    """Opening the suggestion normally marks them as read. Without writes, only the page is shown."""
    post = make_post(acme.carol, "Dark mode")
    make_comment(post, acme.bob)
    run_followers()
    page = acme.page(acme.carol)
    read_only()
    assert "Dark mode" in page.get(f"/app/posts/{post.id}").html.h1.get_text()
    assert end_request()
    assert [row.read_at for row in acme.account.notifications.filter(user_id=acme.carol.id)] == [None]


class Standby(Cluster):
    """A hot standby of another cluster, until it is promoted."""

    def follow(self, primary: Cluster) -> None:
        self.prepare()
        to, source = ("-D", str(self.data)), ("-h", str(primary.directory), "-U", "postgres")
        self.run("pg_basebackup", *to, *source, "-R", "--checkpoint=fast")
        self.start()

    def promote(self) -> None:
        with psycopg.connect(self.url, user="postgres", autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")


@pytest.fixture
def primary_and_standby(db, tmp_path):
    """Start a primary, with a logged and an unlogged table, and its standby."""
    primary, standby = (cls(tmp_path / cls.__name__, durable=False) for cls in (Cluster, Standby))
    with primary:
        with psycopg.connect(primary.url) as connection:
            connection.execute("CREATE TABLE logged (n integer); CREATE UNLOGGED TABLE unlogged (n integer)")
        try:
            standby.follow(primary)
            yield primary, standby
        finally:
            standby.stop()


def connect_backend(url: str):
    """Return a connection of the service's database backend to the address."""
    return load_backend("config.database").DatabaseWrapper(connection.settings_dict | database(url), alias="default")


# Statements that a standby rejects.
REJECTED = (
    "INSERT INTO logged VALUES (1)",
    "SELECT FROM logged FOR UPDATE",
    "SELECT FROM unlogged",
    "INSERT INTO unlogged VALUES (1)",
)


def test_writes_reach_the_new_primary_after_a_failover(primary_and_standby):
    """A rejected write closes its connection to the standby. A connection that needs a primary finds the promoted standby."""
    primary, standby = primary_and_standby
    for statement in REJECTED:
        service = connect_backend(standby.url)
        with service.cursor() as cursor:
            cursor.execute("SELECT FROM logged")
            with pytest.raises(OperationalError):
                cursor.execute(statement)
        service.close_if_unusable_or_obsolete()
        assert service.connection is None, statement
    hosts = ",".join(str(cluster.directory) for cluster in (standby, primary))
    service = connect_backend(
        f"postgresql://rostrum@/rostrum?host={hosts}&target_session_attrs=read-write&connect_timeout=5"
    )

    def write(statement="INSERT INTO logged VALUES (1)"):
        with service.cursor() as cursor:
            cursor.execute(statement)
            return service.connection.info.host

    assert write() == str(primary.directory)
    primary.stop()
    for _ in range(2):
        with pytest.raises(OperationalError):
            write()
        service.close_if_unusable_or_obsolete()
    # A request that only reads is answered by the standby. The next request looks for a primary again.
    service.may_use_standby = True
    assert write("SELECT FROM logged") == str(standby.directory)
    assert service.connection.info.parameter_status("in_hot_standby") == "on"
    service.close_if_unusable_or_obsolete()
    assert service.connection is None
    standby.promote()
    assert write() == str(standby.directory)
    service.close()


def test_every_get_is_answered(acme, other, read_only):
    """Reads of both APIs and all pages, as a standby answers them: equal to those of a primary."""
    acme.alice.token = make_token(acme.alice)
    world = fill_both(acme, other)
    values = make_rows(acme.account, acme.bob)
    run_followers()
    rows = [row for row in TABLE if row.method == "GET"]
    paths = [path_of(route, values) for route, methods in ROUTES.items() if "get" in methods]
    owner = acme.page(acme.alice)

    def statuses():
        found = {
            row[:2]: send(row, caller(row, acme.host, acme.alice), world.acme_ids, world.acme_ids).status_code
            for row in rows
        }
        return found | {path: owner.get(path, expect_errors=True).status_code for path in paths}

    expected = statuses()
    read_only()
    found = statuses()
    # These are recorded in the audit log.
    recorded = [path for path in paths if re.search(r"/\d+/data$|/audit.csv$", path)]
    assert {key: found[key] for key in recorded} == dict.fromkeys(recorded, 503)
    assert {**found, **{key: expected[key] for key in recorded}} == expected


def test_passwords_are_not_guessed_without_a_limit(acme, read_only, settings):
    """Failed logins cannot be counted, so only passwords that this process has verified before are accepted."""
    settings.FAILED_LOGIN_LIMIT = 20
    client = acme.xml(acme.bob)
    assert client.get("/app/users/me.xml").status_code == 200
    read_only()
    assert client.get("/app/users/me.xml").status_code == 200
    client.auth = ("bob", "wrong")
    assert client.get("/app/users/me.xml").status_code == 503
    assert end_request()
