"""The team's tools on a suggestion's page."""

from forum.categories.models import Category
from tests.support.factories import PASSWORD, make_category, make_post, make_task
from tests.support.settings import send
from tests.support.tables import table
from tests.support.team import HTMX, fresh, went_to

DELETED = ["This suggestion was deleted. An admin can restore it from the trash."]


def tools_path(post) -> str:
    return f"/app/posts/{post.id}/team"


def form_of(page, post, name: str):
    return page.get(tools_path(post)).forms[name]


def test_it_works(acme):
    post = make_post(acme.carol, "A dark theme")
    planned = acme.account.statuses.get(kind="post", code="planned")
    bob = acme.page(acme.bob)
    page = bob.get(f"/app/posts/{post.id}")
    assert page.html.find("a", href=f"{tools_path(post)}?tool=status") is not None
    form = bob.get(f"{tools_path(post)}?tool=status").forms["status"]
    form["status_id"], form["response"] = str(planned.id), "In the **autumn**.\r\nPromised."
    assert went_to(form.submit("do"), f"/app/posts/{post.id}") == ["Saved."]
    post = fresh(post)
    assert (post.status_id, post.response, post.response_user_id) == (
        planned.id,
        "In the **autumn**.\nPromised.",
        acme.bob.id,
    )
    assert "<strong>autumn</strong>" in bob.get(f"/app/posts/{post.id}")
    [change] = acme.account.status_changes.of_post(post.id)
    assert (change.from_name, change.name, change.nick) == ("New", "Planned", "Bob Nowak")
    # The response is changed and removed without the status.
    for text, expected in (("We will see.", ("We will see.", acme.bob.id)), (" ", (None, None))):
        form = form_of(bob, post, "status")
        assert form["response"].value.replace("\r\n", "\n").strip() == (post.response or "")
        form["response"] = text
        form.submit("do")
        post = fresh(post)
        assert (post.response, post.response_user_id, post.status_id) == (*expected, planned.id)


def test_htmx_gets_the_tools_without_the_page(acme):
    post = make_post(acme.carol)
    response = acme.page(acme.bob).get(tools_path(post), headers=HTMX)
    assert response.html.find("main") is None
    assert set(response.forms) >= {"status", "place"}


def test_an_old_form_overwrites_no_change_of_another_user(acme):
    post = make_post(acme.carol)
    planned, started = (acme.account.statuses.get(kind="post", code=code) for code in ("planned", "started"))
    bob, alice = acme.page(acme.bob), acme.page(acme.alice)
    old_form, older_form, form = (
        form_of(bob, post, "status"),
        form_of(bob, post, "status"),
        form_of(alice, post, "status"),
    )
    form["status_id"], form["response"] = str(planned.id), "Soon."
    form.submit("do")
    # Unchanged fields are not saved. A second click changes nothing.
    old_form["status_id"] = str(started.id)
    for _ in range(2):
        assert old_form.submit("do").status_code == 303
        assert (fresh(post).status_id, fresh(post).response) == (started.id, "Soon.")
    assert acme.account.status_changes.of_post(post.id).count() == 2
    older_form["response"] = "Never."
    response = older_form.submit("do", status=422)
    assert "Somebody else changed it in the meantime, to: “Soon.”" in response
    returned_form = response.forms["status"]
    assert returned_form["response"].value.strip() == "Never."
    assert fresh(post).response == "Soon."
    assert returned_form.submit("do").status_code == 303
    assert fresh(post).response == "Never."


def test_it_rejects_invalid_values_of_the_status_form(acme):
    post = make_post(acme.carol)
    bob = acme.page(acme.bob)
    for name, value, error in [
        ("status_id", "999999", "Select a valid choice."),
        ("status_id", str(acme.account.statuses.filter(kind="deal").first().id), "Select a valid choice."),
        ("response", "x" * 65537, "at most 65536"),
        ("response", "a\u0001b", "Has characters that can't be stored"),
    ]:
        form = form_of(bob, post, "status")
        form["response"] = "Typed at length."
        form[name].force_value(value)
        response = form.submit("do", status=422)
        assert error in response.html.find(id="status").get_text()
        assert response.html.find(id="tool-status").has_attr("open")
        assert name == "response" or response.forms["status"]["response"].value.strip() == "Typed at length."
    assert (fresh(post).status_id, fresh(post).response) == (post.status_id, None)


