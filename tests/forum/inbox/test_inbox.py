"""The team's inbox."""

import pytest
from django.utils import timezone

from forum.inbox import tabs as inbox
from forum.inbox.pages import inbox as page_module
from forum.posts.models import Post
from tests.support.factories import make_category, make_comment, make_forum, make_post, make_task, make_user
from tests.support.queries import capture_queries
from tests.support.reading import statements
from tests.support.settings import send, token_of
from tests.support.team import fresh, messages_of, went_to

INBOX = "/app/inbox"


def titles(page) -> list[str]:
    return [heading.get_text(strip=True) for heading in page.html.select("[data-row] h2")]


def in_tab(acme, tab: str, user=None) -> list[str]:
    return titles(acme.page(user or acme.bob).get(f"{INBOX}?tab={tab}"))


def tab_counts(page) -> dict[str, str]:
    return {
        link.get_text(" ", strip=True).rpartition(" ")[0]: link.select_one(".chip").get_text()
        for link in page.html.select(".tabs a:has(.chip)")
    }


def act(visitor, action: str, posts, tab: str = "", expected_status: int = 303, **values):
    path = f"{INBOX}?tab={tab}" if tab else INBOX
    form = visitor.get(path).forms["inbox"]
    for field in form.fields["id"]:
        field.checked = int(field._value) in {post.id for post in posts}
    for name, value in values.items():
        form[name] = value
    return form.submit("do", value=action, status=expected_status)


@pytest.fixture
def posts(acme):
    return [make_post(acme.carol, f"Idea {n}", content="In **short**") for n in range(3)]


def test_it_works(acme, posts):
    make_post(acme.carol, "Secret", private=True)
    acme.account.forums.update(approval=True)
    make_post(acme.carol, "Unapproved")
    posts[1].write({"responsible_id": acme.bob.id}, by=acme.alice)
    posts[2].comment(by=acme.alice, text="Soon")
    bob = acme.page(acme.bob)
    page = bob.get("/app/roadmap").click("Inbox")
    assert titles(page) == ["Idea 0", "Secret", "Unapproved"]
    assert tab_counts(page) == {"New": "3", "Awaiting approval": "1", "Reported": "0", "Unanswered": "3", "Mine": "1"}
    assert page.html.select_one(".top .number").get_text() == "3"
    assert titles(page.click("Awaiting approval")) == ["Unapproved"]
    assert titles(page.click("Unanswered")) == ["Idea 0", "Idea 1", "Secret"]
    assert titles(page.click("Mine")) == ["Idea 1"]
    response = act(bob, "handled", [posts[0]])
    assert went_to(response, INBOX) == ["1 suggestion is marked as handled."]
    assert in_tab(acme, "new") == ["Secret", "Unapproved"]
    assert in_tab(acme, "unanswered") == ["Idea 1", "Secret"]


# What removes a post from the tabs: an action, and the tabs in which the post remains.
ANSWERED = ["mine"]
HANDLED = ["unanswered", "mine"]
DEEDS = {
    "nothing": (lambda acme, post: None, ["new", *HANDLED]),
    "member's comment": (lambda acme, post: make_comment(post, acme.carol), ["new", *HANDLED]),
    "member's change": (lambda acme, post: post.write({"title": "Mine"}, by=acme.carol), ["new", *HANDLED]),
    "vote": (lambda acme, post: post.vote(by=acme.bob), ["new", *HANDLED]),
    "title": (lambda acme, post: post.write({"title": "Better"}, by=acme.bob), ["new", *HANDLED]),
    "comment": (lambda acme, post: make_comment(post, acme.bob), ANSWERED),
    "internal comment": (lambda acme, post: post.comment(by=acme.bob, text="Hm", internal=True), HANDLED),
    "response": (lambda acme, post: post.write({"response": "Yes"}, by=acme.bob), ANSWERED),
    "status": (
        lambda acme, post: post.write({"status": acme.account.statuses.get(kind="post", code="planned")}, by=acme.bob),
        HANDLED,
    ),
    "closing status": (
        lambda acme, post: post.write({"status": acme.account.statuses.get(kind="post", code="rejected")}, by=acme.bob),
        [],
    ),
    "category": (lambda acme, post: post.write({"category_id": make_category(acme.account).id}, by=acme.bob), HANDLED),
    "handled": (lambda acme, post: post.mark_handled(), ANSWERED),
    "trash": (lambda acme, post: post.trash(by=acme.bob), []),
    "merge": (lambda acme, post: post.merge_into(make_post(acme.carol, handled_at=timezone.now()), by=acme.bob), []),
}


def test_the_tabs_of_a_post(acme):
    found = {}
    for name, (deed, _tabs) in DEEDS.items():
        post = make_post(acme.carol, responsible_id=acme.bob.id)
        deed(acme, post)
        tabs = {tab: inbox.posts_in(tab, acme.account, [post.forum_id], acme.bob) for tab in inbox.TABS}
        found[name] = [tab for tab, posts in tabs.items() if posts.filter(id=post.id).exists()]
    assert found == {name: tabs for name, (_deed, tabs) in DEEDS.items()}


