"""Clients: create, read, update and delete. Rules that clients, contacts and deals share are tested here."""

from datetime import UTC, datetime
from decimal import Decimal

from crm.clients.models import Client
from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.bodies import client_body
from tests.support.factories import make_client, make_contact, make_user
from tests.support.tables import table

PATH = "/app/clients.json"
LONG_AGO = datetime(2009, 1, 26, 17, 6, 53, tzinfo=UTC)


def post(acme, **fields):
    return acme.json().post(PATH, json={"client": fields})


def put(acme, client, **fields):
    return acme.json().put(f"/app/clients/{client.id}.json", json={"client": fields})


def make_old_client(acme, **fields) -> Client:
    client = make_client(acme.alice, **fields)
    Client.objects.filter(pk=client.pk).update(created_at=LONG_AGO, updated_at=LONG_AGO)
    acme.account.client_summaries.update(last_activity_at=LONG_AGO)
    return client


def test_it_works(acme):
    """Create, read, update and delete a client, beside another one that stays."""
    other, before, json = make_old_client(acme, name="Other"), datetime.now(UTC), acme.json()
    fields = {"name": "client 1 from API", "email": "c1@example.net", "note": "", "phone": None}
    response = post(acme, **fields)
    client = acme.account.clients.exclude(id=other.id).get()
    assert before <= client.created_at == client.updated_at <= datetime.now(UTC)
    path = f"/app/clients/{client.id}.json"
    # An empty text is not stored as null.
    body = client_body(client, acme.bob, **fields)
    assert_answered(response, 201, body, location=f"http://acme.example.test{path}")
    assert_answered(json.get(path), 200, body)

    # Only the fields of the body, the updater and the time of the update change.
    path_of_other = f"/app/clients/{other.id}.json"
    for method, note in (("PUT", "new"), ("PATCH", "newer")):
        before = datetime.now(UTC)
        response = json.request(method, path_of_other, json={"client": {"note": note}})
        other.refresh_from_db()
        assert before <= other.updated_at <= datetime.now(UTC)
        body = client_body(other, acme.alice, name="Other", note=note, updater_id=acme.bob.id)
        assert body["created_at"] == body["last_activity"] == on_the_wire(LONG_AGO)
        assert_answered(response, 200, body)
    assert_answered(json.get(path_of_other), 200, body)

    response = json.delete(path)
    assert_answered(response, 200, "ok")
    assert response.content == b'"ok"'
    client.refresh_from_db()
    assert client.trashed_by_id == acme.bob.id
    assert list(acme.account.clients.live()) == [other]


def test_all_fields(acme):
    contact = make_contact(acme.alice)
    status = acme.account.statuses.create(kind="client", code="good", name="Good")
    fields = {
        "name": "ACME sp. z o.o.",
        "email": "office@example.net",
        "note": "first line\r\nsecond line\twith a tab",
        "external_ids": {"shop.id-2": "abc/1", "myapp_client_id": "17"},
        "first_name": "Ann",
        "last_name": "Kowalska",
        "shortcut": "ACME",
        "kind": "customer",
        "company": True,
        "tax_no": "PL1234567890",
        "register_number": "0000012345",
        "phone": "+48 22 123 45 67",
        "mobile_phone": "+48 600 100 200",
        "fax": "+48 22 123 45 68",
        "www": "https://acme.example/ąęł",
        "street": "Długa",
        "street_no": "7/9",
        "post_code": "00-001",
        "city": "Łódź",
        "province": "łódzkie",
        "country": "PL",
        "delivery_address": "The back door\nof the same house",
        "use_delivery_address": False,
        "bank": "Bank",
        "bank_account": "PL61109010140000071219812874",
        "discount": Decimal("12.5"),
        "description": "𝄞 and 😀",
        "tags": ["vip", "new"],
        "status_id": status.id,
        "responsible_id": acme.alice.id,
        "contact_id": contact.id,
        "url": "https://shop.example/customers/17",
        "origin": "shop",
    }
    response = post(acme, **{**fields, "discount": 12.5})
    row = acme.account.clients.get()
    body, path = client_body(row, acme.bob, **fields), f"/app/clients/{row.id}.json"
    assert_answered(response, 201, body, location=f"http://acme.example.test{path}")
    assert_answered(acme.json().get(path), 200, body)
    # The whole response may be sent back, and an empty object changes nothing.
    ignored = (
        "id,creator_id,updater_id,contacts_count,posts_count,deals_count,last_activity,consent_at,consent_by_id,"
        "do_not_contact_at,do_not_contact_by_id,created_at,updated_at"
    )
    for sent, headers in ((response.json(), {"x_ignored_fields": ignored}), ({}, {})):
        response = put(acme, row, **sent)
        row.refresh_from_db()
        assert_answered(response, 200, {**body, "updated_at": on_the_wire(row.updated_at)}, **headers)
    nulls = dict.fromkeys(("note", "company", "discount", "status_id", "responsible_id", "contact_id"))
    response = put(acme, row, **nulls)
    row.refresh_from_db()
    assert_answered(response, 200, body | nulls | {"updated_at": on_the_wire(row.updated_at)})


