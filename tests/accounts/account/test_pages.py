"""The settings of the account: its name and its defaults."""

from django.utils import timezone

from tests.support.settings import send, texts
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


INVALID = [
    {
        "name": (" ", "Can't be blank"),
        "time_zone": ("Europe/Nowhere", "Is not a time zone such as Europe/Warsaw"),
        "language": ("xx", "Select a valid choice. xx is not one of the available choices."),
        "currency": ("E1R", "This is not a code of ISO 4217, such as EUR"),
    },
    {
        "name": ("a\x01", "Has characters that can't be stored"),
        "currency": ("ZZZ", "This is not a code of ISO 4217, such as EUR"),
    },
    {
        "name": ("a" * 256, "Ensure this value has at most 255 characters (it has 256)."),
        "currency": ("", "Can't be blank"),
    },
]


@table("fields", INVALID)
def test_it_rejects_invalid_values(acme, fields):
    valid = {"name": "Acme", "time_zone": "UTC", "language": "en", "currency": "EUR", "start_page": "home"}
    values = valid | {field: value for field, (value, _error) in fields.items()}
    response = send(acme.page(acme.alice), PATH, status=422, do="save", **values)
    assert texts(response, ".field .field-error") == [error for _value, error in fields.values()]
    if "\x01" not in values["name"]:
        assert response.forms["account"]["name"].value == values["name"]
    acme.account.refresh_from_db()
    assert acme.account.name == "Acme"


def test_it_rejects_unknown_actions(acme):
    send(acme.page(acme.alice), PATH, status=400, do="sell")


def test_agents_are_redirected_to_the_api_settings(acme):
    assert acme.page(acme.bob).get(PATH).headers["Location"] == "/app/account/api"


def test_stored_values_outside_the_choices_are_kept(acme):
    acme.account.change(currency="ZZZ", time_zone="CET")
    form = acme.page(acme.alice).get(PATH).forms["account"]
    assert form["time_zone"].value == "CET"
    form["name"] = "Acme Ltd"
    assert form.submit("do").status_code == 303
    acme.account.refresh_from_db()
    assert (acme.account.name, acme.account.currency, acme.account.time_zone) == ("Acme Ltd", "ZZZ", "CET")


# How long data are kept


def test_days_in_the_trash(acme):
    page = acme.page(acme.alice)
    form = page.get(f"{PATH}/data").forms["data"]
    form["trash_days"] = "90"
    assert "Saved." in form.submit().follow().text
    acme.account.refresh_from_db()
    assert acme.account.trash_days == 90
    assert "What is deleted stays here for 90 days" in page.get(f"{PATH}/trash").text


def test_months_until_inactive_members_are_erased(acme):
    account, page, json = acme.account, acme.page(acme.alice), acme.json(acme.alice_token)
    form = page.get(f"{PATH}/data").forms["data"]
    form["inactive_member_months"] = "24"
    form.submit(status=303)
    assert page.get(f"{PATH}/data").forms["data"]["inactive_member_months"].value == "24"
    entry = account.audit_entries.filter(action="account.changed").order_by("-id").first()
    assert entry.details == {"changes": {"inactive_member_months": {"before": None, "after": 24}}}
    account.users.update(erasure_notice_at=timezone.now())
    answer = json.put("/app/account.json", json={"account": {"inactive_member_months": 12}})
    assert answer.json()["inactive_member_months"] == 12
    # Members are told of the new time.
    assert not account.users.exclude(erasure_notice_at=None).exists()
    for months in (11, 121, "a"):
        body = {"account": {"inactive_member_months": months}}
        assert set(json.put("/app/account.json", json=body).json()["errors"]) == {"inactive_member_months"}
        form["inactive_member_months"] = str(months)
        assert form.submit(expect_errors=True).status_code == 422
    assert json.put("/app/account.json", json={"account": {"trash_days": 30}}).json()["inactive_member_months"] == 12
    body = {"account": {"inactive_member_months": None, "trash_days": None}}
    answer = json.put("/app/account.json", json=body).json()
    assert (answer["inactive_member_months"], answer["trash_days"]) == (None, 30)


@table("days", ["", "6", "366", "a", "7.5"])
def test_it_rejects_other_days(acme, days):
    form = acme.page(acme.alice).get(f"{PATH}/data").forms["data"]
    form["trash_days"] = days
    assert form.submit(expect_errors=True).status_code == 422
    body = {"account": {"trash_days": days or 0}}
    assert acme.json(acme.alice_token).put("/app/account.json", json=body).status_code == 422
    acme.account.refresh_from_db()
    assert acme.account.trash_days == 30


def test_a_rejected_address_can_be_tried_again(acme):
    for _ in range(3):
        acme.carol.record_bounce()
    page = acme.page(acme.carol).get("/app/profile")
    assert "rejected carol@acme.example three times" in " ".join(page.html.find(id="bounced").get_text().split())
    page.forms["bounced"].submit().follow()
    carol = acme.account.users.get(login="carol")
    assert (carol.bounces, carol.bounced_at) == (0, None)
    for _ in range(3):
        carol.record_bounce()
    page = acme.page(acme.alice).get(f"/app/account/users/{carol.id}")
    page.forms["bounced"].submit("do").follow()
    assert acme.account.users.get(login="carol").bounced_at is None
