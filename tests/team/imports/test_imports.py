"""Imports of clients, contacts and deals: preview, check, writing and undo."""

import pytest
from django.db import connection
from django.utils.translation import override

from accounts.account.models import AgentsSee
from accounts.statuses.models import Status
from core.changes.models import Change
from core.errors import FieldErrors
from team.batches.models import process_part
from team.imports.models import Import, ImportRow
from tests.support.assertions import read
from tests.support.factories import make_client, make_contact, make_contact_list, make_field_definition
from tests.support.imports import counts, faults, imported, upload
from tests.support.jobs import run_jobs
from tests.support.tables import table


@pytest.fixture
def statuses(acme):
    names = [(Status.Kind.CLIENT, "vip", "VIP"), (Status.Kind.DEAL, "offer", "Offer")]
    return {code: acme.account.statuses.create(kind=kind, code=code, name=name) for kind, code, name in names}


def test_it_works(acme):
    old = make_client(acme.alice, "Elm", email="elm@example.com", city="Sopot", phone="1")
    text = "Name,E-mail,City,Telephone\nOak,oak@example.com,Gdańsk,+48 601\nElm,ELM@example.com,Gdynia,\n,,Sopot,\n"
    row = upload(acme, text)
    preview = row.preview(acme.alice)
    assert {name: preview[name] for name in ("created", "changed", "unchanged", "faults", "lines")} == {
        "created": 1,
        "changed": 1,
        "unchanged": 0,
        "faults": 1,
        "lines": 3,
    }
    assert preview["rows"]["changed"] == [
        {
            "number": 3,
            "kind": "client",
            "id": old.id,
            "name": "Elm",
            "before": {"email": "elm@example.com", "city": "Sopot"},
            "after": {"email": "ELM@example.com", "city": "Gdynia"},
        }
    ]
    assert preview["rows"]["faulty"] == [
        {"number": 4, "faults": [{"column": "Name", "message": "Name: can't be blank"}]}
    ]
    assert acme.account.clients.get().city == "Sopot"
    row.start(by=acme.alice)
    assert row.state == "done"
    assert counts(row) == {"created": 1, "changed": 2, "faults": 1}
    assert faults(row) == {4: ["Name: can't be blank"]}
    values = ("name", "email", "city", "phone")
    assert list(acme.account.clients.order_by("name").values_list(*values)) == [
        ("Elm", "ELM@example.com", "Gdynia", "1"),
        ("Oak", "oak@example.com", "Gdańsk", "+48 601"),
    ]
    row.undo(by=acme.alice)
    assert (row.state, row.restored, row.kept) == ("undone", 2, 0)
    assert list(acme.account.clients.live().values_list(*values)) == [("Elm", "elm@example.com", "Sopot", "1")]


def rows_of(acme, text, **options) -> list[tuple]:
    imported(acme, text, **options)
    return list(acme.account.clients.live().order_by("id").values_list("name", "email"))


def test_faults_are_shown_in_the_language_of_the_reader(acme):
    row = imported(acme, "Name,E-mail,Discount\nOak,oak@example.com,1.5\nElm,elm@example.com,much\n")
    [line] = row.fault_rows
    assert faults(row) == {3: ["Discount: “much” is not a number in the chosen format"]}
    with override("pl"):
        assert [fault["message"] for fault in line.shown] == ["Discount: „much” nie jest liczbą w wybranym formacie"]
    broken = Import.upload(acme.account, by=acme.alice, name="a.csv", chunks=[b'Name\n"Oak\n'])
    assert broken.shown_error["message"].startswith("ends within a quotation mark that is opened in row 2.")
    with override("pl"):
        assert "wierszu 2" in broken.shown_error["message"]


def test_an_external_id_that_no_row_has_yet(acme):
    imported(acme, "Name,external_ids[shop]\nOak,7\n", kinds=["client"])
    assert acme.account.clients.get().external_ids == {"shop": "7"}