def test_category_responsible_user_privacy_and_tags(acme):
    post = make_post(acme.carol, tags=["old"])
    make_post(acme.alice, tags=["prices"])
    category = make_category(acme.account, "Bugs")
    bob = acme.page(acme.bob)
    page = bob.get(tools_path(post))
    assert sorted(option["value"] for option in page.html.select("#tags-in-use option")) == ["old", "prices"]
    form = page.forms["place"]
    assert form["tags"].value == "old"
    form["category_id"], form["tags"] = str(category.id), " prices, New  one,prices"
    form["responsible_id"], form["private"] = str(acme.alice.id), True
    assert went_to(form.submit("do"), f"/app/posts/{post.id}") == ["Saved."]
    post = fresh(post)
    assert (post.category_id, post.responsible_id, post.private) == (category.id, acme.alice.id, True)
    assert post.tags == ["prices", "New one"]
    form = form_of(bob, post, "place")
    old_form = form_of(bob, post, "place")
    form["responsible_id"], form["tags"], form["private"] = "", "", False
    form.submit("do")
    post = fresh(post)
    assert (post.category_id, post.responsible_id, post.private, post.tags) == (category.id, None, False, [])
    # Fields that another tab changed are kept.
    old_form["category_id"] = str(acme.category.id)
    old_form.submit("do")
    post = fresh(post)
    assert (post.category_id, post.responsible_id, post.private, post.tags) == (acme.category.id, None, False, [])


def test_a_responsible_user_who_left_the_team_is_kept(acme):
    post = make_post(acme.carol, responsible_id=acme.bob.id)
    acme.bob.is_active = False
    acme.bob.save()
    alice = acme.page(acme.alice)
    form = form_of(alice, post, "place")
    assert form["responsible_id"].value == str(acme.bob.id)
    form["private"] = True
    assert form.submit("do").status_code == 303
    assert fresh(post).responsible_id == acme.bob.id


def test_it_rejects_invalid_values_of_the_place_form(acme, other):
    post = make_post(acme.carol)
    other_category = Category.objects.filter(account=other.account).first()
    while other_category.id == post.category_id:
        other_category = make_category(other.account)
    for name, value, error in [
        ("category_id", str(other_category.id + 1_000_000), "Select a valid choice."),
        ("responsible_id", str(acme.carol.id), "Select a valid choice."),
        ("tags", ",".join(f"tag {n}" for n in range(101)), "At most 100 tags are allowed"),
        ("tags", "x" * 65, "Each can have at most 64 characters"),
        ("tags", "a\u0001b", "Has characters that can't be stored"),
    ]:
        form = form_of(acme.page(acme.bob), post, "place")
        form[name].force_value(value)
        response = form.submit("do", status=422)
        assert error in response.html.find(id="place").get_text(), name
        assert response.forms["place"][name].value == value or name != "tags"
    assert (fresh(post).category_id, fresh(post).responsible_id, fresh(post).tags) == (post.category_id, None, [])


def test_a_post_that_was_deleted_meanwhile(acme):
    post = make_post(acme.carol)
    bob, alice = acme.page(acme.bob), acme.page(acme.alice)
    status, place, form_of_alice = (
        form_of(bob, post, "status"),
        form_of(bob, post, "place"),
        form_of(alice, post, "place"),
    )
    status["response"], place["private"] = "Typed at length.", True
    post.trash(by=acme.alice)
    # The text of a response is kept.
    response = status.submit("do", status=422)
    assert DELETED[0] in response
    assert response.forms["status"]["response"].value.strip() == "Typed at length."
    assert fresh(post).response is None
    assert went_to(place.submit("do"), "/app/suggestions") == DELETED
    assert went_to(bob.get(tools_path(post)), "/app/suggestions") == DELETED
    # A user whose session has ended is signed in before the message.
    acme.alice.sessions.all().delete()
    form = form_of_alice.submit("do", status=403).forms["again"]
    form["login"], form["password"] = "alice", PASSWORD
    assert went_to(form.submit(), "/app/suggestions") == DELETED
    assert acme.alice.name in alice.get("/")


def test_fragments_of_a_deleted_post_do_not_redirect(acme):
    """The fragment may arrive while the browser navigates to the page with the message."""
    post = make_post(acme.carol)
    bob, visitor = acme.page(acme.bob), acme.page()
    post.trash(by=acme.alice)
    searches = [
        f"/app/posts/{post.id}/merge?q=dark",
        f"/app/posts/{post.id}/behalf?q=north",
        "/app/posts/behalf?q=north",
    ]
    for page, path in [(bob, tools_path(post)), *((visitor, path) for path in (tools_path(post), *searches))]:
        response = page.get(path, headers=HTMX)
        assert (response.status_code, response.body) == (204, b"")
        assert not {"HX-Redirect", "Location", "Set-Cookie"} & set(response.headers)


@table("path", ["team", "merge", "behalf"])
def test_it_rejects_unknown_posts_and_actions(acme, path):
    post, task = make_post(acme.carol), make_task(acme.bob)
    bob = acme.page(acme.bob)
    for id in (task.id, 10**17):
        bob.get(f"/app/posts/{id}/{path}", status=404)
        if path == "team":
            for do in ("status", "place"):
                send(bob, f"/app/posts/{id}/{path}", do=do, status=404)
    send(bob, f"/app/posts/{post.id}/{path}", do="nonsense", status=400)
    send(bob, f"/app/posts/{post.id}/{path}", status=400)
