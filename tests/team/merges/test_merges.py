import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from core.api.fields import MAX_INTEGER
from crm.contacts.models import ContactListMembership
from team.merges import merged_rows
from team.merges.merged_rows import HISTORY, LINKS
from team.merges.models import Merge
from tests.support.assertions import assert_refused, on_the_wire, read
from tests.support.factories import (
    make_account,
    make_client,
    make_contact,
    make_contact_list,
    make_deal,
    make_post,
    make_task,
    make_token,
    make_user,
)
from tests.support.queries import capture_queries

# The token, both rows, the number of linked rows, the definitions of fields, the merge, votes for the same post, the six links and the
# timeline, the merged client with its tags, holders and five links, the kept client with its holders, the record of the changes, and the
# entry in the timeline. Before each write of linked rows, one more statement reads the rows on which other values depend.
STATEMENTS = 40


def merge(acme, kept, merged, fields=None, *, token=None):
    resource = kept._meta.model_name
    body = {f"merged_{resource}_id": merged.id, **({} if fields is None else {"fields": fields})}
    return acme.json(token).post(f"/app/{resource}s/{kept.id}/merge.json", json={"merge": body})


def merged(acme, kept, other, fields=None) -> Merge:
    response = merge(acme, kept, other, fields)
    assert response.status_code == 201, response.text
    return acme.account.merges.get(id=read(response)["id"])


def undo(acme, row):
    return acme.json().post(f"/app/merges/{row.id}/undo.json")


def shown(acme, row):
    return read(acme.json().get(f"/app/{row._meta.model_name}s/{row.id}.json"))


@pytest.fixture
def mallory(db):
    return make_account()[1]


@pytest.fixture
def kept(acme):
    return make_client(acme.bob, "Ann", email="ann@example.com", external_ids={"shop": "1"})


@pytest.fixture
def other(acme):
    return make_client(acme.bob, "Anna", phone="123", external_ids={"crm": "9"})


def test_it_works(acme, kept, other):
    merge(acme, make_client(acme.bob), make_client(acme.bob))
    before = [shown(acme, row) for row in (kept, other)]
    response, queries = capture_queries(lambda: merge(acme, kept, other, {"name": "merged", "email": "kept"}))
    row = acme.account.merges.get(merged_client_id=other.id)
    assert response.status_code == 201
    assert response.headers["Location"] == f"http://{acme.host}/app/merges/{row.id}.json"
    assert read(response) == {
        "id": row.id,
        "client_id": kept.id,
        "merged_client_id": other.id,
        "contact_id": None,
        "merged_contact_id": None,
        "user_id": acme.bob.id,
        "changes": {"name": {"before": "Ann", "after": "Anna"}, "phone": {"before": None, "after": "123"}},
        "external_ids": [["crm", "9"]],
        "undone_at": None,
        "undone_by_id": None,
        "unrestored_fields": [],
        "created_at": on_the_wire(row.created_at),
        "updated_at": on_the_wire(row.created_at),
    }
    assert len(queries) == STATEMENTS, queries
    values = shown(acme, kept)
    assert (values["name"], values["email"], values["phone"]) == ("Anna", "ann@example.com", "123")
    assert acme.json().get(f"/app/clients/{other.id}.json").status_code == 404
    assert read(acme.json().get(f"/app/merges/{row.id}.json")) == read(response)

    undone = undo(acme, row)
    row.refresh_from_db()
    expected = {"undone_at": on_the_wire(row.undone_at), "undone_by_id": acme.bob.id}
    assert read(undone) == read(response) | expected | {"updated_at": on_the_wire(row.updated_at)}
    for row_before, row_after in zip(before, [shown(acme, each) for each in (kept, other)], strict=True):
        # An undo is a write, and the rows of both were shown before.
        changing = {name: row_after[name] for name in ("updated_at", "last_activity")}
        assert row_after == row_before | changing
    assert_refused(undo(acme, row), 422, "validation_failed", {"merge": ["is already undone"]})
    # The same rows can be merged again.
    assert merge(acme, other, kept).status_code == 201


