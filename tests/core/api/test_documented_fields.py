"""Typed fields of older clients that have no column. They are stored as additional fields, and returned under their own names."""

from decimal import Decimal

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


@table("kind", FIELDS)
def test_it_works(acme, kind):
    """Every response has the fields, and may be sent back whole. Fields are merged, null removes a field, and a restore keeps them."""
    response = acme.json().post(f"/app/{key(kind)}s.json", json={key(kind): {**NEW[kind], **sent_values(kind)}})
    assert response.status_code == 201, response.text
    assert "X-Ignored-Fields" not in response.headers
    created, returned = read(response), returned_values(kind)
    [listed] = read(acme.json().get(f"/app/{kind}s.json"))
    response = acme.json().get(path(kind, created))
    for body in (created, read(response), listed):
        assert body["additional_fields"] == returned
        assert body.items() >= returned.items()
    response = acme.json().put(path(kind, created), content=f'{{"{key(kind)}": {response.text}}}')
    assert response.status_code == 200, response.text
    assert read(response)["additional_fields"] == returned
    body = read(put(acme, kind, created, string1="b", additional_fields={"kept": 1}))
    assert body["additional_fields"] == returned | {"string1": "b", "kept": 1}
    body = read(put(acme, kind, created, text10=None, additional_fields={"kept": None}))
    assert body["additional_fields"] == {name: body[name] for name in {*returned, "string1"} - {"text10"}}
    assert "text10" not in body
    row = getattr(acme.account, f"{key(kind)}s").get()
    row.trash(by=acme.alice)
    row.restore()
    assert read(acme.json().get(path(kind, created)))["additional_fields"] == body["additional_fields"]


@table("kind", FIELDS)
def test_it_rejects_values_of_the_wrong_type(acme, kind):
    row = MAKE[kind](acme.alice)
    errors = {"integer1": ["is not a whole number"]}
    assert_refused(put(acme, kind, row, integer1="x"), 422, "validation_failed", errors)
    errors = {"additional_fields": ["integer1 is not a whole number"]}
    assert_refused(put(acme, kind, row, additional_fields={"integer1": "x"}), 422, "validation_failed", errors)


@table("kind", ["client", "contact", "deal"])
def test_fields_in_bulk_creates(acme, kind):
    items = [{**NEW[kind], **sent_values(kind)}, {**NEW[kind], "checkbox1": "ticked"}, NEW[kind]]
    results = read(acme.json().post(f"/app/{kind}s/bulk.json", json={f"{kind}s": items}))
    assert [result["status"] for result in results] == [201, 422, 201]
    assert results[0][kind]["additional_fields"] == returned_values(kind)
    assert results[1]["errors"] == {"checkbox1": ["is not true or false"]}
    assert results[2][kind]["additional_fields"] == {}


def test_xml_documents_do_not_contain_the_fields(acme):
    post = make_post(acme.alice, additional_fields={"abstract": "In short"})
    assert "abstract" not in acme.xml().get(f"/app/posts/{post.id}.xml").text
