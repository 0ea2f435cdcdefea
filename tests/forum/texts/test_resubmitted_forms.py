"""Forms with texts: their preview, and what they show when the session has ended, or when another site sends them."""

from dataclasses import dataclass, field

import pytest
from django.db.models import Q

from accounts.sessions.models import Session
from forum.forums.models import Forum
from tests.support.factories import (
    PASSWORD,
    make_category,
    make_client,
    make_comment,
    make_post,
    make_user,
)
from tests.support.membership import add
from tests.support.tables import table

TYPED, SECRET = "Typed at length.", "Secret"


@dataclass(frozen=True)
class Case:
    """A form, and the field for the text."""

    path: str
    form: str
    name: str
    values: dict[str, str] = field(default_factory=dict)
    # The action of a form of the team.
    do: str | None = None

    @property
    def login(self) -> str:
        return "bob" if self.do else "carol"


CASES = [
    Case("/app/posts/new", "post-form", "content", {"title": "Mine"}),
    Case("/app/posts/{post}", "comment-form", "content"),
    Case("/app/posts/{own}/edit", "post-form", "content", {"title": "Mine"}),
    Case("/app/posts/{post}/comments/{comment}/edit", "comment-form", "content"),
    Case("/app/posts/{post}/report", "report", "note", {"reason": "other"}),
    Case("/app/posts/{post}/team", "status", "response", do="status"),
    Case("/app/posts/{post}/team", "place", "tags", do="place"),
    Case("/app/posts/behalf?client={client}", "behalf", "content", {"title": "Theirs"}, do="create"),
]
every_case = table("case", CASES)


@pytest.fixture
def rows(acme) -> dict[str, int]:
    """Create the rows for the paths in a private forum, of which carol is a member."""
    make_category(acme.account, f"{SECRET} category")
    post = make_post(make_user(acme.account, "dora"), f"{SECRET} post")
    ids = {
        "post": post.id,
        "own": make_post(acme.carol, f"{SECRET} own post").id,
        "comment": make_comment(post, acme.carol, f"{SECRET} comment").id,
        "client": make_client(acme.bob, f"{SECRET} client").id,
    }
    acme.account.forums.update(access=Forum.Access.PRIVATE)
    add(acme.forum, acme.carol)
    return ids


def open_form(visitor, rows, case: Case):
    """Open the page of the case, and type the text."""
    form = visitor.get(case.path.format(**rows)).forms[case.form]
    for name, value in (case.values | {case.name: TYPED}).items():
        form[name] = value
    return form


def send(form, case: Case, **options):
    return form.submit(*(("do", None, case.do) if case.do else ()), **options)


def is_stored(acme) -> bool:
    """Return whether the text is in a post, a comment or a report."""
    of_post = Q(content=TYPED) | Q(response=TYPED) | Q(tags__contains=[TYPED])
    account = acme.account
    rows = (
        account.posts.filter(of_post),
        account.comments.filter(comment=TYPED),
        account.content_reports.filter(note=TYPED),
    )
    return any(found.exists() for found in rows)


@every_case
def test_it_works(acme, rows, case):
    """The page shows only what was sent, because another person may use the browser now."""
    visitor = acme.page(getattr(acme, case.login))
    form = open_form(visitor, rows, case)
    Session.objects.all().delete()
    response = send(form, case, status=403)
    assert "You are no longer signed in. Nothing is lost" in response
    assert SECRET not in response
    refusals = [("carol", "wrong", "The login or the password is wrong.")]
    if case.do:
        refusals.append(("carol", PASSWORD, "Only the team can do this."))
    name = "again" if case.do else case.form
    for login, password, error in refusals:
        form = response.forms[name]
        assert form[case.name].value.strip() == TYPED
        form["login"], form["password"] = login, password
        response = form.submit(status=422)
        assert error in response
    assert not is_stored(acme)
    form = response.forms[name]
    form["login"], form["password"] = case.login, PASSWORD
    assert form.submit().status_code == 303
    assert is_stored(acme)
    assert getattr(acme, case.login).name in visitor.get("/")


@table("case", CASES[:4])
def test_a_preview_keeps_the_text(acme, rows, case):
    form = open_form(acme.page(acme.carol), rows, case)
    form[case.name] = "**So** <b>"
    response = form.submit("act", value="preview")
    assert "<strong>So</strong> &lt;b&gt;" in response
    assert "not right yet" not in response
    form = response.forms[case.form]
    assert form[case.name].value.strip() == "**So** <b>"
    form[case.name] = TYPED
    assert not is_stored(acme)
    assert form.submit().status_code == 303
    assert is_stored(acme)


@every_case
def test_a_form_works_after_signing_in_in_another_tab(acme, rows, case):
    visitor = acme.page(getattr(acme, case.login))
    form = open_form(visitor, rows, case)
    Session.objects.all().delete()
    visitor.sign_in(case.login)
    response = send(form, case, status=403)
    assert "Somebody signed in or out in this browser" in response
    assert not is_stored(acme)
    assert send(response.forms[case.form], case).status_code == 303
    assert is_stored(acme)


@every_case
def test_it_rejects_a_form_of_another_site(acme, rows, case):
    """The text of another site must not look like the user's own."""
    user = getattr(acme, case.login)
    form = open_form(acme.page(user), rows, case)
    path = form.action or case.path.format(**rows)
    values = [(name, value) for name, value in form.submit_fields() if name != "csrfmiddlewaretoken"]
    values += [("do", case.do)] if case.do else []
    credentials = [("login", case.login), ("password", PASSWORD)]
    for page, sent in ((acme.page(user), values), (acme.page(), values + credentials)):
        response = page.post(path, sent, headers={"Origin": "https://evil.example"}, status=403)
        assert TYPED not in response
        response = page.post(path, sent, status=403)
        assert "session" not in response.headers.get("Set-Cookie", "")
    assert not is_stored(acme)
