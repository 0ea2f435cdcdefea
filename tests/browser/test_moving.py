"""An owner moves in from another server and watches the progress, and downloads everything; a member takes their data and leaves."""

import json
import zipfile

import pytest
from django.utils.translation import gettext, override
from playwright.sync_api import expect

from core import outbound
from forum.comments.models import Comment
from team.move_in.client import OldServer
from tests.support.factories import make_client, make_comment, make_post
from tests.support.jobs import run_jobs
from tests.support.live import serving
from tests.support.people import PASSWORD
from tests.support.receiver import LOOPBACK
from tests.support.threads import at_once

MODES = pytest.mark.parametrize(
    ("language", "javascript", "width"), [("pl", True, 390), ("en", False, 1280)], ids=["pl", "en"]
)


def labels(language: str, *texts: str) -> list[str]:
    with override(language):
        return list(map(gettext, texts))


@MODES
def test_an_owner_moves_in(acme, other, browse, settings, monkeypatch, language, javascript, width):
    settings.WEBHOOK_ALLOW = LOOPBACK
    monkeypatch.setattr(outbound, "resolve_host", lambda host, port: ["127.0.0.1"])
    monkeypatch.setattr(OldServer, "interval", 0)
    make_client(other.mallory, "Oak", email="oak@example.com")
    address, token, start, cancel, running, done, refresh = labels(
        language, "Address of the older server", "Token", "Start to move", "Cancel", "Running", "Done", "Refresh"
    )
    page = browse(acme.alice, javascript=javascript, language=language, width=width)
    page.goto("/app/account/move-in")
    with serving() as port:

        def begin() -> None:
            page.get_by_label(address).fill(f"http://{other.host}:{port}")
            page.get_by_label(token).fill(other.token)
            page.get_by_role("button", name=start).click()
            expect(page.locator("#state")).to_have_text(running)

        begin()
        page.get_by_role("button", name=cancel).click()
        expect(page.get_by_role("button", name=start)).to_be_visible()
        at_once(run_jobs)
        assert not acme.account.clients.exists()
        begin()
        at_once(run_jobs)
    if not javascript:
        page.get_by_role("link", name=refresh).click()
    expect(page.locator("#state")).to_have_text(done)
    expect(page.get_by_role("button", name=start)).to_be_visible()
    assert acme.account.clients.get().name == "Oak"


@MODES
def test_an_owner_downloads_everything(acme, browse, tmp_path, language, javascript, width):
    make_client(acme.alice, "Oak")
    create, download, refresh = labels(language, "Create the archive", "Download", "Refresh")
    page = browse(acme.alice, javascript=javascript, language=language, width=width)
    page.goto("/app/account/archive")
    page.get_by_role("button", name=create).click()
    page.locator("#progress").wait_for()
    run_jobs()
    if not javascript:
        page.get_by_role("link", name=refresh).click()
    with page.expect_download() as started:
        page.get_by_role("link", name=download).click()
    started.value.save_as(tmp_path / "archive.zip")
    with zipfile.ZipFile(tmp_path / "archive.zip") as archive:
        [client] = archive.read("clients.jsonl").splitlines()
        assert json.loads(client)["name"] == "Oak"


@MODES
def test_a_member_takes_their_data_and_leaves(acme, browse, tmp_path, language, javascript, width):
    comment = make_comment(make_post(acme.alice, "Dark mode"), acme.carol, "Please")
    download, leave, password, erase = labels(
        language, "Download", "Delete my user", "Current password", "Delete my user for good"
    )
    page = browse(acme.carol, javascript=javascript, language=language, width=width)
    page.goto("/app/profile/security")
    with page.expect_download() as started:
        page.get_by_role("link", name=download).click()
    started.value.save_as(tmp_path / "carol.zip")
    with zipfile.ZipFile(tmp_path / "carol.zip") as archive:
        assert "Please" in archive.read("person.json").decode()
    page.get_by_text(leave, exact=True).click()
    form = page.locator("#erasure")
    form.get_by_label(password).fill(PASSWORD)
    form.get_by_role("button", name=erase).click()
    expect(page.locator("main")).to_contain_text(f"user {acme.carol.id}" if language == "en" else str(acme.carol.id))
    acme.carol.refresh_from_db()
    assert (acme.carol.is_active, acme.carol.email.endswith(".invalid")) == (False, True)
    page.goto(f"/app/posts/{comment.post_id}")
    expect(page.locator(f"#comment-{comment.id}")).to_contain_text("Deleted user")
    assert Comment.objects.get(id=comment.id).comment == "Please"
