from datetime import UTC, datetime
from decimal import Decimal

from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.bodies import client_body
from tests.support.factories import make_client, make_contact, make_token, make_user
from tests.support.tables import table


def test_it_works(acme):
    before = datetime.now(UTC)
    response = acme.json().post(
        "/app/clients.json",
        json={"client": {"name": "client 1 from API", "email": "c1@example.net", "note": "note 1"}},
    )
    client = acme.account.clients.get()
    assert before <= client.created_at == client.updated_at <= datetime.now(UTC)
    assert_answered(
        response,
        201,
        client_body(client, acme.bob, name="client 1 from API", email="c1@example.net", note="note 1"),
        location=f"http://acme.example.test/app/clients/{client.id}.json",
    )


def test_it_rejects_a_client_without_a_name(acme):
    response = acme.json().post("/app/clients.json", json={"client": {"note": "note 1"}})
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})
    assert not acme.account.clients.exists()


@table("body", [{}, {"client": None}, {"contact": {"name": "a"}}])
def test_it_rejects_a_body_without_a_client(acme, body):
    response = acme.json().post("/app/clients.json", json=body)
    assert_refused(response, 422, "validation_failed", {"client": ["can't be blank"]})


@table("client", ["text", 7, True, [1], [{"name": "a"}]])
def test_it_rejects_a_client_that_is_not_an_object(acme, client):
    response = acme.json().post("/app/clients.json", json={"client": client})
    assert_refused(response, 422, "validation_failed", {"client": ["must be an object"]})


def test_it_rejects_every_error_at_once(acme):
    holder = make_client(acme.alice, external_ids={"myapp_client_id": "17"})
    response = acme.json().post("/app/clients.json", json={"client": {"external_ids": {"myapp_client_id": 17}}})
    assert response.text == (
        '{"code":"validation_failed","message":"Name can\'t be blank","errors":{"name":["can\'t be blank"],'
        f'"external_ids":["myapp_client_id 17 belongs to client {holder.id}"]}}}}'
    )
    assert response.status_code == 422


def test_it_rejects_invalid_values_of_many_fields(acme):
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
    response = acme.json().post("/app/clients.json", json={"client": client})
    assert_refused(
        response,
        422,
        "validation_failed",
        {
            "name": ["is too long (maximum is 255 characters)"],
            "note": ["is too long (maximum is 65536 characters)"],
            "company": ["is not true or false"],
            "discount": ["is not a number"],
            "tags": ["must be a list of names, or one text with commas"],
            "status_id": ["can't be found"],
            "responsible_id": ["can't be found"],
            "contact_id": ["is not an id"],
        },
    )
    assert not acme.account.clients.exists()


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
    client = acme.json()
    response = client.post("/app/clients.json", json={"client": {**fields, "discount": 12.5}})
    row = acme.account.clients.get()
    body = client_body(row, acme.bob, **fields)
    assert_answered(response, 201, body, location=f"http://acme.example.test/app/clients/{row.id}.json")
    assert_answered(client.get(f"/app/clients/{row.id}.json"), 200, body)


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
    response = acme.json().post("/app/clients.json", json={"client": fields})
    assert response.status_code == 201
    assert read(response)["name"] == name
    assert acme.account.clients.get().name == name


def test_a_blank_name_is_rejected_if_no_other_field_can_replace_it(acme):
    client = {"name": "", "first_name": " ", "last_name": None, "email": ""}
    response = acme.json().post("/app/clients.json", json={"client": client})
    assert_refused(response, 422, "validation_failed", {"name": ["can't be blank"]})


def test_longest_values(acme):
    client = {"name": "ą" * 255, "note": "😀" * 65_536}
    response = acme.json().post("/app/clients.json", json={"client": client})
    assert response.status_code == 201
    assert {name: read(response)[name] for name in client} == client


def test_an_empty_text_is_not_stored_as_null(acme):
    response = acme.json().post("/app/clients.json", json={"client": {"name": "a", "note": "", "phone": None}})
    row = acme.account.clients.get()
    assert_answered(
        response,
        201,
        client_body(row, acme.bob, name="a", note=""),
        location=f"http://acme.example.test/app/clients/{row.id}.json",
    )


def test_two_clients_may_have_the_same_values(acme):
    for _ in range(2):
        client = {"name": "Ann", "email": "ann@example.net"}
        assert acme.json().post("/app/clients.json", json={"client": client}).status_code == 201
    assert acme.account.clients.count() == 2


def test_times_are_in_the_time_zone_of_the_account(acme):
    acme.account.time_zone = "Asia/Kolkata"
    acme.account.save()
    body = read(acme.json().post("/app/clients.json", json={"client": {"name": "a"}}))
    assert body["created_at"].endswith("+05:30")
    row = acme.account.clients.get()
    assert on_the_wire(datetime.fromisoformat(body["created_at"])) == on_the_wire(row.created_at)


@table("role", ["agent", "admin", "owner"])
def test_every_team_role_may_create_clients(acme, role):
    user = make_user(acme.account, role=role)
    response = acme.json(make_token(user)).post("/app/clients.json", json={"client": {"name": "a"}})
    assert response.status_code == 201
    assert read(response)["creator_id"] == read(response)["updater_id"] == user.id


@table("field", ["status_id", "responsible_id", "contact_id"])
@table("value", ["", "  ", None])
def test_a_blank_id_is_null(acme, field, value):
    response = acme.json().post("/app/clients.json", json={"client": {"name": "a", field: value}})
    assert response.status_code == 201
    assert read(response)[field] is None


def test_it_rejects_related_rows_that_may_not_be_set(acme):
    deal_status = acme.account.statuses.get(kind="deal", code="new")
    inactive_user = make_user(acme.account, role="agent", is_active=False)
    client = {"name": "a", "status_id": deal_status.id, "responsible_id": inactive_user.id, "contact_id": 10**15}
    response = acme.json().post("/app/clients.json", json={"client": client})
    assert_refused(
        response,
        422,
        "validation_failed",
        {
            "status_id": ["can't be found"],
            "responsible_id": ["can't be found"],
            "contact_id": ["can't be found"],
        },
    )


def test_it_rejects_other_methods(acme):
    response = acme.json().delete("/app/clients.json")
    assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD, POST, PUT, PATCH")
