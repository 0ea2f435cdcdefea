"""Replies and reactions without leaving the page, and the roadmap that the team drags on."""

import re

from playwright.sync_api import expect

from tests.support.factories import make_comment, make_post


def test_a_quote_follows_what_is_written_and_a_reaction_is_shown_in_place(acme, browse):
    post = make_post(acme.bob, "Dark mode")
    comment = make_comment(post, acme.bob, "One *more* thing")
    page = browse(acme.carol, width=390)
    page.goto(f"/app/posts/{post.id}")
    field = page.get_by_label("Your comment", exact=True)
    field.fill("I agree.")
    page.get_by_role("link", name=re.compile("^Quote")).click()
    expect(field).to_have_value("I agree.\n\n> **Bob Nowak**:\n>\n> One *more* thing\n\n")
    expect(field).to_be_focused()
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator(f"#replies-{comment.id} blockquote")).to_have_count(1)
    page.locator(f"#reactions-{comment.id} summary").click()
    page.locator(f"#reactions-{comment.id} details button").nth(1).click()
    expect(page.locator(f"#reactions-{comment.id} > button")).to_have_text("❤️ 1")


def test_the_team_moves_a_suggestion_by_keyboard(acme, browse):
    post = make_post(acme.alice, "Dark mode", status=acme.account.statuses.get(kind="post", code="planned"))
    page = browse(acme.bob, width=1280)
    page.goto("/app/roadmap")
    page.get_by_role("button", name="Pick up: Dark mode").focus()
    for key in ("Enter", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("region", name="Started", exact=False).locator("h3")).to_have_text("Dark mode")
    expect(page.locator("#messages")).to_contain_text("Saved.")
    post.refresh_from_db()
    assert post.status_id == acme.account.statuses.get(kind="post", code="started").id
