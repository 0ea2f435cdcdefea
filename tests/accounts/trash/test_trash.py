"""The trash: trashing rows, the external ids that this frees, restoring and erasing."""

from datetime import timedelta

from django.utils import timezone

from crm.clients.models import Client, ClientExternalId
from crm.contacts.models import Contact, ContactList, ContactListMembership
from crm.deals.models import Deal
from forum.comments.models import Comment
from forum.posts.models import Post
from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_task
from tests.support.jobs import run_housekeeping
from tests.support.tables import table

MAKE = {
    "client": make_client,
    "contact": make_contact,
    "contact_list": make_contact_list,
    "deal": make_deal,
    "post": make_post,
    "task": make_task,
}


def path(kind, row) -> str:
    return f"/app/{kind.replace('task', 'post')}s/{row.id}.json"


@table("kind", MAKE)
def test_it_works(acme, kind):
    """A row in the trash is not found. A restored row is unchanged."""
    row, admin = MAKE[kind](acme.alice), acme.json(acme.alice_token)
    body = read(acme.json().get(path(kind, row)))
    before = timezone.now()
    assert acme.json().delete(path(kind, row)).status_code == 200
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        response = acme.json().request(method, path(kind, row), json={kind.replace("task", "post"): {"name": "a"}})
        assert_refused(response, 404, "not_found")
    row.refresh_from_db()
    assert before <= row.trashed_at <= timezone.now()
    assert row.trashed_by_id == acme.bob.id
    restore = f"/app/trash/{row.id}/restore.json"
    assert_answered(admin.post(restore), 200, body)
    assert read(acme.json().get(path(kind, row))) == body
    row.refresh_from_db()
    assert (row.trashed_at, row.trashed_by_id) == (None, None)
    assert_refused(admin.post(restore), 404, "not_found")


def children(client, user):
    return [
        make_contact(user, client_id=client.id),
        make_deal(user, client_id=client.id),
        make_task(user, client_id=client.id),
        make_post(user, client_id=client.id),
    ]


def client_ids(acme, rows) -> list[int | None]:
    kinds = {Contact: "contact", Deal: "deal", Post: "post"}
    return [read(acme.json().get(path(kinds[type(row)], row)))["client_id"] for row in rows]


def test_rows_of_a_trashed_client_are_kept_and_linked_again(acme):
    """Rows that are linked to another client meanwhile keep that link.

    Clients of the API send all fields back. A null in a field that was null before does not remove the pending link.
    """
    client, other = make_client(acme.alice), make_client(acme.alice)
    rows, moved, others = (children(parent, acme.alice) for parent in (client, client, other))
    acme.json().delete(path("client", client))
    assert client_ids(acme, [*rows, *moved]) == [None] * 8
    assert client_ids(acme, others) == [other.id] * 4
    for index, kind in enumerate(("contact", "deal", "post", "post")):
        for row, changes in ((rows[index], {}), (moved[index], {"client_id": other.id})):
            body = read(acme.json().get(path(kind, row))) | changes
            assert acme.json().put(path(kind, row), json={kind: body}).status_code == 200
    client.refresh_from_db()
    client.restore()
    assert client_ids(acme, rows) == [client.id] * 4
    assert client_ids(acme, moved) == [other.id] * 4


def test_trashed_rows_of_a_trashed_client(acme):
    client = make_client(acme.alice)
    rows = children(client, acme.alice)
    first, *later = rows
    first.trash(by=acme.alice)
    client.trash(by=acme.alice)
    for row in later:
        row.refresh_from_db()
        row.trash(by=acme.alice)
    for row in rows:
        row.refresh_from_db()
        row.restore()
    assert client_ids(acme, rows) == [None] * 4
    client.restore()
    assert client_ids(acme, rows) == [client.id] * 4


def test_the_main_contact_of_a_client(acme):
    contact = make_contact(acme.alice)
    client = make_client(acme.alice, contact_id=contact.id)
    contact.trash(by=acme.alice)
    body = read(acme.json().get(path("client", client)))
    assert body["contact_id"] is None
    acme.json().put(path("client", client), json={"client": body})
    contact.restore()
    assert read(acme.json().get(path("client", client)))["contact_id"] == contact.id
    # A row that was linked to another row keeps that link.
    contact.trash(by=acme.alice)
    another = make_contact(acme.alice)
    acme.json().put(path("client", client), json={"client": {"contact_id": another.id}})
    contact.restore()
    assert read(acme.json().get(path("client", client)))["contact_id"] == another.id


def test_two_trashed_rows_that_link_to_each_other(acme):
    contact = make_contact(acme.alice)
    client = make_client(acme.alice, contact_id=contact.id)
    contact.write({"client_id": client.id}, by=acme.alice)
    client.trash(by=acme.alice)
    contact.refresh_from_db()
    contact.trash(by=acme.alice)
    client.refresh_from_db()
    client.restore()
    contact.refresh_from_db()
    contact.restore()
    assert read(acme.json().get(path("client", client)))["contact_id"] == contact.id
    assert read(acme.json().get(path("contact", contact)))["client_id"] == client.id


