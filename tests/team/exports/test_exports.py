"""Exports of lists: which rows and columns a file has, its formats and its limits, and the files that a job writes."""

import io
import re
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone
from python_calamine import CalamineWorkbook

from accounts.statuses.models import Status
from core.files.models import StoredFile
from core.limits import leases
from crm.clients.models import Client
from team.exports import declarations, formats, models, pages, sources
from team.exports.models import Export, write_export
from tests.support.exports import export, exported, rows_of
from tests.support.factories import (
    make_client,
    make_comment,
    make_contact,
    make_contact_list,
    make_deal,
    make_field_definition,
    make_note,
    make_post,
    make_task,
)
from tests.support.jobs import run_housekeeping, run_jobs
from tests.support.record_lists import select_rows
from tests.support.tables import table

PATH = "/app/exports.json"


@pytest.fixture
def clients(acme) -> list[Client]:
    return [make_client(acme.alice, f"Client {number}") for number in range(3)]


@pytest.fixture
def bob(acme):
    return acme.page(acme.bob)


@pytest.fixture
def in_background(monkeypatch):
    """Have a job write a file of more than one row, two rows at a time."""
    monkeypatch.setattr(pages, "MAX_IN_RESPONSE", 1)
    monkeypatch.setattr(sources, "CHUNK_SIZE", 2)


def make_adler(acme) -> Client:
    make_field_definition(acme.account, "since", label="Customer since", type="date")
    make_field_definition(acme.account, "budget", label="Budget", type="money")
    make_field_definition(acme.account, "sizes", label="Sizes", type="choices", choices=["S, M", "L"])
    status = acme.account.statuses.create(kind=Status.Kind.CLIENT, code="hot", name="Hot")
    adler = make_client(
        acme.bob,
        "Adler",
        city='Łódź, "centre"',
        discount="12.50",
        company=True,
        phone="+48 601 234 567",
        status_id=status.id,
        responsible_id=acme.bob.id,
        tags=["a", "b"],
        description="=1+1",
        external_ids={"shop": "007"},
        additional_fields={"since": "2026-03-01", "budget": "1234.5", "sizes": ["S, M", "L"]},
    )
    for price, currency in ((1000, acme.account.currency), (20, "USD")):
        make_deal(acme.bob, "Roof", client_id=adler.id, price=price, currency=currency)
    Client.objects.filter(id=adler.id).update(created_at=datetime(2026, 3, 1, 8, 30, tzinfo=UTC))
    return adler


COLUMNS = (
    "discount,city,company,phone,status_id,responsible_id,tags,description,additional_fields[since],"
    "additional_fields[budget],additional_fields[sizes],open_sum,created_at"
)


def test_it_works(acme, bob):
    acme.account.change(currency="PLN", time_zone="Europe/Warsaw")
    adler, alice_client = make_adler(acme), make_client(acme.bob, "=1+1", discount=-3)
    status = adler.status_id
    created = alice_client.created_at.astimezone(acme.account.zone)
    labels = (
        "Number,Name,Discount,City,Is a company,Telephone,Status,Status id,Responsible,Responsible id,Tags,Description,"
    )
    labels += "Customer since,Budget,Budget currency,Sizes,Open deals,Open deals currency,Open deals in other currencies,Created"
    query = f"sort=-name&columns={COLUMNS}"
    response = export(bob, "client", query)
    assert re.fullmatch(r'attachment; filename="clients-\d{4}-\d\d-\d\d\.csv"', response.headers["Content-Disposition"])
    assert response.body.decode() == (
        f"\ufeff{labels}\r\n"
        f'{adler.id},Adler,12.5,"Łódź, ""centre""",Yes,+48 601 234 567,Hot,{status},Bob Nowak,{acme.bob.id},"a, b",\'=1+1,'
        '2026-03-01,1234.50,PLN,"""S, M"", L",1000.00,PLN,20.00 USD,2026-03-01 09:30:00\r\n'
        f"{alice_client.id},'=1+1,-3,,,,,,,,,,,,,,,,,{created:%Y-%m-%d %H:%M:%S}\r\n"
    )
    response = export(bob, "client", query, format="xlsx")
    book = CalamineWorkbook.from_filelike(io.BytesIO(response.body))
    first, second, third = book.get_sheet_by_name("Clients").to_python()
    assert first == labels.split(",")
    assert second == [
        adler.id,
        "Adler",
        12.5,
        'Łódź, "centre"',
        "Yes",
        "+48 601 234 567",
        "Hot",
        status,
        "Bob Nowak",
        *(acme.bob.id, "a, b", "=1+1", date(2026, 3, 1), 1234.5, "PLN", '"S, M", L', 1000.0, "PLN", "20.00 USD"),
        datetime(2026, 3, 1, 9, 30),  # noqa: DTZ001
    ]
    assert third[:3] == [alice_client.id, "=1+1", -3]
    # All columns, in Polish.
    acme.account.users.filter(id=acme.bob.id).update(language="pl")
    [headings, row, _other] = rows_of(export(bob, "client", "sort=-name", columns="all").body, delimiter=";")
    values = dict(zip(headings, row, strict=True))
    assert len(values) == len(headings) > 60
    assert {
        name: values[name] for name in ("Numer", "Rabat", "Jest firmą", "Status (id)", "Zewnętrzny id: shop", "Budget")
    } == {
        "Numer": str(adler.id),
        "Rabat": "12,5",
        "Jest firmą": "Tak",
        "Status (id)": str(status),
        "Zewnętrzny id: shop": "007",
        "Budget": "1234,50",
    }
    [_labels, row, _other] = exported(bob, "client", query, separator="comma", decimal_sign="point")
    assert row[2] == "12.5"