def test_longest_values(acme):
    client = {"name": "ą" * 255, "note": "😀" * 65_536}
    response = post(acme, **client)
    assert response.status_code == 201
    assert {name: read(response)[name] for name in client} == client


def test_it_rejects_a_body_without_a_client(acme):
    client = make_client(acme.bob)
    for body, rule in (
        ({}, "can't be blank"),
        ({"client": None}, "can't be blank"),
        ({"contact": {"name": "a"}}, "can't be blank"),
        *(({"client": wrong}, "must be an object") for wrong in ("text", 7, True, [1], [{"name": "a"}])),
    ):
        for response in (
            acme.json().post(PATH, json=body),
            acme.json().put(f"/app/clients/{client.id}.json", json=body),
        ):
            assert_refused(response, 422, "validation_failed", {"client": [rule]})
    assert acme.account.clients.count() == 1


def test_it_rejects_every_error_at_once(acme):
    """The errors are in the order of the fields."""
    holder = make_client(acme.alice, external_ids={"myapp_client_id": "17"})
    response = post(acme, note="note 1", external_ids={"myapp_client_id": 17})
    assert response.text == (
        '{"code":"validation_failed","message":"Name can\'t be blank","errors":{"name":["can\'t be blank"],'
        f'"external_ids":["myapp_client_id 17 belongs to client {holder.id}"]}}}}'
    )
    assert response.status_code == 422
    client = {
        "name": "a" * 256,
        "note": "a" * 65_537,
        "company": "perhaps",
        "discount": "much",
        "tags": 7,
        "status_id": 10**15,
        "responsible_id": acme.carol.id,
        "contact_id": "x",
    }
    errors = {
        "name": ["is too long (maximum is 255 characters)"],
        "note": ["is too long (maximum is 65536 characters)"],
        "company": ["is not true or false"],
        "discount": ["is not a number"],
        "tags": ["must be a list of names, or one text with commas"],
        "status_id": ["can't be found"],
        "responsible_id": ["can't be found"],
        "contact_id": ["is not an id"],
    }
    assert_refused(post(acme, **client), 422, "validation_failed", errors)
    assert acme.account.clients.count() == 1


def test_it_rejects_related_rows_that_may_not_be_set(acme):
    deal_status = acme.account.statuses.get(kind="deal", code="new")
    inactive_user = make_user(acme.account, role="agent", is_active=False)
    related = {"status_id": deal_status.id, "responsible_id": inactive_user.id, "contact_id": 10**15}
    errors = {name: ["can't be found"] for name in related}
    assert_refused(post(acme, name="a", **related), 422, "validation_failed", errors)
    for blank in ("", "  ", None):
        response = post(acme, name="a", **dict.fromkeys(related, blank))
        assert (response.status_code, [read(response)[name] for name in related]) == (201, [None] * 3)


