"""Attachments of texts and records: who sees them, and when they come and go."""

from datetime import timedelta
from io import BytesIO

import pytest
from bs4 import BeautifulSoup
from defusedxml import ElementTree
from django.db import transaction
from django.utils import timezone

from accounts.attachments import uploading
from accounts.attachments.holders import holders
from accounts.attachments.jobs import erase_orphaned_attachments
from accounts.attachments.models import DRAFT_LIFETIME, MAX_DRAFTS, MAX_FILES, Attachment, ids_in
from accounts.attachments.uploading import upload
from accounts.users.models import User
from core.errors import FieldError
from core.files.jobs import erase_expired_files
from core.files.models import StoredFile
from forum.texts.markdown import render, with_base_url
from tests.support.factories import (
    make_client,
    make_comment,
    make_contact,
    make_deal,
    make_forum,
    make_note,
    make_post,
    make_task,
    make_user,
)
from tests.support.jobs import run_jobs
from tests.support.letters import send_notifications
from tests.support.pages import Visitor
from tests.support.pictures import picture
from tests.support.tables import table


def send(user: User, content: bytes = b"a text", name: str = "a.txt") -> Attachment:
    return upload(user.account, BytesIO(content), name, by=user)


def hold(account, key: str, row, user: User) -> Attachment:
    """Return a file that is attached to the row."""
    attachment = send(user)
    row.account = account
    Attachment.objects.attach(row, key, [attachment.id], by_id=user.id)
    return account.attachments.select_related("file").get(id=attachment.id)


def is_kept(attachment: Attachment) -> bool:
    file = StoredFile.objects.filter(account_id=attachment.account_id, id=attachment.file_id).first()
    return file is not None and file.expires_at is None


def test_it_works(acme):
    """A draft belongs to its author, and expires unless a text names it."""
    draft = send(acme.carol, picture("PNG", (1000, 500)), "screen shot.png")
    assert (draft.markdown, draft.width, draft.height) == (
        f"![screen shot.png](/app/attachments/{draft.id}/screen%20shot.png)",
        1000,
        500,
    )
    lifetime = draft.file.expires_at - timezone.now()
    assert timedelta(hours=23) < lifetime <= DRAFT_LIFETIME
    assert [draft.is_visible_to(user) for user in (acme.carol, acme.bob, None)] == [True, False, False]
    assert run_jobs() == 1
    post = make_post(acme.carol, content=f"See\n\n{draft.markdown}")
    attached = acme.account.attachments.select_related("file", "thumbnail").get()
    assert (attached.resource, attached.row_id, attached.part, attached.is_inline) == ("post", post.id, "", True)
    assert (attached.file.expires_at, attached.thumbnail.expires_at) == (None, None)
    assert attached.thumbnail.content_type == "image/webp"
    # Without its picture, the text has no attachment.
    post.write({"content": "See"}, by=acme.carol)
    assert not acme.account.attachments.exists()
    erase_expired_files()
    assert not StoredFile.objects.exists()


def test_the_thumbnail_of_a_picture_that_is_attached_meanwhile_stays(acme):
    draft = send(acme.carol, picture("PNG", (1000, 500)), "a.png")
    make_post(acme.carol, content=draft.markdown)
    assert run_jobs() == 1
    attached = acme.account.attachments.select_related("thumbnail").get()
    assert attached.thumbnail.expires_at is None


TEXTS = {
    "post": lambda acme, text: make_post(acme.bob, content=text),
    "task": lambda acme, text: make_task(acme.bob, content=text),
    "comment": lambda acme, text: make_comment(make_post(acme.bob), acme.bob, text),
    "note": lambda acme, text: make_note(acme.bob, text),
}


@table("kind", TEXTS)
def test_each_text_attaches_what_it_names(acme, kind):
    own, other = send(acme.bob), send(acme.carol)
    row = TEXTS[kind](acme, f"{own.markdown} {other.markdown}")
    attached = acme.account.attachments.get(id=own.id)
    assert (attached.resource, attached.row_id) == ({"task": "post"}.get(kind, kind), row.id)
    # The draft of another user stays a draft.
    assert acme.account.attachments.get(id=other.id).row_id is None


def test_the_response_has_files_of_its_own(acme):
    post = make_post(acme.carol)
    draft = send(acme.bob)
    post.write({"response": f"Done {draft.markdown}"}, by=acme.bob)
    assert acme.account.attachments.get().part == "response"
    post.write({"content": "changed"}, by=acme.bob)
    assert acme.account.attachments.exists()
    post.write({"response": None}, by=acme.bob)
    assert not acme.account.attachments.exists()


