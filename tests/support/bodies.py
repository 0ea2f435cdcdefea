"""Expected JSON bodies of resources; every field that a test does not name is null.

The field names come from the serializers. `tests/test_documents.py` compares their spelling and order with `docs/interface.md`.
"""

from accounts.fields.api import FieldDefinitionSerializer
from accounts.statuses.api import StatusSerializer
from accounts.users.models import User
from core.api.resources import ResourceSerializer
from crm.clients.api import ClientSerializer
from crm.contacts.api import ContactListSerializer, ContactSerializer
from crm.deals.api import DealSerializer
from crm.notes.api import NoteSerializer
from crm.user_links.api import UserLinkSerializer
from forum.comments.api import CommentAsPostSerializer, CommentSerializer
from forum.posts.api import PostSerializer
from team.lists.api import SavedViewSerializer
from team.mailings.api import MessageSerializer
from team.mailings.audience import LeftOut
from tests.support.assertions import on_the_wire


def _body(serializer: type[ResourceSerializer], row, fields: dict) -> dict:
    assert fields.keys() <= set(serializer.names)
    return {
        **dict.fromkeys(serializer.names),
        "id": row.id,
        **fields,
        "created_at": on_the_wire(row.created_at),
        "updated_at": on_the_wire(row.updated_at),
    }


def client_body(row, by: User, **fields) -> dict:
    """Return the body of a client without related rows, unless the fields contain its counts."""
    usual = {
        "external_ids": {},
        "tags": [],
        "additional_fields": {},
        "creator_id": by.id,
        "updater_id": by.id,
        "contacts_count": 0,
        "posts_count": 0,
        "deals_count": 0,
        "last_activity": on_the_wire(row.created_at),
        "do_not_contact": False,
    }
    return _body(ClientSerializer, row, {**usual, **fields})


def contact_body(row, by: User, **fields) -> dict:
    usual = {
        "contact_list_ids": [],
        "tags": [],
        "additional_fields": {},
        "creator_id": by.id,
        "updater_id": by.id,
        "external_ids": {},
        "do_not_contact": False,
    }
    return _body(ContactSerializer, row, {**usual, **fields})


def field_definition_body(row, **fields) -> dict:
    usual = {"type": "text", "choices": [], "required": False, "in_lists": False, "position": 1}
    return _body(FieldDefinitionSerializer, row, {**usual, **fields})


def saved_view_body(row, **fields) -> dict:
    usual = {"query": "", "shared": False, "owner_id": row.owner_id, "position": 1}
    return _body(SavedViewSerializer, row, {**usual, **fields})


def user_link_body(row, by: User | None, **fields) -> dict:
    id = by.id if by else None
    return _body(UserLinkSerializer, row, {"state": "confirmed", "creator_id": id, "updater_id": id, **fields})


def message_body(row, **fields) -> dict:
    usual = {name: getattr(row, name) for name in ("post_id", "subject", "text", "state", "author_id", "total")}
    usual |= {"state": str(row.state), "among": "all", "include_not_asked": False, "sent": 0, "skipped": 0, "failed": 0}
    usual["left_out"] = {reason.value: 0 for reason in LeftOut}
    times = {name: time and on_the_wire(time) for name in ("started_at", "finished_at") if (time := getattr(row, name))}
    return _body(MessageSerializer, row, {**usual, **times, **fields})


def contact_list_body(row, **fields) -> dict:
    return _body(ContactListSerializer, row, {"contacts_count": 0, **fields})


def note_body(row, by: User, **fields) -> dict:
    usual = {
        "kind": "note",
        "content": row.content,
        "noted_at": on_the_wire(row.noted_at),
        "mentioned_user_ids": [],
        "creator_id": by.id,
        "updater_id": by.id,
    }
    return _body(NoteSerializer, row, {**usual, **fields})


def deal_body(row, by: User, **fields) -> dict:
    usual = {
        "external_ids": {},
        "currency": "EUR",
        "tags": [],
        "additional_fields": {},
        "creator_id": by.id,
        "updater_id": by.id,
        "closed_at": on_the_wire(row.closed_at) if row.closed_at else None,
        "stage_entered_at": on_the_wire(row.stage_entered_at) if row.stage_entered_at else None,
    }
    return _body(DealSerializer, row, {**usual, **fields})


def post_body(row, by: User, **fields) -> dict:
    """Return the body of a post or task that `by` has just created: a task unless the fields contain a forum or category."""
    new = by.account.statuses.get(kind="post", code="new")
    usual = {
        "content": "",
        "task_kind": "task",
        "kind": "suggestion",
        "status": "new",
        "status_id": new.id,
        "private": False,
        "closed": False,
        "target_is_quarter": False,
        "priority": 0,
        "tags": [],
        "additional_fields": {},
        "user_id": by.id,
        "nick": by.name,
        "agent": "tests/1.0",
        "votes_cache": 0,
        "comments_cache": 0,
        "points": 0,
        # The factories and the API set it, as the database does.
        "completed_at": on_the_wire(row.completed_at) if row.completed_at else None,
    }
    return _body(PostSerializer, row, {**usual, **fields})


COMMENT = {"internal": False, "approved": True, "pinned": False, "helpful": False, "reactions": {}}


def comment_body(row, by: User, **fields) -> dict:
    return _body(
        CommentSerializer,
        row,
        {"user_id": by.id, "nick": by.name, "agent": "tests/1.0", **COMMENT, **fields},
    )


def comment_as_post_body(row, by: User, text: str) -> dict:
    fields = {
        "comment": text,
        "content": text,
        "task_kind": "comment",
        "post_id": row.post_id,
        **COMMENT,
    }
    return _body(CommentAsPostSerializer, row, {**fields, "user_id": by.id, "nick": by.name, "agent": "tests/1.0"})


def status_body(row, **fields) -> dict:
    """Return the body of a status, whose fields for deals are those of the row unless the fields contain them."""
    names = ("outcome", "probability", "pipeline_id", "rot_days")
    usual = {"kind": "post", "position": 8, "closed": False, "on_roadmap": False}
    return _body(StatusSerializer, row, {**usual, **{name: getattr(row, name) for name in names}, **fields})