def linked_rows(acme, row):
    """Link a row of every kind to a client or contact, and return them."""
    link = {f"{row._meta.model_name}_id": row.id}
    rows = [make_deal(acme.bob, **link), make_task(acme.bob, **link), make_post(acme.bob, **link)]
    rows.append(acme.account.notes.model(account=acme.account))
    rows[-1].write({"content": "Called", **link}, by=acme.bob)
    rows.append(make_contact(acme.bob, **link) if "client_id" in link else make_client(acme.bob, **link))
    post = make_post(acme.carol)
    post.cast_proxy_vote(by=acme.bob, **link)
    rows.append(acme.account.proxy_votes.get(post_id=post.id))
    return rows


@pytest.mark.parametrize("make", [make_client, make_contact])
def test_linked_rows_move_and_come_back(acme, make):
    kept, other = make(acme.bob), make(acme.bob)
    column = f"{kept._meta.model_name}_id"
    rows, own = linked_rows(acme, other), linked_rows(acme, kept)
    # A row in the trash moves too, because it may be restored.
    make_deal(acme.bob, **{column: other.id}).trash(by=acme.bob)
    row = merged(acme, kept, other)

    def links():
        return {getattr(each, column) for each in refreshed(rows)}, {getattr(each, column) for each in refreshed(own)}

    assert links() == ({kept.id}, {kept.id})
    assert acme.account.deals.trashed().filter(**{column: kept.id}).count() == 1
    # A row that was linked to another one since stays there.
    third = make(acme.bob)
    rows.pop(0).write({column: third.id}, by=acme.bob)
    assert undo(acme, row).status_code == 200
    assert links() == ({other.id}, {kept.id})
    assert acme.account.deals.filter(**{column: third.id}).count() == 1
    assert acme.account.deals.trashed().filter(**{column: other.id}).count() == 1


def refreshed(rows):
    return [type(row)._default_manager.get(pk=row.pk) for row in rows]


# Models with a link to clients or contacts that a merge leaves as it is, with the reason.
NOT_MOVED = {
    "team.Merge": "the merges of the merged row stay with it",
    "team.MessageRecipient": "the entries of the timeline move, and `current_row` finds the kept row",
    "crm.ContactListMembership": "the kept contact is added to the lists (`add_to_lists`)",
    **dict.fromkeys(
        ("team.ClientSummary", "team.ContactSummary", "team.DealSummary", "team.ClientRevenue"),
        "triggers compute the values from the moved rows",
    ),
    **dict.fromkeys(("team.ClientKey", "team.ContactKey"), "a follower compares the rows again"),
    "forum.PostSortKey": "triggers copy the links of the moved posts",
    "team.PostBacker": "a job computes the clients behind suggestions from the moved rows",
}


def test_a_merge_knows_every_link():
    for model in apps.get_models():
        for resource in LINKS:
            columns = {field.column for field in model._meta.local_concrete_fields}
            moved = {link.model for link in (*LINKS[resource], HISTORY[resource])}
            if f"{resource}_id" in columns and model not in moved and model._meta.label not in NOT_MOVED:
                pytest.fail(f"add {model._meta.label}.{resource}_id to `LINKS` in team/merges/merged_rows.py")


def test_a_customer_has_one_vote_for_a_post(acme, kept, other):
    both, one = make_post(acme.carol), make_post(acme.carol)
    for post, client in ((both, kept), (both, other), (one, other)):
        post.cast_proxy_vote(by=acme.bob, client_id=client.id)

    def votes():
        rows = acme.account.proxy_votes.order_by("id").values_list("post_id", "client_id", "created_at")
        counts = dict(acme.account.posts.values_list("id", "votes_cache"))
        return list(rows), counts

    before = votes()
    row = merged(acme, kept, other)
    rows, counts = votes()
    assert [(post, client) for post, client, _at in rows] == [(both.id, kept.id), (one.id, kept.id)]
    assert counts == {both.id: 1, one.id: 1}
    undo(acme, row)
    assert votes() == before


def test_a_copied_vote_gives_way_to_an_own_one(acme, kept, other):
    """Undoing the merge of the posts deletes copies, so the vote that was cast for the original is the one to keep."""
    original, duplicate = make_post(acme.carol), make_post(acme.carol)
    duplicate.cast_proxy_vote(by=acme.bob, client_id=kept.id)
    original.cast_proxy_vote(by=acme.bob, client_id=other.id)
    duplicate.merge_into(original, by=acme.bob)
    row = merged(acme, kept, other)
    assert acme.account.proxy_votes.get(post_id=original.id).from_post_id is None
    duplicate.refresh_from_db()
    duplicate.undo_merge(by=acme.bob)
    assert acme.account.proxy_votes.get(post_id=original.id).client_id == kept.id
    undo(acme, row)
    assert sorted(acme.account.proxy_votes.values_list("post_id", "client_id")) == [
        (original.id, other.id),
        (duplicate.id, kept.id),
    ]


