"""The settings of the account: its name and its defaults."""

from tests.support.settings import assert_few_statements, assert_for_admins_alone, send, texts
from tests.support.tables import table

PATH = "/app/account"


def test_it_works(acme):
    page = acme.page(acme.alice)
    form = page.get(PATH).forms["account"]
    form["name"], form["time_zone"], form["language"], form["currency"] = "Acme Ltd", "Europe/Warsaw", "pl", " pln "
    response = form.submit("do")
    assert (response.status_code, response.headers["Location"]) == (303, PATH)
    acme.account.refresh_from_db()
    account = acme.account
    assert (account.name, account.time_zone, account.language, account.currency) == (
        "Acme Ltd",
        "Europe/Warsaw",
        "pl",
        "PLN",
    )
    shown = page.get(PATH)
    assert shown.forms["account"]["currency"].value == "PLN"
    assert texts(shown, "dd code") == ["acme.example.test", str(account.id)]


@table(
    ("field", "value", "error"),
    [
        ("name", " ", "Can't be blank"),
        ("name", "a\x01", "Has characters that can't be stored"),
        ("name", "a" * 256, "Ensure this value has at most 255 characters (it has 256)."),
        ("time_zone", "Europe/Nowhere", "Select a valid choice. Europe/Nowhere is not one of the available choices."),
        ("language", "xx", "Select a valid choice. xx is not one of the available choices."),
        ("currency", "E1R", "This is not a code of ISO 4217, such as EUR"),
        ("currency", "ZZZ", "This is not a code of ISO 4217, such as EUR"),
        ("currency", "", "Can't be blank"),
    ],
)
def test_it_rejects_invalid_values(acme, field, value, error):
    form = acme.page(acme.alice).get(PATH).forms["account"]
    form[field].force_value(value)
    response = form.submit("do", status=422)
    assert texts(response, ".field .field-error") == [error]
    if "\x01" not in value:
        assert response.forms["account"]["name"].value == form["name"].value
    before = acme.account.name
    acme.account.refresh_from_db()
    assert acme.account.name == before


def test_it_rejects_users_who_are_not_admins(acme, other):
    assert_for_admins_alone(acme, other, PATH, do="save", name="Mine")
    acme.account.refresh_from_db()
    assert acme.account.name == "Acme"


def test_it_rejects_unknown_actions(acme):
    send(acme.page(acme.alice), PATH, status=400, do="sell")


def test_agents_are_redirected_to_the_api_settings(acme):
    assert acme.page(acme.bob).get(PATH).headers["Location"] == "/app/account/api"


def test_a_time_zone_outside_the_choices_is_kept(acme):
    acme.account.time_zone = "CET"
    acme.account.save()
    page = acme.page(acme.alice)
    form = page.get(PATH).forms["account"]
    assert form["time_zone"].value == "CET"
    assert form.submit("do").status_code == 303
    acme.account.refresh_from_db()
    assert acme.account.time_zone == "CET"


def test_it_takes_few_statements(acme):
    assert_few_statements(acme.page(acme.alice), PATH)


def test_an_invalid_currency_is_kept(acme):
    acme.account.change(currency="ZZZ")
    form = acme.page(acme.alice).get(PATH).forms["account"]
    form["name"] = "Acme Ltd"
    assert form.submit("do").status_code == 303
    acme.account.refresh_from_db()
    assert (acme.account.name, acme.account.currency) == ("Acme Ltd", "ZZZ")
