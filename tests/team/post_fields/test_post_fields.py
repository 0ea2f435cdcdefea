"""The panel with the fields that the account defines for suggestions, and the form for their values."""

import pytest

from tests.support.factories import make_field_definition, make_post
from tests.support.settings import send, texts

PANEL = "[aria-labelledby=post-fields]"


@pytest.fixture
def post(acme):
    """A suggestion with a value that does not fit its field, which no form shows."""
    for key, type in (("effort", "number"), ("areas", "choices"), ("spec", "link"), ("when", "date")):
        choices = ["Web", "App"] if type == "choices" else []
        make_field_definition(acme.account, key, resource="suggestion", label=key.title(), type=type, choices=choices)
    return make_post(acme.carol, "Dark theme", additional_fields={"effort": 5, "when": "soon", "other": "x"})


def test_it_works(acme, post):
    page = acme.page(acme.bob)
    panel = page.get(f"/app/posts/{post.id}")
    assert texts(panel, f"{PANEL} dt, {PANEL} dd") == ["Effort", "5", "When", "soon"]
    form = panel.click("Edit the fields").forms["post-fields"]
    assert "additional_fields[when]" not in form.fields
    form["additional_fields[effort]"], form["additional_fields[areas]"] = "1.5", ["App", "Web"]
    form["additional_fields[spec]"] = "https://example.com/a"
    saved = form.submit("do").follow()
    assert texts(saved, f"{PANEL} dt, {PANEL} dd") == [
        *("Effort", "1.5", "Areas", "Web, App", "Spec", "https://example.com/a", "When", "soon"),
    ]
    post.refresh_from_db()
    assert post.additional_fields.keys() == {"effort", "areas", "spec", "when", "other"}
    assert (post.additional_fields["areas"], post.additional_fields["other"]) == (["Web", "App"], "x")


def test_the_inbox_leads_back_to_the_suggestion(acme, post):
    page = acme.page(acme.bob)
    pane = page.get(f"/app/inbox?post={post.id}")
    assert texts(pane, f"{PANEL} dt") == ["Effort", "When"]
    form = pane.click("Edit the fields").forms["post-fields"]
    form["additional_fields[effort]"] = ""
    assert texts(form.submit("do").follow(), f"{PANEL} dt") == ["When"]


def test_it_rejects_invalid_values(acme, post):
    page = acme.page(acme.bob)
    for name, value, error in (
        ("effort", "much", "Is not a number"),
        ("spec", "javascript:alert(1)", "Is not a link that begins with https:// or http://"),
    ):
        form = page.get(f"/app/posts/{post.id}/fields").forms["post-fields"]
        form[f"additional_fields[{name}]"] = value
        response = form.submit("do", status=422)
        assert error in response.html.get_text()
        assert response.forms["post-fields"][f"additional_fields[{name}]"].value == value


def test_it_rejects_a_value_that_somebody_else_has_changed(acme, post):
    form = acme.page(acme.bob).get(f"/app/posts/{post.id}/fields").forms["post-fields"]
    post.write({"additional_fields": {"effort": 8}}, by=acme.alice)
    form["additional_fields[effort]"] = "3"
    response = form.submit("do", status=422)
    assert "Was changed to “8” in the meantime. Save again to use your value." in response.html.get_text()
    response.forms["post-fields"].submit("do").follow()
    post.refresh_from_db()
    assert post.additional_fields["effort"] == 3


def test_it_rejects_accounts_without_fields_and_other_users(acme, other):
    post = make_post(acme.carol)
    acme.page(acme.bob).get(f"/app/posts/{post.id}/fields", status=404)
    assert not texts(acme.page(acme.bob).get(f"/app/posts/{post.id}"), PANEL)
    make_field_definition(acme.account, "effort", resource="suggestion")
    acme.page(acme.carol).get(f"/app/posts/{post.id}/fields", status=403)
    foreign = make_post(other.mallory, id=10**6)
    acme.page(acme.bob).get(f"/app/posts/{foreign.id}/fields", status=404)
    assert send(acme.page(acme.bob), f"/app/posts/{post.id}/fields", do="other", status=400)
