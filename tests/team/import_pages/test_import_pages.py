"""The pages of imports: the upload, the mapping, the preview, the result, the wrong rows and the undo."""

import pytest
from webtest import Upload

from accounts.statuses.models import Status
from team.imports.models import SMALL_FILE_BYTES, Import
from tests.support.examples import ROOT
from tests.support.factories import make_client, make_contact, make_field_definition, make_import, make_user
from tests.support.jobs import run_jobs
from tests.support.tables import table

IMPORTS = "/app/imports"
KINDS = ["client", "contact", "deal", "task", "suggestion"]
HEADER = "Nazwa;E-mail;Rabat;Klient od;Miasto"
# As a Polish spreadsheet program writes it, with three faults.
POLISH = f"""{HEADER}
Dąb;biuro@dab.example;1 234,50;28.09.2025;Gdańsk
Buk;biuro@buk.example;0,5;29.09.2025;Łódź
Jodła;biuro@jodla.example;dużo;01.10.2025;Hel
Sosna;biuro@sosna.example;2;31.09.2025;Hel
Modrzew;biuro@modrzew.example;3;40.10.2025;Hel
""".encode("cp1250")


@pytest.fixture
def alice(acme):
    return acme.page(acme.alice)


@pytest.fixture
def bob(acme):
    return acme.page(acme.bob)


def upload(visitor, content: bytes | str = b"", *, pasted="", kinds=(), name="klienci.csv"):
    """Send the form of a file. Return the response."""
    form = visitor.get(IMPORTS).forms["upload"]
    if content:
        form["file"] = Upload(name, content if isinstance(content, bytes) else content.encode())
    form["pasted"] = pasted
    for kind in kinds:
        form.set("kinds", True, index=KINDS.index(kind))
    return form.submit(expect_errors=True)


def uploaded(visitor, content: bytes | str = b"", **options):
    """Return the page of an import."""
    return upload(visitor, content, **options).follow()


def send(page, action: str = "next", **values):
    """Send the form of the settings. Return the response. `field_0` stands for the name `field-0`."""
    form = page.forms["settings"]
    for name, value in values.items():
        form[name if name in form.fields else name.replace("_", "-")].force_value(value)
    return form.submit("do", value=action, expect_errors=True)


def press(page, value: str):
    """Press the button of a form with this value. Return the response."""
    form = next(
        form for form in page.forms.values() if any(button._value == value for button in form.fields.get("do", ()))
    )
    return form.submit("do", value=value, expect_errors=True)


def text_of(element) -> str:
    return " ".join(element.get_text(" ", strip=True).split())


def main(page) -> str:
    return text_of(page.html.main)


def cells(page) -> list[tuple[str, str, str]]:
    """Return the heading, the code of the field, and the check of each column."""
    found = []
    for row in page.html.select(".import-columns tbody tr"):
        chosen = row.select_one("select option[selected]")
        found.append((text_of(row.th), chosen["value"] if chosen else "", text_of(row.select("td")[-1])))
    return found


def facts(page) -> list[str]:
    return [f"{fact.dt.text} {fact.dd.text}" for fact in page.html.select(".facts .fact")]


def errors(page) -> list[str]:
    return [text_of(error) for error in page.html.select(".field-error")]