@table("kind", ["client", "deal"])
def test_external_ids_are_restored_unless_they_were_taken(acme, kind):
    row = MAKE[kind](acme.alice, external_ids={"a": "1", "b": "2"})
    row.trash(by=acme.alice)
    other = MAKE[kind](acme.alice, external_ids={"a": "1"})
    row.refresh_from_db()
    row.restore()
    assert read(acme.json().get(path(kind, row)))["external_ids"] == {"b": "2"}
    assert read(acme.json().get(path(kind, other)))["external_ids"] == {"a": "1"}
    response = acme.json().post(f"/app/{kind}s.json", json={kind: {"name": "a", "external_ids": {"b": "2"}}})
    assert_refused(response, 422, "validation_failed", {"external_ids": [f"b 2 belongs to {kind} {row.id}"]})


def test_contacts_of_a_restored_contact_list(acme):
    contact_list, other = make_contact_list(acme.alice), make_contact_list(acme.alice)
    contact = make_contact(acme.alice, contact_list_ids=[contact_list.id])
    contact_list.trash(by=acme.alice)
    response = acme.json().put(path("contact", contact), json={"contact": {"contact_list_ids": [other.id]}})
    assert read(response)["contact_list_ids"] == [other.id]
    contact_list.restore()
    ids = read(acme.json().get(path("contact", contact)))["contact_list_ids"]
    assert ids == [contact_list.id, other.id]


# Erasing


def housekeeping(days: int) -> None:
    """Run housekeeping `days` after all rows in the trash were trashed."""
    for model in (Client, Contact, ContactList, Deal, Post):
        model.objects.trashed().update(trashed_at=timezone.now() - timedelta(days=days, seconds=1))
    run_housekeeping()


def test_rows_are_erased_after_thirty_days(acme, other):
    """The rows of each account and of each kind."""
    live = {kind: make(acme.alice) for kind, make in MAKE.items()}
    trashed = {kind: make(acme.alice) for kind, make in MAKE.items()} | {"other": make_client(other.mallory)}
    for row in trashed.values():
        row.trash(by=acme.alice)

    def stored(rows) -> list[str]:
        return [kind for kind, row in rows.items() if type(row).objects.filter(pk=row.pk).exists()]

    housekeeping(days=29)
    assert stored(trashed) == list(trashed)
    housekeeping(days=30)
    assert (stored(trashed), stored(live)) == ([], list(live))


def test_rows_of_an_erased_client_are_kept(acme):
    client = make_client(acme.alice, external_ids={"a": "1"}, tags=["vip"])
    rows = children(client, acme.alice)
    client.trash(by=acme.alice)
    housekeeping(days=31)
    assert client_ids(acme, rows) == [None] * 4
    for row in rows:
        row.refresh_from_db()
        assert row.trashed_client_id is None
    assert not ClientExternalId.objects.exists()
    assert read(acme.json().get("/app/clients/tags.json")) == []


def test_links_to_erased_contacts_and_lists_are_removed(acme):
    contact_list, contact = make_contact_list(acme.alice), make_contact(acme.alice)
    contact.write({"contact_list_ids": [contact_list.id]}, by=acme.alice)
    client = make_client(acme.alice, contact_id=contact.id)
    contact.trash(by=acme.alice)
    housekeeping(days=31)
    client.refresh_from_db()
    assert (client.contact_id, client.trashed_contact_id) == (None, None)
    assert not ContactListMembership.objects.exists()
    member = make_contact(acme.alice, contact_list_ids=[contact_list.id])
    contact_list.trash(by=acme.alice)
    housekeeping(days=31)
    assert read(acme.json().get(path("contact", member)))["contact_list_ids"] == []
    assert not ContactListMembership.objects.exists()


def test_comments_and_votes_are_restored_and_erased_with_their_post(acme):
    post, other = make_post(acme.carol), make_post(acme.carol)
    for row in (post, other):
        row.comment(by=acme.bob, text="Yes")
        row.vote(by=acme.bob)
    duplicate = make_post(acme.carol, duplicate_from_id=post.id)
    post.trash(by=acme.alice)
    post.restore()
    assert "<comment>Yes</comment>" in acme.xml().get(f"/app/posts/{post.id}.xml").text
    body = read(acme.json().get(path("post", post)))
    assert (body["comments_cache"], body["votes_cache"]) == (1, 1)
    post.trash(by=acme.alice)
    housekeeping(days=31)
    assert [comment.post_id for comment in Comment.objects.all()] == [other.id]
    assert [vote.post_id for vote in acme.account.votes.all()] == [other.id]
    duplicate.refresh_from_db()
    assert duplicate.duplicate_from_id is None


def test_a_row_restored_during_its_erasure_is_kept(acme, monkeypatch):
    """The row is restored between its selection and its deletion."""
    client = make_client(acme.alice)
    client.trash(by=acme.alice)
    Client.objects.update(trashed_at=timezone.now() - timedelta(days=31))
    queryset = Client.objects.filter(trashed_at__lt=timezone.now())
    before = timezone.now() - timedelta(days=30)
    delete = type(queryset).delete

    def restore_first(self):
        Client.objects.filter(pk=client.pk).update(trashed_at=None, trashed_by_id=None)
        return delete(self)

    monkeypatch.setattr(type(queryset), "delete", restore_first)
    assert Client.objects.all().erase(before=before, limit=10) == 0
    assert Client.objects.live().filter(pk=client.pk).exists()
