"""A list of every page of the interface, with the rows that the pages show.

Add the page of a new route to PAGES; `test_every_page_is_in_the_list` fails until then.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlencode

from django.core import signing
from django.db import transaction
from django.urls import URLPattern, get_resolver
from django.utils import timezone

from accounts.account_creation.pages import OPENED_SALT
from accounts.erasure.erasing import Receipt
from accounts.mail.sending import sign_link
from accounts.profile import pages as profile
from accounts.sessions.models import Session
from accounts.sign_in import emails as user_emails
from accounts.statuses.models import Status
from accounts.users.models import User
from forum.content_reports.models import ContentReport
from forum.forums.membership import ForumMember
from forum.notifications.emails import Sender
from forum.notifications.texts import UNSUBSCRIBE
from forum.posts.models import Post
from forum.texts.slugs import post_path
from team.backers.models import update_post_revenues
from team.bulk.models import BulkChange
from team.exports.models import Export
from team.goals.models import Goal
from team.imports.models import Import
from team.mailings.models import Message, MessageRecipient
from team.mailings.sending import start_message, unsubscribe_address
from tests.support.factories import (
    make_answer,
    make_attachment,
    make_category,
    make_client,
    make_contact,
    make_contact_list,
    make_deal,
    make_delivery,
    make_field_definition,
    make_forum,
    make_import,
    make_note,
    make_post,
    make_saved_view,
    make_task,
    make_user,
    make_user_link,
)
from tests.support.fixtures import Cast
from tests.support.followers import run_followers
from tests.support.page_routes import page_class
from tests.support.people import type_in
from webhooks.models import Endpoint

# The host at which visitors create accounts.
FRONT = "example.test"
LONG_WORD = "averyveryverylongwordwithoutanyplacetobreakit" * 4
MARKDOWN = (
    """Several shops asked for it, **one** of them [here](https://example.com/a), and `code`:

> In the list, please.

| country | price |
|---|---|
| Poland | 12,00 |

    curl https://example.com/a/very/long/address/that/goes/on/and/on/and/on/and/on/and/on/and/on/and/on

"""
    + LONG_WORD
)


class World:
    """The rows that the pages show: acme's forum with rows of each kind. They are created once, and the checks only read them."""

    def __init__(self, acme: Cast):
        self.acme = acme
        self.account, self.alice, self.bob, self.carol = acme.account, acme.alice, acme.bob, acme.carol
        make_category(self.account, "Ideas for the mobile application")
        title = f"Show the price before the first click {LONG_WORD}"
        self.post: Post = make_post(self.carol, title, content=MARKDOWN, tags=["prices", "user interface"])
        # The first suggestion of a member has links.
        self.post.approve(by=self.bob)
        self.post.refresh_from_db()
        self.post.vote(by=self.bob)
        self.post.comment(by=self.bob, text=MARKDOWN, agent="test")
        self.comment = self.post.comment(by=self.carol, text="Not all of them need it.", agent="test")
        self.post.edit_comment(self.comment, MARKDOWN, by=self.bob)
        for number in range(5):
            reply = self.post.comment(by=self.carol, text=f"Reply {number}: {LONG_WORD}", parent_id=self.comment.id)
            self.post.react(reply, "heart", by=self.carol, reacts=True)
        self.post.mark_comment(self.comment, by=self.bob, pinned=True, helpful=True)
        deleted = self.post.comment(by=self.carol, text="Deleted", agent="test")
        self.post.comment(by=self.bob, text="It still has a reply.", parent_id=deleted.id)
        self.post.erase_comment(deleted)
        self.post.comment(by=self.bob, text="Ask the finance team first.", internal=True, agent="test")
        self.others = [
            make_post(self.bob, f"Suggestion {number}", content="A few words on what it is good for.")
            for number in range(4)
        ]
        self.private = make_post(self.carol, f"For the team alone {LONG_WORD}", private=True)
        self.respond_to(self.post)
        make_attachment(self.bob, "post", self.post, f"{LONG_WORD}.txt")
        self.duplicate = make_post(self.carol, f"The price in the summary {LONG_WORD}")
        self.duplicate.comment(by=self.carol, text="Where else?", agent="test")
        self.duplicate.merge_into(self.post, by=self.bob)
        client = make_client(
            self.bob,
            "Northwind Traders of the Far North",
            email="office@northwind.example",
            city="Warszawa",
            note=MARKDOWN,
            responsible_id=self.bob.id,
            tags=["vip"],
            external_ids={"shop": LONG_WORD[:200]},
            url="https://shop.example.com/customers/17",
        )
        make_attachment(self.bob, "client", client, f"{LONG_WORD}.txt")
        contact = make_contact(self.bob, "Nora North", client_id=client.id, email="nora@northwind.example")
        deal = make_deal(self.bob, f"The roof of the barn {LONG_WORD}", client_id=client.id, price="12000.5")
        self.note = make_note(self.bob, f"{MARKDOWN} @alice", client_id=client.id, kind="call", duration=15)
        make_note(self.alice, "They moved to a larger office. @bob", client_id=client.id)
        self.make_board(client.id)
        make_task(self.bob, f"Send the offer {LONG_WORD}", client_id=client.id, responsible_id=self.bob.id)
        make_user_link(self.bob, self.carol, client_id=client.id)
        for name, link, state in (
            ("Nora North of the forum", {"contact_id": contact.id}, "proposed"),
            (LONG_WORD, {"client_id": client.id}, "proposed"),
            ("Somebody else", {"client_id": client.id}, "rejected"),
        ):
            make_user_link(self.bob, make_user(self.account, name=name), state=state, **link)
        trashed = make_client(self.bob, "Kowalski and Daughters")
        trashed.trash(by=self.bob)
        similar = make_client(
            self.bob, f"Northwind {LONG_WORD}", city="Gdynia", note=MARKDOWN, tags=["new"], external_ids={"shop": "9"}
        )
        merged = make_client(self.bob, "Northwind")
        self.acme.account.merges.merge(self.acme.account, "client", similar.id, merged.id, {}, by=self.bob)
        with transaction.atomic():
            Goal(account=self.account).write({"target": 5, "measure": Goal.Measure.DEALS})
            Goal(account=self.account).write({"target": 100_000, "user_id": self.bob.id})
        self.contact_list = make_contact_list(self.bob, LONG_WORD[:200]).id
        self.records = {
            "merges": similar.id,
            "merged_clients": merged.id,
            "clients": client.id,
            "contacts": contact.id,
            "deals": deal.id,
            "trashed_clients": trashed.id,
        }
        make_note(self.bob, f"Wants an offer by Friday. {LONG_WORD}", client_id=client.id, kind="call", duration=15)
        won = self.account.statuses.get(kind="deal", code="won")
        deal.write({"status_id": won.id, "description": LONG_WORD * 2}, by=self.bob)
        client.write({"city": "Gdańsk", "responsible_id": self.carol.id, "discount": "12.5"}, by=self.bob)
        client.write({"responsible_id": self.bob.id}, by=self.bob)
        self.post.cast_proxy_vote(by=self.bob, client_id=client.id)
        self.post.cast_proxy_vote(by=self.bob, contact_id=contact.id)
        self.task = make_task(
            self.bob,
            f"Call Nora about the invoice {LONG_WORD}",
            content=MARKDOWN,
            client_id=client.id,
            contact_id=contact.id,
            responsible_id=self.bob.id,
            scheduled_at=timezone.now() - timedelta(days=2),
            priority=1,
        )
        self.task.comment(by=self.bob, text="Nobody answers.", agent="test")
        for days in (0, 0, 0, 0, 3, 20):
            at = timezone.now() + timedelta(days=days)
            make_task(self.bob, f"Write to {LONG_WORD}", responsible_id=self.bob.id, scheduled_at=at)
        self.view = make_saved_view(self.bob, LONG_WORD[:60], query="name__contains=north&columns=name,city,tags")
        make_saved_view(self.alice, "Clients by the sea", query="city=Gdynia", shared=True)
        update_post_revenues()
        make_post(self.carol, "Has nobody approved this yet?", content=MARKDOWN, approved=False)
        self.account.forums.update(approval=True)
        self.webhook, _secret = Endpoint.objects.all().add(
            self.account, url=f"https://hooks.example.com/{LONG_WORD}", events=["client.created"]
        )
        Endpoint.objects.filter(id=self.webhook.id).update(failing_since=self.webhook.created_at)
        for status in (204, 500):
            make_delivery(self.webhook, status=status, request=f'{{"name": "{LONG_WORD}"}}', response=LONG_WORD)
        self.bulk_change = BulkChange.start(
            self.account,
            by=self.bob,
            resource="client",
            action="add_tags",
            data={"tags": ["north", LONG_WORD[:60]]},
            ids=[client.id, trashed.id],
            query="",
        )
        self.imports = {
            state: self.make_import(state) for state in ("draft", "checked", "unreadable", "done", "undone")
        }
        values = {"resource": "client", "format": "xlsx", "options": {"language": "en"}}
        self.exports = [Export.start(self.account, by=self.bob, **values) for _ in range(3)]
        make_client(self.bob, "Has a long description", description="x" * 33_000)
        counts = {"client": {"created": 2, "refused": 1}, "task": {"unchanged": 3, "kept": 1}}
        report = {
            "missing": ["status"],
            "fields": {"client.mood": 2},
            "refused": [{"kind": "client", "id": "7", "reason": "name: can't be blank"}],
            "kept": [{"kind": "task", "id": "8", "fields": ["title"]}],
        }
        values = {"address": "https://old.example.com", "state": "done", "run": 1, "counts": counts, "report": report}
        self.account.move_ins.create(author_id=self.alice.id, **values)
        self.exports[0].columns = "all"
        self.exports[0].run()
        self.exports[1].finish("failed", failure="rows")
        client.write({"consent": True, "email": "north@northwind.example"}, by=self.bob)
        content = {"subject": f"News about {LONG_WORD}"[:150], "text": MARKDOWN, "include_not_asked": True}
        self.message = Message(account=self.account, post_id=self.post.id, **content)
        start_message(self.message, by=self.bob)
        self.draft = Message(account=self.account, post_id=self.post.id, **content)
        self.draft.write({}, by=self.bob)
        self.answer = make_answer(self.post, self.bob, response=MARKDOWN)
        self.reply = self.account.saved_replies.create(name=LONG_WORD[:100], text=MARKDOWN)
        recipient = MessageRecipient.objects.filter(account=self.account).first()
        recipient.write(state="sending")
        recipient.finish("failed", "rejected")
        self.recipient = recipient
        # Rows in the trash.
        make_post(self.bob, "A duplicate of another").trash(by=self.bob)
        make_client(self.bob, "Nowak and Sons").trash(by=self.bob)
        run_followers()
        self.category = self.account.categories.of_forum(acme.forum.id).first()
        self.field = make_field_definition(self.account, "size", label="Size", type="choice", choices=["S", "M", "L"])
        make_field_definition(self.account, "since", label="Customer since", type="date", required=True)
        make_field_definition(self.account, "effort", resource="suggestion", label="Effort", type="number")
        self.status = self.account.statuses_of_kind(Status.Kind.POST).first()
        _invitation, self.invitation = self.account.invitations.invite(
            self.account, email="dora@acme.example", role=User.Role.AGENT, by=self.alice
        )
        # With a second forum, the header has a switcher.
        make_forum(self.account, "forum-of-the-mobile-application")
        self.dan = make_user(self.account, "dan", password=None)
        ForumMember.objects.add(self.account, [acme.forum.id], [self.carol.id, self.dan.id])
        for name in ("eve", LONG_WORD[:40]):
            user = make_user(self.account, name)
            self.account.forum_members.create(forum_id=acme.forum.id, user_id=user.id, state="pending")
        for row in (self.post, self.comment):
            ContentReport.objects.file(row, by=self.dan, reason="abuse", note=LONG_WORD)
        # Session secrets by login.
        users = (self.alice, self.bob, self.carol, self.dan)
        self.sessions = {user.login: Session.objects.start(user, is_verified=True)[1] for user in users}

    def make_board(self, client_id: int) -> None:
        """Create deals in several statuses, some of them overdue or rotting, and a second pipeline."""
        statuses = {status.code: status.id for status in self.account.statuses_of_kind(Status.Kind.DEAL)}
        late = timezone.localdate() - timedelta(days=3)
        for code in ("new", "new", "proposal", "won"):
            values = {"status_id": statuses[code], "expected_close_date": late, "responsible_id": self.bob.id}
            deal = make_deal(self.bob, f"A barn {LONG_WORD}", client_id=client_id, price="900", **values)
            self.account.deals.filter(id=deal.id).update(stage_entered_at=timezone.now() - timedelta(days=40))
        self.staged_deal = deal.id
        self.lost_status = statuses["lost"]
        self.account.pipelines.create(name="Partners", position=2)
        self.group = self.account.user_groups.create(name=f"Sales {LONG_WORD}")
        self.account.users.filter(login="bob").update(group_id=self.group.id)

    def make_import(self, state: str) -> Import:
        """Create an import with new, changed and wrong rows, a status that does not exist, and two formats that fit its dates."""
        lines = [
            "Name,E-mail,Discount,Created,Status,Remarks",
            f"Northwind Traders of the Far North,office@northwind.example,{len(state)},01/02/2025,lead,{LONG_WORD}",
            f"Spruce {state},{state}@spruce.example,many,03/04/2025,Sleeping {LONG_WORD},",
            f"Rowan {LONG_WORD},{state}@rowan.example,2,03/05/2025,,",
        ]
        text = "%PDF-1.7" if state == "unreadable" else "\n".join(lines)
        row = make_import(self.bob, text, name=f"{LONG_WORD}.csv", started=state in ("done", "undone"))
        if state == "checked":
            row.begin_check()
            row.check_part(self.bob)
        if state == "undone":
            spruce = self.account.clients.filter(name__startswith="Rowan").latest("id")
            spruce.write({"city": "Sopot"}, by=self.alice)
            row.undo(by=self.bob)
        return row

    def respond_to(self, post: Post) -> None:
        planned = self.account.statuses.get(kind=Status.Kind.POST, code="planned")
        post.write({"status_id": planned.id, "response": MARKDOWN}, by=self.bob)

    def link(self, path: str, purpose: str) -> str:
        """Return the address of a link in an e-mail to carol."""
        token = sign_link({"email": "carol@new.example"}, *self.carol.link_subject(purpose))
        return f"{path}?{urlencode({'user': self.carol.id, 'token': token})}"

    def unsubscribe_path(self) -> str:
        """Return the path of the link to unsubscribe for an e-mail to carol."""
        token = sign_link({"post": self.post.id}, UNSUBSCRIBE, self.account.id, self.carol.id)
        return f"/app/unsubscribe?{urlencode({'user': self.carol.id, 'token': token})}"

    def invitation_path(self) -> str:
        return f"/app/invitation?secret={self.invitation}"

    def customer_unsubscribe_path(self) -> str:
        """Return the path of the link to unsubscribe for an e-mail to a customer."""
        address = unsubscribe_address(self.account, Sender("Acme", "acme"), self.recipient)
        return address.partition("/app/")[1] + address.partition("/app/")[2]


@dataclass(frozen=True)
class PageCase:
    """A page in one state, as one user sees it."""

    # The route as in the URL resolver; None for an error page.
    route: str | None
    # The login of the user; empty for a visitor.
    login: str = ""
    # The address, if it differs from the route.
    path: Callable[[World], str] | str = ""
    status: int = 200
    # The host, if it is not that of the account.
    host: str = ""
    # Called with the page before the checks.
    prepare: Callable | None = field(default=None, compare=False)
    state: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, [f"/{self.route or ''}", self.state, self.login and f"as {self.login}"]))

    def address(self, world: World) -> str:
        path = self.path(world) if callable(self.path) else self.path or f"/{self.route}"
        return f"http://{self.host}{path}" if self.host else path


