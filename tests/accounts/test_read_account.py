import pytest

from tests.support.assertions import assert_answered, assert_refused, on_the_wire
from tests.support.factories import make_token


def body(account, **fields) -> dict:
    return {
        "id": account.id,
        "prefix": "acme",
        "initial_module": "forum",
        "from_partner": None,
        "name": "Acme",
        "time_zone": "UTC",
        "language": "en",
        "currency": "EUR",
        "agents_see": "all",
        "link_guests_by_email": True,
        "won_reasons": ["Price", "Features", "Recommendation"],
        "lost_reasons": [
            "Too expensive",
            "Chose a competitor",
            "Not the right time",
            "No longer needed",
            "No answer",
        ],
        "url": "http://acme.example.test",
        **fields,
        "created_at": on_the_wire(account.created_at),
        "updated_at": on_the_wire(account.updated_at),
    }


def test_it_works(acme):
    for token in (acme.alice_token, acme.bob_token):
        assert_answered(acme.json(token).get("/app/account.json"), 200, body(acme.account))


def test_it_rejects_members(acme):
    response = acme.json(make_token(acme.carol)).get("/app/account.json")
    assert_refused(response, 403, "forbidden", message="Only the team may do this")


def test_it_rejects_other_methods(acme):
    response = acme.json(acme.alice_token).delete("/app/account.json")
    assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD, POST, PUT, PATCH")


@pytest.mark.parametrize("host", ["example.test", "api.example.test"])
def test_hosts_without_an_account_show_the_account_of_the_token(acme, host):
    client = acme.json()
    client.base_url = f"http://{host}:8000"
    response = client.get("/app/account.json")
    assert_answered(response, 200, body(acme.account, url="http://acme.example.test:8000"))


def test_the_response_does_not_contain_the_partner_key(acme):
    acme.account.partner_key = "secret"
    acme.account.save()
    response = acme.json().get("/app/account.json")
    acme.account.refresh_from_db()
    assert_answered(response, 200, body(acme.account))


def test_it_takes_one_query(acme, django_assert_num_queries):
    client = acme.json()
    client.get("/app/account.json")
    with django_assert_num_queries(1):
        client.get("/app/account.json")