def test_votes_follow_when_posts_were_merged_between(acme, kept, other):
    original, duplicate = make_post(acme.carol), make_post(acme.carol)
    duplicate.cast_proxy_vote(by=acme.bob, client_id=other.id)
    row = merged(acme, kept, other)
    duplicate.merge_into(original, by=acme.bob)
    undo(acme, row)
    assert set(acme.account.proxy_votes.values_list("client_id", flat=True)) == {other.id}


def test_contact_lists(acme):
    first, second, third = (make_contact_list(acme.bob) for _ in range(3))
    kept = make_contact(acme.bob, contact_list_ids=[first.id])
    other = make_contact(acme.bob, contact_list_ids=[first.id, second.id, third.id])

    def state():
        lists = read(acme.json().get("/app/contact_lists.json"))
        return {
            "kept": shown(acme, kept)["contact_list_ids"],
            "counts": {each["id"]: each["contacts_count"] for each in lists},
        }

    row = merged(acme, kept, other)
    assert state() == {"kept": [first.id, second.id, third.id], "counts": {first.id: 1, second.id: 1, third.id: 1}}
    # Somebody unsubscribes the person from one of the lists.
    acme.json().put(f"/app/contacts/{kept.id}.json", json={"contact": {"contact_list_ids": [first.id, second.id]}})
    undo(acme, row)
    assert state() == {"kept": [first.id], "counts": {first.id: 2, second.id: 1, third.id: 0}}
    assert shown(acme, other)["contact_list_ids"] == [first.id, second.id]
    assert ContactListMembership.objects.filter(account=acme.account).count() == 3


# External ids


def test_the_kept_row_is_found_by_the_external_ids_of_both(acme, kept):
    other = make_client(acme.bob, "Anna", external_ids={"shop": "2"})
    row = merged(acme, kept, other)
    assert shown(acme, kept)["external_ids"] == {"shop": "1"}
    find = "/app/clients.json?external_ids[shop]=2"
    assert [each["id"] for each in read(acme.json().get(find))] == [kept.id]
    # Two shops that know the customer by different numbers update it in turn.
    for number, name in (("2", "From shop 2"), ("1", "From shop 1"), ("2", "From shop 2 again")):
        body = {"client": {"name": name, "external_ids": {"shop": number}, "try_update": True}}
        for response in (
            acme.json().post("/app/clients.json", json=body),
            acme.json().put(f"/app/clients.json?external_ids[shop]={number}", json={"client": {"name": name}}),
            acme.json().post("/app/clients/bulk.json", json={"clients": [body["client"]]}),
        ):
            answer = read(response)
            client = answer[0]["client"] if isinstance(answer, list) else answer
            assert (client["id"], client["name"], client["external_ids"]) == (kept.id, name, {"shop": "1"})
    deal = {"name": "Order", "client": {"name": "x", "external_ids": {"shop": "2"}}}
    assert read(acme.json().post("/app/deals.json", json={"deal": deal}))["client_id"] == kept.id
    taken = acme.json().post("/app/clients.json", json={"client": {"name": "x", "external_ids": {"shop": "2"}}})
    assert_refused(taken, 422, "validation_failed", {"external_ids": [f"shop 2 belongs to client {kept.id}"]})
    undo(acme, row)
    assert [each["id"] for each in read(acme.json().get(find))] == [other.id]
    assert shown(acme, kept)["external_ids"] == {"shop": "1"}


def test_the_external_ids_stay_with_the_kept_row(acme, kept):
    """After the merged row is erased, and after the kept row was in the trash."""
    other = make_client(acme.bob, "Anna", external_ids={"shop": "2", "crm": "9"})
    merged(acme, kept, other)
    kept.refresh_from_db()
    kept.trash(by=acme.bob)
    find = "/app/clients.json?external_ids[shop]=2"
    assert read(acme.json().get(find)) == []
    kept.restore()
    assert acme.account.clients.filter(id=other.id).erase_one()
    assert acme.account.merges.count() == 0
    assert [each["id"] for each in read(acme.json().get(find))] == [kept.id]
    assert shown(acme, kept)["external_ids"] == {"shop": "1", "crm": "9"}


