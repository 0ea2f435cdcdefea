"""Complete generated requests with credentials, ids of existing rows and unused names.

The OpenAPI document does not say which ids an account has and which names are unused. This module
puts them into requests that are generated as valid. Requests that are generated as invalid are sent unchanged.
"""

import base64
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

import hypothesis
import schemathesis
from django.utils import timezone
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import AcceptedNegativeData, Failure, FailureGroup
from schemathesis.core.jsonschema import make_validator
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode, create_test
from schemathesis.generation.modes import GenerationMode

from core.api.fields import MIN_FLOAT_DIGITS
from core.http.formats import URL_ENCODED
from core.numbers import CURRENCIES
from core.rows import trimmed
from forum.saved_replies.models import SavedReply
from team.bulk.api import MAX_IDS
from team.bulk.models import BulkChange
from team.exports.models import Export
from team.imports.models import Import
from tests.support import xml_values
from tests.support.factories import (
    PASSWORD,
    make_answer,
    make_attachment,
    make_client,
    make_comment,
    make_contact,
    make_contact_list,
    make_deal,
    make_draft,
    make_field_definition,
    make_import,
    make_message,
    make_note,
    make_post,
    make_saved_view,
    make_task,
    make_user,
    make_user_link,
)
from tests.support.fixtures import Cast
from tests.support.forms import form_of
from webhooks.models import Endpoint

PARTNER = "demo-partner"
WEBHOOK_URL = "https://hooks.example.com/rostrum"
# The maximum number of messages to customers that are started to be cancelled.
MAX_STARTED_MESSAGES = 5
ORDERS = ("new", "old", "top", "commented", "active", "rejected")

# A DELETE names a user in its query.
VOTER_PATHS = ("/app/posts/{id}/votes.json", "/app/forums/{id}/members.json")


