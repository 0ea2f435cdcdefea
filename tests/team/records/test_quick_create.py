"""Quick create: the forms for new clients, contacts and deals, on pages and in the dialog."""

from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from tests.support.factories import make_client, make_contact, make_field_definition
from tests.support.queries import capture_queries
from tests.support.tables import table

DIALOG = {"HX-Request": "true", "HX-Target": "dialog-content"}


def submit(page, path, do="save", status=303, **values):
    form = page.get(path).forms["new-record"]
    for name, value in values.items():
        form[name].force_value(value)
    return form.submit("do", value=do, status=status)


def test_it_works(acme):
    status = acme.account.statuses.create(kind="client", code="lead", name="Lead")
    page = acme.page(acme.bob)
    fields = {"name": "Ann", "email": "ann@example.com", "status_id": status.id, "tags": "vip, new"}
    assert "Ann is added." in submit(page, "/app/clients/new", **fields).follow().html.get_text()
    client = Client.objects.get()
    assert (client.name, client.email, client.status_id) == ("Ann", "ann@example.com", status.id)
    assert (client.responsible_id, client.creator_id, client.tags) == (acme.bob.id, acme.bob.id, ["vip", "new"])

    # A contact of the client, and another one.
    path = f"/app/contacts/new?client_id={client.id}"
    assert page.get(f"/app/clients/{client.id}").html.find("a", href=path)
    response = submit(page, path, do="another", name="Jan", position="Buyer")
    contact = Contact.objects.get()
    assert (contact.name, contact.client_id, contact.position) == ("Jan", client.id, "Buyer")
    assert response.location.endswith(path)
    assert "Jan is added." in response.follow().html.get_text()

    assert page.get("/app/deals/new").forms["new-record"]["currency"].value == "EUR"
    submit(page, "/app/deals/new", name="Order", price="12.50", expected_close_date="2026-12-01")
    deal = Deal.objects.get()
    values = (deal.name, str(deal.price), deal.currency, str(deal.expected_close_date), deal.client_id)
    assert values == ("Order", "12.500000", "EUR", "2026-12-01", None)


@table(
    ("language", "typed", "stored"),
    [("en", "€ 1,234.50", "1234.5 EUR"), ("pl", "1\N{NO-BREAK SPACE}234,50 zł", "1234.5 PLN")],
)
def test_an_amount_as_people_type_it(acme, language, typed, stored):
    """`tests/core/pages/test_typed_numbers.py` has the notations."""
    acme.account.users.filter(id=acme.bob.id).update(language=language)
    submit(acme.page(acme.bob), "/app/deals/new", name="Order", price=typed)
    deal = Deal.objects.get()
    assert f"{deal.price.normalize():f} {deal.currency}" == stored


@table(
    ("language", "typed", "labels", "meant", "stored"),
    [("en", "1.500", ["1,500", "1.5"], "1500", "1.5E+3"), ("pl", "1,500", ["1500", "1,5"], "1.5", "1.5")],
)
def test_an_amount_with_two_readings_is_asked_about(acme, language, typed, labels, meant, stored):
    acme.account.users.filter(id=acme.bob.id).update(language=language)
    page = submit(acme.page(acme.bob), "/app/deals/new", status=422, name="Order", price=typed)
    assert page.html.find(id="new-price_error")
    form = page.forms["new-record"]
    assert (form["price"].value, form["price-meant"].value) == (typed, None)
    assert [label.get_text(strip=True) for label in page.html.select(".field fieldset label")] == labels
    # Without an answer, the question stays.
    form = form.submit("do", value="save", status=422).forms["new-record"]
    assert not Deal.objects.exists()
    form["price-meant"] = f"{typed}={meant}"
    form.submit("do", value="save", status=303)
    assert str(Deal.objects.get().price.normalize()) == stored


def test_the_client_is_searched_without_javascript(acme):
    client = make_client(acme.bob, "Northwind")
    page = acme.page(acme.bob)
    form = page.get("/app/deals/new").forms["new-record"]
    form["name"], form["client_q"] = "Order", "north"
    form = form.submit("do", value="find").forms["new-record"]
    assert form["name"].value == "Order"
    form["client_id"] = str(client.id)
    form.submit("do", value="save", status=303)
    assert Deal.objects.get().client_id == client.id