def test_a_price_is_followed_by_its_currency(acme, bob):
    roof = make_deal(acme.bob, "Roof", price="1234.5", currency="PLN", additional_fields={"area": "10.5"})
    make_field_definition(acme.account, "area", label="Area", resource="deal", type="number")
    wall = make_deal(acme.bob, "Wall", price="12345", currency="JPY", additional_fields={"area": 2.25})
    assert exported(bob, "deal", "sort=id&columns=price,additional_fields[area],expected_close_date") == [
        ["Number", "Name", "Amount", "Currency", "Area", "Expected close"],
        [str(roof.id), "Roof", "1234.50", "PLN", "10.5", ""],
        [str(wall.id), "Wall", "12345", "JPY", "2.25", ""],
    ]
    assert exported(bob, "deal", "sort=id&columns=currency,price")[1][2:] == ["PLN", "1234.50"]


def test_the_file_has_the_rows_of_the_list_and_no_others(acme, bob, clients, monkeypatch):
    monkeypatch.setattr(sources, "CHUNK_SIZE", 2)
    make_client(acme.alice, "Mine", responsible_id=acme.bob.id)
    make_contact(acme.bob, "Ann")
    make_deal(acme.bob, "Roof", price=5)
    make_contact_list(acme.bob, "Readers")
    make_task(acme.bob, "Call")

    def names(resource: str, query: str = "") -> list[str]:
        return [row[1] for row in exported(bob, resource, query)[1:]]

    clients[0].trash(by=acme.alice)
    assert names("client", "sort=id") == ["Client 1", "Client 2", "Mine"]
    assert names("client", "mine=true") == ["Mine"]
    assert names("client", "q=Client&sort=name") == ["Client 1", "Client 2"]
    found = [names(resource) for resource in ("contact", "deal", "contact_list", "task")]
    assert found == [["Ann"], ["Roof"], ["Readers"], ["Call"]]
    # The selected rows alone, or all rows of a list.
    response = select_rows(bob, clients[1:2], "export")
    assert [row[1] for row in rows_of(response.body)] == ["Name", "Client 1"]
    response = select_rows(bob, [], "export", path="/app/clients?sort=name", everything=True).follow()
    form = next(form for form in response.forms.values() if "columns" in form.fields)
    assert [row["value"] for row in response.html.select('[type="hidden"][name="query"]')] == ["sort=name"]
    assert [row[1] for row in rows_of(form.submit().body)] == ["Name", "Client 1", "Client 2", "Mine"]
    acme.account.change(agents_see="own")
    assert names("client") == ["Mine"]
    # The language of the user lasts until the end of the file.
    acme.account.users.filter(id=acme.bob.id).update(language="pl")
    assert rows_of(export(bob, "client").body, delimiter=";")[0][:2] == ["Numer", "Nazwa"]