class World:
    """The account that receives the requests, and its rows."""

    def __init__(self, acme: Cast) -> None:
        self.account, self.alice, self.token = acme.account, acme.alice, acme.alice_token
        self.category = acme.category
        self.numbers = itertools.count(1)
        self.ids: dict[str, list[int]] = {}
        self.started_messages = 0

    def unique(self) -> str:
        return f"unique{next(self.numbers)}"

    def make(self, kind: str, /, **values: Any) -> int:
        """Create a row, and return its id. `values` are those of a status or a bulk change."""
        name, alice, account = self.unique(), self.alice, self.account
        factories: dict[str, Callable[[], Any]] = {
            "client": lambda: make_client(alice, name, email=f"{name}@example.com"),
            "contact": lambda: make_contact(alice, name, email=f"{name}@example.com"),
            "contact_list": lambda: make_contact_list(alice, name),
            "deal": lambda: make_deal(alice, name),
            "note": lambda: make_note(alice, client_id=self.one("client", 0)),
            "post": lambda: make_post(alice, name),
            "merged_post": lambda: make_post(alice, duplicate_from_id=self.make("post")),
            # A suggestion with one client, who agreed to be contacted.
            "post_with_client": lambda: make_post(
                alice, client_id=make_client(alice, email=f"{name}@example.com", consent=True).id
            ),
            "task": lambda: make_task(alice, name),
            "answer": lambda: make_answer(make_post(alice, name), alice),
            "saved_reply": lambda: account.saved_replies.create(name=name, text="Thank you"),
            "comment": lambda: make_comment(account.posts.get(id=self.one("post", 0)), alice),
            "view": lambda: make_saved_view(alice, name),
            "status": lambda: account.statuses.create(**{"kind": "deal", "code": name, "name": name, **values}),
            "pipeline": lambda: account.pipelines.create(name=name, position=2),
            "group": lambda: account.user_groups.create(name=name),
            "goal": lambda: account.goals.create(user_id=make_user(account, role="agent").id, target=5),
            "field_definition": lambda: make_field_definition(account),
            "member": lambda: make_user(account),
            "user_link": lambda: make_user_link(alice, make_user(account), client_id=self.one("client", 0)),
            "merge": lambda: account.merges.merge(
                account, "client", self.make("client"), self.make("client"), {}, by=alice
            ),
            "bulk_change": lambda: BulkChange.start(
                account,
                by=alice,
                resource="client",
                action="add_tags",
                data={"tags": [name]},
                query="",
                **{"ids": [self.make("client")], **values},
            ),
            "export": lambda: Export.start(account, by=alice, resource="client", options={"language": "en"}),
            "attachment": lambda: make_attachment(alice, "client", account.clients.get(id=self.one("client", 0))),
            "import": lambda: self.contacts(1),
            "started_import": lambda: self.contacts(1, started=True),
            # An import in the background, as no worker runs.
            "running_import": lambda: self.contacts(Import.PART_SIZE + 1, started=True),
            # An import whose file may be read in a wrong way.
            "reread_import": lambda: self.contacts(1),
            "message": lambda: make_draft(alice, account.posts.get(id=self.one("post_with_client", 0)), subject=name),
            "webhook": lambda: Endpoint.objects.all().add(account, url=WEBHOOK_URL)[0],
        }
        return factories[kind]().id

    def contacts(self, number: int, *, started: bool = False) -> Import:
        """Return an import of a file with a number of new contacts."""
        lines = "".join(f"{self.unique()},Buyer\n" for _ in range(number))
        return make_import(self.alice, f"Name,Position\n{lines}", kinds=("contact",), started=started)

    def drop_unfinished(self) -> None:
        """Delete what earlier requests have begun and no worker ends: an account has few drafts and running exports."""
        self.account.imports.drafts().delete()
        self.account.attachments.drafts().erase()
        self.account.exports.running().discard()

    def message_to_cancel(self) -> int:
        """Return the id of a message that is being sent, or else of a draft, which is 409: an account sends few messages a day."""
        if self.started_messages == MAX_STARTED_MESSAGES:
            return self.one("message", 0)
        self.started_messages += 1
        return make_message(self.alice).id

    def in_trash(self) -> int:
        id = self.make("client")
        self.account.clients.get(id=id).trash(by=self.alice)
        return id

    def enabled_webhook(self) -> int:
        """Return the id of a webhook, enabled again if an earlier request has disabled it. An account has few webhooks."""
        id = self.one("webhook", 0)
        self.account.webhooks.filter(id=id).update(enabled=True, disabled_reason=None)
        return id

    def one(self, kind: str, value: Any) -> int:
        """Return the id of an existing row of the kind. The same value always gives the same row."""
        if kind not in self.ids:
            self.ids[kind] = self.rows(kind)
        return self.ids[kind][len(str(value)) % len(self.ids[kind])]

    def rows(self, kind: str) -> list[int]:
        """Return the ids of rows of the kind, which are created if the account may have none."""
        if kind == "user":
            return [self.alice.id]
        if kind == "category":
            return [self.category.id]
        if kind == "forum":
            return [self.category.forum_id]
        if kind == "notification":
            # No request creates notifications; the account has some.
            return list(self.account.notifications.values_list("id", flat=True))
        if kind.endswith("_status"):
            return [self.make("status", kind=kind.removesuffix("_status"))]
        return [self.make(kind), self.make(kind)]


REFERENCES = {
    "client_id": "client",
    "contact_id": "contact",
    "responsible_id": "user",
    "category_id": "category",
    "forum_id": "forum",
    "post_id": "post",
    "deal_id": "deal",
    "pipeline_id": "pipeline",
    "group_id": "group",
    "user_id": "user",
}
# The import that an action needs.
IMPORT_ACTIONS = {"start": "import", "cancel": "running_import", "undo": "started_import"}
LIST_PARAMETERS = ("order", "page", "per-page")


def is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def is_external_id(value: Any) -> bool:
    """Return True if the value is a valid external id."""
    if isinstance(value, str):
        return not is_blank(value) and len(value) <= 255 and not xml_values.UNCARRIABLE.search(value)
    return isinstance(value, int | float) and not isinstance(value, bool)


