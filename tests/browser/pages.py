"""Every page there is, once: what the checks of this folder look at, and where each page's state comes from.

A page of a new route belongs in PAGES; `test_every_page_is_in_the_list` says so.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.urls import URLPattern, get_resolver

from accounts import links
from accounts.models import Session, Status, User
from accounts.pages import joining, password, profile
from accounts.pages.base import Page
from forum.models import Post
from tests.factories import make_category, make_client, make_post
from tests.fixtures import Cast


class World:
    """What the pages show: acme's forum with something of each kind in it. Made once, and only read by the checks."""

    def __init__(self, acme: Cast):
        self.acme = acme
        self.account, self.alice, self.bob, self.carol = acme.account, acme.alice, acme.bob, acme.carol
        make_category(self.account, "Ideas for the mobile application")
        self.post: Post = make_post(
            self.carol,
            "Show the price before the first click, and again in the summary",
            content="Several shops asked for it.\n\n" + "averyveryverylongwordwithoutanyplacetobreakit" * 4,
            tags=["prices", "user interface"],
        )
        self.post.vote(by=self.bob)
        self.post.comment(by=self.bob, text="We will look into it.", agent="test")
        for number in range(4):
            make_post(self.bob, f"Suggestion {number}", content="A few words on what it is good for.")
        make_post(self.carol, "For the team alone", private=True)
        make_post(self.carol, "Waiting for approval", content="As it is.", approved=False)
        self.post.vote_for(
            by=self.bob, client_id=make_client(self.alice, "Northwind", email="buy@northwind.example").id
        )
        # In the trash, and a list of statuses that is not as it was at first.
        make_post(self.bob, "A duplicate of another").trash(by=self.bob)
        make_client(self.bob, "Nowak and Sons").trash(by=self.bob)
        self.category = self.account.categories.of_forum(acme.forum.id).first()
        self.status = self.account.first_statuses(Status.Kind.POST).first()
        _invitation, self.invitation = self.account.invitations.invite(
            self.account, email="dora@acme.example", role=User.Role.AGENT, by=self.alice
        )
        # By the names of those who are signed in.
        self.sessions = {user.login: Session.objects.open(user)[1] for user in (self.alice, self.bob, self.carol)}

    def link(self, path: str, purpose: str) -> str:
        """Where a link in an e-mail to carol leads."""
        token = links.sign({"email": "carol@new.example"}, *self.carol.subject_of(purpose))
        return f"{path}?{urlencode({'user': self.carol.id, 'token': token})}"

    def finish(self) -> str:
        token = links.sign({"email": "eve@acme.example", "next": "/"}, joining.SIGN_UP, self.account.id)
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


def send_nothing(page) -> None:
    page.locator("main form button").first.click()
    page.get_by_role("alert").wait_for()


def open_tools(page) -> None:
    """Those of the team come after the page."""
    page.wait_for_selector(".tool")
    page.eval_on_selector_all(".tool", "tools => tools.forEach((tool) => { tool.open = true; })")


PAGES = [
    Shown(""),
    Shown("", "carol"),
    Shown("", "bob"),
    Shown("", path="/?status=completed", what="empty"),
    Shown("<category_name:category_name>", path="/ideas for the mobile application"),
    Shown("app/posts/<id:id>", path=lambda world: f"/app/posts/{world.post.id}"),
    Shown("app/posts/<id:id>", "carol", path=lambda world: f"/app/posts/{world.post.id}"),
    Shown("app/posts/<id:id>", "bob", path=lambda world: f"/app/posts/{world.post.id}", prepare=open_tools),
    Shown("app/posts/new", "carol"),
    Shown("app/posts/new", "carol", path="/app/posts/new?title=Suggestion", what="with similar ones"),
    Shown("app/posts/new", "carol", what="with faults", prepare=send_nothing),
    # It leads to the form.
    Shown("app/posts/<id:id>/comments", "carol", path=lambda world: f"/app/posts/{world.post.id}/comments"),
    Shown("app/posts/<id:id>/edit", "bob", path=lambda world: f"/app/posts/{world.post.id}/edit"),
    Shown("app/posts/<id:id>/vote", "carol", path=lambda world: f"/app/posts/{world.post.id}/vote"),
    Shown("app/profile/posts", "carol"),
    Shown("app/profile/posts", "carol", path="/app/profile/posts?list=votes", what="empty"),
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
    Shown("app/password/new", path=lambda world: world.link("/app/password/new", password.PURPOSE)),
    Shown("app/profile", "carol"),
    Shown("app/profile/security", "carol"),
    Shown("app/profile/email", "carol", path=lambda world: world.link("/app/profile/email", profile.EMAIL)),
    Shown("app/account/api", "bob"),
    Shown("app/account/api/<slug:section>", "bob", path="/app/account/api/clients"),
    Shown("app/account", "alice"),
    Shown("app/account/users", "alice"),
    Shown("app/account/users", "alice", path="/app/account/users?tab=invitations", what="invitations"),
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
    Shown("app/posts/<id:id>/team", who="bob", path=lambda world: f"/app/posts/{world.post.id}/team?tool=status"),
    Shown("app/posts/<id:id>/merge", who="bob", path=lambda world: f"/app/posts/{world.post.id}/merge?q=suggestion"),
    Shown("app/posts/<id:id>/behalf", who="bob", path=lambda world: f"/app/posts/{world.post.id}/behalf?q=north"),
    Shown("app/posts/behalf", who="bob"),
    Shown("app/moderation", who="bob"),
    Shown(None, path="/app/nothing", status=404, what="404"),
]


def page_routes() -> set[str]:
    """The routes that show a page when they are asked for; parts of pages, which htmx asks for, have no template of their own."""
    patterns: list[URLPattern] = get_resolver().url_patterns
    pages = ((pattern, page_class(pattern)) for pattern in patterns)
    return {str(pattern.pattern) for pattern, page in pages if hasattr(page, "get") and page.template_name}


def page_class(pattern: URLPattern) -> type[Page] | None:
    view = getattr(pattern.callback, "page", pattern.callback)
    found = getattr(view, "view_class", None)
    return found if isinstance(found, type) and issubclass(found, Page) else None


def routes_listed() -> Iterator[str]:
    return (page.route for page in PAGES if page.route is not None)
