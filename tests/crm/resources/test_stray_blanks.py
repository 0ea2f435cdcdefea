"""White space and format characters at the ends of names, e-mails, telephone and tax numbers, external ids, tags and codes."""

import pytest
from django.db import transaction

from accounts.users.invitations import Invitation
from accounts.users.models import User
from core.errors import FieldError, FieldErrors
from crm.clients.api import ClientLookup
from crm.clients.models import Client
from crm.resources.api.views import write_row
from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client, make_contact, make_deal
from tests.support.tables import table

STRAY = (" {} ", "\u00a0{}\u3000", "\ufeff{}\u200b", "{}\u200e\n")
NAMES = ("name", "email", "phone", "mobile_phone", "first_name", "last_name")


@table(("kind", "stray"), [("client", STRAY[0]), ("contact", STRAY[1]), ("client", STRAY[2]), ("contact", STRAY[3])])
def test_it_works(acme, kind, stray):
    """On creating, updating, and creating in bulk."""
    names = (*NAMES, "tax_no", "register_number", "shortcut", "fax", "post_code") if kind == "client" else NAMES
    values = {name: stray.format("a b") for name in names} | {"external_ids": {"shop": stray.format("17")}}
    values |= {"tags": [stray.format("vip"), stray.format("VIP")]}
    created = read(acme.json().post(f"/app/{kind}s.json", json={kind: values}))
    updated = read(acme.json().put(f"/app/{kind}s/{created['id']}.json", json={kind: values}))
    other = {**values, "external_ids": {"erp": stray.format("1")}}
    [result] = read(acme.json().post(f"/app/{kind}s/bulk.json", json={f"{kind}s": [other]}))
    for body in (created, updated, result[kind]):
        assert {body[name] for name in names} == {"a b"}
        assert body["tags"] == ["vip"]
    assert (updated["external_ids"], result[kind]["external_ids"]) == ({"shop": "17"}, {"erp": "1"})


def test_other_texts_keep_their_blanks(acme):
    response = acme.json().post("/app/clients.json", json={"client": {"name": "Ann", "note": " a ", "city": " b "}})
    assert (read(response)["note"], read(response)["city"]) == (" a ", " b ")


BLANKS = [" ", "\u200b", "\u2800", "\u3164", "\u115f\u1160", "\uffa0", "\ufe0f"]
KINDS = {
    "client": "name",
    "contact": "name",
    "deal": "name",
    "contact_list": "name",
    "post": "title",
    "pipeline": "name",
    "group": "name",
}


@table(("blank", "kind"), zip(BLANKS, KINDS, strict=True))
def test_it_rejects_invisible_names_and_titles(acme, blank, kind):
    alice, errors = acme.json(acme.alice_token), {KINDS[kind]: ["can't be blank"]}
    values = {"task_kind": "task", KINDS[kind]: blank} if kind == "post" else {KINDS[kind]: blank}
    assert_refused(alice.post(f"/app/{kind}s.json", json={kind: values}), 422, "validation_failed", errors)
    response = alice.post("/app/statuses.json", json={"status": {"code": blank, "name": "a"}})
    assert_refused(response, 422, "validation_failed", {"code": ["can't be blank"]})
    response = acme.xml().post("/app/posts.xml", content=f"<post><title>{blank}</title></post>".encode())
    assert response.status_code == 422
    assert "Title can't be blank" in response.text


def test_pages_and_models_write_trimmed_texts(acme):
    values = {"name": " Ann\u200b", "email": "\u00a0a@example.com "}
    client = write_row(Client(account=acme.account), values, by=acme.bob)
    client.refresh_from_db()
    assert (client.name, client.email, client.email_key) == ("Ann", "a@example.com", "a@example.com")
    status = acme.account.statuses.create(kind="client", code=" a\u200b", name="\u3000b ", position=9)
    status.refresh_from_db()
    assert (status.code, status.name) == ("a", "b")


@table("email", ["ann@example.com ", "\u00a0ANN@example.com", "\u200bann@example.com"])
def test_try_update_finds_the_client(acme, email):
    client = make_client(acme.alice, email="ann@example.com")
    response = acme.json().post("/app/clients.json", json={"client": {"email": email, "try_update": True}})
    assert (response.status_code, read(response)["id"]) == (200, client.id)
    item = {"email": email, "try_update": True}
    [result] = read(acme.json().post("/app/clients/bulk.json", json={"clients": [item]}))
    assert (result["status"], result["client"]["id"]) == (200, client.id)