def test_the_dialog(acme):
    page = acme.page(acme.bob)
    response = page.get("/app/clients/new", headers=DIALOG)
    assert "<html" not in response.text
    form = response.forms["new-record"]
    form["name"] = ""
    response = form.submit("do", value="save", headers=DIALOG, status=422)
    assert "Can't be blank" in response.html.get_text()
    form["name"] = "Ann"
    response = form.submit("do", value="save", headers=DIALOG)
    assert response.status_code == 204
    assert response.headers["HX-Trigger"] == '{"record-created": "client", "dialog-close": ""}'
    assert "Ann is added." in page.get("/app/clients").html.get_text()
    # The form for another one, with the message. Two rows may have one name.
    form = page.get("/app/deals/new", headers=DIALOG).forms["new-record"]
    for price in ("100", "250"):
        form["name"], form["price"] = "Subscription", price
        response = form.submit("do", value="another", headers=DIALOG)
        assert "Subscription is added." in response.html.get_text()
        form = response.forms["new-record"]
        assert form["name"].value == ""
    assert sorted(Deal.objects.values_list("price", flat=True)) == [100, 250]


def test_required_fields_are_asked_for(acme):
    make_field_definition(acme.account, "size", label="Size", type="choice", choices=["S", "M"], required=True)
    make_field_definition(acme.account, "colour")
    page = acme.page(acme.bob)
    form = page.get("/app/clients/new").forms["new-record"]
    assert "additional_fields[colour]" not in form.fields
    form["name"] = "Ann"
    response = form.submit("do", value="save", status=422)
    assert not Client.objects.exists()
    form = response.forms["new-record"]
    form["additional_fields[size]"] = "M"
    form.submit("do", value="save", status=303)
    assert Client.objects.get().additional_fields == {"size": "M"}


def test_it_rejects_invalid_values(acme):
    page = acme.page(acme.bob)
    for path, values, error in (
        ("/app/clients/new", {"name": ""}, "Can't be blank"),
        ("/app/clients/new", {"name": "a", "status_id": "999"}, "Select a valid choice"),
        ("/app/deals/new", {"name": "a", "price": "x"}, "Is not a number"),
        ("/app/deals/new", {"name": "a", "expected_close_date": "x"}, "Is not a date"),
        ("/app/deals/new", {"name": "a", "currency": "x"}, "Select a valid choice"),
    ):
        response = submit(page, path, status=422, **values)
        assert error in response.html.get_text()
        assert response.forms["new-record"]["name"].value == values["name"]
    assert not Client.objects.exists()
    assert not Deal.objects.exists()


def test_it_rejects_clients_of_another_account(acme, other):
    theirs = make_client(other.mallory, "Theirs")
    page = acme.page(acme.bob)
    response = page.get(f"/app/contacts/new?client_id={theirs.id + 10**6}")
    assert "Theirs" not in response
    form = response.forms["new-record"]
    token = form["csrfmiddlewaretoken"].value
    values = {"csrfmiddlewaretoken": token, "name": "Jan", "client_id": theirs.id + 10**6}
    response = page.post("/app/contacts/new", values, status=422)
    assert "can't be found" in response.html.get_text()
    assert not Contact.objects.exists()


def test_equal_names_one_after_another(acme):
    """Two deals of one name, entered by *Add and enter another*, and two branches of a shop."""
    client = make_client(acme.bob, "Acme Ltd")
    page = acme.page(acme.bob)
    form = page.get(f"/app/deals/new?client_id={client.id}").forms["new-record"]
    for price in (100, 250):
        form["name"], form["price"], form["client_id"] = "Subscription", str(price), str(client.id)
        form = form.submit("do", value="another", status=303).follow().forms["new-record"]
    assert sorted(Deal.objects.values_list("price", "client_id")) == [(n, client.id) for n in (100, 250)]
    for city in ("Gdańsk", "Gdynia"):
        submit(page, "/app/clients/new", name="Branch", city=city)
    assert sorted(Client.objects.filter(name="Branch").values_list("city", flat=True)) == ["Gdańsk", "Gdynia"]


def test_a_row_that_was_handed_over_is_created_once(acme):
    """The user does not see the row any more, and a second click creates no other one."""
    acme.account.change(agents_see="own")
    form = acme.page(acme.bob).get("/app/clients/new").forms["new-record"]
    form["name"], form["responsible_id"] = "Ann", str(acme.alice.id)
    for _ in range(2):
        assert form.submit("do", value="save", status=303).location.endswith("/app/clients")
    assert Client.objects.count() == 1
    # A corrected form does not reach that row.
    form["name"] = "Bea"
    form.submit("do", value="save", status=303)
    assert sorted(Client.objects.values_list("name", flat=True)) == ["Ann", "Bea"]


def similar(page, **values) -> str:
    response = page.get("/app/clients/new", values, headers={"HX-Request": "true", "HX-Target": "new-similar"})
    return " ".join(response.html.get_text().split())