def test_suggestions_are_exported_with_the_filters_of_their_list(acme, bob):
    dark = make_post(acme.carol, "Dark mode", content="Please", tags=["ui"])
    make_post(acme.carol, "Shortcuts")
    make_task(acme.bob, "Call")
    dark.vote(by=acme.bob)
    dark.comment(by=acme.alice, text="Soon", agent="test")
    query = f"tag=ui&order=new&forum_id={acme.forum.id}"
    [labels, row] = exported(bob, "forum_suggestion", query)
    assert ",".join(labels) == (
        "Number,Title,Votes,Comments,Status,Status id,Category,Category id,Tags,Responsible,Responsible id,Created"
    )
    category, status = acme.category, dark.status
    assert ",".join(row[:-1]) == (f"{dark.id},Dark mode,1,1,{row[4]},{status.id},{category.name},{category.id},ui,,")
    assert [row[1] for row in exported(bob, "forum_suggestion", "q=dark")[1:]] == ["Dark mode"]
    [labels, *rows] = exported(bob, "forum_suggestion", "order=top", columns="all")
    assert ([row[1] for row in rows], len(labels)) == (["Dark mode", "Shortcuts"], 30)


def test_the_list_of_suggestions_has_a_link_for_the_team_only(acme, bob):
    make_post(acme.carol, "Dark mode", tags=["ui"])
    page = bob.get("/?tag=ui&order=new").click("Export")
    form = next(form for form in page.forms.values() if form.action == "/app/exports")
    assert [row[1] for row in rows_of(form.submit().body)] == ["Title", "Dark mode"]
    assert "/app/exports" not in acme.page(acme.carol).get("/").text


CASTER = ("Contact id", "Cast by", "Cast by id")
DEAL_AND_CREATOR = ("Deal", "Deal id", "Created by", "Created by id")


def test_rows_without_a_list_are_exported(acme, bob):
    client, ann = make_client(acme.bob, "Nova", responsible_id=acme.alice.id), make_contact(acme.bob, "Ann")
    readers = make_contact_list(acme.bob, "Readers")
    ann.write({"contact_list_ids": [readers.id]}, by=acme.bob)
    post = make_post(acme.carol, "Dark mode")
    comment = make_comment(post, acme.alice, "-1")
    post.vote(by=acme.carol)
    post.cast_proxy_vote(by=acme.bob, client_id=client.id)
    note = make_note(acme.bob, "Called them", client_id=client.id, kind="call", duration=5)
    bob_name, post_id = acme.bob.name, str(post.id)

    def without_times(resource: str, *skipped: int) -> list[list[str]]:
        return [[cell for n, cell in enumerate(row) if n not in skipped] for row in exported(bob, resource)]

    assert without_times("comment", 7) == [
        ["Number", "Suggestion or task", "Suggestion or task id", "Comment", "Author", "Author id", "Internal"],
        [str(comment.id), "Dark mode", post_id, "'-1", acme.alice.name, str(acme.alice.id), "No"],
    ]
    assert without_times("vote", 10) == [
        [
            *("Suggestion or task", "Suggestion or task id", "Voter", "Voter id", "Client", "Client id", "Contact"),
            *CASTER,
        ],
        ["Dark mode", post_id, acme.carol.name, str(acme.carol.id), "", "", "", "", "", ""],
        ["Dark mode", post_id, "", "", "Nova", str(client.id), "", "", bob_name, str(acme.bob.id)],
    ]
    assert without_times("note", 3) == [
        [
            *("Number", "Kind", "Note", "Minutes", "Outcome", "Client", "Client id", "Contact", "Contact id"),
            *DEAL_AND_CREATOR,
        ],
        [str(note.id), "Call", "Called them", "5", "", "Nova", str(client.id), *[""] * 4, bob_name, str(acme.bob.id)],
    ]
    assert exported(bob, "membership") == [
        ["Contact list", "Contact list id", "Contact", "Contact id"],
        ["Readers", str(readers.id), "Ann", str(ann.id)],
    ]
    assert [row[1:3] for row in exported(bob, "timeline")[1:]] == [["Vote cast", "Dark mode"], ["Call", "Called them"]]
    # What belongs to rows that the user may not access is left out.
    acme.account.change(agents_see="own")
    for resource in ("note", "membership", "timeline"):
        assert len(exported(bob, resource, columns="all")) == 1, resource
    assert len(exported(bob, "vote")) == 2
    assert len(exported(acme.page(acme.alice), "timeline")) == 3


def test_each_kind_of_rows_is_exported_with_all_columns(acme, bob):
    for resource in declarations.EXPORTS:
        assert exported(bob, resource, columns="all")[0], resource
        assert export(bob, resource, columns="all", format="xlsx").status_code == 200, resource


