"""Every page there is, once: what the checks of this folder look at, and where each page's state comes from.

A page of a new route belongs in PAGES; `test_every_page_is_in_the_list` says so.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.urls import URLPattern, get_resolver

from accounts import links
from accounts.models import Session, Status, User
from accounts.pages import password_reset, profile, registration
from forum.models import Post
from tests.support.factories import make_category, make_client, make_contact, make_post
from tests.support.fixtures import Cast
from tests.support.page_routes import page_class
from tests.support.people import type_in

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
    """What the pages show: acme's forum with something of each kind in it. Made once, and only read by the checks."""

    def __init__(self, acme: Cast):
        self.acme = acme
        self.account, self.alice, self.bob, self.carol = acme.account, acme.alice, acme.bob, acme.carol
        make_category(self.account, "Ideas for the mobile application")
        title = f"Show the price before the first click {LONG_WORD}"
        self.post: Post = make_post(self.carol, title, content=MARKDOWN, tags=["prices", "user interface"])
        self.post.vote(by=self.bob)
        self.post.comment(by=self.bob, text=MARKDOWN, agent="test")
        self.others = [
            make_post(self.bob, f"Suggestion {number}", content="A few words on what it is good for.")
            for number in range(4)
        ]
        self.own = make_post(self.carol, f"For the team alone {LONG_WORD}", private=True)
        self.answer(self.post)
        self.duplicate = make_post(self.carol, f"The price in the summary {LONG_WORD}")
        self.duplicate.comment(by=self.carol, text="Where else?", agent="test")
        self.duplicate.merge_into(self.post, by=self.bob)
        client = make_client(self.bob, "Northwind Traders of the Far North", email="office@northwind.example")
        contact = make_contact(self.bob, "Nora North", client_id=client.id, email="nora@northwind.example")
        self.post.vote_for(by=self.bob, client_id=client.id)
        self.post.vote_for(by=self.bob, contact_id=contact.id)
        make_post(self.carol, "Has nobody approved this yet?", content=MARKDOWN, approved=False)
        self.account.forums.update(approval=True)
        # In the trash, and a list of statuses that is not as it was at first.
        make_post(self.bob, "A duplicate of another").trash(by=self.bob)
        make_client(self.bob, "Nowak and Sons").trash(by=self.bob)
        self.category = self.account.categories.of_forum(acme.forum.id).first()
        self.status = self.account.statuses_of_kind(Status.Kind.POST).first()
        _invitation, self.invitation = self.account.invitations.invite(
            self.account, email="dora@acme.example", role=User.Role.AGENT, by=self.alice
        )
        # By the names of those who are signed in.
        self.sessions = {user.login: Session.objects.start(user)[1] for user in (self.alice, self.bob, self.carol)}

    def answer(self, post: Post) -> None:
        planned = self.account.statuses.get(kind=Status.Kind.POST, code="planned")
        post.write({"status_id": planned.id, "response": MARKDOWN}, by=self.bob)

    def link(self, path: str, purpose: str) -> str:
        """Where a link in an e-mail to carol leads."""
        token = links.sign({"email": "carol@new.example"}, *self.carol.link_subject(purpose))
        return f"{path}?{urlencode({'user': self.carol.id, 'token': token})}"

    def finish(self) -> str:
        token = links.sign({"email": "eve@acme.example", "next": "/"}, registration.SIGN_UP, self.account.id)
        return f"/app/sign-up/finish?{urlencode({'token': token})}"


@dataclass(frozen=True)
class Shown:
    """A page as somebody sees it."""

    # As the URL resolver has it; None for what no route answers.
    route: str | None
    # The name of one of the cast; nobody for a visitor.
    who: str = ""
    # Where it is in that world, if not where the route says.
    path: Callable[[World], str] | str = ""
    status: int = 200
    # What is done on the page before it is looked at.
    prepare: Callable | None = field(default=None, compare=False)
    what: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, [f"/{self.route or ''}", self.what, self.who and f"as {self.who}"]))

    def address(self, world: World) -> str:
        return self.path(world) if callable(self.path) else self.path or f"/{self.route}"


def of_post(end: str = "", *, of: str = "post") -> Callable[[World], str]:
    return lambda world: f"/app/posts/{getattr(world, of).id}{end}"


def send_nothing(page) -> None:
    page.locator("main form button").first.click()
    page.get_by_role("alert").wait_for()


def comment_nothing(page) -> None:
    """As without JavaScript: what answers is a page of its own."""
    with page.expect_navigation():
        page.evaluate("document.getElementById('comment-form').submit()")


def await_tools(page) -> None:
    page.locator("#tool-status").wait_for()


def begin_a_title(page) -> None:
    type_in(page.get_by_label("Title"), "Suggestion")
    page.get_by_text("Is it one of these?").wait_for()


def post_anyway(page) -> None:
    # As without JavaScript: whoever has typed it has seen the similar ones, and is not asked.
    page.get_by_label("Title").evaluate("(field) => { field.value = 'Suggestion 1'; }")
    page.get_by_role("button", name="Post").click()
    page.get_by_role("button", name="Post anyway").wait_for()


def look_for_a_customer(page) -> None:
    type_in(page.get_by_label("Client or contact").first, "north")
    page.get_by_role("radio").first.wait_for()


def make_a_token(page) -> None:
    page.get_by_label("Label").fill("A shop")
    page.get_by_role("button", name="Create token").click()
    page.get_by_label("Token").wait_for()
    run_an_example(page)


