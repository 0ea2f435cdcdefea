"""The panel with one row beside a list whose rows have no panels of their own: tasks, contact lists and suggestions."""

import pytest

from tests.support.factories import make_client, make_contact, make_contact_list, make_post, make_task

HEADERS = {"HX-Request": "true", "HX-Target": "peek-content"}


def read(page) -> tuple[list[str], dict[str, str]]:
    """Return the heading and the links of the panel, and its fields."""
    links = [link["href"] for link in page.html.select("p a, li a")]
    rows = page.html.select(".peek-fields tr")
    fields = {row.th.get_text(): " ".join(row.td.get_text(" ").split()) for row in rows}
    return [page.html.h2.get_text(), *links], fields


def test_it_works(acme):
    client = make_client(acme.bob, "Northwind")
    text = "Ask about the roof. " * 10
    task = make_task(acme.bob, "Call them", client_id=client.id, content=text, responsible_id=acme.bob.id)
    bob = acme.page(acme.bob)
    head, fields = read(bob.get(f"/app/tasks/list?peek={task.id}", headers=HEADERS))
    assert head == ["Call them", f"/app/tasks/{task.id}", f"/app/tasks/{task.id}/edit"]
    assert fields["Client"] == "Northwind"
    assert fields["Description"] == text.strip()
    post = make_post(acme.carol, "Dark theme")
    head, fields = read(bob.get(f"/app/suggestions/list?peek={post.id}", headers=HEADERS))
    assert head == ["Dark theme", f"/app/posts/{post.id}", f"/app/posts/{post.id}/edit"]
    assert fields["Kind"] == "Suggestion"
    contacts = make_contact_list(acme.bob, "Fair")
    ann = make_contact(acme.bob, "Ann", contact_list_ids=[contacts.id])
    head, fields = read(bob.get(f"/app/contact_lists?peek={contacts.id}", headers=HEADERS))
    path = f"/app/contacts?contact_list_id={contacts.id}"
    assert head == ["Fair", path, f"/app/contact_lists/{contacts.id}", f"/app/contacts/{ann.id}"]
    assert fields["Contacts"] == "1"


@pytest.mark.parametrize("path", ["/app/tasks/list", "/app/suggestions/list", "/app/contact_lists"])
def test_it_rejects_rows_that_the_list_does_not_have(acme, other, path):
    user = other.mallory
    rows = {"tasks": make_task, "suggestions": make_post, "contact_lists": make_contact_list}
    foreign = rows[path.split("/")[2]](user, "Theirs")
    for id in (foreign.id, "x", ""):
        acme.page(acme.bob).get(f"{path}?peek={id}", headers=HEADERS, status=404)
