"""The export of lists as CSV files: which rows and columns it has, its formats, and its limits."""

import csv
import io
import re

import pytest
from django.db import OperationalError

from accounts.statuses.models import Status
from crm.clients.models import Client
from team.exports import pages
from tests.support.factories import make_client, make_contact, make_deal, make_field_definition
from tests.support.record_lists import select_rows
from tests.support.tables import table


@pytest.fixture
def clients(acme) -> list[Client]:
    return [make_client(acme.alice, f"Client {number}") for number in range(3)]


@pytest.fixture
def bob(acme):
    return acme.page(acme.bob)


def exported(visitor, path: str, **options: str) -> list[list[str]]:
    response = visitor.get(path)
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(response.body.decode("utf-8-sig")), **options))


def test_it_works(acme, bob):
    make_field_definition(acme.account, "since", label="Customer since", type="date")
    status = acme.account.statuses.create(kind=Status.Kind.CLIENT, code="hot", name="Hot")
    adler = make_client(
        acme.bob,
        "Adler",
        city="Łódź",
        discount="12.50",
        company=True,
        status_id=status.id,
        responsible_id=acme.bob.id,
        tags=["a", "b"],
        additional_fields={"since": "2026-03-01"},
    )
    brandt = make_client(acme.bob, "=1+1", city='Say "hi", twice', discount=-3)
    columns = "city,discount,company,status_id,responsible_id,tags,additional_fields[since]"
    rows = exported(bob, f"/app/clients/export.csv?sort=-name&columns={columns}")
    labels = ["Number", "Name", "City", "Discount", "Is a company", "Status", "Responsible", "Tags", "Customer since"]
    assert rows == [
        labels,
        [str(adler.id), "Adler", "Łódź", "12.5", "Yes", "Hot", "Bob Nowak", "a, b", "2026-03-01"],
        [str(brandt.id), "'=1+1", 'Say "hi", twice', "-3", "", "", "", "", ""],
    ]
    response = bob.get("/app/clients/export.csv")
    assert response.body.startswith(b"\xef\xbb\xbf")
    name = response.headers["Content-Disposition"]
    assert re.fullmatch(r'attachment; filename="clients-\d{4}-\d\d-\d\d\.csv"', name)


def raw_export(acme, path: str, **user) -> list[str]:
    acme.account.users.filter(id=acme.bob.id).update(**user)
    return acme.page(acme.bob).get(path).body.decode("utf-8-sig").splitlines()


def test_the_export_has_the_format_of_the_language(acme):
    price = {"price": "1234.5", "currency": "PLN"}
    roof = make_deal(acme.bob, "Roof", **price, additional_fields={"area": "10.5"})
    make_field_definition(acme.account, "area", label="Area", resource="deal", type="number")
    wall = make_deal(acme.bob, "Wall", price="12345", currency="JPY", additional_fields={"area": 2.25})
    path = "/app/deals/export.csv?sort=id&columns=price,additional_fields[area],expected_close_date"
    assert raw_export(acme, path) == [
        "Number,Name,Amount,Currency,Area,Expected close",
        f"{roof.id},Roof,1234.50,PLN,10.5,",
        f"{wall.id},Wall,12345,JPY,2.25,",
    ]
    assert raw_export(acme, path, language="pl")[1:] == [
        f"{roof.id};Roof;1234,50;PLN;10,5;",
        f"{wall.id};Wall;12345;JPY;2,25;",
    ]
    path = "/app/deals/export.csv?sort=id&columns=currency,price"
    assert raw_export(acme, path, language="en")[1] == f"{roof.id},Roof,PLN,1234.50"


CELLS = [
    ("+48 601 234 567", "+48 601 234 567"),
    ("+48601234567", "+48601234567"),
    ("+1 (555) 010-99.88", "+1 (555) 010-99.88"),
    ("+48 22 123 45 67 wew. 12", "+48 22 123 45 67 wew. 12"),
    ("+1+1", "'+1+1"),
    ("+48 cmd|' /C calc'!A0", "'+48 cmd|' /C calc'!A0"),
    ("+A1", "'+A1"),
    ("=1+1", "'=1+1"),
    ("-1", "'-1"),
]


def test_telephone_numbers_are_exported_as_they_are(acme):
    rows = [f"{make_client(acme.bob, 'Nova', phone=phone).id},Nova,{cell}" for phone, cell in CELLS]
    assert raw_export(acme, "/app/clients/export.csv?columns=phone&sort=id")[1:] == rows


@table("text", ["=1", "+48 600", "-1", "@a", "\t=1", "\r=1", " =1"])
def test_formulas_are_guarded(text):
    assert pages.guarded(text) == f"'{text}"
    assert pages.guarded(f"a{text}") == f"a{text}"


def test_the_export_has_the_rows_of_the_list_and_no_others(acme, bob, clients, monkeypatch):
    monkeypatch.setattr(pages, "CHUNK_SIZE", 2)
    make_client(acme.alice, "Mine", responsible_id=acme.bob.id)
    make_contact(acme.bob, "Ann")
    make_deal(acme.bob, "Roof", price=5)

    def names(path: str) -> list[str]:
        [labels, *rows] = exported(bob, path)
        assert labels[1] == "Name"
        return [row[1] for row in rows]

    clients[0].trash(by=acme.alice)
    assert names("/app/clients/export.csv?sort=id") == ["Client 1", "Client 2", "Mine"]
    assert names("/app/clients/export.csv?mine=true") == ["Mine"]
    assert names("/app/clients/export.csv?q=Client&sort=name") == ["Client 1", "Client 2"]
    assert (names("/app/contacts/export.csv"), names("/app/deals/export.csv")) == (["Ann"], ["Roof"])
    # The selected rows alone, or all rows of a list.
    response = select_rows(bob, clients[1:2], "export")
    assert [row[1] for row in csv.reader(io.StringIO(response.body.decode("utf-8-sig")))] == ["Name", "Client 1"]
    response = select_rows(bob, [], "export", path="/app/clients?sort=name", everything=True)
    assert response.location == "/app/clients/export.csv?sort=name"
    acme.account.change(agents_see="own")
    assert names("/app/clients/export.csv") == ["Mine"]
    # The language of the user lasts until the end of the file.
    acme.account.users.filter(id=acme.bob.id).update(language="pl")
    assert exported(bob, "/app/clients/export.csv", delimiter=";")[0][:2] == ["Numer", "Nazwa"]


def test_the_export_refuses_too_many_rows_and_unknown_filters(acme, bob, clients, monkeypatch):
    assert bob.get("/app/clients/export.csv?shoe=7").location == "/app/clients?shoe=7"
    monkeypatch.setattr(pages, "MAX_EXPORTED", 2)
    response = bob.get("/app/clients/export.csv?sort=name")
    assert response.location == "/app/clients?sort=name"
    assert "At most 2 entries are possible at a time." in " ".join(
        response.follow().html.select_one("#messages").get_text(" ", strip=True).split()
    )


def test_a_file_that_is_cut_off_says_so(acme, bob, clients, monkeypatch):
    def fail(*arguments):
        raise OperationalError

    monkeypatch.setattr(pages, "rows_of", fail)
    assert exported(bob, "/app/clients/export.csv")[-1][0].startswith("The file is incomplete")