def test_it_works(acme, alice):
    """A Polish spreadsheet with wrong rows is imported, the rows are mended and imported, and the first import is undone."""
    page = uploaded(alice, POLISH)
    assert "windows-1250" in text_of(page.html.select_one("main details summary"))
    assert cells(page) == [
        ("A Nazwa", "client.name", "5 values, all fit"),
        ("B E-mail", "client.email", "5 values, all fit"),
        ("C Rabat", "client.discount", "Row 4 does not fit: “dużo”"),
        ("D Klient od", "client.created_at", "Row 5 does not fit: “31.09.2025”"),
        ("E Miasto", "client.city", "5 values, all fit"),
    ]
    page = send(page).follow()
    assert text_of(page.html.h1) == "2 new, 0 changed, 3 wrong"
    assert "Nobody is notified of the import." in main(page)
    assert text_of(page.html.select_one("#check-state")) == "All rows are being checked"
    run_jobs()
    checked = alice.get(page.request.path, headers={"HX-Request": "true", "HX-Target": "check"})
    assert facts(checked) == ["New 2", "Changed 0", "Unchanged 0", "Wrong 3"]
    assert checked.html.find("h1") is None
    assert not acme.account.clients.exists()
    page = press(page, "import").follow()
    assert facts(page) == ["New 2", "Changed 0", "Unchanged 0", "Wrong 3"]
    assert list(acme.account.clients.order_by("id").values_list("name", "city")) == [("Dąb", "Gdańsk"), ("Buk", "Łódź")]
    wrong = page.click("Download the wrong rows").text.lstrip("\N{ZERO WIDTH NO-BREAK SPACE}")
    mended = (
        wrong.replace("dużo,01", '"1,5",01').replace("31.09.2025", "30.09.2025").replace("40.10.2025", "04.10.2025")
    )
    # The file is imported without mapping it again, although the language would guess another format of numbers.
    again = press(send(uploaded(alice, mended)).follow(), "import").follow()
    assert facts(again) == ["New 3", "Changed 0", "Unchanged 0", "Wrong 0"]
    assert acme.account.clients.get(name="Jodła").discount == 1.5
    acme.account.clients.get(name="Buk").write({"city": "Kraków"}, by=acme.bob)
    page = press(alice.get(page.request.path), "undo").follow()
    assert "1 entry is reversed" in main(page)
    kept = page.html.find("h3", string="Left alone, because somebody has changed them since").find_next("ul")
    assert text_of(kept) == "Buk : City"
    assert set(acme.account.clients.live().values_list("name", flat=True)) == {"Buk", "Jodła", "Sosna", "Modrzew"}


def test_pasted_cells_of_several_kinds(acme, alice):
    page = uploaded(
        alice,
        pasted="Company\tContact person\tContact e-mail\nOak\tAnn\tann@oak.example\n",
        kinds=["contact", "client"],
    )
    assert page.html.h1.text == "Pasted cells"
    press(send(page).follow(), "import")
    assert acme.account.clients.get().name == "Oak"
    assert acme.account.contacts.get().email == "ann@oak.example"


def test_a_known_file_is_named_and_needs_no_choice(acme, alice):
    page = uploaded(
        alice, (ROOT / "tests/team/spreadsheets/files/hubspot_contacts.csv").read_bytes(), kinds=["contact"]
    )
    assert "This is an export from HubSpot." in main(page)
    page = press(send(page).follow(), "import").follow()
    assert acme.account.contacts.exists()
    assert acme.account.clients.exists()


def test_a_change_is_shown_field_by_field(acme, alice):
    client = make_client(acme.alice, "Oak", email="oak@oak.example", city="Hel", responsible_id=acme.alice.id)
    text = "Name,E-mail,City,Responsible,Created\nOak,oak@oak.example,Sopot,bob,\nElm,,,,2020-01-02\n"
    page = send(uploaded(alice, text)).follow()
    [entry] = page.html.select("section[aria-labelledby=changed] li")
    assert entry.a["href"] == f"/app/clients/{client.id}"
    assert text_of(entry.dl) == "City Hel Sopot Responsible alice Bob Nowak"
    assert "Elm row 3" in main(page)


def test_the_check_names_similar_repeated_and_missing_rows(acme, alice):
    make_client(acme.alice, "Oak and Sons", email="office@oak.example")
    page = uploaded(alice, "Name,E-mail\nOak & Sons,sales@oak.example\nElm,elm@elm.example\nElm,elm@elm.example\n")
    path = send(page).headers["Location"]
    run_jobs()
    page = alice.get(path)
    assert "Several times in the file 1" in facts(page)
    assert "Clients: 1 existing entry is not in the file They stay as they are. Oak and Sons" in main(page)


def test_the_check_names_ids_that_are_left_out(acme, alice):
    """A file of a known service needs only "Next" and "Import"."""
    content = (ROOT / "tests/team/spreadsheets/files/hubspot_contacts.csv").read_bytes()
    path = send(uploaded(alice, content, name="hubspot.csv")).headers["Location"]
    run_jobs()
    page = alice.get(path)
    assert "Left out, because only one of several is kept: Clients 9002" in main(page)
    press(page, "import")
    assert acme.account.clients.get().external_ids == {"hubspot": "9001"}


