"""The components of the style sheet, news with *Undo*, the toolbar of texts, and the question before a text is lost."""

from pathlib import Path

from django.template import engines
from playwright.sync_api import Page, expect

from tests.support.axe import expect_no_faults
from tests.support.factories import make_client, make_post, make_task

COMPONENTS = Path(__file__).parent / "components.html"


def test_the_components_in_both_themes(acme, browse, tmp_path):
    html = engines["jinja2"].from_string(COMPONENTS.read_text()).render()
    for theme in ("light", "dark"):
        for width in (1280, 390):
            page: Page = browse(acme.bob, width=width, theme=theme)
            page.goto("/app/profile")
            page.evaluate("html => { document.querySelector('main').innerHTML = html; }", html)
            expect_no_faults(page)
            overflow = page.evaluate(
                "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert overflow <= 0, (theme, width)
            page.screenshot(path=tmp_path / f"components-{theme}-{width}.png", full_page=True)


def test_news_can_be_undone_and_closed(acme, browse):
    client = make_client(acme.bob, "Adler")
    task = make_task(acme.bob, "Call", client_id=client.id)
    page = browse(acme.bob)
    page.goto(f"/app/clients/{client.id}")
    page.get_by_role("button", name="Complete", exact=False).first.click()
    news = page.locator("#messages .success")
    expect(news).to_contain_text("The task is completed.")
    assert page.evaluate("() => getComputedStyle(document.getElementById('messages')).position") == "fixed"
    news.get_by_role("button", name="Undo").click()
    expect(page.locator("#messages")).to_contain_text("The task is open again.")
    task.refresh_from_db()
    assert not task.closed
    page.locator("#messages").get_by_role("button", name="Close").click()
    expect(page.locator("#messages .notice")).to_have_count(0)


def test_a_text_has_a_toolbar_and_is_not_lost(acme, browse):
    post = make_post(acme.bob, "Dark theme")
    page = browse(acme.bob)
    page.goto(f"/app/posts/{post.id}")
    field = page.get_by_label("Your comment")
    field.fill("one two")
    field.press("Control+a")
    page.get_by_role("button", name="Bold").click()
    expect(field).to_have_value("**one two**")
    field.press("Control+a")
    page.get_by_role("button", name="Quote", exact=True).last.click()
    expect(field).to_have_value("> **one two**")
    questions: list[str] = []

    def stay(dialog) -> None:
        questions.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.get_by_role("link", name="Roadmap").click()
    page.wait_for_timeout(300)
    assert questions == ["beforeunload"]
    expect(field).to_have_value("> **one two**")
    field.press("Control+Enter")
    expect(page.locator("#comments")).to_contain_text("one two")
    page.get_by_role("link", name="Roadmap").click()
    page.wait_for_url("**/app/roadmap")
    assert questions == ["beforeunload"]