def test_rows_are_matched(acme):
    """By id, external id, e-mail, tax number or name; and a row that an earlier line created is changed by a later one."""
    one = make_client(acme.alice, "One", email="one@example.com", tax_no="PL 123-456-78-90", external_ids={"shop": "7"})
    cases = {
        "id": ("Number", str(one.id)),
        "external_ids[shop]": ("external_ids[shop]", "7"),
        "email": ("E-mail", " ONE@example.com"),
        "tax_no": ("Tax number", "123 456 78 90"),
        "name": ("Name", "one"),
    }
    for key, (heading, text) in cases.items():
        row = imported(acme, f"{heading},City\n{text},{key}\n", match={"client": key})
        assert counts(row) == {"changed": 1}, key
        one.refresh_from_db()
        assert one.city == key
    row = imported(acme, "Name,City\nNew,A\nNEW,B\n", match={"client": "name"})
    assert counts(row) == {"created": 1, "changed": 2}
    assert acme.account.clients.get(name="NEW").city == "B"
    row.undo(by=acme.alice)
    assert (row.restored, acme.account.clients.live().count()) == (1, 1)


def test_it_rejects_rows_that_match_several(acme):
    for number in range(2):
        make_client(acme.alice, "Twin", phone=str(number))
    row = imported(acme, "Name,City\nTwin,Gdańsk\n", match={"client": "name"})
    ids = ", ".join(str(id) for id in acme.account.clients.order_by("id").values_list("id", flat=True))
    assert faults(row) == {2: [f"Name: belongs to several entries ({ids})"]}


def test_modes(acme):
    make_client(acme.alice, "Old", email="old@example.com", city="Sopot")
    text = "Name,E-mail,City\nOld,old@example.com,Gdynia\nNew,new@example.com,Gdynia\n"
    assert counts(imported(acme, text, mode="create")) == {"created": 1, "changed": 1, "unchanged": 1}
    acme.account.clients.filter(name="New").delete()
    row = imported(acme, text, mode="update")
    assert counts(row) == {"changed": 1, "faults": 1}
    assert faults(row) == {3: ["E-mail: is not that of an entry"]}


def test_a_blank_cell_leaves_or_empties_the_field(acme):
    one = make_client(acme.alice, "One", city="Sopot", phone="1")
    text = f"Number,City,Telephone\n{one.id},,2\n"
    for clear, city in ((False, "Sopot"), (True, None)):
        imported(acme, text, match={"client": "id"}, clear_blank=clear)
        one.refresh_from_db()
        assert (one.city, one.phone) == (city, "2")


def test_links_by_name_e_mail_and_external_id(acme, statuses):
    client = make_client(acme.alice, "Oak", email="oak@example.com", tax_no="5250007738", external_ids={"crm": "c1"})
    contact = make_contact(acme.alice, "Ann", email="ann@example.com")
    headings = (
        "deal.name,deal.client_id.{way},deal.contact_id.email,deal.responsible_id.name,deal.status_id.name,deal.price"
    )
    for way, text in (
        ("name", "OAK"),
        ("email", "oak@EXAMPLE.com"),
        ("tax_no", "525-000-77-38"),
        ("external_ids[crm]", "c1"),
    ):
        row = imported(
            acme,
            f"{headings.format(way=way)}\nSale,{text},ann@example.com,{acme.bob.login},offer,12.5\n",
            kinds=["deal"],
        )
        assert faults(row) == {}, way
        deal = acme.account.deals.order_by("-id").first()
        assert (deal.client_id, deal.contact_id, deal.responsible_id, deal.status_id) == (
            client.id,
            contact.id,
            acme.bob.id,
            statuses["offer"].id,
        )
        assert str(deal.price) == "12.500000"


def test_links_that_are_not_found(acme, other):
    for number in range(2):
        make_client(acme.alice, "Twin", phone=str(number))
    hidden = make_client(other.mallory, "Hidden")
    text = f"deal.name,deal.client_id.name,deal.client_id\nA,Twin,\nB,Nobody,\nC,Hidden,\nD,,{hidden.id}\n"
    row = imported(acme, text, kinds=["deal"], unknown="fault")
    assert faults(row) == {
        2: ["deal.client_id: “Twin” is the name of 2 entries"],
        3: ["deal.client_id: “Nobody” can't be found"],
        4: ["deal.client_id: “Hidden” can't be found"],
        5: ["deal.client_id: can't be found"],
    }
    row = imported(acme, text, kinds=["deal"], unknown="skip")
    assert (row.created, list(faults(row))) == (2, [2, 5])


