"""The archive of an account as an export: for owners, by the settings page and by JSON."""

import io
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.audit.models import AuditEntry
from accounts.users.models import User
from core.files.models import StoredFile, space_of
from team.archives import exporting
from team.archives.importing import read_archive
from team.exports.models import Export
from tests.support.archives import archive_of, contents_of, make_target
from tests.support.factories import make_client, make_field_definition, make_post, make_token, make_user
from tests.support.jobs import run_jobs
from tests.support.tables import table

PATH, ARCHIVE = "/app/exports.json", {"export": {"kind": "archive"}}
commits = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner(acme):
    return acme.json(acme.alice_token)


def start(owner) -> int:
    response = owner.post(PATH, json=ARCHIVE)
    assert response.status_code == 201, response.text
    return response.json()["id"]


@commits
def test_it_works(acme):
    """An owner asks for the archive on the page, downloads it, and it is imported into an empty account."""
    make_client(acme.alice, "Nova")
    make_field_definition(acme.account, "effort", resource="suggestion", type="number")
    make_post(acme.carol, "Dark mode", additional_fields={"effort": 5})
    options = {"name": "a.png", "content_type": "image/png", "max_bytes": 10**6}
    picture = StoredFile.objects.store(acme.account, chunks=iter([b"\x89PNG" * 1000]), **options)
    # The account has no space for another file.
    acme.account.files_quota = picture.size
    acme.account.save(update_fields=["files_quota"])
    page = acme.page(acme.alice).get("/app/account").click("Archive")
    assert "4 kB, in the folder files" in page
    response = page.forms["archive"].submit("do")
    assert "Waiting" in response.follow()
    # A second click leads to the same archive.
    again = page.forms["archive"].submit("do")
    assert again.location == response.location
    assert "An archive of the account is already being written" in again.follow()
    run_jobs()
    page = acme.page(acme.alice).get(response.location)
    assert page.html.select_one("h1").text == "The whole account"
    assert f"acme-{timezone.localdate().isoformat()}.zip" in page
    archive = io.BytesIO(page.click("Download").body)
    export = Export.objects.get()
    rows = contents_of(archive)
    assert rows == contents_of(archive_of(acme.account))
    # A stored file counts for its row and for its bytes.
    assert (export.written, export.total) == (sum(map(len, rows.values())) + 1,) * 2
    assert space_of(acme.account).used == picture.size
    acme.account.users.filter(id=acme.alice.id).update(language="pl")
    assert "Całe konto w jednym pliku" in acme.page(acme.alice).get("/app/account/archive")
    target = make_target(acme.alice)
    read_archive(target, archive)
    assert contents_of(archive_of(target)) == rows
    target.refresh_from_db()
    assert target.resources_with_fields == ["suggestion"]
    assert b"".join(target.stored_files.get(id=picture.id).read()) == b"\x89PNG" * 1000
    entry = AuditEntry.objects.get(account=acme.account, action="export.started")
    assert (entry.actor_id, entry.details["resource"]) == (acme.alice.id, "archive")


def test_programs_ask_for_the_archive(acme, owner):
    created = owner.post(PATH, json=ARCHIVE)
    body = created.json()
    assert created.headers["Location"] == f"http://{acme.host}/app/exports/{body['id']}.json"
    assert all(body.pop(name) for name in ("created_at", "updated_at"))
    of_lists = ("resource", "query", "format", "columns", "language", "separator", "decimal_sign")
    assert body == {
        "id": Export.objects.get().id,
        "kind": "archive",
        **dict.fromkeys(of_lists),
        "state": "running",
        "failure": None,
        "total": None,
        "written": 0,
        "file": None,
        "author_id": acme.alice.id,
        "expires_at": None,
        "finished_at": None,
    }


@table(
    "values, errors",
    [
        ({"kind": "zip"}, {"kind": ["is not one of list, archive"]}),
        ({"kind": None}, {"resource": ["can't be blank"]}),
        ({"kind": "list"}, {"resource": ["can't be blank"]}),
        (
            {"kind": "archive", "format": "csv", "query": None},
            {"format": ["is for lists only"], "query": ["is for lists only"]},
        ),
    ],
)
def test_it_rejects_wrong_values(acme, owner, values, errors):
    refused = owner.post(PATH, json={"export": values})
    assert (refused.status_code, refused.json()["errors"]) == (422, errors)


def test_it_rejects_who_is_no_owner(acme, owner):
    """The rule holds for the start, the progress and the file, also for an author who was an owner before."""
    admin = make_user(acme.account, "admin", role=User.Role.ADMIN)
    assert acme.page(admin).get("/app/account/archive", expect_errors=True).status_code == 403
    for token in (acme.bob_token, make_token(admin)):
        refused = acme.json(token).post(PATH, json=ARCHIVE)
        assert (refused.status_code, refused.json()["message"]) == (403, "Your role does not allow this export")
    id, running = start(owner), Export.objects.get()
    file = StoredFile.objects.create(account=acme.account, expires_at=timezone.now() + timedelta(days=1))
    running.finish("done", file_id=file.id)
    other = make_user(acme.account, "second", role=User.Role.OWNER)
    paths = (f"/app/exports/{id}.json", f"/app/exports/{id}/file")
    visitor = acme.page(acme.alice)
    assert visitor.get(f"/app/exports/{id}").status_code == 200
    acme.account.users.filter(id=acme.alice.id).update(role=User.Role.ADMIN)
    assert [owner.get(path).status_code for path in paths] == [404, 404]
    assert owner.get(PATH).json() == []
    assert owner.delete(paths[0]).status_code == 404
    for path in (f"/app/exports/{id}", f"/app/exports/{id}/file"):
        for user in (acme.alice, other):
            assert acme.page(user).get(path, expect_errors=True).status_code == 404
    assert visitor.get("/app/exports").html.select("main ul.list") == []


def test_it_rejects_one_archive_too_many(acme, owner, monkeypatch):
    monkeypatch.setattr(exporting, "MAX_ARCHIVES", 1)
    start(owner)
    refused = owner.post(PATH, json=ARCHIVE)
    message = "An archive of the account is already being written"
    assert (refused.status_code, refused.json()["message"]) == (409, message)
    file = StoredFile.objects.create(account=acme.account, expires_at=timezone.now() + timedelta(days=1))
    Export.objects.get().finish("done", file_id=file.id)
    refused = owner.post(PATH, json=ARCHIVE)
    message = "The account has 1 archives. Each is deleted after a day, or earlier by the owner who created it"
    assert refused.json()["errors"] == {"request": [message]}
    owner.delete(f"/app/exports/{Export.objects.get().id}.json")
    start(owner)


@commits
def test_a_cancelled_archive_ends(acme, owner, monkeypatch):
    id = start(owner)
    rows: list[int] = []

    def cancel(account):
        assert owner.delete(f"/app/exports/{id}.json").status_code == 200
        return 10

    monkeypatch.setattr(exporting, "count_rows", cancel)
    monkeypatch.setattr(exporting.Export, "store", lambda *arguments: rows.append(1))
    run_jobs()
    assert (rows, Export.objects.count(), StoredFile.objects.count()) == ([], 0, 0)


@commits
def test_it_rejects_to_write_for_a_former_owner(acme, owner):
    start(owner)
    acme.account.users.filter(id=acme.alice.id).update(role=User.Role.ADMIN)
    run_jobs()
    export = Export.objects.get()
    assert (export.state, export.failure, export.file_id) == ("failed", "user", None)