def test_an_edited_comment(acme):
    post = make_post(acme.alice)
    first, second = send(acme.carol), send(acme.carol)
    comment = make_comment(post, acme.carol, first.markdown)
    post.edit_comment(comment, second.markdown, by=acme.carol)
    assert list(acme.account.attachments.values_list("id", flat=True)) == [second.id]


def readers(acme, other) -> dict[str, User | None]:
    dave = make_user(acme.account, "dave", role=User.Role.AGENT)
    return {"visitor": None, "carol": acme.carol, "bob": acme.bob, "dave": dave}


def test_it_is_seen_as_the_row_is(acme, other):
    """The owner may see everything, an agent with limited access only what they are responsible for."""
    account, forum = acme.account, make_forum(acme.account, "hidden", access="private")
    account.agents_see = "own"
    account.save()
    users = readers(acme, other)
    for user in (*users.values(), acme.alice):
        if user is not None:
            user.account = account
    own = {"responsible_id": acme.bob.id}
    client = make_client(acme.bob, **own)
    post, comments_on = make_post(acme.alice), make_post(acme.alice)
    waiting = make_comment(comments_on, acme.carol)
    account.comments.filter(id=waiting.id).update(approved=False)
    hidden = make_post(
        acme.alice, category_id=account.categories.create(forum_id=forum.id, name="x").id, forum_id=forum.id
    )
    trashed = make_post(acme.alice)
    rows = {
        ("post", post, "open post"): {"visitor", "carol", "bob", "dave"},
        ("post", make_post(acme.carol, private=True), "private post"): {"carol", "bob", "dave"},
        ("post", make_post(acme.carol, approved=False), "waiting post"): {"carol", "bob", "dave"},
        ("post", hidden, "post of a private forum"): {"bob", "dave"},
        ("post", trashed, "post in the trash"): set(),
        ("post", make_task(acme.bob, **own), "task"): {"bob"},
        ("comment", make_comment(comments_on, acme.alice), "comment"): {"visitor", "carol", "bob", "dave"},
        ("comment", comments_on.comment(by=acme.alice, text="x", internal=True), "internal comment"): {"bob", "dave"},
        ("comment", waiting, "waiting comment"): {"carol", "bob", "dave"},
        ("comment", make_comment(make_task(acme.bob, **own), acme.bob), "comment of a task"): {"bob"},
        ("client", client, "client"): {"bob"},
        ("contact", make_contact(acme.bob, **own), "contact"): {"bob"},
        ("deal", make_deal(acme.bob, **own), "deal"): {"bob"},
        ("note", make_note(acme.bob, client_id=client.id), "note"): {"bob"},
    }
    assert {key for key, _row, _name in rows} == set(holders)
    found = {}
    for key, row, name in rows:
        attachment = hold(account, key, row, acme.alice)
        if row is trashed:
            row.trash(by=acme.alice)
        attachment.account = account
        found[name] = {who for who, user in users.items() if attachment.is_visible_to(user)}
        assert attachment.is_visible_to(acme.alice) is (row is not trashed), name
    assert found == {name: expected for (_key, _row, name), expected in rows.items()}


def test_pages_show_it_as_the_row_is_seen(acme, other):
    post = make_post(acme.carol, private=True)
    attachment = hold(acme.account, "post", post, acme.carol)
    path = attachment.path
    assert acme.page(acme.carol).get(path).body == b"a text"
    assert acme.page(acme.bob).get(path).body == b"a text"
    for page in (acme.page(), acme.page(make_user(acme.account, "eve"))):
        assert page.get(path, status=404)
    # The id belongs to another account at another host.
    assert Visitor(other.host).start_session(other.mallory).get(path, status=404)


def test_the_response_of_the_file(acme):
    draft = send(acme.bob, picture("PNG", (1000, 500)), "ż.png")
    run_jobs()
    post = make_post(acme.bob, content=draft.markdown)
    page = acme.page()
    response = page.get(draft.path)
    assert (response.content_type, response.headers["Content-Disposition"]) == (
        "image/png",
        "inline; filename*=utf-8''%C5%BC.png",
    )
    assert response.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert page.get(f"{draft.path}?size=small").content_type == "image/webp"
    text = hold(acme.account, "post", post, acme.bob)
    response = page.get(f"{text.path}?size=small")
    assert response.headers["Content-Disposition"] == 'attachment; filename="a.txt"'
    html = page.get(f"/app/posts/{post.id}").html
    [shown] = html.select(".prose img")
    assert (shown["src"], shown["alt"], shown["loading"]) == (f"{draft.path}?size=small", "ż.png", "lazy")
    assert shown.parent["href"] == draft.path
    assert [" ".join(item.get_text(" ").split()) for item in html.select(".files li")] == ["a.txt 1 kB"]