def test_a_post_without_its_answer_is_unanswered_again(acme):
    """A withdrawn response and a deleted comment are no answer."""
    post = make_post(acme.carol)
    post.write({"response": "Yes"}, by=acme.bob)
    post.write({"response": None}, by=acme.bob)
    comments = [make_comment(post, user) for user in (acme.bob, acme.alice, acme.carol)]
    for comment, expected in zip(comments, ([], [post.title], [post.title]), strict=True):
        post.erase_comment(comment)
        assert in_tab(acme, "unanswered") == expected


def test_a_post_that_needs_no_answer_stays_handled(acme):
    """Deleting the team's comment does not remove the mark of the button."""
    for handled_first in (True, False):
        post = make_post(acme.carol)
        if handled_first:
            post.mark_handled()
        comment = make_comment(post, acme.bob)
        if not handled_first:
            post.mark_handled()
        post.erase_comment(comment)
    assert in_tab(acme, "unanswered") == []


def test_a_merge_answers_the_original_and_its_undo_does_not(acme, posts):
    make_comment(posts[0], acme.bob, "Soon")
    fresh(posts[0]).merge_into(fresh(posts[1]), by=acme.bob)
    assert in_tab(acme, "unanswered") == ["Idea 2"]
    fresh(posts[0]).undo_merge(by=acme.bob)
    assert in_tab(acme, "unanswered") == ["Idea 1", "Idea 2"]


def test_it_has_the_suggestions_of_all_forums_or_of_one(acme, posts):
    make_task(acme.bob)
    category = make_category(acme.account)
    make_post(acme.carol, "In another category", category_id=category.id)
    forum = make_forum(acme.account)
    other = make_post(acme.carol, "In another forum", forum_id=forum.id)
    page = acme.page(acme.bob).get(INBOX)
    ours = ["Idea 0", "Idea 1", "Idea 2", "In another category"]
    assert titles(page) == [*ours, "In another forum"]
    assert forum.name in page.html.select("[data-row] .meta")[-1].text
    assert tab_counts(page)["New"] == "5"
    page = page.click(href=f"forum={forum.id}$")
    assert titles(page) == ["In another forum"]
    assert tab_counts(page)["New"] == "1"
    # Links to another forum lead to its host. An act returns to the list of the forum.
    pane = page.click("In another forum").html.select_one("[data-pane]")
    assert pane.h2.a["href"].startswith("http")
    form = page.forms["inbox"]
    form.fields["id"][0].checked = True
    assert went_to(form.submit("do", value="handled"), f"{INBOX}?forum={forum.id}")
    assert fresh(other).handled_at is not None
    assert in_tab(acme, "new") == ours
    acme.page(acme.bob).get(f"{INBOX}?forum=999999", status=404)


# Actions


def test_each_action_changes_the_selected_suggestions(acme, posts):
    bob = acme.page(acme.bob)
    planned = acme.account.statuses.get(kind="post", code="planned")
    category = make_category(acme.account)
    for action, values, message in (
        ("status", {"status": str(planned.id)}, "2 suggestions have a new status."),
        ("category", {"category": str(category.id)}, "2 suggestions are in another category."),
        ("assign", {"responsible": str(acme.alice.id)}, "2 suggestions are assigned."),
        ("assign", {"responsible": "nobody"}, "2 suggestions are assigned."),
        ("trash", {}, "2 suggestions are in the trash."),
    ):
        Post.objects.update(handled_at=None)
        response = act(bob, action, posts[:2], **values)
        assert went_to(response, INBOX) == [message]
        row = fresh(posts[0])
        if action == "assign":
            assert row.responsible_id == (acme.alice.id if values["responsible"] != "nobody" else None)
    assert (row.status_id, row.category_id, row.trashed_by_id) == (planned.id, category.id, acme.bob.id)
    assert fresh(posts[2]).handled_at is None


def test_approved_suggestions_are_unanswered(acme):
    acme.account.forums.update(approval=True)
    posts = [make_post(acme.carol, f"Idea {n}") for n in range(2)]
    bob = acme.page(acme.bob)
    response = act(bob, "approve", posts, tab="unapproved")
    assert went_to(response, f"{INBOX}?tab=unapproved") == ["2 suggestions are approved."]
    assert [fresh(post).approved for post in posts] == [True, True]
    assert in_tab(acme, "unanswered") == ["Idea 0", "Idea 1"]


