"""Duplicates: the keys of clients and contacts, their groups on the page and in JSON, and what is no duplicate."""

from crm.clients.models import Client
from team.duplicates.jobs import fill_duplicate_keys
from team.duplicates.keys import name_key, phone_key, tax_no_key
from tests.support.assertions import assert_refused
from tests.support.factories import make_client, make_contact
from tests.support.followers import run_followers
from tests.support.queries import capture_queries
from tests.support.tables import table
from tests.support.team import main_text

PATH = "/app/clients/duplicates"


def found(acme, resource: str = "client") -> list[tuple[list[str], list[str]]]:
    run_followers()
    groups = acme.json().get(f"/app/{resource}s/duplicates.json").json()["groups"]
    return [(group["reasons"], [row["name"] for row in group[f"{resource}s"]]) for group in groups]


def test_it_works(acme, other):
    acme.account.change(time_zone="Europe/Warsaw")
    one = make_client(acme.bob, "Nova Sp. z o.o.", phone="22 621 00 00", tax_no="525-23-44-078")
    make_client(acme.bob, "NOVA", mobile_phone="+48 226210000", tax_no="PL5252344078")
    make_client(acme.bob, "Kowalski", email="jan@example.com")
    make_client(acme.bob, "Nowak", email="Jan@Example.com")
    make_client(acme.bob, "Trashed", email="jan@example.com").trash(by=acme.bob)
    make_client(other.mallory, "Nova")
    make_contact(acme.bob, "Nova")
    assert found(acme) == [(["email"], ["Kowalski", "Nowak"]), (["phone", "tax_no", "name"], [one.name, "NOVA"])]
    assert found(acme, "contact") == []
    page = acme.page(acme.bob).get(PATH)
    assert "Same telephone number, same tax number, same name" in main_text(page)
    assert f"/app/clients/{one.id}/merge?with=" in str(page.html)
    _, queries = capture_queries(lambda: acme.page(acme.bob).get(PATH))
    assert len(queries) <= 8, queries

    # What was dismissed stays so, until a further row has the key.
    page.forms["dismiss-1"].submit("do", value="dismiss", status=303)
    assert found(acme) == [(["phone", "tax_no", "name"], [one.name, "NOVA"])]
    third = make_client(acme.bob, "Meier", email="jan@example.com")
    assert found(acme)[0] == (["email"], ["Kowalski", "Nowak", "Meier"])
    # A changed or deleted row is a duplicate no more.
    third.write({"email": "meier@example.com"}, by=acme.bob)
    Client.objects.get(name="NOVA").trash(by=acme.bob)
    assert found(acme) == []


def test_a_program_dismisses_duplicates(acme, other):
    one, two = (make_client(acme.bob, "Nova", email=f"{name}@example.com") for name in "ab")
    make_client(acme.bob, "Meier", email="a@example.com")
    foreign, path = make_client(other.mallory, "Nova"), "/app/clients/duplicates/dismiss.json"
    run_followers()
    refused = acme.json().post(path, json={"duplicates": {"client_ids": [one.id, foreign.id]}})
    assert_refused(refused, 422, "validation_failed", {"client_ids": [f"{foreign.id} can't be found"]})
    assert acme.json().post(path, json={"duplicates": {"client_ids": [one.id, two.id]}}).json() == {"dismissed": 2}
    assert found(acme) == [(["email"], ["Nova", "Meier"])]
    ids = [make_contact(acme.bob, "Nova").id for _ in range(2)]
    run_followers()
    body = {"duplicates": {"contact_ids": ids}}
    assert acme.json().post("/app/contacts/duplicates/dismiss.json", json=body).json() == {"dismissed": 2}


def test_rows_that_existed_before(acme):
    for name in ("Nova Ltd", "Nova, Inc."):
        make_client(acme.bob, name)
        make_contact(acme.bob, name)
    fill_duplicate_keys(account_id=acme.account.id)
    for resource in ("client", "contact"):
        assert getattr(acme.account, f"{resource}_keys").open().count() == 2


def test_an_agent_sees_groups_of_accessible_rows(acme):
    for user in (acme.alice, acme.bob):
        make_client(user, "Nova", responsible_id=user.id)
    run_followers()
    acme.account.change(agents_see="own")
    assert "Nova" not in main_text(acme.page(acme.bob).get(PATH))
    assert "Nova" in main_text(acme.page(acme.alice).get(PATH))


def test_it_rejects_an_unknown_page(acme):
    refused = acme.json().get("/app/clients/duplicates.json?after=email:x")
    assert refused.status_code == 422
    assert refused.json()["errors"] == {"after": ["is not the `next` of a page"]}


@table(
    ("name", "key"),
    [
        ("Nova Sp. z o.o.", "nova"),
        ("NOVA SPÓŁKA Z OGRANICZONĄ ODPOWIEDZIALNOŚCIĄ", "nova"),
        ("Müller & Söhne GmbH & Co. KG", "muller sohne"),
        ("Acme, Inc.", "acme"),
        ("Bank S.A.", "bank"),
        ("Ltd", "ltd"),
        ("AB", ""),
        ("Łódź Limited Company", "lodz"),
    ],
)
def test_names_without_legal_forms(name, key):
    assert name_key(name) == key


def test_other_keys():
    assert phone_key("(020) 7946 0018", "gb") == "+442079460018"
    assert phone_key("0048 22 621 00 00", "pl") == phone_key("226210000", "pl") == "+48226210000"
    assert [phone_key(text, region) for text, region in (("12", "pl"), ("22 621 00 00", ""), ("", "de"))] == [""] * 3
    assert tax_no_key("PL 525-23-44-078") == tax_no_key("5252344078") == "5252344078"
    assert tax_no_key("12-3") == ""