def test_pictures_of_a_new_member_wait_for_approval(acme):
    """As links do."""
    draft = send(acme.carol, picture(), "a.png")
    assert make_post(acme.carol, content=draft.markdown).approved is False
    assert acme.page().get(draft.path, status=404)
    acme.account.posts.get().approve(by=acme.bob)
    assert acme.page().get(draft.path, status=200)


def test_html_of_texts():
    path = "/app/attachments/12/a%20b.png"
    html = render(f"![a]({path})")
    [picture_shown] = BeautifulSoup(html, "html.parser").select("p > a > img")
    assert picture_shown.attrs == {"alt": "a", "src": f"{path}?size=small", "loading": "lazy"}
    assert picture_shown.parent["href"] == path
    for address in (
        "https://example.com/a.png",
        f"https://example.com{path}",
        f"//example.com{path}",
        "/app/attachments/12/",
        f"{path}?size=large",
        "/app/attachments/x/a.png",
        "/app/posts/12/a.png",
        "data:image/png;base64,AAAA",
    ):
        assert "<img" not in render(f"![a]({address})"), address
    assert with_base_url(html, "https://acme.test").count('"https://acme.test/app/attachments/12/') == 2
    assert ids_in(f"![a]({path}) [b](/app/attachments/7/b.pdf) /app/attachments/x/") == {12, 7}


def test_feeds_and_emails_have_absolute_addresses(acme):
    draft, other = send(acme.bob, picture(), "a.png"), send(acme.bob)
    post = make_post(acme.bob, "With a picture", content=draft.markdown)
    feed = ElementTree.fromstring(acme.page().get("/app/feed.atom").body)
    html = BeautifulSoup(feed.find(".//{*}summary").text, "html.parser")
    address = f"http://acme.example.test{draft.path}"
    assert (html.a["href"], html.img["src"]) == (address, f"{address}?size=small")
    make_comment(make_post(acme.carol), acme.bob, f"See {other.markdown}")
    sent = send_notifications(later=timedelta(minutes=5))
    [message] = [message for message in sent if message.to == [acme.carol.email]]
    assert f"See a.txt (http://acme.example.test{other.path})" in message.body
    assert post.content == draft.markdown


def test_it_rejects_too_many_files(acme, monkeypatch):
    drafts = [send(acme.carol) for _ in range(MAX_FILES + 1)]
    with pytest.raises(FieldError) as caught, transaction.atomic():
        make_post(acme.carol, content=" ".join(draft.markdown for draft in drafts))
    assert str(caught.value) == f"file is one of too many (maximum is {MAX_FILES})"
    monkeypatch.setattr(uploading, "MAX_DRAFTS", MAX_FILES + 1)
    with pytest.raises(FieldError) as caught:
        send(acme.carol)
    assert caught.value.code == "drafts"
    assert MAX_DRAFTS > MAX_FILES
    # Another user has drafts of their own.
    send(acme.bob)


def test_an_expired_draft_is_not_attached(acme):
    draft = send(acme.carol)
    StoredFile.objects.update(expires_at=timezone.now())
    make_post(acme.carol, content=draft.markdown)
    assert acme.account.attachments.get().row_id is None
    erase_expired_files()
    assert not acme.account.attachments.exists()


def test_files_are_erased_with_their_row(acme):
    client, post = make_client(acme.bob), make_post(acme.carol)
    comment = make_comment(post, acme.carol)
    attachments = [
        hold(acme.account, key, row, acme.bob)
        for key, row in (("client", client), ("post", post), ("comment", comment))
    ]
    erase_orphaned_attachments()
    assert all(map(is_kept, attachments))
    acme.account.clients.filter(id=client.id).delete()
    post.account = acme.account
    # The database erases the comment.
    acme.account.posts.filter(id=post.id).delete()
    erase_orphaned_attachments()
    assert not acme.account.attachments.exists()
    erase_expired_files()
    assert not StoredFile.objects.exists()