def test_errors_are_reported_for_each_suggestion(acme):
    """The action changes the rows that it can, and the page names the others."""
    acme.account.forums.update(approval=True)
    posts = [make_post(acme.carol, f"Idea {n}") for n in range(4)]
    bob = acme.page(acme.bob)
    form = bob.get(f"{INBOX}?tab=unapproved").forms["inbox"]
    for field in form.fields["id"]:
        field.checked = True
    posts[1].write({"title": "Buy here"}, by=acme.carol)
    posts[2].trash(by=acme.alice)
    posts[3].approve(by=acme.alice)
    page = form.submit("do", value="approve", status=422)
    assert [fresh(post).approved for post in posts] == [True, False, False, True]
    [notice] = page.html.select("#main .notice.error")
    assert notice.p.get_text() == "2 suggestions are approved. 2 suggestions could not be changed."
    assert [item.get_text() for item in notice.select("li")] == [
        "“Idea 2”: This suggestion was deleted. An admin can restore it from the trash."
    ]
    [row] = page.html.select("[data-row]")
    assert "changed after you opened the page" in row.select_one(".field-error").get_text()
    # The failed suggestion is still selected, so another click repeats the action.
    response = page.forms["inbox"].submit("do", value="approve")
    assert messages_of(response.follow()) == ["1 suggestion is approved."]


def test_it_rejects_actions_without_a_selection_or_a_value(acme, posts):
    bob = acme.page(acme.bob)
    assert went_to(act(bob, "handled", []), INBOX) == ["Select one or more suggestions first."]
    page = act(bob, "status", posts[:1], expected_status=422)
    assert "Choose a value for “Status” first." in page
    assert [box["value"] for box in page.html.select("[name=id][checked]")] == [str(posts[0].id)]
    send(bob, INBOX, do="nonsense", id=posts[0].id, status=400)
    send(bob, INBOX, do="status", id=posts[0].id, status=422)


def test_it_rejects_values_and_suggestions_of_other_accounts(acme, other, posts):
    bob = acme.page(acme.bob)
    page = send(bob, INBOX, do="handled", id=10**6, status=422)
    assert "There is no such suggestion." in page
    status = other.account.statuses.create(id=9_000_001, kind="post", name="Of other")
    category = other.account.categories.create(id=9_000_002, forum_id=other.account.forums.get().id, name="Of other")
    agent = make_user(other.account, id=9_000_003, role="agent")
    for values in (
        {"do": "status", "status": status.id},
        {"do": "category", "category": category.id},
        {"do": "assign", "responsible": agent.id},
        {"do": "assign", "responsible": "x"},
    ):
        bob.post(INBOX, values | {"id": posts[0].id, "csrfmiddlewaretoken": token_of(bob)}, status=422)
    assert fresh(posts[0]).handled_at is None
    send(bob, INBOX, do="handled", id="x", status=303)
    bob.get(f"{INBOX}?tab=nonsense", status=404)
    bob.get(f"{INBOX}?page=x", status=404)
    assert bob.get(f"{INBOX}?page=7").headers["Location"] == INBOX


# Shortcuts, counts, cost


def test_shortcuts_can_be_switched_off(acme, posts):
    bob = acme.page(acme.bob)
    assert "data-shortcuts" in bob.get(INBOX).html.find(id="inbox").attrs
    form = bob.get("/app/profile").forms["shortcuts"]
    form["shortcuts"] = False
    form.submit().follow()
    page = bob.get(INBOX)
    assert "data-shortcuts" not in page.html.find(id="inbox").attrs
    assert "They are switched off." in page
    assert "shortcuts" not in acme.page(acme.carol).get("/app/profile").forms


def test_counts_are_capped(acme, posts, monkeypatch):
    monkeypatch.setattr(inbox, "MAX_COUNT", 2)
    assert tab_counts(acme.page(acme.bob).get(INBOX))["New"] == "2+"


def test_a_page_has_25_suggestions(acme, posts, monkeypatch):
    monkeypatch.setattr(page_module, "EXCERPT_LENGTH", 20)
    for number in range(25):
        make_post(acme.carol, f"More {number}", content="word " * 400)
    bob = acme.page(acme.bob)
    page = bob.get(INBOX)
    assert (len(titles(page)), titles(page)[0]) == (25, "Idea 0")
    last = page.click("Next")
    assert titles(last) == ["More 22", "More 23", "More 24"]
    assert last.html.select_one(".excerpt").get_text() == "word word word word…"


def test_it_takes_few_statements(acme, posts):
    bob = acme.page(acme.bob)
    # The menu takes one statement on every page of the team.
    assert sum("handled_at" in sql for sql in statements(bob, "/app/roadmap")) == 1
    form = bob.get(INBOX).forms["inbox"]
    form.fields["id"][0].checked = True
    response, queries = capture_queries(lambda: form.submit("do", value="handled"))
    assert response.status_code == 303
    # The session; the forum; statuses, team and categories; for each suggestion its lock, its update and the change to undo; the saved views;
    # what undoes the act.
    assert len(queries) == 10, queries
