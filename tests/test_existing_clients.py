"""Complete sequences of requests of clients that were written for an older server, exactly as these clients send them."""

import pytest

from tests.support.assertions import read
from tests.support.client import Client, JSONClient
from tests.support.factories import make_contact_list

# The statuses of a shop: code and name, in the shop's language.
SHOP_STATUSES = {
    "en": {
        "pending": "Pending payment",
        "processing": "Processing",
        "on-hold": "On hold",
        "completed": "Completed",
        "cancelled": "Cancelled",
        "refunded": "Refunded",
        "failed": "Failed",
    },
    "pl": {
        "pending": "Oczekujące na płatność",
        "processing": "W trakcie realizacji",
        "on-hold": "Wstrzymane",
        "completed": "Zrealizowane",
        "cancelled": "Anulowane",
        "refunded": "Zwrócone",
        "failed": "Nieudane",
    },
}


class ShopPlugin:
    """A shop's plug-in: it reads the address from the token, sends the token in every body and stores the returned ids."""

    def __init__(self, token: str, statuses: dict[str, str]):
        self.token, self.names = token, statuses
        # The token of alice is `{secret}/acme`.
        self.client = Client(f"{token.rpartition('/')[2]}.example.test")
        self.customers: dict[int, int] = {}

    def send(self, method: str, path: str, expected: int, /, **body):
        response = self.client.request(method, f"/app/{path}.json", json={"api_token": self.token, **body})
        assert response.status_code == expected, response.text
        return response

    def synchronize_statuses(self) -> dict[str, int]:
        """Send every status, as the plug-in does whenever its settings are saved. The account creates those that it lacks."""
        known = {status["name"] for status in read(self.send("GET", "statuses", 200, kind="deal"))}
        ids = {}
        for code, name in self.names.items():
            expected = 200 if name in known else 201
            status = read(self.send("POST", "statuses", expected, status={"code": code, "name": name, "kind": "deal"}))
            assert (status["code"], status["name"], status["kind"]) == (code, name, "deal")
            ids[code] = status["id"]
        return ids

    def send_customer(self, number: int, name: str, expected: int) -> int:
        client = {
            "name": name,
            "email": f"customer{number}@example.com",
            "try_update": True,
            "external_ids": {"shop_client_id": number},
            "checkbox1": True,
            "external_id": str(number),
            "created_at": "2020-01-01",
        }
        self.customers[number] = read(self.send("POST", "clients", expected, client=client))["id"]
        return self.customers[number]

    def send_order(self, number: int, **values):
        deal = {"name": f"Order {number}", "price": "149.90", "external_ids": {"shop_order_id": number}, **values}
        return self.send("POST", "deals", 201, deal=deal)


@pytest.fixture(params=["en", "pl"])
def plugin(acme, request):
    acme.account.change(language=request.param)
    return ShopPlugin(acme.alice_token, SHOP_STATUSES[request.param])


def test_a_shop_plugin_synchronizes_customers_and_orders(acme, plugin):
    ids = plugin.synchronize_statuses()
    assert plugin.synchronize_statuses() == ids
    # None of them became a status of posts.
    assert set(acme.account.statuses.filter(id__in=ids.values()).values_list("kind", flat=True)) == {"deal"}

    customer = plugin.send_customer(7, "Jan Nowak", 201)
    assert plugin.send_customer(7, "Jan Kowalski", 200) == customer
    [row] = acme.account.clients.all()
    assert (row.name, row.external_ids["shop_client_id"], row.additional_fields["checkbox1"]) == (
        "Jan Kowalski",
        "7",
        True,
    )

    order = read(plugin.send_order(1, client_id=customer, status_id=ids["pending"]))
    assert (order["client_id"], order["status_id"]) == (customer, ids["pending"])

    updated = read(plugin.send("PUT", f"deals/{order['id']}", 200, deal={"status_id": ids["completed"]}))
    assert (updated["status_id"], updated["client_id"], updated["name"]) == (ids["completed"], customer, "Order 1")

    # The customer is deleted, and restored after an order.
    plugin.send("DELETE", f"clients/{customer}", 200)
    response = plugin.send_order(2, client_id=plugin.customers[7])
    assert (read(response)["client_id"], response.headers["X-Pending-Links"]) == (None, "client_id")
    plugin.send("POST", f"trash/{customer}/restore", 200)
    assert read(plugin.send("GET", f"deals/{read(response)['id']}", 200))["client_id"] == customer


def test_a_shop_plugin_with_the_order_of_a_guest(acme, plugin):
    order = read(plugin.send_order(1, client={"name": "", "email": "", "external_ids": {"shop_client_id": "guest-1"}}))
    [client] = acme.account.clients.all()
    assert (order["client_id"], client.name) == (client.id, "Gość" if acme.account.language == "pl" else "Guest")
    # The next order of the same guest finds the existing client.
    order = read(plugin.send_order(2, client={"name": "", "external_ids": {"shop_client_id": "guest-1"}}))
    assert order["client_id"] == client.id


def test_a_client_that_pages_with_bodies_until_a_page_is_empty(acme):
    names = [f"List {number:02}" for number in range(60)]
    for name in names:
        make_contact_list(acme.alice, name)
    client, received, page = JSONClient(acme.host), [], 1
    while rows := read(
        client.request("GET", "/app/contact_lists.json", json={"api_token": acme.bob_token, "page": page})
    ):
        received += [row["name"] for row in rows]
        page += 1
        assert page < 10, "too many pages"
    assert received == names


def test_a_client_that_sends_forms_with_only_get_and_post(acme):
    """The client sends only the secret of its token, as Rails does, and appends a slash to each path."""
    secret = acme.bob_token.partition("/")[0]
    client = Client(acme.host)
    client.headers["Authorization"] = f'Token token="{secret}"'
    response = client.post(
        "/app/contact_lists.json/", data={"contact_list[name]": "Newsletter", "utf8": "✓", "commit": "Save"}
    )
    assert response.status_code == 201
    list_id = read(response)["id"]
    form = {"contact[name]": "Ann", "contact[tags][]": ["vip", "new"], "contact[contact_list_ids][]": ["", list_id]}
    contact = read(client.post("/app/contacts.json/", data=form))
    assert (sorted(contact["tags"]), contact["contact_list_ids"]) == (["new", "vip"], [list_id])
    form = {"_method": "put", "contact[contact_list_ids][]": "", "contact[phone]": "600 100 200"}
    contact = read(client.post(f"/app/contacts/{contact['id']}.json/", data=form))
    assert (contact["name"], contact["phone"], contact["contact_list_ids"]) == ("Ann", "600 100 200", [])
    response = client.get(f"/app/contacts.json/?contact_list_id={list_id}&_=1769000000000&callback=show")
    assert (read(response), response.headers["X-Ignored-Parameters"]) == ([], "_,callback")
    assert read(client.post(f"/app/contacts/{contact['id']}.json/", data={"_method": "delete"})) == "ok"
    assert client.get(f"/app/contacts/{contact['id']}.json/").status_code == 404
