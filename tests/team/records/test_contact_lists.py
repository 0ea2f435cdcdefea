"""The pages of contact lists: add a list, see its number of contacts, rename it, and move it to the trash."""

from tests.support.factories import make_contact, make_contact_list
from tests.support.team import row_names

PATH = "/app/contact_lists"


def cells(page) -> list[list[str]]:
    """Return the texts of the rows of a list."""
    return [[cell.get_text(strip=True) for cell in row.select("th, td")] for row in page.html.select("tbody tr")]


def test_it_works(acme):
    bob = acme.page(acme.bob)
    form = bob.get(PATH).click("New contact list", index=0).forms["contact-list"]
    form["name"] = "Newsletter"
    page = form.submit().follow()
    assert "The contact list Newsletter is added." in page
    [row] = acme.account.contact_lists.all()
    assert (row.name, row.creator_id) == ("Newsletter", acme.bob.id)
    contact = make_contact(acme.bob, "Ann", contact_list_ids=[row.id])
    make_contact(acme.bob, "Ben")
    page = bob.get(PATH)
    assert cells(page)[0][:2] == ["Newsletter", "1"]

    page = page.click("Newsletter")
    assert row_names(page) == ["Ann"]
    form = page.click("Edit the contact list").forms["contact-list"]
    form["name"] = "Monthly letter"
    page = form.submit(name="do", value="save").follow()
    assert "The contact list Monthly letter is saved." in page
    assert row_names(page) == ["Ann"]
    row.refresh_from_db()
    assert (row.name, row.updater_id) == ("Monthly letter", acme.bob.id)
    form.submit(name="do", value="erase", status=400)

    form = next(form for form in bob.get(f"{PATH}/{row.id}").forms.values() if "Yes, do it" in form.text)
    page = form.submit().follow()
    assert "The contact list Monthly letter is in the trash. Its contacts stay." in page
    assert row_names(page) == []
    contact.refresh_from_db()
    row.refresh_from_db()
    assert contact.trashed_at is None
    assert row.trashed_at is not None
    bob.get(f"{PATH}/{row.id}", status=404)


def test_it_rejects_invalid_names(acme):
    make_contact_list(acme.bob, "Testers")
    row, bob = make_contact_list(acme.bob, "Newsletter"), acme.page(acme.bob)
    for path in (f"{PATH}/new", f"{PATH}/{row.id}"):
        for name, message in (("", "Can't be blank"), ("Testers", "Is already taken")):
            form = bob.get(path).forms["contact-list"]
            form["name"] = name
            page = form.submit(name="do", value="save", status=422)
            assert message in page.html.select_one("#contact-list").get_text()
    assert sorted(acme.account.contact_lists.values_list("name", flat=True)) == ["Newsletter", "Testers"]


def test_contacts_are_counted(acme):
    """Agents with limited access count their own contacts."""
    large, small = make_contact_list(acme.bob, "Large"), make_contact_list(acme.bob, "Small")
    for user in (acme.alice, acme.bob, acme.bob):
        make_contact(acme.bob, contact_list_ids=[large.id], responsible_id=user.id)
    make_contact(acme.bob, "Ann", contact_list_ids=[small.id])
    acme.account.change(agents_see="own")
    for user, number in ((acme.bob, "2"), (acme.alice, "3")):
        page = acme.page(user).get(f"{PATH}?contacts_count__after=1")
        assert [row[:2] for row in cells(page)] == [["Large", number]]


def test_the_page_of_a_contact_shows_its_lists(acme):
    news, fair = (make_contact_list(acme.bob, name) for name in ("News", "Fair"))
    contact = make_contact(acme.bob, "Ann", contact_list_ids=[news.id])
    bob, path = acme.page(acme.bob), f"/app/contacts/{contact.id}"

    def send(do: str, list_id: int, expected: list[str]) -> None:
        form = next(
            form for form in bob.get(path).forms.values() if form.fields.get("contact_list_id") and do in form.text
        )
        form["contact_list_id"].force_value(str(list_id))
        page = form.submit("do", value=do).follow()
        panel = page.html.find("section", attrs={"data-live": "contact-lists"})
        assert [link.get_text(strip=True) for link in panel.select("li a")] == expected

    send("join_list", fair.id, ["Fair", "News"])
    send("leave_list", news.id, ["Fair"])
    # A second click changes nothing.
    form = next(form for form in bob.get(path).forms.values() if "leave_list" in form.text)
    for _ in range(2):
        form.submit("do", value="leave_list")
    assert "On no contact list." in bob.get(path)


def test_it_rejects_a_list_of_another_account(acme, other):
    foreign = make_contact_list(other.mallory, "Secret")
    contact = make_contact(acme.bob, "Ann")
    make_contact_list(acme.bob, "News")
    bob = acme.page(acme.bob)
    form = next(form for form in bob.get(f"/app/contacts/{contact.id}").forms.values() if "join_list" in form.text)
    form["contact_list_id"].force_value(str(foreign.id))
    assert "can't be found" in form.submit("do", value="join_list").follow().html.get_text()