# Fields


def test_fields_are_joined_or_chosen(acme):
    kept = make_client(acme.bob, "a", tags=["vip"], note="First", do_not_contact=False, additional_fields={"size": 41})
    other = make_client(
        acme.bob, "b", tags=["VIP", "new"], note="Second", discount="2.5", do_not_contact=True, consent=False
    )
    other.write({"additional_fields": {"size": 42, "colour": "red"}}, by=acme.alice)
    row = merged(acme, kept, other, {"additional_fields[size]": "merged"})
    values = shown(acme, kept)
    names = ("name", "tags", "note", "discount", "do_not_contact", "consent", "additional_fields", "consent_by_id")
    assert {name: values[name] for name in names} == {
        "name": "a",
        "tags": ["vip", "new"],
        "note": "First\n\nSecond",
        "discount": 2.5,
        "do_not_contact": True,
        "consent": False,
        "additional_fields": {"size": 42, "colour": "red"},
        "consent_by_id": acme.bob.id,
    }
    other.refresh_from_db()
    kept.refresh_from_db()
    assert kept.consent_at == other.consent_at
    # Tags that were added since stay.
    kept.write({"tags": ["vip", "new", "later"]}, by=acme.bob)
    assert read(undo(acme, row))["unrestored_fields"] == []
    values = shown(acme, kept)
    assert {name: values[name] for name in names} == {
        "name": "a",
        "tags": ["vip", "later"],
        "note": "First",
        "discount": None,
        "do_not_contact": False,
        "consent": None,
        "additional_fields": {"size": 41},
        "consent_by_id": None,
    }


def test_undo_leaves_fields_that_were_changed_since(acme, kept, other):
    status, stays = (acme.account.statuses.create(kind="client", code=code, name=code) for code in ("gone", "stays"))
    kept.write({"status_id": status.id}, by=acme.bob)
    other.write({"status_id": stays.id, "city": "Gdynia"}, by=acme.bob)
    row = merged(acme, kept, other, {"status_id": "merged", "name": "merged"})
    kept.refresh_from_db()
    kept.write({"city": "Gdańsk"}, by=acme.alice)
    acme.account.statuses.filter(id=status.id).delete()
    # The former status was erased, and the city was changed.
    assert read(undo(acme, row))["unrestored_fields"] == ["city", "status_id"]
    values = shown(acme, kept)
    assert (values["name"], values["city"], values["phone"]) == ("Ann", "Gdańsk", None)


def test_merges_into_one_row_are_undone_in_any_order(acme, kept):
    post = make_post(acme.carol)
    others = [make_client(acme.bob, name, tags=[name], city=name) for name in ("b", "c")]
    for other in others:
        post.cast_proxy_vote(by=acme.bob, client_id=other.id)
    rows = [merged(acme, kept, other, {"city": "merged"}) for other in others]
    assert shown(acme, kept)["city"] == "c"
    assert read(undo(acme, rows[0]))["unrestored_fields"] == []
    assert (shown(acme, kept)["city"], shown(acme, kept)["tags"]) == ("c", ["c"])
    assert sorted(acme.account.proxy_votes.values_list("client_id", flat=True)) == [kept.id, others[0].id]
    undo(acme, rows[1])
    assert (shown(acme, kept)["city"], shown(acme, kept)["tags"]) == (None, [])
    assert sorted(acme.account.proxy_votes.values_list("client_id", flat=True)) == [other.id for other in others]


def test_a_list_of_two_merged_contacts_stays_until_both_are_back(acme):
    contact_list = make_contact_list(acme.bob)
    kept, *others = (make_contact(acme.bob, contact_list_ids=ids) for ids in ([], [contact_list.id], [contact_list.id]))
    rows = [merged(acme, kept, other) for other in others]
    undo(acme, rows[0])
    assert shown(acme, kept)["contact_list_ids"] == [contact_list.id]
    undo(acme, rows[1])
    expected = [[], [contact_list.id], [contact_list.id]]
    assert [shown(acme, row)["contact_list_ids"] for row in (kept, *others)] == expected


# Chains and the trash


