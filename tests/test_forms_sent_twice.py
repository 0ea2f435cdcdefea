"""Forms that create a row and are sent twice: a double click, a correction after *Back*, and two equal entries."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.urls import resolve
from django.utils import timezone

from core.http.idempotency import KEPT_FOR, IdempotentAnswer
from core.pages.creation import CreatingPage
from tests.support.factories import make_category, make_client, make_post, make_task
from tests.support.page_routes import page_class
from tests.support.tables import table, undone
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Case:
    """A form, the values that are sent first, and those of the correction."""

    path: Callable[[Any], str] | str
    form: str
    # The rows of the account that the form creates.
    rows: str
    values: dict[str, str]
    corrected: dict[str, str]
    do: str | None = "save"
    login: str = "bob"
    # False if a name is unique in the account, so that the second of two equal forms is rejected.
    may_repeat: bool = True
    # False if what was created can't be changed by the form.
    may_change: bool = True
    # The column that shows the correction.
    column: str = "name"

    def __str__(self) -> str:
        return f"{self.rows} by {self.form}"


SETTINGS = {"login": "alice", "do": "add", "form": "add"}
ANN, ANNA = {"name": "Ann"}, {"name": "Anna"}
TITLES = {"values": {"title": "Ann"}, "corrected": {"title": "Anna"}, "column": "title"}
CASES = [
    Case("/app/clients/new", "new-record", "clients", ANN, ANNA),
    Case("/app/contacts/new", "new-record", "contacts", ANN, ANNA),
    Case("/app/deals/new", "new-record", "deals", {**ANN, "price": "100"}, {**ANNA, "price": "250"}),
    Case("/app/tasks/new", "task", "posts", **TITLES),
    Case(
        lambda acme: f"/app/clients/{make_client(acme.bob, 'Shop').id}",
        "composer",
        "notes",
        {"kind": "note", "content": "Ann"},
        {"content": "Anna"},
        do="compose",
        column="content",
    ),
    Case(
        lambda acme: f"/app/clients/{make_client(acme.bob, 'Shop').id}",
        "composer",
        "posts",
        {"kind": "task", "title": "Ann"},
        {"title": "Anna"},
        do="compose",
        column="title",
    ),
    Case(
        lambda acme: f"/app/tasks/{make_task(acme.bob, 'Call').id}",
        "new-comment",
        "comments",
        {"comment": "Ann"},
        {"comment": "Anna"},
        do="comment",
        column="comment",
    ),
    Case("/app/contact_lists/new", "contact-list", "contact_lists", ANN, ANNA, may_repeat=False),
    Case("/app/views/new?resource=client", "view", "saved_views", ANN, ANNA, may_repeat=False, do=None),
    Case("/app/posts/new", "post-form", "posts", do=None, login="carol", **TITLES),
    Case(
        lambda acme: f"/app/posts/{make_post(acme.bob, 'Dark mode').id}",
        "comment-form",
        "comments",
        {"content": "Ann"},
        {"content": "Anna"},
        do=None,
        login="carol",
        column="comment",
    ),
    Case(
        lambda acme: f"/app/posts/behalf?client={make_client(acme.bob, 'Shop').id}",
        "behalf",
        "posts",
        do="create",
        **TITLES,
    ),
    Case(
        "/app/account/fields",
        rows="field_definitions",
        values={"label": "Ann", "type": "text"},
        corrected={"label": "Anna"},
        may_repeat=False,
        column="label",
        **SETTINGS,
    ),
    *(
        Case(f"/app/account/{page}", rows=rows, values=ANN, corrected=ANNA, may_repeat=False, **SETTINGS)
        for page, rows in {
            "statuses": "statuses",
            "deals": "pipelines",
            "access": "user_groups",
            "categories": "categories",
        }.items()
    ),
    Case(
        "/app/account/forums/new",
        "forum",
        "forums",
        {"name": "Ann", "host": "ann"},
        {"name": "Anna", "host": "anna"},
        login="alice",
        may_repeat=False,
    ),
    Case(
        "/app/account/users?tab=invitations",
        "invite",
        "invitations",
        {"email": "ann@example.com", "role": "agent"},
        {"email": "anna@example.com"},
        do="invite",
        login="alice",
        may_change=False,
        column="email",
    ),
    Case(
        "/app/account/api/tokens/new",
        "new",
        "tokens",
        {"label": "Ann"},
        {"label": "Anna"},
        do=None,
        may_change=False,
        column="label",
    ),
    Case(
        "/app/account/saved_replies",
        rows="saved_replies",
        values={**ANN, "text": "Thank you"},
        corrected=ANNA,
        may_repeat=False,
        **SETTINGS,
    ),
    Case(
        lambda acme: f"/app/posts/{make_post(acme.carol, 'Dark mode').id}/answer",
        "answer-form",
        "answers",
        {"response": "Ann", "publish_at": f"{timezone.now().year + 1}-01-07T09:00"},
        {"response": "Anna"},
        do=None,
        may_change=False,
        column="response",
    ),
    Case(
        "/app/account/webhooks",
        rows="webhooks",
        values={"url": "https://hooks.example.com/ann"},
        corrected={"url": "https://hooks.example.com/anna"},
        column="url",
        **SETTINGS,
    ),
]


def first_form(acme, case: Case):
    """Open the page of the case and fill in its form."""
    make_category(acme.account, "Ideas")
    return open_form(acme, case, case.path(acme) if callable(case.path) else case.path)


def open_form(acme, case: Case, path: str):
    visitor = acme.page(getattr(acme, case.login))
    opened = visitor.get(path).forms[case.form]
    opened.path = path
    return fill(opened, case.values)


def fill(form, values: dict[str, str]):
    for name, value in values.items():
        form[name].force_value(value)
    return form


def send(form, case: Case, **options):
    response = form.submit(*(("do", None, case.do) if case.do else ()), expect_errors=True, **options)
    # A suggestion with a similar title is asked about first.
    return response.forms["post-form"].submit(expect_errors=True) if "Post anyway" in response else response


def newest(acme, case: Case) -> list[str]:
    """Return the values of the rows that the case creates, newest first."""
    rows = getattr(acme.account, case.rows).order_by("-id").values_list(case.column, flat=True)
    return [value for value in rows if value and re.search(r"\bann", value, re.IGNORECASE)]


def test_every_page_that_creates_is_listed(acme):
    paths = [case.path(acme) if callable(case.path) else case.path for case in CASES]
    classes = {resolve(path.partition("?")[0]).func.view_class for path in paths}
    missing = {page for page in subclasses(CreatingPage) if page_class_is_routed(page)} - classes
    assert {page.__name__ for page in missing} == {
        # The form of a comment is on the page of the suggestion. It is sent to this page.
        "CommentPage",
        # They have the composer, as the page of a client does.
        "ContactPage",
        "DealPage",
        # Changes an existing task.
        "EditTaskPage",
        # Another file is another import. See test_import_pages.py.
        "ImportsPage",
        # See test_messages.py, test_bulk_changes.py and test_exports.py.
        "ExportsPage",
        "NewBulkChangePage",
        "NewMessagePage",
    }


def subclasses(base: type) -> set[type]:
    return {each for child in base.__subclasses__() for each in ({child} | subclasses(child))}


def page_class_is_routed(page: type) -> bool:
    from django.urls import get_resolver

    return page in {page_class(pattern) for pattern in get_resolver().url_patterns}


@table("case", CASES)
def test_it_works(acme, case):
    form = first_form(acme, case)
    equal = open_form(acme, case, form.path)
    # A double click creates one row.
    for _ in range(2):
        assert send(form, case).status_code in (200, 303)
        assert len(newest(acme, case)) == 1
    [created] = newest(acme, case)
    with undone({}):
        # Another form with equal values creates a second row, if the account may have it.
        assert (send(equal, case).status_code in (200, 303)) == case.may_repeat
        assert len(newest(acme, case)) == (2 if case.may_repeat else 1) or case.rows == "invitations"
    # Other values are a conflict.
    response = send(fill(form, case.corrected), case)
    assert response.status_code == 409
    text = response.html.get_text()
    assert all(value in text for name in case.corrected for value in (case.values[name], case.corrected[name]))
    assert newest(acme, case) == [created]
    again = response.forms["sent-before"]
    choices = len(again.fields["form_key"])
    assert choices == (2 if case.may_change else 1)
    if case.may_change:
        with undone({}):
            for _ in range(2):
                assert again.submit("form_key", index=0, expect_errors=True).status_code in (200, 303)
                assert len(newest(acme, case)) == 1
            assert newest(acme, case) != [created]
    # The last choice creates a second row.
    for _ in range(2):
        response = again.submit("form_key", index=choices - 1, expect_errors=True)
        assert response.status_code in (200, 303)
        assert len(newest(acme, case)) == 2


# The key itself, with the form for a client

CLIENT = CASES[0]


@pytest.fixture
def client_form(acme):
    return open_form(acme, CLIENT, "/app/clients/new")


def test_a_change_in_between_is_shown_again(acme, client_form):
    send(client_form, CLIENT)
    conflict = send(fill(client_form, {"name": "Anna"}), CLIENT).forms["sent-before"]
    client = acme.account.clients.get()
    client.write({"name": "Annabel"}, by=acme.alice)
    response = conflict.submit("form_key", index=0, expect_errors=True)
    assert (response.status_code, "Annabel" in response) == (409, True)
    assert newest(acme, CLIENT) == ["Annabel"]
    response.forms["sent-before"].submit("form_key", index=0, status=303)
    assert newest(acme, CLIENT) == ["Anna"]


def test_a_row_in_the_trash_is_created_again(acme, client_form):
    send(client_form, CLIENT)
    acme.account.clients.get().trash(by=acme.bob)
    send(client_form, CLIENT)
    assert acme.account.clients.live().count() == 1


def test_a_key_of_another_user_or_page_is_another_key(acme, client_form):
    send(client_form, CLIENT)
    key = client_form["form_key"].value
    for user, path in ((acme.alice, "/app/clients/new"), (acme.bob, "/app/contacts/new")):
        form = acme.page(user).get(path).forms["new-record"]
        fill(form, {"name": "Ann", "form_key": key}).submit("do", value="save", status=303)
    assert (acme.account.clients.count(), acme.account.contacts.count()) == (2, 1)


def test_a_key_expires(acme, client_form):
    send(client_form, CLIENT)
    IdempotentAnswer.objects.update(created_at=timezone.now() - KEPT_FOR - timedelta(minutes=1))
    assert IdempotentAnswer.objects.outdated().count() == 1
    send(client_form, CLIENT)
    assert acme.account.clients.count() == 2


@pytest.mark.django_db(transaction=True)
def test_simultaneous_clicks_create_one_row(acme, client_form):
    responses = at_once(*(lambda: client_form.submit("do", value="save", expect_errors=True) for _ in range(4)))
    assert {response.status_code for response in responses} == {303}
    assert acme.account.clients.count() == 1