class RequestFixer:
    """Replaces ids and names of a request that was generated as valid, so that it can succeed."""

    def __init__(self, world: World):
        self.world = world

    def __call__(self, case: schemathesis.Case) -> None:
        if isinstance(case.body, dict) and isinstance(case.body.get("api_token"), str):
            # Schemathesis checks a request without credentials, but does not remove a token from the body.
            case.body = {name: value for name, value in case.body.items() if name != "api_token"}
        modes = {location: component.mode for location, component in case.meta.components.items()}

        def is_valid(location: ParameterLocation) -> bool:
            return modes.get(location, case.meta.generation.mode) == GenerationMode.POSITIVE

        in_xml = case.media_type == "application/xml" and isinstance(case.body, dict)
        if in_xml and is_valid(ParameterLocation.BODY) and not is_valid(ParameterLocation.QUERY):
            # Parameters in the body override those of the query, which were generated as invalid.
            case.body = {name: value for name, value in case.body.items() if name not in LIST_PARAMETERS}
        if is_valid(ParameterLocation.PATH) and case.path_parameters:
            self.fix_path(case)
        if is_valid(ParameterLocation.QUERY) and (case.query or case.path in VOTER_PATHS):
            self.fix_query(case)
        if is_valid(ParameterLocation.HEADER) and case.headers:
            self.fix_headers(case)
        if is_valid(ParameterLocation.BODY) and isinstance(case.body, dict):
            case.body = self.fix_body(case, case.body)
        elif isinstance(case.body, dict):
            self.free_external_ids(case.body.get("deal"))

    def free_external_ids(self, deal: Any) -> None:
        """Replace the external ids of a nested client by unused ones, as the other fields of an existing client are not validated."""
        client = deal.get("client") if isinstance(deal, dict) else None
        pairs = client.get("external_ids") if isinstance(client, dict) else None
        for key in pairs if isinstance(pairs, dict) else ():
            # An invalid id stays: it may be the only error of the request.
            if is_external_id(pairs[key]):
                pairs[key] = self.world.unique()

    def fix_path(self, case) -> None:
        parameters = dict(case.path_parameters)
        if "category_name" in parameters:
            parameters["category_name"] = self.world.category.name
        elif "id" in parameters:
            plural = case.path.split("/")[2]
            kind = {"statuses": "status", "saved_replies": "saved_reply"}.get(plural, plural.removesuffix("s"))
            action = case.path.removesuffix(".json").split("/")[-1]
            if case.path.startswith("/app/trash"):
                parameters["id"] = self.world.in_trash()
            elif case.method == "DELETE" and case.path.count("/") == 3:
                # Nobody erases themselves.
                parameters["id"] = self.world.make("member" if kind == "user" else kind)
            elif case.path == "/app/posts/{id}/merge.json":
                parameters["id"] = self.world.make("post" if case.method == "POST" else "merged_post")
            elif kind == "forum":
                parameters["id"] = self.world.account.forums.get(is_default=True).id
            elif kind == "import" and action in IMPORT_ACTIONS:
                parameters["id"] = self.world.make(IMPORT_ACTIONS[action])
            elif kind == "import" and action == "read":
                parameters["id"] = self.world.one("reread_import", 0)
            elif case.path.endswith("/undo.json"):
                # A change can be undone once.
                parameters["id"] = self.world.make(kind)
            elif case.path.endswith("/resend.json"):
                parameters["id"] = self.world.enabled_webhook()
            elif kind == "message" and case.path.endswith("/cancel.json"):
                parameters["id"] = self.world.message_to_cancel()
            elif case.path.endswith("/cancel.json"):
                # So many rows are not changed in the request that creates the change, and no worker runs.
                parameters["id"] = self.world.make(kind, ids=list(range(1, MAX_IDS + 1)))
            elif case.path == "/app/posts/{id}.json":
                # The update of a comment validates only its text, so it cannot reject errors in other fields.
                kinds = ("task", "post", "comment") if case.method == "GET" else ("task", "post")
                parameters["id"] = self.world.one(kinds[int(parameters["id"]) % len(kinds)], parameters["id"])
            else:
                parameters["id"] = self.world.one(kind, parameters["id"])
        case.path_parameters = parameters

    def fix_query(self, case) -> None:
        parameters = {name: round_float(value) for name, value in case.query.items()}
        if isinstance(parameters.get("q"), str) and not any(letter.isalnum() for letter in parameters["q"]):
            parameters["q"] += "a"
        if "order" in parameters and not case.path.endswith(".json"):
            parameters["order"] = ORDERS[len(str(parameters["order"])) % len(ORDERS)]
        if "since" in parameters:
            parameters["since"] = "now"
        if not is_blank(parameters.get("move_to_id")):
            parameters["move_to_id"] = self.world.one("pipeline", parameters["move_to_id"])
        if case.path in VOTER_PATHS and case.method == "DELETE":
            parameters = {"user_id": self.world.one("member", 0)}
        if case.path == "/app/attachments.json":
            self.fix_holder(parameters)
        if case.path == "/app/deals/board.json":
            self.fix_board(parameters)
        if case.path.startswith("/app/reports/"):
            self.fix_period(parameters)
            # The world has no saved view of deals.
            parameters.pop("view", None)
        if not is_blank(parameters.get("segment")):
            parameters["segment"] = self.world.one("view", parameters["segment"])
        if case.path.startswith("/app/trash/"):
            # `in_trash` creates a client.
            parameters["resource"] = "client"
        if case.method in ("PUT", "PATCH"):
            # Existing ids could belong to different rows.
            for name, pairs in parameters.items():
                if isinstance(pairs, dict):
                    parameters[name] = {key: self.world.unique() for key in pairs}
                elif name.startswith("external_ids["):
                    parameters[name] = self.world.unique()
        case.query = parameters

    def fix_holder(self, fields: dict) -> None:
        """Name an existing row that has attachments."""
        if not is_blank(fields.get("resource")):
            fields["resource_id"] = self.world.one(fields["resource"], 0)

    def fix_board(self, parameters: dict) -> None:
        if not is_blank(parameters.get("column")):
            # The status is in the first pipeline.
            parameters["column"] = self.world.one("deal_status", parameters["column"])
            parameters.pop("pipeline_id", None)
        if not is_blank(parameters.get("pipeline_id")):
            parameters["pipeline_id"] = self.world.one("pipeline", parameters["pipeline_id"])

    def fix_period(self, parameters: dict) -> None:
        """Make the period end after its begin, and at most 24 months later, also if only one of them is given."""
        year = datetime.now(UTC).year
        for name, of_year in (("from", year - 1), ("to", year)):
            if not is_blank(parameters.get(name)):
                parameters[name] = f"{of_year}-{parameters[name][-2:]}"

    def fix_headers(self, case) -> None:
        if "Idempotency-Key" in case.headers:
            case.headers["Idempotency-Key"] = self.world.unique()
        if "X-Atomic" in case.headers:
            # With true, an invalid item would make the request fail.
            case.headers["X-Atomic"] = "false"

    # Bodies

    def fix_body(self, case, body: dict) -> dict:
        body = dict(body)
        if "strict" in str(case.headers.get("Prefer", "")):
            case.headers["Prefer"] = "handling=lenient"
        if case.media_type == "application/xml":
            return self.fix_element(case, body)
        for key, fields in body.items():
            if isinstance(fields, dict) and (helper := getattr(self, f"fix_{key}_fields", None)):
                body[key] = helper(case, self.fix_references(dict(fields), key))
        return body

    def fix_element(self, case, fields: dict) -> dict:
        fields = dict(fields)
        if not is_blank(fields.get("category-id")):
            fields["category-id"] = self.world.one("category", fields["category-id"])
        if not is_blank(fields.get("responsible-id")):
            fields["responsible-id"] = self.world.one("user", fields["responsible-id"])
        if not is_blank(fields.get("status")):
            fields["status"] = "planned"
        if "order" in fields:
            fields["order"] = ORDERS[len(str(fields["order"])) % len(ORDERS)]
        return self.fix_user_fields(case, fields) if case.path == "/app/users.xml" else fields

    def fix_references(self, fields: dict, key: str) -> dict:
        for name, kind in REFERENCES.items():
            if not is_blank(fields.get(name)):
                id = self.world.one(kind, fields[name])
                fields[name] = str(id) if isinstance(fields[name], str) else id
        if not is_blank(fields.get("status_id")):
            resource = {"move": "deal", "answer": "post", "bulk_change": fields.get("resource")}.get(key, key)
            # Contacts have no status.
            resource = "client" if resource == "contact" else resource
            fields["status_id"] = self.world.one(f"{resource}_status", fields["status_id"])
        if isinstance(fields.get("contact_list_ids"), list):
            fields["contact_list_ids"] = [self.world.one("contact_list", id) for id in fields["contact_list_ids"]]
        return self.fix_external_ids(fields)

    def fix_external_ids(self, fields: dict) -> dict:
        if isinstance(fields.get("external_ids"), dict):
            fields["external_ids"] = {
                key: value if value is None else self.world.unique() for key, value in fields["external_ids"].items()
            }
        for values in (fields, fields.get("additional_fields")):
            if isinstance(values, dict) and not is_blank(values.get("external_id")):
                values["external_id"] = self.world.unique()
        return fields

    def fix_client_fields(self, case, fields: dict) -> dict:
        # The existing row may lack the fields that a default name is built from.
        if case.method != "POST" and ("name" in fields or "{" not in case.path) and is_blank(fields.get("name")):
            fields["name"] = "Ann"
        if "{" not in case.path and case.method != "POST":
            # The query has the external ids that identify the row.
            fields.pop("external_ids", None)
        if "discount" in fields:
            fields["discount"] = round_float(fields["discount"])
        return self.round_numbers(fields)

    fix_contact_fields = fix_client_fields

    def round_numbers(self, fields: dict) -> dict:
        for values in (fields, fields.get("additional_fields")):
            if isinstance(values, dict):
                for name in values:
                    values[name] = round_float(values[name])
        return fields

    def fix_contact_list_fields(self, case, fields: dict) -> dict:
        return self.rename(fields, "name")

    def fix_pipeline_fields(self, case, fields: dict) -> dict:
        return self.rename(fields, "name")

    fix_group_fields = fix_pipeline_fields

    def fix_goal_fields(self, case, fields: dict) -> dict:
        return fields

    def fix_duplicates_fields(self, case, fields: dict) -> dict:
        return fields | {
            f"{kind}_ids": [self.world.one(kind, id) for id in fields[f"{kind}_ids"]]
            for kind in ("client", "contact")
            if isinstance(fields.get(f"{kind}_ids"), list)
        }

    def fix_saved_reply_fields(self, case, fields: dict) -> dict:
        if "text" in fields and (is_blank(fields["text"]) or len(str(fields["text"])) > SavedReply.MAX_LENGTH):
            fields["text"] = "Thank you"
        return self.rename(fields, "name")

    def fix_answer_fields(self, case, fields: dict) -> dict:
        # An answer keeps its suggestion. It has a response, and a time to come, so that it can be changed.
        fields.pop("post_id", None)
        if case.method == "POST":
            fields["post_id"] = self.world.make("post")
        if is_blank(fields.get("response")):
            fields["response"] = "Soon."
        return fields | {"publish_at": f"{timezone.now().year + 1}-01-07T09:00:00Z", "tell_customers": False}

    def fix_user_link_fields(self, case, fields: dict) -> dict:
        for name in ("user_id", "client_id", "contact_id"):
            fields.pop(name, None)
        if case.method == "POST":
            # A user has at most one confirmed link.
            fields |= {"user_id": self.world.make("member"), "client_id": self.world.one("client", 0)}
        return fields

    def fix_note_fields(self, case, fields: dict) -> dict:
        # A note has exactly one link, and no time in the future.
        names = ("client_id", "contact_id", "deal_id")
        links = [name for name in names if not is_blank(fields.pop(name, None))]
        if links or case.method == "POST":
            [link, *_others] = [*links, "client_id"]
            fields.update({**dict.fromkeys(names, ""), link: self.world.one(link.removesuffix("_id"), 0)})
        fields.pop("noted_at", None)
        if not is_blank(fields.get("outcome")):
            fields["kind"] = "call"
        return fields

    def fix_field_definition_fields(self, case, fields: dict) -> dict:
        if case.method != "POST":
            # These are fixed, or belong to the type of the existing definition.
            for name in ("resource", "key", "type", "choices"):
                fields.pop(name, None)
        else:
            # A key that is made from a long label may equal another one.
            fields["key"] = f"key_{self.world.unique()}"
            if is_blank(fields.get("resource")):
                fields["resource"] = "client"
            fields.pop("choices", None)
            if fields.get("type") in ("choice", "choices"):
                fields["choices"] = ["small", "large"]
        return self.rename(fields, "label")

    def rename(self, fields: dict, *names: str) -> dict:
        for name in names:
            if not is_blank(fields.get(name)):
                fields[name] = f"{str(fields[name])[:200]} {self.world.unique()}"
        return fields

    def fix_deal_fields(self, case, fields: dict) -> dict:
        if isinstance(fields.get("client"), dict):
            fields.pop("client_id", None)
            fields["client"] = self.fix_external_ids(dict(fields["client"]))
        if "price" in fields:
            fields["price"] = round_float(fields["price"])
        if "{" not in case.path and case.method != "POST":
            fields.setdefault("name", "Order")
            fields.pop("external_ids", None)
        return self.round_numbers(fields)

    def fix_status_fields(self, case, fields: dict) -> dict:
        if case.method != "POST":
            fields.pop("kind", None)
        if fields.get("kind") != "post":
            # Only statuses of posts can be on the roadmap. The existing status is one of deals.
            fields.pop("on_roadmap", None)
        if case.method == "POST" and fields.get("kind") != "deal":
            for name in ("outcome", "probability", "pipeline_id", "rot_days"):
                fields.pop(name, None)
        return self.rename(fields, "code", "name")

    def fix_view_fields(self, case, fields: dict) -> dict:
        if case.method != "POST":
            fields.pop("resource", None)
        if not is_blank(fields.get("name")):
            fields["name"] = f"{str(fields['name'])[:40]} {self.world.unique()}"
        # A query that is generated is not one of the list.
        return {**fields, "query": "sort=-created_at"} if "query" in fields else fields

    def fix_bulk_change_fields(self, case, fields: dict) -> dict:
        resource, action = fields["resource"], fields["action"]
        if (resource, action) == ("contact", "set_status") or (
            resource != "contact" and action.endswith("_contact_list")
        ):
            fields["action"] = action = "add_tags"
        # The rows exist, although another change may have moved all others to the trash.
        id = self.world.make(resource)
        if fields.get("ids") is not None:
            fields["ids"] = [id]
        else:
            fields["query"] = "sort=-created_at"
        if "contact_list_id" in fields or action.endswith("_contact_list"):
            fields["contact_list_id"] = self.world.one("contact_list", 0)
        if action == "set_responsible":
            fields["responsible_id"] = self.world.one("user", 0)
        if action == "set_status":
            fields["status_id"] = self.world.one(f"{resource}_status", 0)
        if action in ("add_tags", "remove_tags"):
            fields["tags"] = ["vip"]
        return fields

    def fix_attachment_fields(self, case, fields: dict) -> dict:
        self.world.drop_unfinished()
        self.fix_holder(fields)
        return fields

    def fix_export_fields(self, case, fields: dict) -> dict:
        self.world.drop_unfinished()
        # A query that is generated is not one of the list, and some lists have none.
        if not is_blank(fields.get("query")):
            fields["query"] = "sort=-created_at" if fields["resource"] == "client" else ""
        return fields

    def fix_import_fields(self, case, fields: dict) -> dict:
        if case.method == "POST":
            self.world.drop_unfinished()
            return fields
        # The file has two columns. Only matched rows can be updated.
        if not is_blank(fields.get("columns")):
            items = [*fields["columns"], {}, {}]
            codes = ("contact.name", "contact.position")
            fields["columns"] = [
                {"field": "", **item} | {"field": code} for item, code in zip(items, codes, strict=False)
            ]
        if "match" in fields or fields.get("mode") == "update":
            fields["match"] = {"contact": "name"}
        if fields.get("defaults"):
            fields["defaults"] = {"contact.phone": next(iter(fields["defaults"].values()))}
        return fields

    def fix_message_fields(self, case, fields: dict) -> dict:
        # The suggestion has one client.
        return {**fields, "total": 1} if "total" in fields else fields

    def fix_member_fields(self, case, fields: dict) -> dict:
        return {**fields, "user_id": self.world.one("member", 0)}

    def fix_vote_fields(self, case, fields: dict) -> dict:
        return {"user_id": self.world.one("member", 0)}

    def fix_merge_fields(self, case, fields: dict) -> dict:
        if case.path.startswith("/app/posts/"):
            return {**fields, "duplicate_from_id": self.world.make("post")}
        kind = case.path.split("/")[2].removesuffix("s")
        fields[f"merged_{kind}_id"] = self.world.make(kind)
        if isinstance(fields.get("fields"), dict):
            # Only existing fields can be chosen.
            fields["fields"] = dict(zip(("phone", "tags"), fields["fields"].values(), strict=False))
        return fields

    def fix_move_fields(self, case, fields: dict) -> dict:
        # Only a deal that is won or lost has a reason, and the status has no deal that a place could be below.
        fields.pop("reason", None)
        fields.pop("seen_status_id", None)
        if not is_blank(fields.get("after_id")):
            fields["after_id"] = 0
        return {**fields, "status_id": self.world.one("deal_status", fields.get("status_id"))}

    def fix_webhook_fields(self, case, fields: dict) -> dict:
        return {**fields, "url": WEBHOOK_URL}

    def fix_resend_fields(self, case, fields: dict) -> dict:
        # The log is empty.
        return {"since": "2026-01-01T00:00:00+00:00"}

    def fix_account_fields(self, case, fields: dict) -> dict:
        if not is_blank(fields.get("from_partner")):
            fields["from_partner"] = PARTNER
        return {**fields, "prefix": f"p{self.world.unique()}"}

    def fix_deletion_fields(self, case, fields: dict) -> dict:
        # The prefix confirms the deletion.
        return {"prefix": self.world.account.prefix}

    def fix_user_fields(self, case, fields: dict) -> dict:
        if case.method != "POST":
            return fields
        unique = self.world.unique()
        return {**fields, "login": f"l{unique}", "email": f"{unique}@example.org", "password": PASSWORD}

    def fix_post_fields(self, case, fields: dict) -> dict:
        if fields.get("task_kind") == "comment":
            return fields
        if not is_blank(fields.get("status")):
            # `status` and `status_id` would have to name the same status.
            fields["status"] = "planned"
            fields.pop("status_id", None)
        is_task = not is_blank(fields.get("task_kind")) and fields["task_kind"] != "feedback"
        if "{" in case.path and "task_kind" in fields:
            is_task = self.is_task(case)
            fields["task_kind"] = "task" if is_task else "feedback"
        elif "{" in case.path:
            is_task = self.is_task(case)
        if is_task:
            of_suggestions = ("category_id", "forum_id", "target_on", "target_is_quarter")
            fields = {name: value for name, value in fields.items() if name not in of_suggestions}
        # A new post has an author of the account, and a time in the past.
        if "{" not in case.path:
            fields = {name: value for name, value in fields.items() if name not in ("user_id", "created_at")}
        return self.round_numbers(fields)

    def fix_comment_fields(self, case, fields: dict) -> dict:
        # A reply is to a comment of the same post.
        return {name: value for name, value in fields.items() if name != "parent_id"}

    def fix_reaction_fields(self, case, fields: dict) -> dict:
        account = self.world.account
        post = account.posts.filter(id=id).first() if isinstance(id := case.path_parameters["id"], int) else None
        if post is not None:
            comment = account.comments.filter(post_id=post.id).first() or make_comment(post, self.world.alice)
            fields["comment_id"] = comment.id
        return fields

    def is_task(self, case) -> bool:
        return case.path_parameters["id"] in self.world.ids.get("task", ())