@table(
    ("fields", "name"),
    [
        ({"first_name": "Ann", "last_name": "Kowalska"}, "Ann Kowalska"),
        ({"first_name": "Ann"}, "Ann"),
        ({"last_name": "Kowalska", "email": "ann@example.net"}, "Kowalska"),
        ({"name": "", "email": "ann@example.net"}, "ann@example.net"),
        ({"name": " \t ", "first_name": " Ann ", "last_name": "  "}, "Ann"),
        ({"name": None, "first_name": None, "last_name": "", "email": "ann@example.net"}, "ann@example.net"),
        ({"name": "ACME", "first_name": "Ann"}, "ACME"),
        ({"first_name": "a" * 200, "last_name": "b" * 200}, "a" * 200 + " " + "b" * 54),
        ({"first_name": 7}, "7"),
    ],
)
def test_a_blank_name_is_built_from_other_fields(acme, fields, name):
    for kind in ("client", "contact"):
        response = acme.json().post(f"/app/{kind}s.json", json={kind: fields})
        assert (response.status_code, read(response)["name"]) == (201, name)


def test_a_blank_name_is_built_from_the_values_of_the_client(acme):
    client = make_client(acme.bob, "ACME", first_name="Ann", last_name="Nowak")
    for fields, name in (
        ({"name": ""}, "Ann Nowak"),
        ({"name": "", "last_name": "Kowalska"}, "Ann Kowalska"),
        ({"name": None, "first_name": "", "last_name": "", "email": "ann@example.net"}, "ann@example.net"),
    ):
        assert read(put(acme, client, **fields))["name"] == name


def test_it_rejects_a_blank_name_if_no_other_field_can_replace_it(acme):
    client = make_old_client(acme, name="Ann")
    errors = {"name": ["can't be blank"]}
    response = post(acme, name="", first_name=" ", last_name=None, email="")
    assert_refused(response, 422, "validation_failed", errors)
    for name in ("", " \n", None):
        assert_refused(put(acme, client, name=name, note="x"), 422, "validation_failed", errors)
    client.refresh_from_db()
    assert (client.name, client.note, client.updated_at) == ("Ann", None, LONG_AGO)


def test_a_rejected_update_changes_nothing(acme):
    client = make_client(acme.alice, "Ann", external_ids={"key": "1"}, tags=["vip"])
    other = make_client(acme.alice, external_ids={"key": "2"})
    before = Client.objects.filter(id=client.id).values().get()
    response = put(acme, client, note="new", tags=["else"], external_ids={"more": "3", "key": "2"})
    assert_refused(response, 422, "validation_failed", {"external_ids": [f"key 2 belongs to client {other.id}"]})
    assert Client.objects.filter(id=client.id).values().get() == before
    assert read(acme.json().get("/app/clients/tags.json"))[0]["name"] == "vip"


def test_two_clients_may_have_the_same_values(acme):
    for _ in range(2):
        assert post(acme, name="Ann", email="ann@example.net").status_code == 201
    assert acme.account.clients.count() == 2


def test_times_are_in_the_time_zone_of_the_account(acme):
    acme.account.change(time_zone="Asia/Kolkata")
    created_at = read(post(acme, name="a"))["created_at"]
    assert created_at.endswith("+05:30")
    assert on_the_wire(datetime.fromisoformat(created_at)) == on_the_wire(acme.account.clients.get().created_at)


# A number of more than 18 digits is an invalid id.
ODD_IDS = ["0", "999999999999999999", "9999999999999999999", "1e3", "-1", "x", "٣", "%00", "1%2F2"]


def test_it_rejects_ids_that_are_not_of_a_client(acme):
    trashed = make_client(acme.bob)
    trashed.trash(by=acme.bob)
    for id in (*ODD_IDS, trashed.id, make_contact(acme.bob).id, acme.bob.id):
        for method in ("GET", "PUT", "DELETE"):
            response = acme.json().request(method, f"/app/clients/{id}.json", json={"client": {"name": "a"}})
            assert_refused(response, 404, "not_found")