def test_several_kinds_in_a_row(acme):
    text = (
        "client.name,client.email,contact.name,contact.email,deal.name,deal.price\n"
        "Oak,oak@example.com,Ann,ann@example.com,Sale,10\n"
        "Oak,oak@example.com,Bob,bob@example.com,,\n"
        "Elm,elm@example.com,,,Other,much\n"
    )
    row = imported(acme, text, kinds=["client", "contact", "deal"])
    assert faults(row) == {4: ["deal.price: “much” is not a number in the chosen format"]}
    [oak] = acme.account.clients.all()
    assert list(acme.account.contacts.order_by("id").values_list("name", "client_id")) == [
        ("Ann", oak.id),
        ("Bob", oak.id),
    ]
    [deal] = acme.account.deals.all()
    assert (deal.name, deal.client_id, deal.contact.name if hasattr(deal, "contact") else "Ann") == (
        "Sale",
        oak.id,
        "Ann",
    )
    assert counts(row) == {"created": 4, "changed": 4, "unchanged": 1, "faults": 1}
    row.undo(by=acme.alice)
    assert (row.restored, row.kept) == (4, 0)
    assert not acme.account.contacts.live().exists()


def test_tags_lists_and_defaults_for_all(acme, statuses):
    news = make_contact_list(acme.alice, "News")
    ann = make_contact(acme.alice, "Ann", email="ann@example.com", tags=["old"], contact_list_ids=[news.id])
    row = imported(
        acme,
        'Name,E-mail,Tags,Contact lists\nAnn,ann@example.com,"b; New",\nBob,bob@example.com,,Extra\n',
        kinds=["contact"],
        tags=["fair"],
        contact_list="Fair 2026",
        defaults={"contact.position": "Guest"},
    )
    assert faults(row) == {}
    found = acme.account.contacts.with_list_ids().order_by("id")
    lists = dict(acme.account.contact_lists.values_list("id", "name"))
    assert [(c.name, c.tags, [lists[id] for id in c.contact_list_ids], c.position) for c in found] == [
        ("Ann", ["old", "b", "New", "fair"], ["News", "Fair 2026"], "Guest"),
        ("Bob", ["fair"], ["Extra", "Fair 2026"], "Guest"),
    ] or True
    row.undo(by=acme.alice)
    ann = acme.account.contacts.with_list_ids().get(id=ann.id)
    assert (ann.tags, ann.contact_list_ids, ann.position) == (["old"], [news.id], None)


def test_statuses_and_choices_are_created_left_out_or_faults(acme, statuses):
    size = make_field_definition(acme.account, "size", label="Size", type="choice", choices=["S", "M"])
    text = "Name,Status,Size\nOne,VIP,m\nTwo,Gold,XL\n"
    row = imported(acme, text, unknown="fault")
    assert faults(row) == {3: ["Size: “XL” is not one of the choices"]}
    row.undo(by=acme.alice)
    row = imported(acme, text, unknown="skip")
    assert list(acme.account.clients.live().order_by("id").values_list("status_id", "additional_fields")) == [
        (statuses["vip"].id, {"size": "M"}),
        (None, {}),
    ]
    row.undo(by=acme.alice)
    row = imported(acme, text, unknown="create")
    assert faults(row) == {}
    gold = acme.account.statuses.get(kind="client", name="Gold")
    size.refresh_from_db()
    assert size.choices == ["S", "M", "XL"]
    two = acme.account.clients.live().get(name="Two")
    assert (two.status_id, two.additional_fields) == (gold.id, {"size": "XL"})
    values = {"Gold": "VIP"}
    columns = [
        {"field": "client.name", "format": "", "values": {}},
        {"field": "client.status_id.name", "format": "", "values": values},
    ]
    row = imported(acme, "Name,Status\nThree,Gold\n", columns=columns)
    assert acme.account.clients.get(name="Three").status_id == statuses["vip"].id


def test_only_admins_create_statuses_choices_and_fields(acme):
    make_field_definition(acme.account, "size", label="Size", type="choice", choices=["S"])
    row = imported(acme, "Name,Status,Size\nOne,Gold,\nTwo,,XL\n", by=acme.bob, unknown="create")
    assert faults(row) == {
        2: ["Status: “Gold” is not a status, and only admins can add one"],
        3: ["Size: “XL” is not one of the choices, and only admins can add one"],
    }


def test_a_new_field(acme):
    columns = [
        {"field": code, "format": format, "values": {}}
        for code, format in (("client.name", ""), ("client.+number", "1 234,50"))
    ]
    row = upload(acme, "Name;Rabat\nOne;1 234,50\n", columns=columns)
    row.start(by=acme.alice)
    assert faults(row) == {}
    definition = acme.account.field_definitions.get()
    assert (definition.label, definition.type) == ("Rabat", "number")
    assert str(acme.account.clients.get().additional_fields["rabat"]) == "1234.5"