def test_the_values_of_choices_and_statuses_are_chosen(acme, alice):
    acme.account.statuses.create(kind=Status.Kind.CLIENT, code="vip", name="VIP")
    make_field_definition(acme.account, "size", label="Size", type="choice", choices=["Small", "Large"])
    text = "Name,Status,Size\nOak,vip,Small\nElm,Premium,Huge\nAsh,Old,XL\n"
    page = uploaded(alice, text)
    chosen = [
        [text_of(label) for label in row.select(".meaning label")]
        + [select.select_one("[selected]")["value"] for select in row.select(".meaning select")]
        for row in page.html.select(".import-columns tbody tr")
        if row.select(".meaning")
    ]
    assert chosen == [["vip", "Premium", "Old", "=VIP", "", ""], ["Small", "Huge", "XL", "=Small", "", ""]]
    page = send(page, unknown="fault", value_1_1="=VIP", value_1_2="-", value_2_1="+", value_2_2="=Large").follow()
    press(page, "import")
    rows = acme.account.clients.order_by("id")
    names = dict(acme.account.statuses.values_list("id", "name"))
    assert [(row.name, names.get(row.status_id), row.additional_fields["size"]) for row in rows] == [
        ("Oak", "VIP", "Small"),
        ("Elm", "VIP", "Huge"),
        ("Ash", None, "Large"),
    ]


def test_the_format_of_a_newly_chosen_field_is_guessed(acme, alice):
    page = uploaded(alice, "Name,Anything\nOak,03/04/2025\n", kinds=["client"])
    assert cells(page)[1] == ("B Anything", "", "")
    page = send(page, "update", field_1="client.+date")
    assert page.status_code == 200
    assert "Guessed: several formats fit all values." in main(page)
    fragment = page.forms["settings"].submit(
        "do", value="update", headers={"HX-Request": "true", "HX-Target": "settings"}
    )
    assert fragment.html.find("h1") is None
    assert fragment.html.form["id"] == "settings"
    press(send(page, format_1="DD/MM/YYYY").follow(), "import")
    definition = acme.account.field_definitions.get()
    assert (definition.label, definition.type) == ("Anything", "date")
    assert acme.account.clients.get().additional_fields[definition.key] == "2025-04-03"


def test_rules_and_values_of_fields_without_a_column(acme, alice):
    make_contact(acme.alice, "Ann", email="ann@oak.example", phone="1")
    page = uploaded(alice, "Name,E-mail,Telephone\nAnna,ann@oak.example,\nEve,eve@oak.example,2\n", kinds=["contact"])
    values = {"mode": "update", "clear_blank": "1", "tags": "spring, new", "contact_list": "Readers", "notify": "1"}
    page = send(page, **values, default_0="contact.position", text_0="Buyer").follow()
    assert "are notified of each change" in main(page)
    press(page, "import")
    contact = acme.account.contacts.get()
    assert (contact.name, contact.phone, contact.tags, contact.position) == ("Anna", None, ["spring", "new"], "Buyer")
    assert acme.account.contact_lists.get().name == "Readers"


def test_a_file_that_cannot_be_read_is_read_otherwise(acme, alice):
    page = uploaded(alice, b"Name,City\nOak,Gda\xc5\x84sk\nElm,\xa3\xf3d\n")
    assert "cell B3" in text_of(page.html.select_one(".notice.error"))
    form = page.forms["reading-form"]
    form["encoding"] = "cp1250"
    page = form.submit("do", value="read").follow()
    assert text_of(page.html.select_one(".samples bdi")) == "Oak"


