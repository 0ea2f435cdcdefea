"""Prepared queries return the same as the ORM."""

from datetime import UTC, datetime
from decimal import Decimal

import psycopg
import pytest
from django.db import DatabaseError, DataError, connection, transaction
from django.db.models import Value
from django.db.models.functions import JSONObject

from accounts.statuses.models import Status
from accounts.tokens.models import APIToken
from accounts.users.models import User
from config.database.base import MAX_PREPARED
from core.db.prepared import fetch, insert, insert_many, prepared, update, update_many
from core.db.tenancy import next_ids
from crm.clients.models import Client
from crm.deals.models import Deal
from forum.posts.models import Post
from tests.support.factories import make_client, make_deal, make_post, make_token
from tests.support.tables import table


@prepared(account_id=int, role=str, start=int, size=int)
def users(account_id, role, start, size, order):
    return User.objects.filter(account_id=account_id, role=role).order_by(order)[start : start + size]


def test_it_works(acme):
    def logins(**arguments):
        return [user.login for user in users(account_id=acme.account.id, **arguments)]

    for order in ("login", "-login"):
        for role in ("owner", "member", "nothing"):
            for start, size in ((0, 1), (0, 5), (1, 5), (40_000, 5)):
                rows = User.objects.filter(account=acme.account, role=role).order_by(order)[start : start + size]
                assert logins(role=role, start=start, size=size, order=order) == [user.login for user in rows]


def test_objects_with_related_rows_and_annotations(acme):
    token = make_token(acme.bob, label="one")

    @prepared(digest=bytes)
    def tokens(digest):
        return APIToken.objects.filter(digest=digest).select_related("user", "account")

    row = tokens.first(digest=APIToken.digest_of(token))
    assert (row.label, row.user, row.account) == ("one", acme.bob, acme.account)
    assert row.__dict__.keys() == tokens.build(digest=APIToken.digest_of(token)).get().__dict__.keys()
    assert not row._state.adding
    assert tokens.first(digest=b"another") is None

    @prepared(account_id=int, id=int)
    def posts(account_id, id):
        return Post.objects.filter(account_id=account_id, id=id).with_names()

    post = make_post(acme.bob)
    row = posts.first(account_id=acme.account.id, id=post.id)
    assert (row.nick, row.status_code, row.title) == ("Bob Nowak", "new", post.title)


@pytest.mark.machinery
def test_lists_of_values(acme):
    """Rows keep their order, and the fields convert the values."""
    rows = [make_client(acme.alice, external_ids={"a": str(n)}, discount="1.5") for n in range(3)]
    ids = [row.id for row in rows]

    @prepared(account_id=int, ids=list)
    def clients(account_id, ids):
        rows = Client.objects.filter(account_id=account_id, id__any=ids).order_by("-id")
        return rows.values_list("name", "external_ids", "additional_fields", "id", "discount", "created_at")

    for some_ids in ([], ids[:1], ids[1:2], ids, [*ids, 2**40, 2**62], [*ids, *range(7)], [*ids, *range(30)]):
        arguments = {"account_id": acme.account.id, "ids": some_ids}
        assert clients(**arguments) == list(clients.build(**arguments))
    # One statement each for 1, 3 and 5 ids, and one for both 0 ids and 10 or more.
    assert len(clients._statements) == 4

    @prepared(account_id=int)
    def codes(account_id):
        return (
            Status.objects.filter(account_id=account_id, kind="post")
            .order_by("position")
            .values_list("code", flat=True)
        )

    assert codes(account_id=acme.account.id)[:2] == ["new", "accepted"]


@pytest.mark.machinery
def test_a_query_is_compiled_once_for_each_shape(acme, django_assert_num_queries):
    calls = []

    @prepared(account_id=int)
    def prepared_query(account_id, role):
        calls.append(role)
        return User.objects.filter(account_id=account_id, role=role).values_list("login", flat=True)

    for _ in range(3):
        for role in ("owner", "agent"):
            with django_assert_num_queries(1):
                prepared_query(account_id=acme.account.id, role=role)
    assert calls == ["owner", "agent"]


def test_dicts_of_values(acme):
    """The rows of a union and of annotations have their names, and the fields convert the values."""

    @prepared(account_id=int, ids=list)
    def rows(account_id, ids):
        clients, deals = (
            model.objects.filter(account_id=account_id, id__any=ids)
            .annotate(label=Value(model.__name__), data=JSONObject(name="name"))
            .values("label", "id", "external_ids", "data")
            for model in (Client, Deal)
        )
        return clients.union(deals, all=True).order_by("label")

    client = make_client(acme.alice, name="Pro", external_ids={"erp": "P-1"})
    deal = make_deal(acme.alice, name="New")
    arguments = {"account_id": acme.account.id, "ids": [client.id, deal.id]}
    assert rows(**arguments) == list(rows.build(**arguments))
    assert rows.first(**arguments) == {
        "label": "Client",
        "id": client.id,
        "external_ids": {"erp": "P-1"},
        "data": {"name": "Pro"},
    }


@pytest.mark.machinery
def test_it_rejects_an_unused_parameter():
    @prepared(account_id=int, name=str)
    def wrong(account_id, name):
        return User.objects.filter(account_id=account_id)

    with pytest.raises(TypeError, match="does not use name"):
        wrong(account_id=1, name="a")