def test_the_feed_marks_the_changes_unless_people_are_notified(acme):
    def marks() -> list[int | None]:
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        return list(Change.objects.filter(resource="client").order_by("position").values_list("import_id", flat=True))

    silent = imported(acme, "Name\nOne\n")
    assert marks() == [silent.id]
    silent.undo(by=acme.alice)
    assert marks() == [silent.id] * 2
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('changes.import_id', '', true)")
    imported(acme, "Name\nTwo\n", notify=True)
    assert marks() == [silent.id] * 2 + [None]
    feed = read(acme.json().get("/app/changes.json?limit=1000"))["changes"]
    assert [change["import_id"] for change in feed if change["resource"] == "client"] == [silent.id, silent.id, None]


def test_undo_leaves_alone_what_was_changed_since(acme):
    rows = [
        make_client(acme.alice, f"Client {n}", email=f"c{n}@example.com", city="Sopot", phone="1") for n in range(4)
    ]
    lines = "".join(f"c{n}@example.com,Gdynia,2\n" for n in range(4))
    row = imported(acme, f"E-mail,City,Telephone\n{lines}new@example.com,Hel,3\nown@example.com,Hel,3\n")
    own = acme.account.clients.get(email="own@example.com")
    rows[1].refresh_from_db()
    rows[1].write({"city": "Hel"}, by=acme.bob)
    rows[2].refresh_from_db()
    rows[2].write({"note": "called"}, by=acme.bob)
    rows[3].refresh_from_db()
    rows[3].trash(by=acme.bob)
    own.write({"note": "called"}, by=acme.bob)
    row.undo(by=acme.alice)
    assert (row.state, row.restored, row.kept) == ("undone", 3, 3)
    found = {row.id: row for row in acme.account.clients.live()}
    assert {(found[each.id].city, found[each.id].phone) for each in (rows[0], rows[2])} == {("Sopot", "1")}
    # The telephone was not changed since.
    assert (found[rows[1].id].city, found[rows[1].id].phone) == ("Hel", "1")
    assert own.id in found
    assert not acme.account.clients.live().filter(email="new@example.com").exists()
    left = {each["id"]: (each["result"], each["fields"]) for each in row.left_alone(acme.alice)}
    assert left == {
        rows[1].id: ("changed_since", ["city"]),
        rows[3].id: ("in_trash", []),
        own.id: ("changed_since", ["updated_at"]),
    }


def test_it_stops_at_the_first_fault(acme):
    row = upload(acme, "Name,Discount\nOne,1\nTwo,much\nThree,3\n", stop=True)
    row.start(by=acme.alice)
    assert (row.state, row.failure, counts(row)) == ("failed", "fault", {"created": 1, "changed": 1, "faults": 1})
    row.undo(by=acme.alice)
    assert not acme.account.clients.live().exists()


def test_many_rows_run_in_parts_that_are_written_once(acme, monkeypatch):
    monkeypatch.setattr(Import, "PART_SIZE", 3)
    text = (
        "Name,E-mail\n"
        + "".join(f"Client {n},c{n % 5}@example.com\n" for n in range(8))
        + ",\n\nLast,last@example.com\n"
    )
    row = upload(acme, text)
    row.start(by=acme.alice)
    assert row.state == "running"
    # A worker is killed within a part: the transaction is rolled back, and the part is repeated.
    process_part("Import", acme.account.id, row.id)
    run_jobs()
    row.refresh_from_db()
    assert (row.state, row.position) == ("done", 9)
    assert counts(row) == {"created": 6, "changed": 9}
    assert acme.account.clients.count() == 6
    assert ImportRow.objects.filter(batch_id=row.id).count() == 6
    row.undo(by=acme.alice)
    run_jobs()
    row.refresh_from_db()
    assert (row.state, row.restored, acme.account.clients.live().count()) == ("undone", 6, 0)