@pytest.mark.parametrize(
    ("stored", "sent"), [("ann@żółw.pl", "ann@xn--w-uga1v8h.pl"), ("ann@xn--w-uga1v8h.pl", "ann@ŻÓŁW.pl")]
)
def test_emails_with_international_domains(acme, stored, sent):
    client, contact = make_client(acme.alice, email=stored), make_contact(acme.alice, email=stored)
    response = acme.json().post("/app/clients.json", json={"client": {"email": sent, "try_update": True, "note": "x"}})
    assert (response.status_code, read(response)["id"]) == (200, client.id)
    assert [row["id"] for row in read(acme.json().get("/app/contacts.json", params={"email": sent}))] == [contact.id]
    assert [row["id"] for row in read(acme.json().get("/app/contacts.json", params={"email__is": sent}))] == [
        contact.id
    ]
    similar = read(acme.json().get("/app/similar.json", params={"email": sent}))
    assert contact.id in [row["id"] for row in similar]


def test_users_with_one_international_address(acme):
    user = User.objects.sign_up(acme.account, login="ann", email=" ann@żółw.pl\u200b", password=None, name=" Ann ")
    assert (user.email, user.name, user.email_key) == ("ann@żółw.pl", "Ann", "ann@xn--w-uga1v8h.pl")
    assert User.objects.find_by_login(acme.account.id, "ann@xn--w-uga1v8h.pl ").id == user.id
    with pytest.raises(FieldErrors), transaction.atomic():
        User.objects.sign_up(acme.account, login="eve", email="ann@xn--w-uga1v8h.pl", password=None, name="Eve")
    with pytest.raises(FieldError), transaction.atomic():
        Invitation.objects.invite(acme.account, email="Ann@XN--W-uga1v8h.pl", role="member", by=acme.alice)
    row, _secret = Invitation.objects.invite(acme.account, email=" eve@żółw.pl\u200b", role="member", by=acme.alice)
    row.refresh_from_db()
    assert (row.email, row.email_key) == ("eve@żółw.pl", "eve@xn--w-uga1v8h.pl")


def test_a_user_of_the_forum_api_is_trimmed(acme):
    body = "<user><login>eve</login><email> eve@example.com&#8203; </email><password>correct horse</password></user>"
    response = acme.xml(acme.alice).post("/app/users.xml", content=body.encode())
    assert response.status_code == 201, response.text
    assert "<email>eve@example.com</email>" in response.text


@table("value", ["17", "17.0", "17.00", "1.7e1", '"17"', '" 17\u200b"'])
def test_an_external_id_as_a_number(acme, value):
    client = make_client(acme.alice, external_ids={"shop": "17"})
    content = f'{{"client": {{"name": "Ann", "try_update": true, "external_ids": {{"shop": {value}}}}}}}'
    response = acme.json().post("/app/clients.json", content=content.encode())
    assert (response.status_code, read(response)["id"]) == (200, client.id)
    content = f'{{"deal": {{"name": "a", "client": {{"external_ids": {{"shop": {value}}}}}}}}}'
    assert read(acme.json().post("/app/deals.json", content=content.encode()))["client_id"] == client.id
    content = f'{{"client": {{"name": "Ann", "external_id": {value}}}}}'
    assert read(acme.json().post("/app/clients.json", content=content.encode()))["external_id"] == "17"


def test_queries(acme):
    deal = make_deal(acme.alice, external_ids={"shop": "17"}, tags=["vip"])
    for parameters in ({"external_ids[shop]": " 17 "}, {"tag": " VIP\u200b"}):
        assert [row["id"] for row in read(acme.json().get("/app/deals.json", params=parameters))] == [deal.id]
    body = {"deal": {"external_ids": {"shop": 17.0}}}
    response = acme.json().put("/app/deals.json?external_ids[shop]=17%20", json=body)
    assert (response.status_code, read(response)["id"]) == (200, deal.id)


def test_a_status_is_found_by_its_code(acme):
    status = {"kind": "client", "code": "paid", "name": "Paid"}
    first = acme.json(acme.alice_token).post("/app/statuses.json", json={"status": status})
    again = acme.json(acme.alice_token).post("/app/statuses.json", json={"status": status | {"code": " paid\u200b "}})
    assert (first.status_code, again.status_code, read(again)["id"]) == (201, 200, read(first)["id"])
    response = acme.json().post("/app/posts.json", json={"post": {"title": "a", "status": " planned "}})
    assert (response.status_code, read(response)["status"]) == (201, "planned")


def test_a_lookup_of_one_resource(acme):
    lookup = ClientLookup(acme.account, acme.bob.access)
    assert lookup.only_client_with_email(" ") is None
