"""The pane of the inbox, the undo of its acts, and merging several suggestions."""

from django.core import mail

from forum.answers.models import Answer
from tests.support.factories import make_post
from tests.support.settings import token_of
from tests.support.team import HTMX, fresh, messages_of, went_to

INBOX = "/app/inbox"


def pane_of(visitor, post, query: str = ""):
    return visitor.get(f"{INBOX}?{query}post={post.id}")


def form_with(page, action: str):
    return next(form for form in page.forms.values() if "next" in form.fields and f'value="{action}"' in form.text)


def undo(page):
    """Send the form of the button *Undo* in the message of the page."""
    form = next(form for form in page.forms.values() if "token" in form.fields and "next" not in form.fields)
    return form.submit("do", value="undo") if form.id == "inbox" else form.submit()


def test_it_works(acme):
    posts = [make_post(acme.carol, f"A dark theme {n}", content="**Please**", tags=["vip"]) for n in range(3)]
    bob = acme.page(acme.bob)
    page = bob.get(INBOX).click("A dark theme 1")
    pane = page.html.select_one("[data-pane]")
    assert pane.h2.text.strip() == "A dark theme 1"
    assert "<strong>Please</strong>" in str(pane)
    assert [link["href"] for link in pane.select("nav a")] == [
        INBOX,
        f"{INBOX}?post={posts[0].id}",
        f"{INBOX}?post={posts[2].id}",
    ]
    # The likely duplicates, of which the first is chosen.
    similar = bob.get(pane.select_one("#pane-similar")["hx-get"], headers={**HTMX, "HX-Target": "pane-similar"}).html
    assert {int(radio["value"]) for radio in similar.select("[name=into]")} == {posts[0].id, posts[2].id}
    assert similar.select_one("[name=next]")["value"] == str(posts[2].id)
    part = bob.get(f"{INBOX}?post={posts[1].id}", headers=HTMX)
    assert part.html.find("main") is None
    assert part.html.select_one("[data-pane]")["data-pane"] == str(posts[1].id)
    form = form_with(page, "tags")
    form["tags"] = "vip, dark"
    assert went_to(form.submit("do", value="tags"), f"{INBOX}?post={posts[2].id}") == ["1 suggestion has other tags."]
    assert fresh(posts[1]).tags == ["vip", "dark"]


def test_each_act_can_be_undone(acme):
    """The former values return, unless the suggestion has changed since."""
    acme.account.forums.update(approval=True)
    bob, planned = acme.page(acme.bob), acme.account.statuses.get(kind="post", code="planned")
    original = make_post(acme.bob, "The original")
    original.mark_handled()
    for action, values, changed in (
        ("status", {"status": str(planned.id)}, "status_id"),
        ("assign", {"responsible": str(acme.alice.id)}, "responsible_id"),
        ("tags", {"tags": "vip"}, "tags"),
        ("handled", {}, "handled_at"),
        ("approve", {}, "approved"),
        ("reject", {}, "trashed_at"),
        ("merge", {"into": str(original.id)}, "duplicate_from_id"),
    ):
        post = make_post(acme.carol, f"Wish {action}", approved=action not in ("approve", "reject"))
        data = {"do": action, "id": str(post.id), **values, "csrfmiddlewaretoken": token_of(bob)}
        before = fresh(post)
        page = bob.post(INBOX, data).follow()
        assert getattr(fresh(post), changed) != getattr(before, changed), action
        assert messages_of(undo(page).follow()) == ["1 suggestion is as before."], action
        for name in (changed, "handled_at", "status_id"):
            assert getattr(fresh(post), name) == getattr(before, name), (action, name)
        page = bob.post(INBOX, data).follow()
        fresh(post).write({"status": planned, "tags": ["other"], "approved": False}, by=acme.alice)
        fresh(post).write({"status": acme.account.default_status("post")}, by=acme.alice)


def test_a_changed_suggestion_is_not_undone(acme):
    post, bob = make_post(acme.carol, "Wish"), acme.page(acme.bob)
    data = {"do": "tags", "id": str(post.id), "tags": "vip", "csrfmiddlewaretoken": token_of(bob)}
    page = bob.post(INBOX, data).follow()
    fresh(post).write({"tags": ["other"]}, by=acme.alice)
    refused = ["“Wish” was changed in the meantime, so this can't be undone."]
    assert messages_of(undo(page).follow()) == refused
    assert fresh(post).tags == ["other"]


def test_the_author_of_a_rejected_suggestion_gets_the_reason(acme):
    acme.account.forums.update(approval=True)
    post, bob = make_post(acme.carol, "Wish", approved=False), acme.page(acme.bob)
    make_post(acme.carol, "Next", approved=False)
    form = form_with(pane_of(bob, post, "tab=unapproved&"), "reject")
    form["reason"] = "It is about another product."
    form.submit("do", value="reject")
    assert fresh(post).trashed_at is not None
    [message] = mail.outbox
    assert (message.to, message.subject) == (["carol@acme.example"], "Your suggestion at Acme is not published")
    assert "It is about another product." in message.body


def test_saved_replies_are_filled_in(acme):
    post = make_post(acme.carol, "A dark theme")
    acme.account.saved_replies.create(name="Thanks", text="Thank you, {name}: {title}")
    bob = acme.page(acme.bob)
    part = bob.get(f"/app/posts/{post.id}/replies?field=comment-content")
    assert part.html.select("option")[1]["value"] == "Thank you, Carol Member: A dark theme"
    bob.get(f"/app/posts/{post.id}/replies?field=other", status=404)


def test_several_are_merged_into_one(acme):
    posts = [make_post(acme.carol, f"Dark {n}") for n in range(3)]
    posts[1].vote(by=acme.alice)
    bob = acme.page(acme.bob)
    form = bob.get(INBOX).forms["inbox"]
    for field in form.fields["id"]:
        field.checked = True
    page = form.submit("do", value="choose_original", status=200)
    form = page.forms["merge"]
    assert form["into"].value == str(posts[1].id)
    assert "“Dark 1” has at most 1 vote afterwards." in page
    page = form.submit("do", value="merge").follow()
    assert messages_of(page) == ["2 suggestions are merged."]
    assert [fresh(post).duplicate_from_id for post in posts] == [posts[1].id, None, posts[1].id]
    assert messages_of(undo(page).follow()) == ["2 suggestions are as before."]
    assert [fresh(post).duplicate_from_id for post in posts] == [None, None, None]


def test_an_answer_leads_to_the_next_suggestion(acme):
    posts = [make_post(acme.carol, f"Wish {n}") for n in range(2)]
    page = pane_of(acme.page(acme.bob), posts[0])
    form = page.click("Answer and status").forms["answer-form"]
    form["response"] = "Soon."
    went_to(form.submit(), f"{INBOX}?post={posts[1].id}")
    assert Answer.objects.get(account=acme.account).response == "Soon."
