"""An answer in a browser: response, status, customers and a saved reply in one form."""

from playwright.sync_api import expect

from tests.support.axe import expect_no_faults
from tests.support.factories import make_client, make_post
from tests.support.people import messages_on


def test_one_form_answers_and_tells_customers(acme, browse):
    post = make_post(acme.carol, "A dark theme")
    client = make_client(acme.bob, "Northwind", email="ann@northwind.example", consent=True)
    post.cast_proxy_vote(by=acme.bob, client_id=client.id)
    acme.account.saved_replies.create(name="Thanks", text="Thank you, {name}.")
    page = browse(acme.bob, width=390)
    page.goto(f"/app/posts/{post.id}")
    page.get_by_role("main").get_by_role("link", name="Answer and status").click()
    field = page.locator("#answer").get_by_label("Official response")
    expect(field).to_be_focused()
    page.locator("#answer").get_by_label("Insert a saved reply").select_option("Thanks")
    expect(field).to_have_value("Thank you, Carol Member.")
    field.press_sequentially(" It comes in summer.")
    page.locator("#answer-status_id").select_option("Planned")
    expect(page.get_by_label("Also tell 1 customer by e-mail")).to_be_checked()
    expect_no_faults(page)
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(messages_on(page)).to_contain_text("The answer is published, and 1 customer gets it by e-mail.")
    expect(page.locator("#response")).to_contain_text("Thank you, Carol Member. It comes in summer.")
    expect(page.locator("#response .badge")).to_have_text("Planned")
    assert acme.account.customer_messages.get().total == 1
