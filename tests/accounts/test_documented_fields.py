"""Typed fields of older clients that have no column. They are stored as additional fields, and returned under their own names."""

from decimal import Decimal

from django.db import connection

from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client, make_contact, make_deal, make_post, make_task
from tests.support.tables import table

MAKE = {"client": make_client, "contact": make_contact, "deal": make_deal, "post": make_post, "task": make_task}
NEW = {
    "client": {"name": "a"},
    "contact": {"name": "a"},
    "deal": {"name": "a"},
    "post": {"title": "a"},
    "task": {"title": "a", "task_kind": "task"},
}
# (sent value, returned value)
CUSTOM = {"checkbox1": ("1", True), "text10": (5, "5"), "date2": ("2027-03-01", "2027-03-01"), "integer3": ("7", 7)}
CLIENT = {
    "token": ("abc/1", "abc/1"),
    "paid_from": ("2026-01-01", "2026-01-01"),
    "paid_to": ("2026-12-31T23:59:59Z", "2026-12-31"),
    "paid_total": ("12.50", Decimal("12.5")),
    "payment_to_kind": (14, "14"),
    "bank_account_id": ("3", 3),
    "category_id": (4, 4),
    "department_id": (5, 5),
    "project_id": (6, 6),
    "position": (2, 2),
    "sensitive_data": ("true", True),
    "avatar_file_size": (1024, 1024),
    "avatar_updated_at": ("2026-01-01T12:00:00Z", "2026-01-01T12:00:00+00:00"),
}
POST = {
    "email": ("ann@example.com", "ann@example.com"),
    "email_cc": ("jan@example.com, eve@example.com", "jan@example.com, eve@example.com"),
    "answer": ("Yes", "Yes"),
    "answered": (1, True),
    "ip": ("192.0.2.1", "192.0.2.1"),
    "www": ("https://example.com", "https://example.com"),
    "abstract": ("In short", "In short"),
    "view_count": ("12", 12),
    "spam_score": (0.5, Decimal("0.5")),
    "spam_report": (False, False),
}
FIELDS = {
    "client": CUSTOM | CLIENT,
    "contact": CUSTOM,
    "deal": CUSTOM,
    "post": CUSTOM | POST,
    "task": CUSTOM | POST,
}
every_kind = table("kind", FIELDS)


def key(kind: str) -> str:
    return kind.replace("task", "post")


def path(kind: str, row) -> str:
    return f"/app/{key(kind)}s/{row['id'] if isinstance(row, dict) else row.id}.json"


def sent_values(kind: str) -> dict:
    return {name: sent for name, (sent, _) in FIELDS[kind].items()}


def returned_values(kind: str) -> dict:
    return {name: returned for name, (_, returned) in FIELDS[kind].items()}


def put(acme, kind, row, **values):
    return acme.json().put(path(kind, row), json={key(kind): values})


@every_kind
def test_it_works(acme, kind):
    response = acme.json().post(f"/app/{key(kind)}s.json", json={key(kind): {**NEW[kind], **sent_values(kind)}})
    assert response.status_code == 201, response.text
    assert "X-Ignored-Fields" not in response.headers
    created = read(response)
    [listed] = read(acme.json().get(f"/app/{kind}s.json"))
    for body in (created, read(acme.json().get(path(kind, created))), listed):
        assert body["additional_fields"] == returned_values(kind)
        assert body.items() >= returned_values(kind).items()


@every_kind
def test_it_rejects_values_of_the_wrong_type(acme, kind):
    row = MAKE[kind](acme.alice)
    errors = {"integer1": ["is not a whole number"]}
    assert_refused(put(acme, kind, row, integer1="x"), 422, "validation_failed", errors)
    errors = {"additional_fields": ["integer1 is not a whole number"]}
    assert_refused(put(acme, kind, row, additional_fields={"integer1": "x"}), 422, "validation_failed", errors)


@every_kind
def test_fields_are_merged_and_null_removes_a_field(acme, kind):
    row = MAKE[kind](acme.alice, additional_fields={"kept": 1, "text1": "a"})
    body = read(put(acme, kind, row, string1="b"))
    assert body["additional_fields"] == {"kept": 1, "string1": "b", "text1": "a"}
    body = read(put(acme, kind, row, text1=None, additional_fields={"kept": None}))
    assert body["additional_fields"] == {"string1": "b"}
    assert "text1" not in body


@every_kind
def test_the_whole_response_may_be_sent_back(acme, kind):
    row = MAKE[kind](acme.alice)
    put(acme, kind, row, **sent_values(kind))
    body = acme.json().get(path(kind, row)).text
    response = acme.json().put(path(kind, row), content=f'{{"{key(kind)}": {body}}}')
    assert response.status_code == 200, response.text
    assert read(response)["additional_fields"] == returned_values(kind)


@every_kind
def test_restored_rows_have_their_fields(acme, kind):
    row = MAKE[kind](acme.alice, additional_fields={"text1": "a"})
    row.trash(by=acme.alice)
    row.refresh_from_db()
    row.restore()
    assert read(acme.json().get(path(kind, row)))["text1"] == "a"


@table("kind", ["client", "contact", "deal"])
def test_fields_in_bulk_creates(acme, kind):
    items = [{**NEW[kind], **sent_values(kind)}, {**NEW[kind], "checkbox1": "ticked"}, NEW[kind]]
    results = read(acme.json().post(f"/app/{kind}s/bulk.json", json={f"{kind}s": items}))
    assert [result["status"] for result in results] == [201, 422, 201]
    assert results[0][kind]["additional_fields"] == returned_values(kind)
    assert results[1]["errors"] == {"checkbox1": ["is not true or false"]}
    assert results[2][kind]["additional_fields"] == {}


def test_the_change_feed_contains_changes_of_the_fields(acme):
    """The triggers treat additional fields like any other column."""
    client = make_client(acme.alice)
    cursor = read(acme.json().get("/app/changes.json?since=now"))["cursor"]
    put(acme, "client", client, sensitive_data=True)
    connection.check_constraints()
    changes = read(acme.json().get(f"/app/changes.json?since={cursor}"))["changes"]
    assert ("client", client.id, "updated") in [
        (change["resource"], change["id"], change["change"]) for change in changes
    ]


def test_xml_documents_do_not_contain_the_fields(acme):
    post = make_post(acme.alice, additional_fields={"abstract": "In short"})
    assert "abstract" not in acme.xml().get(f"/app/posts/{post.id}.xml").text