def test_a_large_file_is_read_in_a_job(acme, alice, monkeypatch):
    monkeypatch.setattr("team.imports.models.SMALL_FILE_BYTES", SMALL_FILE_BYTES // 10_000_000)
    page = uploaded(alice, POLISH)
    section = page.html.select_one("#reading")
    assert (section["hx-get"], page.html.select_one("noscript a")["href"]) == (page.request.path,) * 2
    headers = {"HX-Request": "true", "HX-Target": "reading"}
    assert alice.get(page.request.path, headers=headers).html.section["id"] == "reading"
    run_jobs()
    assert alice.get(page.request.path, headers=headers).headers["HX-Refresh"] == "true"


def test_a_form_that_is_sent_twice_creates_one_import(acme, alice):
    form = alice.get(IMPORTS).forms["upload"]
    form["pasted"] = "Name\nOak\n"
    locations = {form.submit().headers["Location"] for _ in range(2)}
    assert len(locations) == acme.account.imports.count() == 1
    form["pasted"] = "Name\nElm\n"
    assert form.submit().headers["Location"] not in locations


def test_stop_and_delete(acme, alice, monkeypatch):
    monkeypatch.setattr(Import, "PART_SIZE", 1)
    page = uploaded(alice, "Name\nOak\nElm\nAsh\n")
    started = press(send(page).follow(), "import").follow()
    assert "0 of 3" in main(started)
    assert text_of(press(started, "cancel").follow().html.select_one("#state")) == "Cancelled"
    page = uploaded(alice, "Name\nOak\n")
    assert "The import is deleted." in main(press(page, "delete").follow())
    assert alice.get(page.request.path, expect_errors=True).status_code == 404


def test_agents_see_their_own_imports_and_create_no_fields(acme, alice, bob):
    mine = make_import(acme.bob, "Name,Status\nOak,Premium\n")
    other = make_import(acme.alice, "Name\nOak\n", name="other.csv")
    assert "other.csv" not in bob.get(IMPORTS)
    assert "rows.csv" in alice.get(IMPORTS)
    for end in ("", "/preview", "/faults.csv"):
        assert bob.get(f"{IMPORTS}/{other.id}{end}", expect_errors=True).status_code == 404
    page = bob.get(f"{IMPORTS}/{mine.id}")
    assert "New field" not in page
    assert "Create “Premium”" not in page
    assert page.forms["settings"]["unknown"].value == "skip"


REFUSED = [
    ({"field_0": ""}, "Clients are matched by name, which no column has"),
    ({"field_1": "client.name"}, "Name is chosen for several columns"),
    ({"field_1": "client.nothing"}, "Select a valid choice. client.nothing is not one of the available choices."),
    ({"match_client": "city"}, "Select a valid choice. city is not one of the available choices."),
    ({"mode": ""}, "Can't be blank"),
    ({"tags": ",".join(map(str, range(21)))}, "At most 20 tags are possible"),
    ({"contact_list": "Readers"}, "Is possible for contacts only"),
]


@table(("values", "error"), REFUSED)
def test_it_rejects_settings(acme, values, error):
    row = make_import(acme.alice, "Name,City\nOak,Hel\n")
    page = send(acme.page(acme.alice).get(f"{IMPORTS}/{row.id}"), **values)
    assert page.status_code == 422
    assert errors(page) == [error]
    row.refresh_from_db()
    assert row.checked is None


def test_it_rejects_an_upload(acme, alice, monkeypatch):
    for page in (upload(alice), upload(alice, "Name\n", pasted="Name\n")):
        assert (page.status_code, errors(page)) == (422, ["Choose a file, or paste cells, and not both"])
    monkeypatch.setattr("team.imports.models.MAX_FILE_BYTES", 1024 * 1024)
    page = upload(alice, b"x" * (1024 * 1024 + 1))
    assert (page.status_code, errors(page)) == (422, ["Is too large (maximum is 1 MiB)"])
    monkeypatch.setattr("team.imports.models.MAX_DRAFTS", 0)
    page = upload(alice, "Name\nOak\n")
    assert errors(page) == ["The account has 0 imports that were not started: delete some of them"]


def test_it_rejects_what_was_started_already(acme, alice):
    row = make_import(acme.alice, "Name\nOak\n")
    draft = alice.get(f"{IMPORTS}/{row.id}")
    preview = alice.get(f"{IMPORTS}/{row.id}/preview")
    press(preview, "import")
    for response in (
        press(preview, "import"),
        press(draft, "delete"),
        press(draft, "read"),
        send(draft),
        send(draft, "update"),
    ):
        assert response.status_code == 303
    page = alice.get(f"{IMPORTS}/{row.id}")
    assert "It was started already." in page.html.body.get_text()
    assert acme.account.clients.count() == 1
    assert alice.get(f"{IMPORTS}/{row.id}/preview").headers["Location"] == f"{IMPORTS}/{row.id}"


def test_the_lists_link_to_the_form(acme, alice):
    make_user(acme.account)
    for path, kind in (("/app/clients", "client"), ("/app/tasks/list", "task"), ("/", "suggestion")):
        page = alice.get(path).click("Import", href=f"kind={kind}")
        assert [box["value"] for box in page.html.select("[name=kinds][checked]")] == [kind]