@table(
    "resource, query, message",
    [
        ("client", "shoe=7", "Query shoe is not a filter of this list"),
        ("forum_suggestion", "shoe=7", "is not a filter of this list"),
        ("forum_suggestion", "forum_id=99999", "can't be found"),
        ("forum_suggestion", "order=best", "names a category, a status, a kind or an order that does not exist"),
        ("comment", "post_id=7", "is not a filter of this list"),
        ("shoe", "", "Select a valid choice"),
    ],
)
def test_it_rejects_what_can_not_be_read(acme, bob, resource, query, message):
    response = export(bob, resource, query)
    assert response.status_code == 422
    assert message.lower() in " ".join(response.html.select_one("#main").get_text(" ", strip=True).split()).lower()


def test_a_file_is_complete_or_an_error(acme, bob, clients, monkeypatch):
    def fail(*arguments):
        raise OperationalError

    monkeypatch.setattr(sources.ListSource, "values", fail)
    assert export(bob, "client").status_code == 503
    # The lease was released.
    assert leases.acquire(f"export:{acme.account.id}", limit=1) is not None


# Files that a job writes


def start(acme, **values) -> dict:
    response = acme.json().post(PATH, json={"export": {"resource": "client", **values}})
    assert response.status_code == 201, response.text
    return response.json()


def test_a_job_writes_a_long_file(acme, bob, clients, in_background):
    response = export(bob, "client", "sort=name", columns="all")
    page = response.follow()
    assert "Waiting" in page.text
    run_jobs()
    page = bob.get(response.location)
    assert "Done" in page.text
    file = page.click("Download")
    assert (file.headers["Content-Type"], file.headers["X-Content-Type-Options"]) == (
        "application/octet-stream",
        "nosniff",
    )
    assert [row[1] for row in rows_of(file.body)] == ["Name", "Client 0", "Client 1", "Client 2"]
    assert "Clients: CSV" in bob.get("/app/exports").text
    # The author alone sees it.
    for path in (response.location, f"{response.location}/file"):
        assert acme.page(acme.alice).get(path, expect_errors=True).status_code == 404
    assert "Clients: CSV" not in acme.page(acme.alice).get("/app/exports").text


def test_programs_export_rows(acme, clients):
    created = start(acme, format="xlsx", columns="all", query="sort=name", language="pl")
    stored = Export.objects.get(id=created["id"])
    assert all(created.pop(name) for name in ("created_at", "updated_at"))
    expected = {
        "id": stored.id,
        "kind": "list",
        "resource": "client",
        "query": "sort=name",
        "format": "xlsx",
        "columns": "all",
        "language": "pl",
        "separator": None,
        "decimal_sign": None,
        "state": "running",
        "failure": None,
        "total": None,
        "written": 0,
        "file": None,
        "author_id": acme.bob.id,
        "expires_at": None,
        "finished_at": None,
    }
    assert created == expected
    json, path = acme.json(), f"/app/exports/{stored.id}.json"
    assert json.get(f"/app/exports/{stored.id}/file").status_code == 404
    run_jobs()
    done = json.get(path).json()
    address = f"http://{acme.host}/app/exports/{stored.id}/file"
    assert {name: done[name] for name in ("state", "total", "written", "file")} == {
        "state": "done",
        "total": 3,
        "written": 3,
        "file": address,
    }
    assert json.get(PATH).json() == [done]
    file = json.get(f"/app/exports/{stored.id}/file")
    assert (
        CalamineWorkbook.from_filelike(io.BytesIO(file.content)).get_sheet_by_name("Klienci").to_python()[1][1]
        == "Client 0"
    )
    assert acme.json(acme.alice_token).get(path).status_code == 404
    assert json.delete(path).status_code == 200
    assert json.get(path).status_code == 404
    run_housekeeping()
    assert not StoredFile.objects.exists()


def test_it_rejects_wrong_values(acme, monkeypatch):
    json = acme.json()
    refused = json.post(PATH, json={"export": {"resource": "shoe", "format": "pdf", "columns": "some"}})
    assert (refused.status_code, set(refused.json()["errors"])) == (422, {"resource", "format", "columns"})
    refused = json.post(PATH, json={"export": {"resource": "client", "query": "shoe=7"}})
    assert refused.json()["errors"] == {"query.shoe": ["is not a filter of this list"]}
    monkeypatch.setattr(models, "MAX_RUNNING", 1)
    start(acme)
    refused = json.post(PATH, json={"export": {"resource": "client"}})
    assert refused.json()["errors"] == {"request": ["The account has too many exports in progress"]}