@pytest.mark.machinery
@pytest.mark.django_db(transaction=True)
def test_a_lost_connection_is_reopened():
    @prepared(account_id=int)
    def prepared_query(account_id):
        return User.objects.filter(account_id=account_id).values_list("id", flat=True)

    prepared_query(account_id=1)
    before = connection.connection
    before.pgconn.finish()
    assert prepared_query(account_id=1) == []
    assert connection.connection is not before


def values_of(row) -> dict:
    """Return the stored values that do not depend on the time or order of inserts."""
    excluded = {"id", "created_at", "updated_at"}
    fields = [field.attname for field in row._meta.concrete_fields if field.attname not in excluded]
    stored = type(row).objects.get(pk=row.pk)
    return {name: getattr(stored, name) for name in fields}


@table(
    "make",
    [
        lambda account, user: Client(
            account=account,
            name="Zażółć",
            email="Ann@Example.net",
            company=True,
            discount=Decimal("1.25"),
            tags=["a", "b"],
            external_ids={"shop": "1"},
            additional_fields={"size": Decimal("42.5")},
            creator_id=user.id,
            updater_id=user.id,
        ),
        lambda account, user: Client(account=account, name="a", creator_id=user.id, updater_id=user.id),
        lambda account, user: Post(
            account=account,
            title="A",
            task_kind="task",
            user_id=user.id,
            status_id=account.default_status("post").id,
            scheduled_at=datetime(2026, 11, 21, 12, tzinfo=UTC),
            # `trending` depends on it.
            created_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
        ),
    ],
)
def test_inserts_and_updates_equal_those_of_the_orm(acme, make):
    by_prepared, by_orm = make(acme.account, acme.alice), make(acme.account, acme.alice)
    insert(by_prepared)
    by_orm.save(force_insert=True)
    assert not by_prepared._state.adding
    assert by_orm.id == by_prepared.id + 1
    together = [make(acme.account, acme.alice) for _ in range(2)]
    for row, id in zip(together, next_ids(acme.account.id, 2), strict=True):
        row.id = id
    insert_many(together)
    for row in (by_prepared, *together):
        assert not row._state.adding
        assert values_of(row) == values_of(by_orm)
    is_client = isinstance(by_prepared, Client)
    names = ["tags", "updated_at", *(["name", "discount", "additional_fields", "do_not_contact"] if is_client else [])]
    for row in (by_prepared, by_orm, *together):
        row.tags = ["c"]
        row.name, row.discount, row.additional_fields = 'Another, "\\N"', Decimal("2.5"), {"size": None}
    together[1].tags = []
    update(by_prepared, names)
    by_orm.save(update_fields=names)
    update_many(together, names)
    assert values_of(by_prepared) == values_of(together[0]) == values_of(by_orm)
    assert values_of(together[1]) == values_of(by_orm) | {"tags": []}
    by_prepared.delete()
    with pytest.raises(type(by_prepared).DoesNotExist):
        update(by_prepared, names)


def test_values_computed_by_the_database_are_read(acme):
    post = make_post(acme.bob)
    stored = Post.objects.get(pk=post.pk)
    assert (post.id, post.visibility) == (stored.id, stored.visibility)


def test_values_that_are_too_long_are_refused_and_not_cut(acme):
    clients = [make_client(acme.alice), make_client(acme.alice)]
    clients[1].city = "a" * 300
    for write in (lambda: update_many(clients, ["city"]), lambda: insert_many(clients[1:])):
        with pytest.raises(DataError), transaction.atomic():
            write()


@pytest.mark.machinery
@pytest.mark.django_db(transaction=True)
def test_a_changed_table_ends_the_connection_after_the_request(acme):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE changing (a int); INSERT INTO changing VALUES (1)")
    other = psycopg.connect(
        connection.connection.info.dsn, password=connection.connection.info.password, autocommit=True
    )
    try:
        assert fetch("SELECT a FROM changing", []) == [(1,)]
        other.execute("ALTER TABLE changing ALTER a TYPE text")
        with pytest.raises(DatabaseError, match="cached plan"):
            fetch("SELECT a FROM changing", [])
        connection.close_if_unusable_or_obsolete()
        assert fetch("SELECT a FROM changing", []) == [("1",)]
    finally:
        other.execute("DROP TABLE changing")
        other.close()


@pytest.mark.machinery
def test_a_connection_keeps_a_limited_number_of_statements(db):
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    assert connection.connection.prepared_max == MAX_PREPARED
    connection.connection.prepared_max = 3
    try:
        for number in (1, 2, 3, 1, 4):
            assert fetch(f"SELECT {number} + %(x)s::int, %(x)s::int, '%%'", {"x": 1}) == [(number + 1, 1, "%")]
        with connection.cursor() as cursor:
            # psycopg does not prepare the statements of cursors.
            for _ in range(10):
                cursor.execute("SELECT statement FROM pg_prepared_statements")
            statements = [statement.split()[1] for (statement,) in cursor.fetchall()]
    finally:
        connection.connection.prepared_max = MAX_PREPARED
    # The least recently used statement was closed.
    assert sorted(statements) == ["1", "3", "4"]