def test_a_warning_of_similar_rows(acme, other):
    make_client(acme.bob, "Kowalski sp. z o.o.", tax_no="525-23-44-078", email="Office@kowalski.example")
    make_contact(acme.bob, "Jan Kowalsky", email="office@kowalski.example")
    make_client(acme.bob, "Kowalski").trash(by=acme.bob)
    make_client(other.mallory, "Kowalski", email="office@kowalski.example", tax_no="5252344078")
    page, one = acme.page(acme.bob), "Kowalski sp. z o.o. client"
    for values, found in (
        ({"name": "Kowalski"}, f"{one} · similar name Jan Kowalsky contact · similar name"),
        ({"email": "OFFICE@kowalski.example"}, f"{one} · same e-mail Jan Kowalsky contact · same e-mail"),
        ({"tax_no": "PL 5252344078"}, f"{one} · same tax number"),
    ):
        assert similar(page, **values) == f"Is it one of these? {found}"
    for values in ({"name": "Ko"}, {"name": "Anna"}, {"tax_no": "525"}, {"email": " "}, {"name": "%'&"}, {}):
        assert similar(page, **values) == ""
    values = {"name": "Kowalski", "email": "a@example.com", "tax_no": "5252344078"}
    _, queries = capture_queries(lambda: similar(page, **values))
    assert len(queries) <= 4, queries


def test_the_menu_leads_to_the_form(acme):
    assert 'href="/app/clients/new"' not in acme.page(acme.carol).get("/app/suggestions")
    assert 'href="/app/clients/new"' in acme.page(acme.bob).get("/app/suggestions")


def test_a_deal_with_a_new_client_and_contact(acme):
    """One form makes all three in one transaction. Errors stay at their fields, and a form that is sent twice makes them once."""
    make_field_definition(acme.account, "size", label="Size", type="choice", choices=["S", "M"], required=True)
    page = acme.page(acme.bob)
    form = page.get("/app/deals/new").forms["new-record"]
    form["name"], form["client_q"], form["contact-name"] = "Shelves", "Northwind", "Ann"
    refused = form.submit("do", value="save", status=422)
    assert "Choose one of the clients that were found, or add a new client." in refused.html.get_text()
    form = refused.forms["new-record"]
    assert form["client_id"].value == "new"
    refused = form.submit("do", value="save", status=422)
    assert refused.html.find(id="new-client-additional_fields[size]_error").get_text(strip=True) == "Can't be blank"
    assert not Client.objects.exists()
    assert not Contact.objects.exists()
    form = refused.forms["new-record"]
    form["client-additional_fields[size]"], form["client-email"], form["contact-phone"] = "M", "no@acme.example", "1 23"
    for _ in range(2):
        form.submit("do", value="save", status=303)
    client, contact, deal = Client.objects.get(), Contact.objects.get(), Deal.objects.get()
    assert (client.name, client.email, client.responsible_id) == ("Northwind", "no@acme.example", acme.bob.id)
    assert (contact.name, contact.phone, contact.client_id) == ("Ann", "1 23", client.id)
    assert (deal.name, deal.client_id, deal.contact_id) == ("Shelves", client.id, contact.id)
    # The form of another deal with the same client and contact, or with another contact, not both.
    form = page.get(f"/app/deals/new?contact_id={contact.id}").forms["new-record"]
    assert (form["client_id"].value, form["contact_id"].value) == (str(client.id), str(contact.id))
    form["name"], form["contact-name"] = "Chairs", "Bea"
    form = form.submit("do", value="save", status=422).forms["new-record"]
    form["contact-name"] = ""
    form.submit("do", value="save", status=303)
    assert Deal.objects.filter(name="Chairs", client_id=client.id, contact_id=contact.id).exists()
    found = page.get(
        "/app/deals/new", {"client_id": client.id}, headers={"HX-Request": "true", "HX-Target": "new-contact-found"}
    )
    assert "Ann" in found.html.get_text()


def test_it_rejects_a_contact_of_another_account(acme, other):
    theirs = make_contact(other.mallory, "Theirs")
    page = acme.page(acme.bob)
    assert "Theirs" not in page.get(f"/app/deals/new?contact_id={theirs.id}")
    token = page.get("/app/deals/new").forms["new-record"]["csrfmiddlewaretoken"].value
    values = {"csrfmiddlewaretoken": token, "name": "Order", "currency": "EUR", "contact_id": theirs.id}
    assert "can't be found" in page.post("/app/deals/new", values, status=422).html.get_text()
    assert not Deal.objects.exists()