def test_a_discarded_export_ends(acme, clients, monkeypatch):
    monkeypatch.setattr(sources, "CHUNK_SIZE", 1)
    created = start(acme)
    values = sources.ListSource.values

    def discard(self, ids):
        assert acme.json().delete(f"/app/exports/{created['id']}.json").status_code in (200, 404)
        return values(self, ids)

    monkeypatch.setattr(sources.ListSource, "values", discard)
    run_jobs()
    assert not Export.objects.exists()
    assert not StoredFile.objects.exists()


def test_a_killed_job_writes_the_file_again(acme, clients, monkeypatch):
    created = start(acme)
    values = sources.ListSource.values
    monkeypatch.setattr(sources, "CHUNK_SIZE", 2)
    calls: list[int] = []

    def fail(self, ids):
        calls.append(len(ids))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return values(self, ids)

    monkeypatch.setattr(sources.ListSource, "values", fail)
    with pytest.raises(KeyboardInterrupt):
        write_export(account_id=acme.account.id, export_id=created["id"])
    Export.objects.update(updated_at=timezone.now() - timedelta(hours=1))
    run_housekeeping()
    run_jobs()
    export = Export.objects.get()
    assert (export.state, export.written, export.attempts, calls) == ("done", 3, 2, [2, 1, 2, 1])
    content = b"".join(export.file.read())
    assert len(rows_of(content)) == 4
    # A second job finds nothing to do.
    write_export(account_id=acme.account.id, export_id=created["id"])
    assert StoredFile.objects.count() == 1


def test_the_file_is_kept_for_a_day(acme, clients):
    created = start(acme)
    run_jobs()
    tomorrow = timezone.now() + timedelta(hours=24, seconds=-60)
    assert (
        Export.objects.filter(expires_at__gt=tomorrow).count()
        == StoredFile.objects.filter(expires_at__gt=tomorrow).count()
        == 1
    )
    StoredFile.objects.update(expires_at=timezone.now())
    run_housekeeping()
    assert (Export.objects.get().file_id, StoredFile.objects.count()) == (None, 0)
    assert acme.json().get(f"/app/exports/{created['id']}/file").status_code == 404
    Export.objects.update(expires_at=timezone.now())
    run_housekeeping()
    assert not Export.objects.exists()


def too_many_rows(monkeypatch, acme) -> None:
    monkeypatch.setattr(models, "MAX_ROWS", dict.fromkeys(models.MAX_ROWS, 2))


def no_time(monkeypatch, acme) -> None:
    monkeypatch.setattr(models, "has_time_left", lambda: False)


def no_author(monkeypatch, acme) -> None:
    acme.account.users.filter(id=acme.bob.id).update(is_active=False)


def no_space(monkeypatch, acme) -> None:
    monkeypatch.setattr(models, "MAX_BYTES", 10)


def no_field(monkeypatch, acme) -> None:
    Export.objects.update(query="shoe=7")


def no_attempts(monkeypatch, acme) -> None:
    Export.objects.update(attempts=models.MAX_ATTEMPTS)


FAILURES = [("rows", too_many_rows), ("time", no_time), ("user", no_author), ("space", no_space), ("filters", no_field)]


@table("failure, prepare", [*FAILURES, ("error", no_attempts)])
def test_an_export_tells_why_it_failed(acme, clients, monkeypatch, failure, prepare):
    created = start(acme)
    prepare(monkeypatch, acme)
    run_jobs()
    export = Export.objects.get(id=created["id"])
    assert (export.state, export.failure, export.file_id) == ("failed", failure, None)
    assert export.expires_at is not None


def test_the_page_names_the_texts_that_are_cut(acme, bob, monkeypatch):
    monkeypatch.setattr(formats, "MAX_CELL_LENGTH", 20)
    make_client(acme.bob, "Nova", description="x" * 30)
    start(acme, format="xlsx", columns="all")
    run_jobs()
    page = bob.get(f"/app/exports/{Export.objects.get().id}")
    text = " ".join(page.html.select_one("#progress").get_text(" ", strip=True).split())
    assert "Longer texts: 1." in text
    assert "Row 2, column Description" in text
