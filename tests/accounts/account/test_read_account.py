from tests.support.assertions import assert_answered, on_the_wire
from tests.support.tables import table


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
        "trash_days": 30,
        "inactive_member_months": None,
        "exchange_rates": {},
        "exchange_rates_on": None,
        "takes_euro_rates": False,
        "start_page": "home",
        "country": "",
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
    """The response does not contain the partner key."""
    acme.account.partner_key = "secret"
    acme.account.save()
    acme.account.refresh_from_db()
    assert_answered(acme.json().get("/app/account.json"), 200, body(acme.account))


@table("host", ["example.test", "api.example.test"])
def test_hosts_without_an_account_show_the_account_of_the_token(acme, host):
    client = acme.json()
    client.base_url = f"http://{host}:8000"
    response = client.get("/app/account.json")
    assert_answered(response, 200, body(acme.account, url="http://acme.example.test:8000"))
