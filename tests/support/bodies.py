"""The resources of generation B as they are answered, in the order of the wire; what a test does not say is null."""

from accounts.models import User
from tests.support.assertions import on_the_wire

CLIENT = [
    "name",
    "email",
    "note",
    "external_ids",
    "first_name",
    "last_name",
    "shortcut",
    "kind",
    "company",
    "tax_no",
    "register_number",
    "phone",
    "mobile_phone",
    "fax",
    "www",
    "street",
    "street_no",
    "post_code",
    "city",
    "province",
    "country",
    "delivery_address",
    "use_delivery_address",
    "bank",
    "bank_account",
    "discount",
    "description",
    "tags",
    "status_id",
    "responsible_id",
    "contact_id",
    "url",
    "origin",
    "additional_fields",
    "creator_id",
    "updater_id",
    "contacts_count",
    "posts_count",
    "deals_count",
    "last_activity",
]

CONTACT = [
    "name",
    "email",
    "note",
    "client_id",
    "contact_list_ids",
    "first_name",
    "last_name",
    "phone",
    "mobile_phone",
    "position",
    "description",
    "responsible_id",
    "tags",
    "additional_fields",
    "creator_id",
    "updater_id",
]

CONTACT_LIST = ["name", "contacts_count"]

DEAL = [
    "name",
    "description",
    "price",
    "client_id",
    "external_ids",
    "currency",
    "status_id",
    "responsible_id",
    "url",
    "origin",
    "expected_close_date",
    "tags",
    "additional_fields",
    "creator_id",
    "updater_id",
]

POST = [
    "title",
    "content",
    "task_kind",
    "client_id",
    "responsible_id",
    "kind",
    "status",
    "status_id",
    "category_id",
    "forum_id",
    "post_id",
    "private",
    "closed",
    "priority",
    "scheduled_at",
    "tags",
    "response",
    "additional_fields",
    "user_id",
    "nick",
    "agent",
    "votes_cache",
    "comments_cache",
    "points",
    "response_user_id",
    "duplicate_from_id",
]

STATUS = ["code", "name", "kind", "color", "position", "closed"]

COMMENT = ["comment", "kind", "post_id", "user_id", "nick", "agent"]
COMMENT_AS_POST = [*COMMENT, "content", "task_kind"]


def _body(names: list[str], row, fields: dict) -> dict:
    assert fields.keys() <= set(names)
    return {
        "id": row.id,
        **dict.fromkeys(names),
        **fields,
        "created_at": on_the_wire(row.created_at),
        "updated_at": on_the_wire(row.updated_at),
    }


def client_body(row, by: User, **fields) -> dict:
    """A client to which nothing belongs, unless its counts are among the fields."""
    usual = {
        "external_ids": {},
        "tags": [],
        "additional_fields": {},
        "creator_id": by.id,
        "updater_id": by.id,
        "contacts_count": 0,
        "posts_count": 0,
        "deals_count": 0,
        "last_activity": on_the_wire(row.updated_at),
    }
    return _body(CLIENT, row, {**usual, **fields})


def contact_body(row, by: User, **fields) -> dict:
    usual = {"contact_list_ids": [], "tags": [], "additional_fields": {}, "creator_id": by.id, "updater_id": by.id}
    return _body(CONTACT, row, {**usual, **fields})


def contact_list_body(row, **fields) -> dict:
    return _body(CONTACT_LIST, row, {"contacts_count": 0, **fields})


def deal_body(row, by: User, **fields) -> dict:
    usual = {
        "external_ids": {},
        "currency": "EUR",
        "tags": [],
        "additional_fields": {},
        "creator_id": by.id,
        "updater_id": by.id,
    }
    return _body(DEAL, row, {**usual, **fields})


def post_body(row, by: User, **fields) -> dict:
    """A post or task that `by` has just made; a task unless its place in a forum is among the fields."""
    new = by.account.statuses.get(kind="post", code="new")
    usual = {
        "content": "",
        "task_kind": "task",
        "kind": "suggestion",
        "status": "new",
        "status_id": new.id,
        "private": False,
        "closed": False,
        "priority": 0,
        "tags": [],
        "additional_fields": {},
        "user_id": by.id,
        "nick": by.name,
        "agent": "tests/1.0",
        "votes_cache": 0,
        "comments_cache": 0,
        "points": 0,
    }
    return _body(POST, row, {**usual, **fields})


def comment_body(row, by: User, **fields) -> dict:
    return _body(COMMENT, row, {"user_id": by.id, "nick": by.name, "agent": "tests/1.0", **fields})


def comment_as_post_body(row, by: User, text: str) -> dict:
    fields = {"comment": text, "content": text, "task_kind": "comment", "post_id": row.post_id}
    return _body(COMMENT_AS_POST, row, {**fields, "user_id": by.id, "nick": by.name, "agent": "tests/1.0"})


def status_body(row, **fields) -> dict:
    return _body(STATUS, row, {"kind": "post", "position": 8, "closed": False, **fields})
