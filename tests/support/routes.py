"""Every route of both APIs, with a request that succeeds and the status that each role gets."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from django.urls import get_resolver

from accounts.users.models import User
from core.registry import Resource
from tests.support.client import JSONClient, XMLClient
from tests.support.factories import PASSWORD, make_token
from tests.support.resources import body_of, request_example, without_rows

IN_FEED = "the change feed and the timeline have it"
BY_AUTHOR = "the row has its author and its time"
# The routes that write no entry of the audit log, as patterns of the method and the route, each with the reason.
UNRECORDED = {
    "GET .*": "it changes nothing",
    r"[A-Z]+ app/(posts|tasks|clients|contacts|contact_lists|deals|notes|user_links)(/<id:id>|/bulk)?\.(xml|json)": IN_FEED,
    r"[A-Z]+ app/posts/<id:id>/(comments|votes?|reactions)\.(xml|json)": IN_FEED,
    "POST app/deals/<id:id>/move.json": IN_FEED,
    "POST app/(clients|contacts)/duplicates/dismiss.json": "it only leaves entries out of a page",
    "POST app/trash/<id:id>/restore.json": IN_FEED,
    "POST (<category_name:category_name>)?": IN_FEED,
    r"[A-Z]+ app/(answers|messages|views)(/<id:id>)?\.json": BY_AUTHOR,
    "POST app/messages/<id:id>/test.json": "only the user themselves gets the test",
    "POST app/(messages|bulk_changes)/<id:id>/cancel.json": "the request of the table is a conflict",
    r"(POST|DELETE) app/attachments(/<id:id>)?.json": BY_AUTHOR,
    "DELETE app/exports/<id:id>.json": "it only stops or deletes an export, whose start is in the log",
    r"[A-Z]+ app/imports(/<id:id>(/(read|preview|check))?)?\.json": "only the start of an import changes other rows",
    "POST app/imports/<id:id>/(cancel|undo).json": "the request of the table is a conflict",
    "DELETE app/posts/<id:id>/merge.json": "the request of the table is a conflict",
    "POST app/webhooks/<id:id>/(test|resend).json": "the log of the webhook has it",
    "POST app/account.json": "the log of the new account has it",
    "DELETE app/account/deletion.json": "the request of the table is a conflict",
    "DELETE app/calendar_feed.json": "it only ends an access of the user themselves",
    "DELETE app/examples.json": "the request of the table is a conflict",
    r"[A-Z]+ app/(posts/<id:id>/follow|notifications/.*|reports/dashboard)\.json": "a preference of the user themselves",
}


class Row(NamedTuple):
    """A route and method. The test fills the ids of the path and the body."""

    method: str
    route: str
    body: Callable[[SimpleNamespace], Any] | None = None
    # The status for a member of the account, and for its team.
    member: int = 403
    team: int = 200
    # The status for an agent, who created none of the rows, if it is not that of the team. `admins_only` means 403.
    agent: int | None = None
    # The errors if the ids of the body belong to another account: fields in JSON, sentences in XML.
    foreign: list[str] | None = None
    query: str = ""
    headers: dict[str, str] = {}
    admins_only: bool = False
    owners_only: bool = False
    # The route needs no credentials.
    public: bool = False
    # The row is derived from the declaration of a resource.
    is_derived: bool = False

    @property
    def is_json(self) -> bool:
        return self.route.endswith(".json")

    @property
    def permitted(self) -> str:
        """Who may call the route, in the words of an error."""
        return "the owner" if self.owners_only else "an admin or the owner" if self.admins_only else "the team"

    @property
    def unrecorded(self) -> str:
        """The reason why the route writes no entry of the audit log, or ""."""
        if self.is_derived:
            return IN_FEED
        name = f"{self.method.replace('PATCH', 'PUT')} {self.route}"
        return next((reason for pattern, reason in UNRECORDED.items() if re.fullmatch(pattern, name)), "")

    @property
    def has_parameter(self) -> bool:
        return "<" in self.route

    def path(self, ids: SimpleNamespace) -> str:
        plural = f"{self.route}/".split("/")[1]
        kind = {"statuses": "status", "saved_replies": "saved_reply"}.get(plural, plural.removesuffix("s"))
        path = self.route.replace("<id:id>", str(getattr(ids, kind, "")))
        return f"/{path}{self.query.format_map(vars(ids))}".replace("<category_name:category_name>", ids.category_name)


def xml_user(ids):
    return "<user><login>new</login><email>new@example.com</email><password>a long pass phrase</password></user>"


def xml_post(ids):
    return f"<post><title>New</title><category-id>{ids.category}</category-id></post>"


def xml_post_by_team(ids):
    return (
        f"<post><category-id>{ids.category}</category-id><status>new</status>"
        f"<responsible-id>{ids.user}</responsible-id></post>"
    )


def account(ids):
    return {
        "account": {"prefix": "brand-new", "from_partner": ids.partner_key},
        "user": {"login": "new", "email": "new@example.com", "password": "a long pass phrase"},
    }


def client(ids):
    return {
        "client": {
            "name": "New",
            "status_id": ids.client_status,
            "responsible_id": ids.user,
            "contact_id": ids.contact,
        }
    }


def contact(ids):
    return {
        "contact": {
            "name": "New",
            "client_id": ids.client,
            "contact_list_ids": [ids.contact_list],
            "responsible_id": ids.user,
        }
    }


def contact_list(ids):
    return {"contact_list": {"name": "New"}}


def deal(ids):
    return {
        "deal": {
            "name": "New",
            "client_id": ids.client,
            "status_id": ids.deal_status,
            "responsible_id": ids.user,
            "contact_id": ids.contact,
        }
    }


def moved_deal(ids):
    return {"move": {"status_id": ids.deal_status, "position": 1}}


def post(ids):
    return {
        "post": {
            "title": "New",
            "client_id": ids.client,
            "responsible_id": ids.user,
            "status_id": ids.post_status,
            "category_id": ids.other_category,
            "forum_id": ids.other_forum,
        }
    }


def attachment(ids):
    return {"attachment": {"resource": "client", "resource_id": ids.client, "content": "T2ZmZXI="}}


def note(ids):
    return {"note": {"client_id": ids.client, "content": "New"}}


def status(ids):
    return {"status": {"code": "brand-new", "name": "Brand new"}}


def field_definition(ids):
    return {"field_definition": {"resource": "client", "label": "Brand new"}}


def changed_field_definition(ids):
    return {"field_definition": {"label": "Brand new"}}


def user_link(ids):
    return {"user_link": {"user_id": ids.member, "contact_id": ids.contact}}


def changed_user_link(ids):
    return {"user_link": {"state": "rejected"}}


def pipeline(ids):
    return {"pipeline": {"name": "Brand new"}}


def group(ids):
    return {"group": {"name": "Brand new"}}


def user_group(ids):
    return {"user": {"group_id": ids.group}}


def goal(ids):
    return {"goal": {"user_id": ids.user, "period": "quarter", "measure": "deals", "target": 12}}


def settings(ids):
    return {"account": {"lost_reasons": ["Too late"]}}


def bulk_change(ids):
    values = {"resource": "client", "action": "set_responsible", "ids": [ids.client], "responsible_id": ids.user}
    return {"bulk_change": values}


def import_(ids):
    return {"import": {"content": "Name,City\nNowak,Gdynia\n", "kinds": ["client"]}}


def changed_import(ids):
    return {"import": {"mode": "create"}}


def export(ids):
    return {"export": {"resource": "client", "query": f"status_id={ids.client_status}"}}


def webhook(ids):
    return {"webhook": {"url": "https://hooks.example.com/new"}}


def view(ids):
    return {"view": {"resource": "client", "name": "Brand new", "query": "city=a"}}


def message(ids):
    return {"message": {"post_id": ids.post, "subject": "Brand new", "text": "Hello"}}


def deletion(ids):
    return {"deletion": {"prefix": ids.prefix}}


def sending(ids):
    # The draft of `fill` is to a client and a contact.
    return {"message": {"total": 2}}


def resend(ids):
    return {"resend": {"delivery_id": ids.delivery}}


def vote(ids):
    return {"vote": {"user_id": ids.member}}


def answer(ids):
    values = {"post_id": ids.answered_post, "status_id": ids.post_status, "response": "Soon."}
    return {"answer": values | {"publish_at": "2030-01-07T09:00:00Z"}}


def saved_reply(ids):
    return {"saved_reply": {"name": f"Thanks {ids.prefix}", "text": "Thank you, {name}."}}


def post_merge(ids):
    return {"merge": {"duplicate_from_id": ids.other_post}}


def forum_member(ids):
    return {"member": {"user_id": ids.member}}


def client_merge(ids):
    return {"merge": {"merged_client_id": ids.unmerged_client}}


def client_dismissal(ids):
    return {"duplicates": {"client_ids": [ids.client, ids.unmerged_client]}}


def contact_dismissal(ids):
    return {"duplicates": {"contact_ids": [ids.contact, ids.unmerged_contact]}}


def contact_merge(ids):
    return {"merge": {"merged_contact_id": ids.unmerged_contact}}


def reaction(ids):
    return {"reaction": {"comment_id": ids.comment, "kind": "eyes"}}


def comment(ids):
    return {"comment": {"comment": "New"}}


# The fields of a request that hold the id of another row.
OF_CLIENT = ["status_id", "responsible_id", "contact_id"]
OF_CONTACT = ["client_id", "contact_list_ids", "responsible_id"]
OF_DEAL = ["client_id", "status_id", "responsible_id", "contact_id"]
OF_POST = ["client_id", "responsible_id", "status_id", "category_id", "forum_id"]
# The query of an upsert by an unused external id.
NEW = "?external_ids[new]=17"

# In an atomic bulk request, the error of an item is the error of the request.
ATOMIC = {"X-Atomic": "true"}


def bulk(single, fields: list[str]) -> dict:
    """Return the arguments of a row for a bulk request with one item, whose fields are those of the function `single`."""

    def body(ids):
        [(kind, item)] = single(ids).items()
        return {f"{kind}s": [item]}

    return {"body": body, "foreign": [f"{single.__name__}s.0.{name}" for name in fields], "headers": ATOMIC}


TABLE = [
    Row("GET", "app/users/me.xml", member=200),
    Row("GET", "app/users/team.xml", member=200),
    Row("POST", "app/users.xml", xml_user, team=201),
    Row("GET", "app/categories.xml", member=200),
    Row("GET", "app/posts.xml", member=200),
    Row("POST", "app/posts.xml", xml_post, member=201, team=201, foreign=["Category can't be found"]),
    Row("GET", "app/posts/<id:id>.xml", member=200),
    Row(
        "PUT",
        "app/posts/<id:id>.xml",
        xml_post_by_team,
        foreign=["Category can't be found", "Responsible can't be found"],
    ),
    Row("DELETE", "app/posts/<id:id>.xml"),
    Row("GET", "", member=200),
    Row("POST", "", member=200),
    Row("GET", "<category_name:category_name>", member=200),
    Row("POST", "<category_name:category_name>", member=200),
    Row("GET", "app/account.json"),
    Row("POST", "app/account.json", account, team=201, admins_only=True),
    Row("GET", "app/account/deletion.json", owners_only=True),
    Row("POST", "app/account/deletion.json", deletion, owners_only=True),
    Row("DELETE", "app/account/deletion.json", team=409, owners_only=True),
    Row("GET", "app/audit.json", owners_only=True),
    Row("GET", "app/tokens.json"),
    Row("GET", "app/changes.json"),
    Row("POST", "app/clients.json", client, team=201, foreign=OF_CLIENT),
    Row("PUT", "app/clients.json", client, team=201, foreign=OF_CLIENT, query=NEW),
    Row("GET", "app/clients.json"),
    Row("GET", "app/clients/<id:id>.json"),
    Row("PUT", "app/clients/<id:id>.json", client, foreign=OF_CLIENT),
    Row("DELETE", "app/clients/<id:id>.json"),
    Row("GET", "app/clients/tags.json"),
    Row("POST", "app/clients/bulk.json", **bulk(client, OF_CLIENT)),
    Row("POST", "app/contacts.json", contact, team=201, foreign=OF_CONTACT),
    Row("PUT", "app/contacts.json", contact, team=201, foreign=OF_CONTACT, query=NEW),
    Row("GET", "app/contacts.json"),
    Row("GET", "app/contacts/<id:id>.json"),
    Row("PUT", "app/contacts/<id:id>.json", contact, foreign=OF_CONTACT),
    Row("DELETE", "app/contacts/<id:id>.json"),
    Row("GET", "app/contacts/tags.json"),
    Row("POST", "app/contacts/bulk.json", **bulk(contact, OF_CONTACT)),
    Row("POST", "app/contact_lists.json", contact_list, team=201),
    Row("GET", "app/contact_lists.json"),
    Row("GET", "app/contact_lists/<id:id>.json"),
    Row("PUT", "app/contact_lists/<id:id>.json", contact_list),
    Row("DELETE", "app/contact_lists/<id:id>.json"),
    Row("POST", "app/deals.json", deal, team=201, foreign=OF_DEAL),
    Row("PUT", "app/deals.json", deal, team=201, foreign=OF_DEAL, query=NEW),
    Row("GET", "app/deals.json"),
    Row("GET", "app/deals/<id:id>.json"),
    Row("PUT", "app/deals/<id:id>.json", deal, foreign=OF_DEAL),
    Row("DELETE", "app/deals/<id:id>.json"),
    Row("GET", "app/deals/<id:id>/stages.json"),
    Row("GET", "app/clients/sums.json"),
    Row("GET", "app/clients/duplicates.json"),
    Row("GET", "app/contacts/duplicates.json"),
    Row("POST", "app/clients/duplicates/dismiss.json", client_dismissal, foreign=["client_ids"]),
    Row("POST", "app/contacts/duplicates/dismiss.json", contact_dismissal, foreign=["contact_ids"]),
    Row("GET", "app/deals/sums.json"),
    Row("GET", "app/clients/<id:id>/summary.json"),
    Row("GET", "app/contacts/<id:id>/summary.json"),
    Row("GET", "app/deals/<id:id>/summary.json"),
    Row("GET", "app/clients/<id:id>/timeline.json"),
    Row("GET", "app/contacts/<id:id>/timeline.json"),
    Row("GET", "app/deals/<id:id>/timeline.json"),
    Row("GET", "app/deals/board.json"),
    Row("POST", "app/deals/<id:id>/move.json", moved_deal, foreign=["status_id"]),
    Row("GET", "app/deals/tags.json"),
    Row("POST", "app/deals/bulk.json", **bulk(deal, OF_DEAL)),
    Row("GET", "app/find.json", query="?q=new"),
    Row("GET", "app/home.json"),
    Row("GET", "app/first_steps.json"),
    Row("POST", "app/examples.json", team=201, admins_only=True),
    Row("DELETE", "app/examples.json", team=409, admins_only=True),
    Row("GET", "app/goals.json"),
    Row("POST", "app/goals.json", goal, team=201, foreign=["user_id"], admins_only=True),
    Row("GET", "app/goals/<id:id>.json"),
    Row("PUT", "app/goals/<id:id>.json", goal, foreign=["user_id"], admins_only=True),
    Row("DELETE", "app/goals/<id:id>.json", admins_only=True),
    Row("GET", "app/similar.json", query="?name=new&email=new@example.com&tax_no=7010001112"),
    Row("GET", "app/reports/activities.json"),
    Row("GET", "app/reports/answers.json"),
    Row("GET", "app/reports/clients.json"),
    Row("GET", "app/reports/dashboard.json"),
    Row("PUT", "app/reports/dashboard.json", lambda ids: {"dashboard": {"reports": ["results"]}}),
    Row("GET", "app/reports/forecast.json"),
    Row("GET", "app/reports/people.json"),
    Row("GET", "app/reports/reasons.json"),
    Row("GET", "app/reports/results.json"),
    Row("GET", "app/reports/stages.json"),
    Row("GET", "app/reports/suggestions.json"),
    Row("POST", "app/notes.json", note, team=201, foreign=["client_id"]),
    Row("GET", "app/notes.json"),
    Row("GET", "app/notes/<id:id>.json"),
    Row("PUT", "app/notes/<id:id>.json", note, foreign=["client_id"], agent=403),
    Row("DELETE", "app/notes/<id:id>.json", agent=403),
    Row("POST", "app/posts.json", post, team=201, foreign=OF_POST),
    Row("GET", "app/posts.json"),
    Row("GET", "app/posts/<id:id>.json"),
    Row("PUT", "app/posts/<id:id>.json", post, foreign=OF_POST),
    Row("DELETE", "app/posts/<id:id>.json"),
    Row("GET", "app/posts/<id:id>/comments.json"),
    Row("POST", "app/posts/<id:id>/comments.json", comment, team=201),
    Row("POST", "app/posts/<id:id>/reactions.json", reaction, foreign=["comment_id"]),
    Row("POST", "app/posts/<id:id>/vote.json", team=201),
    Row("DELETE", "app/posts/<id:id>/vote.json"),
    Row("GET", "app/posts/<id:id>/votes.json"),
    Row("POST", "app/posts/<id:id>/votes.json", vote, team=201, foreign=["user_id"]),
    Row("DELETE", "app/posts/<id:id>/votes.json", query="?user_id={user}"),
    Row("POST", "app/posts/<id:id>/merge.json", post_merge, foreign=["duplicate_from_id"]),
    # The suggestion is not merged.
    Row("DELETE", "app/posts/<id:id>/merge.json", team=422),
    Row("GET", "app/forums/<id:id>/members.json"),
    Row("POST", "app/forums/<id:id>/members.json", forum_member, team=201, foreign=["user_id"], admins_only=True),
    Row("DELETE", "app/forums/<id:id>/members.json", query="?user_id={member}", admins_only=True),
    Row("PUT", "app/account.json", settings, admins_only=True),
    Row("GET", "app/account/brand.json"),
    Row("PUT", "app/account/brand.json", lambda ids: {"brand": {"accent": "#0a7a4b"}}, admins_only=True),
    Row("GET", "app/users/<id:id>.json"),
    Row("PUT", "app/users/<id:id>.json", user_group, foreign=["group_id"], admins_only=True),
    Row("DELETE", "app/users/<id:id>.json", admins_only=True),
    Row("DELETE", "app/users/<id:id>/sessions.json", admins_only=True),
    Row("GET", "app/groups.json"),
    Row("POST", "app/groups.json", group, team=201, admins_only=True),
    Row("GET", "app/groups/<id:id>.json"),
    Row("PUT", "app/groups/<id:id>.json", group, admins_only=True),
    Row("DELETE", "app/groups/<id:id>.json", admins_only=True),
    Row("GET", "app/pipelines.json"),
    Row("POST", "app/pipelines.json", pipeline, team=201, admins_only=True),
    Row("GET", "app/pipelines/<id:id>.json"),
    Row("PUT", "app/pipelines/<id:id>.json", pipeline, admins_only=True),
    Row("DELETE", "app/pipelines/<id:id>.json", admins_only=True),
    Row("GET", "app/statuses.json"),
    Row("POST", "app/statuses.json", status, team=201, admins_only=True),
    Row("GET", "app/statuses/<id:id>.json"),
    Row("PUT", "app/statuses/<id:id>.json", status, admins_only=True),
    Row("DELETE", "app/statuses/<id:id>.json", admins_only=True),
    Row("POST", "app/user_links.json", user_link, team=201, foreign=["user_id", "contact_id"]),
    Row("GET", "app/user_links.json"),
    Row("GET", "app/user_links/<id:id>.json"),
    Row("PUT", "app/user_links/<id:id>.json", changed_user_link),
    Row("DELETE", "app/user_links/<id:id>.json"),
    Row("GET", "app/field_definitions.json"),
    Row("POST", "app/field_definitions.json", field_definition, team=201, admins_only=True),
    Row("GET", "app/field_definitions/<id:id>.json"),
    Row("PUT", "app/field_definitions/<id:id>.json", changed_field_definition, admins_only=True),
    Row("DELETE", "app/field_definitions/<id:id>.json", admins_only=True),
    Row("GET", "app/field_definitions/<id:id>/misfits.json"),
    Row("GET", "app/bulk_changes.json"),
    Row("POST", "app/bulk_changes.json", bulk_change, team=201, foreign=["responsible_id"]),
    Row("GET", "app/bulk_changes/<id:id>.json", agent=404),
    Row("POST", "app/bulk_changes/<id:id>/undo.json", agent=404),
    Row("POST", "app/bulk_changes/<id:id>/cancel.json", team=409, agent=404),
    Row("GET", "app/exports.json"),
    Row("POST", "app/exports.json", export, team=201),
    Row("GET", "app/exports/<id:id>.json", agent=404),
    Row("DELETE", "app/exports/<id:id>.json", agent=404),
    Row("GET", "app/imports.json"),
    Row("POST", "app/imports.json", import_, team=201),
    Row("GET", "app/imports/<id:id>.json", agent=404),
    Row("PUT", "app/imports/<id:id>.json", changed_import, agent=404),
    Row("DELETE", "app/imports/<id:id>.json", agent=404),
    Row("GET", "app/imports/<id:id>/faults.json", agent=404),
    Row("POST", "app/imports/<id:id>/read.json", lambda ids: {"reading": {"separator": ";"}}, agent=404),
    Row("POST", "app/imports/<id:id>/preview.json", agent=404),
    Row("POST", "app/imports/<id:id>/check.json", agent=404),
    Row("POST", "app/imports/<id:id>/start.json", agent=404),
    Row("POST", "app/imports/<id:id>/cancel.json", team=409, agent=404),
    Row("POST", "app/imports/<id:id>/undo.json", team=409, agent=404),
    Row("GET", "app/calendar_feed.json"),
    Row("POST", "app/calendar_feed.json", team=201),
    Row("DELETE", "app/calendar_feed.json"),
    Row("GET", "app/answers.json"),
    Row("POST", "app/answers.json", answer, team=201, foreign=["post_id", "status_id"]),
    Row("GET", "app/answers/<id:id>.json"),
    Row("PUT", "app/answers/<id:id>.json", answer, foreign=["post_id", "status_id"]),
    Row("DELETE", "app/answers/<id:id>.json"),
    Row("GET", "app/saved_replies.json"),
    Row("POST", "app/saved_replies.json", saved_reply, team=201, admins_only=True),
    Row("GET", "app/saved_replies/<id:id>.json"),
    Row("PUT", "app/saved_replies/<id:id>.json", saved_reply, admins_only=True),
    Row("DELETE", "app/saved_replies/<id:id>.json", admins_only=True),
    Row("GET", "app/messages.json"),
    Row("POST", "app/messages.json", message, team=201, foreign=["post_id"]),
    Row("GET", "app/messages/<id:id>.json"),
    Row("PUT", "app/messages/<id:id>.json", message, foreign=["post_id"]),
    Row("DELETE", "app/messages/<id:id>.json"),
    Row("POST", "app/messages/<id:id>/test.json"),
    Row("POST", "app/messages/<id:id>/send.json", sending),
    Row("POST", "app/messages/<id:id>/cancel.json", team=409),
    Row("GET", "app/messages/<id:id>/recipients.json"),
    Row("POST", "app/clients/<id:id>/merge.json", client_merge, team=201, foreign=["merged_client_id"]),
    Row("POST", "app/contacts/<id:id>/merge.json", contact_merge, team=201, foreign=["merged_contact_id"]),
    Row("GET", "app/merges.json"),
    Row("GET", "app/merges/<id:id>.json"),
    Row("POST", "app/merges/<id:id>/undo.json"),
    Row("GET", "app/attachments.json"),
    Row("POST", "app/attachments.json", attachment, team=201, foreign=["resource_id"]),
    Row("GET", "app/attachments/<id:id>.json"),
    Row("DELETE", "app/attachments/<id:id>.json"),
    Row("GET", "app/trash.json", admins_only=True),
    Row("POST", "app/trash/<id:id>/restore.json", admins_only=True),
    Row("GET", "app/webhooks.json", admins_only=True),
    Row("POST", "app/webhooks.json", webhook, team=201, admins_only=True),
    Row("GET", "app/webhooks/<id:id>.json", admins_only=True),
    Row("PUT", "app/webhooks/<id:id>.json", webhook, admins_only=True),
    Row("DELETE", "app/webhooks/<id:id>.json", admins_only=True),
    Row("POST", "app/webhooks/<id:id>/secret.json", admins_only=True),
    Row("POST", "app/webhooks/<id:id>/test.json", admins_only=True),
    Row("POST", "app/webhooks/<id:id>/resend.json", resend, foreign=["delivery_id"], admins_only=True),
    Row("GET", "app/webhooks/<id:id>/deliveries.json", admins_only=True),
    Row("GET", "app/views.json"),
    Row("POST", "app/views.json", view, team=201),
    Row("GET", "app/views/<id:id>.json"),
    Row("PUT", "app/views/<id:id>.json", view, agent=403),
    Row("DELETE", "app/views/<id:id>.json", agent=403),
    Row("GET", "app/posts/revenue.json"),
    Row("GET", "app/posts/<id:id>/clients.json"),
    Row("GET", "app/posts/<id:id>/revenue.json"),
    Row("POST", "app/posts/<id:id>/follow.json"),
    Row("DELETE", "app/posts/<id:id>/follow.json"),
    Row("GET", "app/notifications.json", member=200),
    Row("POST", "app/notifications/read.json", member=200),
    Row("POST", "app/notifications/<id:id>/read.json", member=404, agent=404),
    Row("GET", "app/posts/tags.json"),
    Row("GET", "app/tasks.json"),
    Row("GET", "app/users.json"),
    Row("GET", "app.json"),
    Row("GET", "app/openapi.json", member=200, public=True),
    Row("GET", "app/docs/swagger", member=200, public=True),
]


def derived_rows(resource: Resource) -> list[Row]:
    """Return the routes of a resource that has no rows above."""

    def body(ids: SimpleNamespace) -> dict[str, Any]:
        return {resource.key: body_of(resource, ids)}

    links = [name for name in request_example(resource) if name.endswith("_id")]
    collection = f"app/{resource.collection}"
    rows = [
        Row("POST", f"{collection}.json", body, team=201, foreign=links or None),
        Row("GET", f"{collection}.json"),
        Row("GET", f"{collection}/<id:id>.json"),
        Row("PUT", f"{collection}/<id:id>.json", body, foreign=links or None),
        Row("DELETE", f"{collection}/<id:id>.json"),
    ]
    return [row._replace(is_derived=True) for row in rows]


TABLE += [row for resource in without_rows({row.route for row in TABLE}) for row in derived_rows(resource)]
# A PATCH request is answered as a PUT request.
TABLE += [row._replace(method="PATCH") for row in TABLE if row.method == "PUT"]


def send(row: Row, client, path: SimpleNamespace, body: SimpleNamespace):
    content = row.body(body) if row.body else None
    if row.is_json:
        return client.request(row.method, row.path(path), json=content, headers=row.headers)
    if content is None:
        return client.request(row.method, row.path(path))
    return client.send_xml(row.method, row.path(path), content)


def caller(row: Row, host: str, user: User | None):
    """Return a client of the route's API as the user; without credentials if the user is None."""
    if row.is_json:
        # One token for all rows: the number of tokens of a user is limited.
        if user is not None and not hasattr(user, "token"):
            user.token = make_token(user)
        return JSONClient(host, user and user.token)
    return XMLClient(host, auth=(user.login, PASSWORD) if user else None)


def routes() -> set[tuple[str, str]]:
    """Return every (method, route) of both APIs. HEAD is left out; views without actions are pages."""
    return {
        (method.upper(), str(pattern.pattern))
        for pattern in get_resolver().url_patterns
        for method in getattr(pattern.callback, "actions", ())
        if method != "head"
    }