def of_post(end: str = "", *, name: str = "post") -> Callable[[World], str]:
    """Return a function for the path of the post that is the attribute `name` of the world, or of its page `end`."""

    def path(world: World) -> str:
        post = getattr(world, name)
        return f"/app/posts/{post.id}{end}" if end else post_path(post.id, post.title)

    return path


def of_members(end: str = "") -> Callable[[World], str]:
    """Return a function for the path of the page of the members of the first forum."""
    return lambda world: f"/app/account/forums/{world.acme.forum.id}/members{end}"


def of_comment(action: str) -> Callable[[World], str]:
    """Return a function that returns the path of a page of the edited comment."""
    return lambda world: f"/app/posts/{world.post.id}/comments/{world.comment.id}/{action}"


def of_record(collection: str, end: str = "") -> Callable[[World], str]:
    """Return a function for the path of the client, contact or deal of the world."""
    return lambda world: f"/app/{collection.removeprefix('trashed_')}/{world.records[collection]}{end}"


def receipt_path(world: World) -> str:
    receipt = Receipt(world.account.id, "user", 16, 15, at="2026-11-21T12:00:00+00:00")
    receipt.erased.update(sessions=2, notifications=14, mentions=1)
    receipt.kept.update(posts=3, comments=1)
    receipt.report("post", 12)
    return f"/app/erasure?{urlencode({'receipt': receipt.signed()})}"