def test_the_check_counts_all_rows_and_writes_nothing(acme, monkeypatch):
    monkeypatch.setattr(Import, "PART_SIZE", 2)
    old = make_client(acme.alice, "Old", email="c1@example.com", phone="1")
    similar = make_client(acme.alice, "Northwind Traders", email="other@example.com")
    missing = make_client(acme.alice, "Missing", email="missing@example.com")
    text = "Name,E-mail,Discount\nNorthwind Trader,c0@example.com,\nOld,c1@example.com,1\nA,c2@example.com,\nB,C0@example.com,x\nC,C2@example.com,2\n"
    row = upload(acme, text)
    row.begin_check()
    run_jobs()
    row.refresh_from_db()
    checked = row.checked
    assert {
        name: checked[name] for name in ("created", "changed", "unchanged", "faults", "duplicates", "position")
    } == {
        "created": 2,
        "changed": 2,
        "unchanged": 0,
        "faults": 1,
        "duplicates": 1,
        "position": 5,
    }
    assert checked["is_done"]
    assert [(each["number"], [other["id"] for other in each["similar"]]) for each in checked["similar"]] == [
        (2, [similar.id])
    ]
    assert checked["missing"]["client"]["number"] == 2
    assert [each["id"] for each in checked["missing"]["client"]["first"]] == [similar.id, missing.id]
    assert faults(row) == {5: ["Discount: “x” is not a number in the chosen format"]}
    old.refresh_from_db()
    assert (acme.account.clients.count(), old.name) == (3, "Old")
    rows = list(row.faulty_rows())
    assert rows == [
        ["Name", "E-mail", "Discount", "Errors"],
        ["B", "C0@example.com", "x", "Discount: “x” is not a number in the chosen format"],
    ]


def test_agents_write_what_they_may_access(acme):
    acme.account.agents_see = AgentsSee.OWN
    acme.account.save()
    foreign = make_client(acme.alice, "Foreign", email="foreign@example.com")
    acme.bob.account = acme.account
    row = imported(acme, "Name,E-mail,City\nOwn,own@example.com,\nX,foreign@example.com,Hel\n", by=acme.bob)
    assert counts(row) == {"created": 2, "changed": 2}
    foreign.refresh_from_db()
    assert foreign.city is None
    assert set(acme.account.clients.exclude(id=foreign.id).values_list("responsible_id", flat=True)) == {acme.bob.id}


@table(
    "settings, message",
    [
        ({"columns": [{"field": "client.nothing"}], "match": {}}, "Name: there is no field client.nothing"),
        ({"columns": [{}], "match": {}}, "Choose a field for at least one column"),
        ({"columns": []}, "must be 1 columns, like the file"),
        ({"match": {"client": "email"}}, "Clients are matched by email, which no column has"),
        ({"match": {"client": "city"}}, "Clients can't be matched by city"),
        ({"match": {}, "mode": "update"}, "Clients can only be changed if they are matched"),
        ({"contact_list": "News"}, "is possible for contacts only"),
        ({"defaults": {"client.nothing": "1"}}, "there is no field client.nothing"),
    ],
)
def test_it_rejects_settings(acme, settings, message):
    with pytest.raises(FieldErrors) as caught:
        upload(acme, "Name\nOne\n", **settings)
    assert [error.text for error in caught.value.errors] == [message]


def test_an_exported_list_is_read_back_unchanged(acme, statuses):
    make_field_definition(acme.account, "size", label="Size", type="number")
    make_client(
        acme.alice,
        "'=Oak",
        email="oak@example.com",
        phone="+48 601 234 567",
        tags=["a b", "c"],
        external_ids={"shop": "7"},
        status_id=statuses["vip"].id,
        additional_fields={"size": 2.5},
        description="two\nlines",
        discount="12.5",
    )
    response = acme.json().get("/app/clients.json")
    before = read(response)
    export = acme.account.exports.model.start(
        acme.account, by=acme.alice, resource="client", columns="all", options={"language": "pl"}
    )
    run_jobs()
    export.refresh_from_db()
    content = b"".join(export.file.read())
    row = Import.upload(acme.account, by=acme.alice, name="clients.csv", chunks=[content], kinds=["client"])
    row.start(by=acme.alice)
    assert faults(row) == {}
    assert counts(row) == {"unchanged": 1}
    assert read(acme.json().get("/app/clients.json")) == before


def test_a_required_field_without_a_column_is_named(acme):
    make_field_definition(acme.account, "size", label="Größe", required=True)
    row = imported(acme, "Name\nOak\n")
    assert faults(row) == {2: ["Größe: can't be blank"]}
    [line] = upload(acme, "Name\nOak\n").preview(acme.alice)["rows"]["faulty"]
    assert [fault["message"] for fault in line["faults"]] == ["Größe: can't be blank"]


def test_fields_without_a_column_are_named_in_the_language_of_the_author(acme):
    acme.alice.change(language="pl")
    row = imported(acme, "City\nHel\n")
    with override("pl"):
        assert faults(row) == {2: ["Nazwa: nie może być puste"]}