def round_float(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


# Hooks of Schemathesis


class Target:
    """The world that receives the requests. It is global because hooks are registered once per process."""

    world: World | None = None


def rewrite(case) -> None:
    """Change some valid JSON requests into equivalent ones: a form body, or a method override (`docs/interface.md`)."""
    choice = crc32(repr((case.query, case.body)).encode(errors="replace")) % 3
    modes = {component.mode for component in case.meta.components.values()}
    # An invalid request may become valid.
    if not case.path.endswith(".json") or modes - {GenerationMode.POSITIVE}:
        return
    is_required = any(parameter.is_required for parameter in case.operation.query)
    if case.method == "GET" and case.query and choice and not is_required:
        # Move the parameters to the body.
        case.body, case.media_type, case.query = dict(case.query), "application/json", {}
    if isinstance(case.body, dict) and case.method != "GET" and choice == 1:
        case.media_type = case.headers["Content-Type"] = URL_ENCODED
    if case.method in ("PUT", "PATCH", "DELETE") and choice:
        case.headers["X-HTTP-Method-Override"] = case.method
        case.method = "POST"


@schemathesis.hook
def before_call(context, case, kwargs) -> None:
    # The in-process transport does not decompress responses.
    case.headers["Accept-Encoding"] = "identity"
    # With random conditions, every write would be answered with 412.
    for name in ("If-Match", "If-None-Match", "If-Unmodified-Since"):
        case.headers.pop(name, None)
    if Target.world is not None and case.meta is not None:
        RequestFixer(Target.world)(case)
        rewrite(case)


@schemathesis.hook
def filter_failure(context, failure, case, response) -> bool:
    """Drop the failure if an invalid value becomes valid as XML, which has neither numbers nor empty objects.

    Drop it also for a blank page, which means the default, and for bodies with tolerated forms: the document does not mention these.
    """
    if isinstance(failure, AcceptedNegativeData) and has_tolerated_form(case.body):
        return False
    is_xml = case.media_type == "application/xml"
    if isinstance(failure, AcceptedNegativeData) and any(
        name in (case.query or {}) and is_blank(case.query[name]) for name in ("page", "per_page")
    ):
        return False
    return not (is_xml and isinstance(failure, AcceptedNegativeData) and is_valid_as_xml(case, response))


def has_tolerated_form(value: Any) -> bool:
    """Return True if a body has a value that is read as another one: PHP's empty values and lists, stray blanks, the noise of floats."""
    if isinstance(value, dict):
        return all(str(key).isdecimal() for key in value) or any(map(has_tolerated_form, value.values()))
    if isinstance(value, list):
        return not value or any(map(has_tolerated_form, value))
    if isinstance(value, str):
        return trimmed.is_blank(value) or value != trimmed.trim(value) or value.upper() in CURRENCIES
    return isinstance(value, float) and len(repr(value)) > MIN_FLOAT_DIGITS


def is_valid_as_xml(case, response) -> bool:
    """Return True if the invalid parts of the request are valid as the server reads them."""
    invalid = {location for location, part in case.meta.components.items() if part.mode == GenerationMode.NEGATIVE}
    if not {parameter.name for parameter in case.operation.query} & set(case.query or {}):
        # Unknown parameters are ignored.
        invalid.discard(ParameterLocation.QUERY)
    if invalid - {ParameterLocation.BODY} or not response.request.body:
        return False
    root, value = xml_values.read(response.request.body)
    if root == "hash" and not isinstance(value, dict):
        value = {}
    schema = case.operation.get_body_for_media_type("application/xml").optimized_schema
    return make_validator(schema, case.operation.schema.adapter.jsonschema_validator_cls).is_valid(value)


class Credentials:
    """Credentials of a request: HTTP Basic for the Forum API, a token for the Account API."""

    def get(self, case, context) -> str:
        return "known"

    def set(self, case, data: str, context) -> None:
        if case.path.endswith(".json"):
            case.headers["Authorization"] = f"Bearer {Target.world.token}"
        else:
            pair = base64.b64encode(f"{Target.world.alice.login}:{PASSWORD}".encode()).decode()
            case.headers["Authorization"] = f"Basic {pair}"


@schemathesis.serializer("application/xml")
def to_xml(context, value) -> bytes:
    schema = context.case.operation.get_body_for_media_type("application/xml").optimized_schema
    return xml_values.write(schema.get("xml", {}).get("name", "hash"), value).encode(errors="replace")


@schemathesis.serializer(URL_ENCODED)
def to_form(context, value) -> bytes:
    return urlencode(list(form_of(value)), errors="surrogatepass").encode()


@schemathesis.deserializer("application/xml")
def from_xml(context, response) -> Any:
    return xml_values.read(response.content)[1]


def without_forms(value: Any) -> Any:
    """Return the document without form bodies. `rewrite` makes forms from JSON."""
    if isinstance(value, dict):
        return {name: without_forms(inner) for name, inner in value.items() if name != URL_ENCODED}
    return [without_forms(inner) for inner in value] if isinstance(value, list) else value


def load(document: dict[str, Any], url: str, *, app: Any):
    """Load the document with every check enabled and deterministic generation."""
    config = SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "generation": {"deterministic": True, "with-security-parameters": False, "database": "none"},
        }
    )
    schema = schemathesis.openapi.from_dict(without_forms(document), config=config)
    schema.config.update(base_url=url)
    schema.app = app
    schema.auth()(Credentials)
    return schema


@dataclass
class Findings:
    """The number of requests by mode and status, and the failures."""

    answers: Counter = field(default_factory=Counter)
    failures: list[tuple[Failure, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n\n".join(
            f"{type(failure).__name__}: {failure.message}\n{request}" for failure, request in self.failures
        )


def examine(schema, label: str, findings: Findings, *, systematic: int, random: int) -> None:
    """Send requests to one operation: about `systematic` explicit examples and at most `random` random ones."""

    def check(case) -> None:
        try:
            response = case.call_and_validate()
            findings.answers[case.meta.generation.mode.value, response.status_code] += 1
        except FailureGroup as group:
            request = f"{case.as_curl_command()}\n{case.meta.phase.data}"
            findings.failures += [(failure, request) for failure in group.exceptions]

    settings = hypothesis.settings(
        max_examples=random,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    test = create_test(
        operation=schema.find_operation_by_label(label),
        test_func=check,
        config=HypothesisTestConfig(project=schema.config, modes=list(HypothesisTestMode), settings=settings),
    )
    examples = getattr(test, "hypothesis_explicit_examples", [])
    test.hypothesis_explicit_examples = examples[:: max(1, len(examples) // systematic)]
    test()