def of_import(state: str, end: str = "") -> Callable[[World], str]:
    """Return a function for the path of the import in this state."""
    return lambda world: f"/app/imports/{world.imports[state].id}{end}"


def type_into_the_search(page) -> None:
    """Type into the search of the header, or follow the link that replaces it on small screens."""
    search = page.locator("#find")
    if search.is_visible():
        type_in(search, "north")
        page.locator("#find-list").wait_for()
    else:
        page.locator(".find .bell").click()
        page.locator("main [type=search]").wait_for()


def record_a_call(page) -> None:
    """Choose the kind and send the form without a text."""
    page.locator("#composer .kinds").get_by_text("Call", exact=True).click()
    page.locator("#composer").get_by_role("button", name="Save").click()
    page.locator("#composer .field-error").wait_for()


def load_the_tiles(page) -> None:
    page.wait_for_load_state("networkidle")


def edit_the_city(page) -> None:
    page.get_by_role("link", name="Change: City").click()
    page.locator(".fact.editing").wait_for()


def edit_a_cell(page) -> None:
    page.get_by_role("link", name="Change: City").first.focus()
    page.keyboard.press("Enter")
    page.locator("td.editing").wait_for()


def open_the_view_form(page) -> None:
    page.get_by_text("Save as a view").click()
    page.get_by_label("Name of the view").wait_for()


