"""A screenshot in a suggestion: pasted, chosen without JavaScript, and seen by a visitor."""

import base64
import re

from playwright.sync_api import expect

from tests.support.axe import expect_no_faults
from tests.support.factories import make_client
from tests.support.jobs import run_jobs
from tests.support.pages import path_of_post
from tests.support.people import at
from tests.support.pictures import picture

SCREENSHOT = picture("PNG", (900, 500))
# Browsers name a pasted screenshot in this way.
PASTE = """([area, content]) => {
    const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "image.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
}"""


def paste(page, area) -> None:
    page.evaluate(PASTE, [area.element_handle(), base64.b64encode(SCREENSHOT).decode()])


def expect_picture(page, name: str) -> None:
    shown = page.get_by_role("img", name=name)
    expect(shown).to_be_visible()
    assert shown.evaluate("image => image.decode().then(() => image.naturalWidth)") in (480, 900)


def test_it_works(acme, browse):
    page = browse(acme.bob)
    page.goto("/app/posts/new")
    page.get_by_label("Title").fill("The button is too small")
    details = page.get_by_label("Details")
    details.fill("As one sees here:")
    details.press("End")
    paste(page, details)
    expect(details).to_have_value(
        re.compile(r"As one sees here:\n!\[image\.png\]\(/app/attachments/\d+/image\.png\)\n")
    )
    expect_no_faults(page)
    page.get_by_role("button", name="Preview").click()
    expect_picture(page.locator("#writing-preview"), "image.png")
    page.get_by_role("button", name="Post", exact=True).click()
    post = acme.account.posts.get()
    page.wait_for_url(at(path_of_post(post)))
    run_jobs()
    visitor = browse(width=390)
    visitor.goto(f"/app/posts/{post.id}")
    expect_picture(visitor, "image.png")
    expect_no_faults(visitor)
    link = visitor.locator(".prose a", has=visitor.get_by_role("img", name="image.png"))
    expect(link).to_have_attribute("href", re.compile(r"/app/attachments/\d+/image\.png"))


def test_a_note_with_a_file_a_damaged_one_and_the_files_of_a_client(acme, browse):
    page = browse(acme.bob)
    client = make_client(acme.bob)
    page.goto(f"/app/clients/{client.id}?compose=note")
    files = page.locator("#composer").get_by_label("Files")
    damaged = {"name": "a.png", "mimeType": "image/png", "buffer": SCREENSHOT[:-60]}
    files.set_input_files([damaged])
    expect(page.locator("#composer .sending")).to_have_text("File is damaged: it can't be read as a picture")
    files.set_input_files([{"name": "list.txt", "mimeType": "text/plain", "buffer": b"a list"}])
    text = page.locator("#composer").get_by_label("Text")
    expect(text).to_have_value(re.compile(r"\[list\.txt\]\(/app/attachments/\d+/list\.txt\)\n"))
    page.locator("#composer").get_by_role("button", name="Save").click()
    expect(page.locator("#timeline, .timeline").get_by_role("link", name="list.txt").first).to_be_visible()
    page.locator("#add-files").get_by_label("Files").set_input_files(
        [{"name": "offer.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"}]
    )
    page.get_by_role("button", name="Add files").click()
    expect(page.locator("section[aria-labelledby=files] li")).to_contain_text("offer.pdf")
    expect_no_faults(page)


def test_without_javascript(acme, browse):
    page = browse(acme.bob, javascript=False)
    page.goto("/app/posts/new")
    page.get_by_label("Title").fill("The button is too small")
    page.get_by_label("Files").set_input_files([{"name": "a.png", "mimeType": "image/png", "buffer": SCREENSHOT}])
    page.get_by_role("button", name="Post", exact=True).click()
    post = acme.account.posts.get()
    page.wait_for_url(at(path_of_post(post)))
    visitor = browse(javascript=False)
    visitor.goto(f"/app/posts/{post.id}")
    expect(visitor.get_by_role("img", name="a.png")).to_be_visible()