def test_a_chain_is_undone_from_its_end(acme, kept, other):
    last = make_client(acme.bob, "Last")
    deal = make_deal(acme.bob, client_id=other.id)
    first_merge, second_merge = merged(acme, kept, other), merged(acme, last, kept)
    message = f"was itself merged into client {last.id}: undo that first"
    assert_refused(undo(acme, first_merge), 422, "validation_failed", {"client": [message]})
    for row, client in ((second_merge, kept), (first_merge, other)):
        assert undo(acme, row).status_code == 200
        deal.refresh_from_db()
        assert deal.client_id == client.id


def test_the_kept_row_in_the_trash_is_restored_first(acme, kept, other):
    row = merged(acme, kept, other)
    acme.json().delete(f"/app/clients/{kept.id}.json")
    errors = {"client": ["is in the trash: restore it first"]}
    assert_refused(undo(acme, row), 422, "validation_failed", errors)


def test_the_trash_does_not_restore_a_merged_row_alone(acme, kept, other):
    row = merged(acme, kept, other)
    restore = f"/app/trash/{other.id}/restore.json"
    errors = {"client": [f"was merged into client {kept.id}: undo the merge on the page of that client"]}
    assert_refused(acme.json(acme.alice_token).post(restore), 422, "validation_failed", errors)
    page = acme.page(acme.alice).get("/app/account/trash")
    form = next(form for form in page.forms.values() if form.fields.get("id") and form["id"].value == str(other.id))
    shown_page = form.submit("do", value="restore", status=303).follow()
    assert f"Client was merged into client {kept.id}" in shown_page.text
    undo(acme, row)
    acme.json().delete(f"/app/clients/{other.id}.json")
    assert acme.json(acme.alice_token).post(restore).status_code == 200


def test_links_to_the_merged_row_that_come_later_are_pending(acme, kept, other):
    row = merged(acme, kept, other)
    response = acme.json().post("/app/deals.json", json={"deal": {"name": "a", "client_id": other.id}})
    assert (read(response)["client_id"], response.headers["X-Pending-Links"]) == (None, "client_id")
    undo(acme, row)
    assert acme.account.deals.get().client_id == other.id
    # A merge is erased with the merged row.
    merged(acme, kept, other)
    assert acme.account.clients.all().erase(before=timezone.now(), limit=10) == 1
    assert (acme.account.merges.count(), merged_rows.MergedRow.objects.count()) == (0, 0)
    assert acme.account.deals.get().client_id == kept.id


# Bad input


def test_it_rejects_what_cannot_be_merged(acme, kept, other, mallory):
    trashed, foreign, third = make_client(acme.bob), make_client(mallory), make_client(acme.bob)
    trashed.trash(by=acme.bob)

    def send(into: int, id: object):
        return acme.json().post(f"/app/clients/{into}/merge.json", json={"merge": {"merged_client_id": id}})

    for id, error in (
        (kept.id, "is the same row"),
        (trashed.id, "is in the trash"),
        (foreign.id, "can't be found"),
        (make_contact(acme.bob).id, "can't be found"),
        (10**17, "can't be found"),
        (None, "can't be blank"),
        ("x", "is not a whole number"),
        (0, f"must be between 1 and {MAX_INTEGER}"),
    ):
        assert_refused(send(kept.id, id), 422, "validation_failed", {"merged_client_id": [error]})
    for id in (trashed.id, foreign.id, 10**17):
        assert send(id, other.id).status_code == 404
    merged(acme, kept, other)
    already = f"is already merged into client {kept.id}"
    for into in (kept, third):
        assert_refused(merge(acme, into, other), 422, "validation_failed", {"merged_client_id": [already]})
    assert_refused(merge(acme, other, kept), 422, "validation_failed", {"client_id": [already]})


def test_it_rejects_bad_choices(acme, kept, other):
    kept.write({"note": "a" * 40_000}, by=acme.bob)
    other.write({"note": "b" * 40_000}, by=acme.bob)
    too_long = "is too long if both texts are kept (maximum is 65536 characters)"
    for fields, name, error in (
        ({"phone": "other"}, "fields.phone", "is not one of kept, merged, both"),
        ({"phone": 1}, "fields.phone", "is not one of kept, merged, both"),
        (["phone"], "fields", "must be an object of field to kept, merged or both"),
        ([], "fields.note", too_long),
        ({"colour": "kept", "note": "kept"}, "fields.colour", "is not a field that can be chosen"),
        ({"created_at": "kept", "note": "kept"}, "fields.created_at", "is not a field that can be chosen"),
        ({"phone": "both", "note": "kept"}, "fields.phone", "can't have both values"),
        ({}, "fields.note", too_long),
    ):
        assert_refused(merge(acme, kept, other, fields), 422, "validation_failed", {name: [error]})
    response = acme.json().post(f"/app/clients/{kept.id}/merge.json", json={})
    assert_refused(response, 422, "validation_failed", {"merge": ["can't be blank"]})
    assert acme.account.merges.count() == 0