def submit_a_blank_comment(page) -> None:
    page.get_by_label("Comment").fill(" ")
    page.get_by_role("button", name="Save").click()
    page.locator(".field-error").wait_for()


def select_and_show_choices(page) -> None:
    page.get_by_label("Select all").check()
    page.get_by_text("More actions").click()
    page.get_by_text("Keyboard shortcuts").click()


def set_no_status(page) -> None:
    select_and_show_choices(page)
    page.get_by_role("button", name="Set status").click()
    page.get_by_role("alert").wait_for()


def preview(page) -> None:
    """Send the form of a message. The next page is its preview, or the form with errors."""
    page.get_by_role("button", name="Preview").click()
    page.locator("main form[method=post] button[value=test], main [role=alert]").first.wait_for()


def submit_empty_form(page) -> None:
    page.locator("main form button:not([type=button])").first.click()
    page.get_by_role("alert").wait_for()


def save_empty_task(page) -> None:
    page.locator(".actions button").click()
    page.get_by_role("alert").wait_for()


def ask_for_an_account(page) -> None:
    """Send the form for a new account, as somebody who has taken their time."""
    for name, value in {"name": LONG_WORD[:80], "owner_name": "Eve", "email": "eve@example.org"}.items():
        page.locator(f"#start [name={name}]").fill(value)
    opened = signing.dumps(time.time() - 10, salt=OPENED_SALT)
    page.locator("#start [name=opened]").evaluate("(field, value) => { field.value = value; }", opened)
    page.locator("#start button").click()
    page.locator("#code").wait_for()


def request_a_code(page) -> None:
    page.get_by_label("E-mail").fill("eve@acme.example")
    page.locator("#code-request button").click()
    page.get_by_label("Code from the e-mail").wait_for()


def write_a_draft(page) -> None:
    page.get_by_label("Title").fill("Zebra crossings at the school")
    page.get_by_label("Details").fill("With **lights**, please.")
    page.get_by_role("button", name="Go on").click()
    page.get_by_label("E-mail").wait_for()


def submit_a_draft_without_an_address(page) -> None:
    write_a_draft(page)
    page.locator("#code-request button").click()
    page.get_by_text("Can't be blank").first.wait_for()


def request_a_code_for_a_draft(page) -> None:
    write_a_draft(page)
    request_a_code(page)


def request_an_erasure_code(page) -> None:
    page.get_by_text("Delete my user", exact=True).click()
    page.locator("#code-request button").click()
    page.get_by_label("Code from the e-mail").wait_for()


def submit_empty_comment(page) -> None:
    """Submit an empty comment without htmx, so that the response is a whole page."""
    with page.expect_navigation():
        page.evaluate("document.getElementById('comment-form').submit()")


def wait_for_tools(page) -> None:
    """Wait for the tools and for the clients behind the suggestion. Both are loaded after the page."""
    page.locator("#tool-status").wait_for()
    page.get_by_role("link", name="See the clients and their deals").wait_for(state="detached")


def type_a_title(page) -> None:
    type_in(page.get_by_label("Title"), "Suggestion")
    page.get_by_text("Is it one of these?").wait_for()


def post_a_similar_title(page) -> None:
    # Set the value without typing: similar suggestions that appear while typing count as seen, and the page would not ask.
    page.get_by_label("Title").evaluate("(field) => { field.value = 'Suggestion 1'; }")
    page.get_by_role("button", name="Post").click()
    page.get_by_role("button", name="Post anyway").wait_for()


def search_for_a_customer(page) -> None:
    type_in(page.get_by_label("Client or contact").first, "north")
    page.get_by_role("radio").first.wait_for()


def make_a_token(page) -> None:
    page.get_by_label("Label").fill("A shop")
    page.get_by_role("button", name="Create token").click()
    page.get_by_label("Token").wait_for()
    run_an_example(page)


def select_entries(page) -> None:
    """Select all entries of the page of a list, which shows the form of the selection."""
    page.check("[data-select-page]")


def continue_with_tags(page) -> None:
    select_entries(page)
    page.select_option("#selection [name=action]", "add_tags")
    page.click("#selection button")


def add_a_webhook(page) -> None:
    page.locator("#id_url").fill("https://hooks.example.com/rostrum")
    page.locator("#add button").click()
    page.wait_for_selector("#new-secret")


def run_an_example(page) -> None:
    page.locator("details.example").evaluate_all("(elements) => elements.length && (elements[0].open = true)")
    page.get_by_role("button", name="Run").first.click()
    page.locator(".answer [data-status].good").wait_for()