def run_an_example(page) -> None:
    page.locator("details.example").evaluate_all("(all) => all.length && (all[0].open = true)")
    page.get_by_role("button", name="Run").first.click()
    page.locator(".answer [data-status].good").wait_for()


PAGES = [
    Shown(""),
    Shown("", "carol"),
    Shown("", "bob"),
    Shown("", path="/?status=completed", what="empty"),
    Shown("", path="/?q=suggestion", what="searched"),
    Shown("", path="/?q=suggestion+qqqq", what="searched, and something comes close"),
    Shown("", path="/?q=qqqq", what="searched in vain"),
    Shown("<category_name:category_name>", path="/ideas for the mobile application"),
    Shown("app/roadmap"),
    Shown("app/roadmap", path="/app/roadmap?status=planned", what="of a status"),
    Shown("app/posts/<id:id>", path=of_post()),
    Shown("app/posts/<id:id>", "carol", path=of_post(of="own"), what="of one's own"),
    Shown("app/posts/<id:id>", "bob", path=of_post(), prepare=await_tools),
    Shown("app/posts/<id:id>", "bob", path=of_post("?original=0", of="duplicate"), prepare=await_tools, what="merged"),
    Shown("app/posts/<id:id>/comments", "carol", path=of_post(), prepare=comment_nothing, what="with faults"),
    Shown("app/posts/<id:id>/vote", "carol", path=of_post("/vote")),
    Shown("app/posts/<id:id>/edit", "carol", path=of_post("/edit", of="own")),
    Shown("app/posts/new", "carol"),
    Shown("app/posts/new", "carol", what="with faults", prepare=send_nothing),
    Shown("app/posts/new", "bob", prepare=begin_a_title, what="while typing"),
    Shown("app/posts/new", "carol", prepare=post_anyway, what="with similar ones"),
    Shown("app/posts/<id:id>/team", "bob", path=of_post("/team?tool=status")),
    Shown("app/posts/<id:id>/merge", "bob", path=of_post("/merge?q=suggestion", of="own")),
    Shown(
        "app/posts/<id:id>/merge",
        "bob",
        path=lambda world: f"/app/posts/{world.own.id}/merge?into={world.post.id}",
        what="asking",
    ),
    Shown("app/posts/<id:id>/behalf", "bob", path=of_post("/behalf?q=north")),
    Shown("app/posts/behalf", "bob"),
    Shown("app/posts/behalf", "bob", prepare=look_for_a_customer, what="while searching"),
    Shown("app/moderation", "bob"),
    Shown("app/sign-in"),
    Shown("app/sign-in", what="with faults", prepare=send_nothing),
    Shown("app/sign-up"),
    Shown("app/sign-up/sent"),
    Shown("app/sign-up/finish", path=World.finish),
    Shown("app/sign-up/finish", path=World.finish, what="with faults", prepare=send_nothing),
    Shown("app/invitation", path=lambda world: f"/app/invitation?secret={world.invitation}"),
    Shown("app/invitation", status=404, what="void"),
    Shown("app/password"),
    Shown("app/password/sent"),
    Shown("app/password/new", path=lambda world: world.link("/app/password/new", password_reset.PURPOSE)),
    Shown("app/profile", "carol"),
    Shown("app/profile/posts", "carol"),
    Shown("app/profile/posts", "alice", path="/app/profile/posts?list=votes", what="empty"),
    Shown("app/profile/security", "carol"),
    Shown("app/profile/email", "carol", path=lambda world: world.link("/app/profile/email", profile.EMAIL)),
    Shown("app/account/api", "bob"),
    Shown("app/account/api", "bob", prepare=make_a_token, what="with a new token"),
    Shown("app/account/api/<slug:section>", "bob", path="/app/account/api/clients", prepare=run_an_example),
    Shown("app/account", "alice"),
    Shown("app/account/users", "alice"),
    Shown(
        "app/account/users",
        "alice",
        path="/app/account/users?tab=invitations",
        what="invitations with faults",
        prepare=send_nothing,
    ),
    Shown("app/account/users/<id:id>", "alice", path=lambda world: f"/app/account/users/{world.bob.id}"),
    Shown("app/account/forums", "alice"),
    Shown("app/account/forums/new", "alice"),
    Shown("app/account/forums/<id:id>", "alice", path=lambda world: f"/app/account/forums/{world.acme.forum.id}"),
    Shown("app/account/categories", "alice"),
    Shown("app/account/categories/<id:id>", "alice", path=lambda world: f"/app/account/categories/{world.category.id}"),
    Shown("app/account/statuses", "alice"),
    Shown("app/account/statuses/<id:id>", "alice", path=lambda world: f"/app/account/statuses/{world.status.id}"),
    Shown("app/account/trash", "alice"),
    Shown(None, path="/app/nothing", status=404, what="404"),
    Shown(None, "carol", path="/app/account", status=403, what="403"),
]


def page_routes() -> set[str]:
    """The routes that show a page when they are asked for; parts of pages, which htmx asks for, have no template of their own."""
    patterns: list[URLPattern] = get_resolver().url_patterns
    pages = ((pattern, page_class(pattern)) for pattern in patterns)
    return {str(pattern.pattern) for pattern, page in pages if hasattr(page, "get") and page.template_name}


def routes_listed() -> Iterator[str]:
    return (page.route for page in PAGES if page.route is not None)