def test_it_rejects_too_many_rows(acme, kept, other, monkeypatch):
    monkeypatch.setattr(merged_rows, "MAX_MOVED_ROWS", 2)
    for _ in range(3):
        make_deal(acme.bob, client_id=other.id)
    message = "has too many linked rows to be merged (maximum is 2): merge the other way round"
    assert_refused(merge(acme, kept, other), 422, "validation_failed", {"merged_client_id": [message]})
    assert merge(acme, other, kept).status_code == 201


def test_the_number_of_statements_does_not_depend_on_the_number_of_rows(acme):
    def number_of_statements(rows):
        kept, other = make_client(acme.bob), make_client(acme.bob)
        for _ in range(rows):
            linked_rows(acme, other)
        _response, merging = capture_queries(lambda: merge(acme, kept, other))
        row = acme.account.merges.get(merged_client_id=other.id)
        _response, undoing = capture_queries(lambda: undo(acme, row))
        return len(merging), len(undoing)

    acme.json().get("/app/merges.json")
    assert number_of_statements(1) == number_of_statements(3)


# Access


def test_a_limited_agent_merges_only_accessible_rows(acme, kept, other):
    dora = make_user(acme.account, "dora", role="agent")
    token = make_token(dora)
    acme.account.change(agents_see="own")
    own, second = (make_client(acme.bob, responsible_id=dora.id) for _ in range(2))
    hidden = {"merged_client_id": ["can't be found"]}
    assert_refused(merge(acme, own, kept, token=token), 422, "validation_failed", hidden)
    assert merge(acme, kept, own, token=token).status_code == 404
    assert merge(acme, own, second, token=token).status_code == 201
    row = acme.account.merges.get()
    # A merge with a row of another user is as if it did not exist.
    assert merge(acme, own, kept, token=acme.alice_token).status_code == 201
    doras, alices = acme.json(token), acme.json(acme.alice_token)
    assert [each["id"] for each in read(doras.get("/app/merges.json"))] == [row.id]
    hidden_id = acme.account.merges.get(merged_client_id=kept.id).id
    assert doras.get(f"/app/merges/{hidden_id}.json").status_code == 404
    assert doras.post(f"/app/merges/{hidden_id}/undo.json").status_code == 404
    assert len(read(alices.get("/app/merges.json"))) == 2


def test_changes_are_in_the_feed(acme, kept, other):
    deal = make_deal(acme.bob, client_id=other.id)

    def changes_since(cursor):
        connection.check_constraints()
        body = read(acme.json().get(f"/app/changes.json?since={cursor}"))
        return body["cursor"], {(each["resource"], each["id"], each["change"]) for each in body["changes"]}

    cursor, _changes = changes_since("now")
    row = merged(acme, kept, other)
    cursor, changes = changes_since(cursor)
    updated = {("deal", deal.id, "updated"), ("client", kept.id, "updated")}
    assert changes == {("client", other.id, "deleted"), *updated}
    undo(acme, row)
    assert changes_since(cursor)[1] == {("client", other.id, "restored"), *updated}


def test_the_list(acme, kept, other):
    first = merged(acme, kept, other)
    contacts = [make_contact(acme.bob) for _ in range(2)]
    second = merged(acme, *contacts)

    def list_ids(query: str = "") -> list[int]:
        return [each["id"] for each in read(acme.json().get(f"/app/merges.json{query}"))]

    assert list_ids() == [first.id, second.id]
    assert list_ids(f"?client_id={kept.id}") == [first.id]
    assert list_ids(f"?merged_contact_id={contacts[1].id}") == [second.id]
    undo(acme, first)
    assert list_ids("?order=-updated_at") == [first.id, second.id]
    # It has no search.
    response = acme.json().get("/app/merges.json?q=ann")
    assert ([each["id"] for each in read(response)], response.headers["X-Ignored-Parameters"]) == (
        [first.id, second.id],
        "q",
    )