PAGES = [
    PageCase(""),
    PageCase("", "carol"),
    PageCase("", "bob"),
    PageCase("", path="/?status=completed", state="empty"),
    PageCase("app/suggestions", "bob", path="/app/suggestions?status=new&kind=suggestion", state="filtered"),
    PageCase("app/suggestions", path="/app/suggestions?tag=prices&kind=praise", state="empty with filters"),
    PageCase(
        "app/suggestions",
        "bob",
        path=lambda world: f"/app/suggestions?order=revenue&min_clients=1&segment={world.view.id}",
        state="of a segment",
    ),
    PageCase("app/suggestions", "bob", path="/app/suggestions?min_revenue=x", status=422, state="with errors"),
    PageCase("", path="/?q=suggestion", state="search"),
    PageCase("", path="/?q=suggestion+qqqq", state="search with similar results"),
    PageCase("", path="/?q=qqqq", state="search without results"),
    PageCase("<category_name:category_name>", path="/ideas for the mobile application"),
    PageCase("app/roadmap"),
    PageCase("app/roadmap", "bob", state="of the team"),
    PageCase("app/roadmap", path="/app/roadmap?status=planned", state="of a status"),
    PageCase("app/posts/<id:id>-<slug:slug>", path=of_post()),
    PageCase("app/posts/<id:id>", "carol", path=of_post(name="private"), state="of the user"),
    PageCase("app/posts/<id:id>", "bob", path=of_post(), prepare=wait_for_tools),
    PageCase(
        "app/posts/<id:id>",
        "bob",
        path=of_post("?original=0", name="duplicate"),
        prepare=wait_for_tools,
        state="merged",
    ),
    PageCase("app/posts/<id:id>/comments", "carol", path=of_post(), prepare=submit_empty_comment, state="with errors"),
    PageCase("app/posts/<id:id>/comments/<id:comment_id>/edit", "bob", path=of_comment("edit")),
    PageCase(
        "app/posts/<id:id>/comments/<id:comment_id>/edit",
        "bob",
        path=of_comment("edit"),
        state="with errors",
        prepare=submit_a_blank_comment,
    ),
    PageCase("app/posts/<id:id>/comments/<id:comment_id>/thread", "bob", path=of_comment("thread")),
    PageCase("app/posts/<id:id>/comments/<id:comment_id>/history", "bob", path=of_comment("history")),
    PageCase("app/posts/<id:id>/vote", "carol", path=of_post("/vote")),
    PageCase("app/posts/<id:id>/vote/first", path=of_post("/vote/first")),
    PageCase("app/posts/<id:id>/vote/code", path=of_post("/vote/first"), prepare=request_a_code),
    PageCase("app/posts/<id:id>/edit", "carol", path=of_post("/edit", name="private")),
    PageCase("app/posts/new", "carol"),
    PageCase("app/posts/new", "carol", state="with errors", prepare=submit_empty_form),
    PageCase("app/posts/new", "bob", prepare=type_a_title, state="while typing"),
    PageCase("app/posts/new", state="of a visitor"),
    PageCase("app/draft", path="/app/posts/new", prepare=write_a_draft),
    PageCase("app/draft", path="/app/posts/new", prepare=submit_a_draft_without_an_address, state="with errors"),
    PageCase("app/draft/code", path="/app/posts/new", prepare=request_a_code_for_a_draft),
    PageCase("app/posts/new", "carol", prepare=post_a_similar_title, state="with similar posts"),
    PageCase("app/posts/<id:id>/team", "bob", path=of_post("/team?tool=status")),
    PageCase("app/posts/<id:id>/answer", "bob", path=of_post("/answer")),
    PageCase("app/posts/<id:id>/answers", path=of_post("/answers")),
    PageCase("app/answers/<id:id>", "bob", path=lambda world: f"/app/answers/{world.answer.id}"),
    PageCase("app/posts/<id:id>/merge", "bob", path=of_post("/merge?q=suggestion", name="private")),
    PageCase(
        "app/posts/<id:id>/merge",
        "bob",
        path=lambda world: f"/app/posts/{world.private.id}/merge?into={world.post.id}",
        state="confirmation",
    ),
    PageCase("app/posts/<id:id>/behalf", "bob", path=of_post("/behalf?q=north")),
    PageCase("app/posts/behalf", "bob"),
    PageCase("app/posts/behalf", "bob", prepare=search_for_a_customer, state="while searching"),
    PageCase("app/moderation", "bob"),
    PageCase("app/posts/<id:id>/report", "dan", path=of_post("/report")),
    PageCase("app/posts/<id:id>/comments/<id:comment_id>/report", "dan", path=of_comment("report")),
    PageCase("app/inbox/reported", "bob"),
    PageCase("app/authors/<id:id>", "bob", path=lambda world: f"/app/authors/{world.carol.id}"),
    PageCase("app/unsubscribe", path=World.unsubscribe_path),
    PageCase("app/inbox", "bob", prepare=select_and_show_choices),
    PageCase("app/inbox", "bob", path="/app/inbox?tab=unapproved", state="unapproved"),
    PageCase("app/inbox", "bob", path=lambda world: f"/app/inbox?post={world.post.id}", state="with a pane"),
    PageCase("app/inbox", "alice", path="/app/inbox?tab=mine", state="empty"),
    PageCase("app/inbox", "bob", path=lambda world: f"/app/inbox?segment={world.view.id}", state="of a segment"),
    PageCase("app/inbox", "bob", state="with errors", prepare=set_no_status),
    PageCase("app/find", "bob", path="/app/find?q=north"),
    PageCase("app/find", "bob", path="/app/find?q=qqqq", state="without results"),
    PageCase("app/find", "bob", path="/app/clients", state="while typing", prepare=type_into_the_search),
    PageCase("app/clients/duplicates", "bob"),
    PageCase("app/contacts/duplicates", "bob"),
    PageCase("app/clients", "bob"),
    PageCase("app/clients/<id:id>", "bob", path=of_record("clients")),
    PageCase("app/clients/<id:id>", "bob", path=of_record("clients"), prepare=edit_the_city, state="while editing"),
    PageCase("app/clients/<id:id>", "bob", path=of_record("clients", "?show=changes"), state="with changes only"),
    PageCase("app/clients/<id:id>", "bob", path=of_record("clients", "?page=9"), state="after the last entry"),
    PageCase("app/clients/<id:id>", "bob", path=of_record("clients", "?vote_q=suggestion"), state="with suggestions"),
    PageCase("app/clients/<id:id>", "bob", path=of_record("trashed_clients"), state="in the trash"),
    PageCase("app/clients/<id:id>", "bob", path=of_record("clients"), prepare=record_a_call, state="with errors"),
    PageCase("app/notes/<id:id>", "bob", path=lambda world: f"/app/notes/{world.note.id}"),
    PageCase("app/notes/<id:id>/edit", "bob", path=lambda world: f"/app/notes/{world.note.id}/edit"),
    PageCase("app/clients/<id:id>", "bob", path=of_record("clients", "?user_q=dan"), state="with users to link"),
    PageCase("app/posts/<id:id>/clients", "bob", path=of_post("/clients")),
    PageCase("app/posts/<id:id>/fields", "bob", path=of_post("/fields")),
    PageCase("app/posts/<id:id>/clients", "bob", path=of_post("/clients", name="private"), state="empty"),
    PageCase("app/posts/<id:id>/message", "bob", path=of_post("/message")),
    PageCase("app/posts/<id:id>/message", "bob", path=of_post("/message"), prepare=preview, state="preview"),
    PageCase(
        "app/posts/<id:id>/message",
        "bob",
        path=of_post("/message", name="private"),
        prepare=preview,
        state="with errors",
    ),
    PageCase("app/messages/<id:id>", "bob", path=lambda world: f"/app/messages/{world.message.id}"),
    PageCase("app/messages/<id:id>", "bob", path=lambda world: f"/app/messages/{world.draft.id}", state="draft"),
    PageCase("app/unsubscribe/customer", path=World.customer_unsubscribe_path),
    PageCase("app/clients/<id:id>/edit/all", "bob", path=of_record("clients", "/edit/all")),
    PageCase("app/clients/<id:id>/edit", "bob", path=of_record("clients", "/edit?field=responsible_id")),
    PageCase("app/contacts/<id:id>", "bob", path=of_record("contacts")),
    PageCase("app/contacts/<id:id>/edit/all", "bob", path=of_record("contacts", "/edit/all")),
    PageCase("app/contacts/<id:id>/edit", "bob", path=of_record("contacts", "/edit?field=client_id&q=north")),
    PageCase("app/clients/<id:id>/merge", "bob", path=of_record("clients", "/merge?q=client")),
    PageCase(
        "app/clients/<id:id>/merge",
        "bob",
        path=lambda world: f"/app/clients/{world.records['clients']}/merge?with={world.records['merges']}",
        state="comparison",
    ),
    PageCase(
        "app/clients/<id:id>", "bob", path=lambda world: f"/app/clients/{world.records['merges']}", state="with a merge"
    ),
    PageCase(
        "app/clients/<id:id>",
        "bob",
        path=lambda world: f"/app/clients/{world.records['merged_clients']}",
        state="merged",
    ),
    PageCase("app/contacts/<id:id>/merge", "bob", path=of_record("contacts", "/merge")),
    PageCase("app/deals/<id:id>", "bob", path=of_record("deals")),
    PageCase("app/deals/<id:id>/edit/all", "bob", path=of_record("deals", "/edit/all")),
    PageCase("app/deals/<id:id>/edit", "bob", path=of_record("deals", "/edit?field=price")),
    PageCase("app/clients", "bob", path="/app/clients?q=qqqq", state="search without results"),
    PageCase(
        "app/clients",
        "bob",
        path="/app/clients?name__contains=north&sort=name&add=responsible_id",
        state="with a filter and the form of another",
    ),
    PageCase("app/clients", "bob", path="/app/clients?sort=colour&add=city", status=422, state="with errors"),
    PageCase(
        "app/clients",
        "bob",
        path=lambda world: f"/app/clients?view={world.view.id}&sort=name",
        state="in a changed view",
    ),
    PageCase(
        "app/clients", "bob", path="/app/clients?columns=city", prepare=edit_a_cell, state="with a cell as a form"
    ),
    PageCase("app/clients", "bob", path="/app/clients?city__empty=false", prepare=open_the_view_form, state="to save"),
    PageCase("app/contacts", "bob"),
    PageCase("app/deals", "bob"),
    PageCase("app/suggestions/list", "bob"),
    PageCase("app/tasks/list", "bob", path="/app/tasks/list?closed=false"),
    PageCase("app/suggestions/list", "bob", path="/app/suggestions/list?closed=false"),
    PageCase("app/views", "bob", path="/app/views?resource=client"),
    PageCase("app/views", "bob", path="/app/views?resource=deal", state="empty"),
    PageCase("app/views/new", "bob", path="/app/views/new?resource=client&query=city%3Da"),
    PageCase("app/views/<id:id>", "bob", path=lambda world: f"/app/views/{world.view.id}"),
    PageCase("app/deals/<id:id>", "bob", path=lambda world: f"/app/deals/{world.staged_deal}", state="with stages"),
    PageCase("app/deals/board", "bob"),
    PageCase("app/deals/board", "bob", path="/app/deals/board?q=barn&price__after=100", state="filtered"),
    PageCase(
        "app/deals/board",
        "bob",
        path=lambda world: f"/app/deals/board?column={world.lost_status}",
        state="one column",
    ),
    PageCase("app/deals/<id:id>/move", "bob", path=of_record("deals", "/move")),
    PageCase(
        "app/deals/<id:id>/move",
        "bob",
        path=lambda world: f"/app/deals/{world.staged_deal}/move?status_id={world.lost_status}",
        state="asking for a reason",
    ),
    PageCase("app/reports", "bob", prepare=load_the_tiles),
    PageCase("app/reports/<slug:name>", "bob", path="/app/reports/results"),
    PageCase("app/reports/<slug:name>", "bob", path="/app/reports/reasons?step=week", state="of reasons"),
    PageCase("app/reports/<slug:name>", "bob", path="/app/reports/suggestions", state="of suggestions"),
    PageCase("app/reports/<slug:name>", "bob", path="/app/reports/people?from=x", status=422, state="with errors"),
    PageCase("app/contact_lists", "bob"),
    PageCase("app/contact_lists/new", "bob"),
    PageCase("app/contact_lists/<id:id>", "bob", path=lambda world: f"/app/contact_lists/{world.contact_list}"),
    PageCase("app/notifications", "carol"),
    PageCase("app/notifications", "alice", path="/app/notifications?page=2", state="empty"),
    PageCase("app/sign-in"),
    PageCase("app/sign-in", path="/app/sign-in?password=1", state="with a password"),
    PageCase("app/sign-in", path="/app/sign-in?password=1", state="with errors", prepare=submit_empty_form),
    PageCase("app/sign-in/code"),
    PageCase("app/sign-in/code", state="with errors", prepare=submit_empty_form),
    PageCase("app/sign-in/code/enter", path="/app/sign-in/code", prepare=request_a_code),
    PageCase("", host=FRONT, state="of the service"),
    PageCase("app/start", host=FRONT),
    PageCase("app/start", host=FRONT, state="with errors", prepare=submit_empty_form),
    PageCase("app/start/code", host=FRONT, path="/app/start", prepare=ask_for_an_account),
    PageCase("app/account/welcome", "alice"),
    PageCase("app/invitation", path=World.invitation_path),
    PageCase("app/invitation", path=World.invitation_path, state="with errors", prepare=submit_empty_form),
    PageCase("app/invitation", status=404, state="invalid link"),
    PageCase("app/password"),
    PageCase("app/password/sent"),
    PageCase("app/password/new", path=lambda world: world.link("/app/password/new", user_emails.PASSWORD)),
    PageCase("app/profile", "carol"),
    PageCase("app/profile/posts", "carol"),
    PageCase("app/profile/posts", "alice", path="/app/profile/posts?list=votes", state="empty"),
    PageCase("app/profile/security", "carol"),
    PageCase("app/profile/security", "dan", state="without a password"),
    PageCase("app/profile/security", "dan", state="with a code for the erasure", prepare=request_an_erasure_code),
    PageCase("app/erasure", path=receipt_path),
    PageCase("app/erasure", path="/app/erasure?receipt=x", status=404, state="invalid link"),
    PageCase("app/profile/email", "carol", path=lambda world: world.link("/app/profile/email", profile.EMAIL)),
    PageCase("app/account/api", "bob"),
    PageCase("app/account/api/tokens/new", "bob"),
    PageCase("app/account/api/tokens/new", "bob", prepare=make_a_token, state="with a new token"),
    PageCase("app/account/api/<slug:section>", "bob", path="/app/account/api/clients", prepare=run_an_example),
    PageCase("app/docs"),
    PageCase("app/docs", path="/app/docs?q=external", state="results"),
    PageCase("app/docs", path="/app/docs?q=nothing+like+that", state="no results"),
    PageCase("app/docs/<slug:slug>", path="/app/docs/clients"),
    PageCase("app/docs/<slug:slug>", "bob", path="/app/docs/forum-api-xml?lang=php", state="in PHP"),
    PageCase("app/docs/<slug:slug>", path="/app/docs/errors", state="errors"),
    PageCase("app/docs/<slug:slug>", path="/app/docs/guide-forum-api-xml", state="of the guide"),
    PageCase("app/docs/<slug:slug>", path="/app/docs/guide-all-routes", state="of the guide with a table"),
    PageCase("app/account", "alice"),
    PageCase("app/account/brand", "alice"),
    PageCase("app/account/users", "alice"),
    PageCase(
        "app/account/users",
        "alice",
        path="/app/account/users?tab=invitations",
        state="invitations with errors",
        prepare=submit_empty_form,
    ),
    PageCase("app/account/users/<id:id>", "alice", path=lambda world: f"/app/account/users/{world.bob.id}"),
    PageCase(
        "app/account/users/<id:id>",
        "alice",
        path=lambda world: f"/app/account/users/{world.carol.id}",
        state="of a linked member",
    ),
    PageCase("app/account/forums", "alice"),
    PageCase("app/account/forums/new", "alice"),
    PageCase("app/account/forums/<id:id>", "alice", path=lambda world: f"/app/account/forums/{world.acme.forum.id}"),
    PageCase("app/account/forums/<id:id>/members", "alice", path=of_members("?tab=pending"), state="pending"),
    PageCase("app/account/forums/<id:id>/members", "alice", path=of_members()),
    PageCase("app/account/forums/<id:id>/members", "alice", path=of_members("?q=zzzz"), state="not found"),
    PageCase("app/account/categories", "alice"),
    PageCase("app/account/saved_replies", "alice"),
    PageCase(
        "app/account/saved_replies/<id:id>", "alice", path=lambda world: f"/app/account/saved_replies/{world.reply.id}"
    ),
    PageCase(
        "app/account/categories/<id:id>", "alice", path=lambda world: f"/app/account/categories/{world.category.id}"
    ),
    PageCase("app/account/statuses", "alice"),
    PageCase("app/account/statuses/<id:id>", "alice", path=lambda world: f"/app/account/statuses/{world.status.id}"),
    PageCase("app/account/statuses", "alice", path="/app/account/statuses?kind=deal", state="of deals"),
    PageCase(
        "app/account/statuses/<id:id>",
        "alice",
        path=lambda world: f"/app/account/statuses/{world.lost_status}",
        state="of deals",
    ),
    PageCase("app/account/deals", "alice"),
    PageCase("app/account/pipelines/<id:id>", "alice", path="/app/account/pipelines/1"),
    PageCase("app/account/access", "alice"),
    PageCase("app/account/goals", "alice"),
    PageCase("app/home", "bob"),
    PageCase("app/home", "alice", state="of an admin"),
    PageCase("app/account/groups/<id:id>", "alice", path=lambda world: f"/app/account/groups/{world.group.id}"),
    PageCase("app/clients/new", "bob"),
    PageCase("app/tasks", "bob"),
    PageCase("app/tasks", "bob", path="/app/tasks?group=done", state="empty"),
    PageCase("app/tasks/new", "bob"),
    PageCase("app/tasks/new", "bob", state="with errors", prepare=save_empty_task),
    PageCase("app/tasks/calendar", "bob"),
    PageCase("app/tasks/<id:id>", "bob", path=lambda world: f"/app/tasks/{world.task.id}"),
    PageCase("app/tasks/<id:id>/edit", "bob", path=lambda world: f"/app/tasks/{world.task.id}/edit"),
    PageCase("app/contacts/new", "bob", path=lambda world: f"/app/contacts/new?client_id={world.records['clients']}"),
    PageCase("app/deals/new", "bob"),
    PageCase("app/clients", "bob", state="selected entries", prepare=select_entries),
    PageCase("app/clients", "bob", state="tags for selected entries", prepare=continue_with_tags),
    PageCase("app/bulk_changes", "bob"),
    PageCase("app/bulk_changes", "alice", path="/app/bulk_changes?page=9", state="empty"),
    PageCase("app/bulk_changes/<id:id>", "bob", path=lambda world: f"/app/bulk_changes/{world.bulk_change.id}"),
    PageCase("app/imports", "bob"),
    PageCase("app/imports", "alice", path="/app/imports?page=9&kind=client", state="empty"),
    PageCase("app/imports", "bob", state="without a file", prepare=submit_empty_form),
    *(
        PageCase("app/imports/<id:id>", login, path=of_import(state), state=state)
        for login, state in (
            ("bob", "draft"),
            ("alice", "checked"),
            ("bob", "unreadable"),
            ("bob", "done"),
            ("bob", "undone"),
        )
    ),
    PageCase("app/imports/<id:id>/preview", "bob", path=of_import("checked", "/preview")),
    PageCase("app/imports/<id:id>/preview", "alice", path=of_import("draft", "/preview"), state="without a check"),
    PageCase("app/exports", "bob"),
    PageCase("app/exports", "alice", state="empty"),
    PageCase("app/exports", "bob", path="/app/exports?resource=client&query=city%3DGdynia", state="of a list"),
    PageCase("app/exports/<id:id>", "bob", path=lambda world: f"/app/exports/{world.exports[0].id}"),
    PageCase("app/exports/<id:id>", "bob", path=lambda world: f"/app/exports/{world.exports[1].id}", state="failed"),
    PageCase("app/exports/<id:id>", "bob", path=lambda world: f"/app/exports/{world.exports[2].id}", state="running"),
    PageCase("app/account/fields", "alice"),
    PageCase("app/account/fields", "alice", path="/app/account/fields?resource=deal", state="empty"),
    PageCase("app/account/fields/<id:id>", "alice", path=lambda world: f"/app/account/fields/{world.field.id}"),
    PageCase("app/account/trash", "alice"),
    PageCase("app/account/data", "alice"),
    PageCase("app/account/rates", "alice"),
    PageCase("app/account/archive", "alice"),
    PageCase("app/account/closing", "alice"),
    PageCase("app/account/oidc", "alice"),
    PageCase("app/account/shop-sign-in", "alice"),
    PageCase("app/operator", "alice"),
    PageCase("app/operator/accounts/<slug:prefix>", "alice", path="/app/operator/accounts/acme"),
    PageCase("app/operator/plans", "alice"),
    PageCase("app/operator/jobs", "alice"),
    # Its checks need the network. `tests/accounts/operator` replaces them.
    PageCase("app/operator/health", "bob", status=404),
    PageCase("app/account/sign-in", "alice"),
    PageCase(
        "app/account/users/<id:id>/factors", "alice", path=lambda world: f"/app/account/users/{world.bob.id}/factors"
    ),
    PageCase("app/profile/factors", "carol"),
    PageCase("app/sign-in/second", path="/app/sign-in/second"),
    PageCase("app/profile/confirm", "alice"),
    PageCase("app/account/move-in", "alice"),
    PageCase("app/account/move-in", "alice", path="/app/account/move-in?source=nolt", state="from a service"),
    PageCase("app/account/move-in", "alice", state="without an address", prepare=submit_empty_form),
    PageCase("app/account/audit", "alice"),
    PageCase("app/account/audit", "alice", path="/app/account/audit?target=nothing-like-it", state="empty"),
    PageCase("app/account/webhooks", "alice"),
    PageCase("app/account/webhooks", "alice", state="webhooks with a new secret", prepare=add_a_webhook),
    PageCase("app/account/webhooks/<id:id>", "alice", path=lambda world: f"/app/account/webhooks/{world.webhook.id}"),
    PageCase(None, path="/app/nothing", status=404, state="404"),
    PageCase(None, "carol", path="/app/account", status=403, state="403"),
]


def page_routes() -> set[str]:
    """Return the routes whose view renders a whole page. Fragments for htmx have no template of their own."""
    patterns: list[URLPattern] = get_resolver().url_patterns
    pages = ((pattern, page_class(pattern)) for pattern in patterns)
    return {str(pattern.pattern) for pattern, page in pages if hasattr(page, "get") and page.template_name}


def routes_listed() -> Iterator[str]:
    return (page.route for page in PAGES if page.route is not None)
