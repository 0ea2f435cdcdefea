"""Files of known services are recognized by their headings, and each of their columns has a field or is left out on purpose."""

from collections import Counter
from pathlib import Path

import yaml

from team.spreadsheets import sources
from team.spreadsheets.reading import convert, detect
from team.spreadsheets.sheets import ColumnStatistics, read_rows
from team.spreadsheets.sources import ColumnGuess, fold_heading, guess_columns, recognize, tables
from team.spreadsheets.values import DATE_FORMATS, NUMBER_FORMATS, parse_date
from tests.support.tables import table

FILES = Path(__file__).parent / "files"
LABELS = {
    "Number": "client.id",
    "Numer": "client.id",
    "Nazwa": "client.name",
    "E-mail": "client.email",
    "Telefon": "client.phone",
    "Miasto": "client.city",
}


def read(tmp_path, name, sheet=None):
    """Return the sheet and the first row of a file."""
    path, output = FILES / name, tmp_path / "canonical.jsonl"
    result = convert(path, detect(path, sheet=sheet), output)
    with output.open("rb") as file:
        return result, next(read_rows(file, result)).cells


@table(
    ("name", "member", "source", "expected"),
    [
        (
            "hubspot_contacts.csv",
            None,
            "hubspot.contacts",
            {
                "contact.external_ids[hubspot]": "151",
                "contact.first_name": "Zofia",
                "contact.last_name": "Żółkiewska",
                "contact.email": "zofia@zakład.example",
                "contact.phone": "+48 600 100 200",
                "contact.responsible_id.name": "Ewa Łęcka (ewa@acme.example)",
                "contact.created_at": "2025-09-28 14:05",
                "client.name": "Zakład Śrub, Sp. z o.o.;Hurtownia Nakrętek",
                "client.external_ids[hubspot]": "9001;9002",
                "contact.position": "Kierowniczka\nsprzedaży",
                "unknown": "zielony",
            },
        ),
        (
            "hubspot_contacts_pl.csv",
            None,
            "hubspot.contacts",
            {
                "contact.external_ids[hubspot]": "151",
                "contact.first_name": "Zofia",
                "contact.last_name": "Żółkiewska",
                "contact.email": "zofia@zaklad.example",
                "contact.phone": "+48 600 100 200",
                "contact.responsible_id.name": "Ewa Łęcka",
                "contact.created_at": "2025-09-28 14:05",
                "client.name": "Zakład Śrub",
            },
        ),
        (
            "hubspot_contacts_es.csv",
            None,
            "hubspot.contacts",
            {
                "contact.external_ids[hubspot]": "251",
                "contact.first_name": "Lucía",
                "contact.last_name": "Muñoz",
                "contact.email": "lucia@tornillos.example",
                "contact.position": "Directora",
                "client.city": "Sevilla",
                "client.country": "España",
                "contact.phone": "+34 600 100 200",
                "contact.responsible_id.name": "Ewa Łęcka",
                "contact.created_at": "2025-12-01 08:00",
                "client.external_ids[hubspot]": "9101",
                "client.name": "Tornillos del Sur",
            },
        ),
        (
            "hubspot_companies.csv",
            None,
            "hubspot.companies",
            {
                "client.external_ids[hubspot]": "9001",
                "client.name": "Zakład Śrub, Sp. z o.o.",
                "client.responsible_id.name": "Ewa Łęcka",
                "client.created_at": "2025-09-28 14:00",
                "client.phone": "22 555 01 02",
                "client.city": "Łódź",
                "client.country": "Poland",
                "client.www": "zaklad.example",
            },
        ),
        (
            "hubspot_companies_it.csv",
            None,
            "hubspot.companies",
            {
                "client.external_ids[hubspot]": "9201",
                "client.name": "Viti & Bulloni S.r.l.",
                "client.www": "viti.example",
                "client.city": "Forlì",
                "client.province": "Emilia-Romagna",
                "client.description": "Produce viti",
                "client.created_at": "2025-11-03 10:15",
            },
        ),
        (
            "hubspot_deals_pt.csv",
            None,
            "hubspot.deals",
            {
                "deal.external_ids[hubspot]": "7301",
                "deal.name": "Parafusos para a Ação",
                "deal.status_id.name": "Proposta enviada",
                "deal.price": "12500.50",
                "deal.expected_close_date": "2026-12-31",
                "deal.responsible_id.name": "Ewa Łęcka",
                "deal.lost_reason": "",
                "deal.created_at": "2026-01-05 14:00",
                "deal.client_id.external_ids[hubspot]": "9301;9302",
                "deal.client_id.name": "Aço Norte;Aço Sul",
            },
        ),
        (
            "hubspot_deals_de.csv",
            None,
            "hubspot.deals",
            {
                "deal.external_ids[hubspot]": "7001",
                "deal.name": "Schrauben für „Müller“",
                "deal.status_id.name": "Angebot gesendet",
                "deal.expected_close_date": "2025-12-31",
                "deal.responsible_id.name": "Jürgen Groß",
                "deal.price": "12500.50",
                "deal.currency": "EUR",
                "deal.client_id.name": "Müller GmbH",
            },
        ),
        (
            "pipedrive_people.xlsx",
            None,
            "pipedrive.people",
            {
                "contact.external_ids[pipedrive]": "11",
                "contact.name": "Zofia Żółkiewska",
                "contact.tags": "Klient",
                "client.name": "Zakład Śrub",
                "contact.email": "zofia@zaklad.example",
                "contact.phone": "22 555 01 02",
                "contact.mobile_phone": "600100200",
                "contact.responsible_id.name": "Ewa Łęcka",
            },
        ),
        (
            "pipedrive_organizations_pl.csv",
            None,
            "pipedrive.organizations",
            {
                "client.name": "Zakład Śrub",
                "client.tags": "",
                "client.street": "ul. Długa 5, 90-001 Łódź",
                "client.responsible_id.name": "Ewa Łęcka",
            },
        ),
        (
            "pipedrive_deals.csv",
            None,
            "pipedrive.deals",
            {
                "deal.external_ids[pipedrive]": "5",
                "deal.name": "Śruby M8",
                "deal.price": "12500.5",
                "deal.currency": "PLN",
                "deal.client_id.name": "Zakład Śrub",
                "deal.contact_id.name": "Zofia Żółkiewska",
                "deal.status_id.name": "Oferta",
                "deal.expected_close_date": "2025-12-31",
                "deal.responsible_id.name": "Ewa Łęcka",
                "deal.contact_id.email": "zofia@zaklad.example",
                "deal.created_at": "2025-09-28 10:00:00",
            },
        ),
        (
            "woocommerce_customers.csv",
            None,
            "woocommerce.customers",
            {
                "client.name": "Zofia Żółkiewska",
                "client.created_at": "2024-01-02 03:04:05",
                "client.email": "zofia@zaklad.example",
                "client.country": "PL",
                "client.city": "Łódź",
                "client.province": "",
                "client.post_code": "90-001",
            },
        ),
        (
            "woocommerce_users.csv",
            None,
            "woocommerce.users",
            {
                "client.external_ids[woocommerce]": "7",
                "client.email": "zofia@zaklad.example",
                "client.created_at": "2024-01-02 03:04:05",
                "client.first_name": "Zofia",
                "client.last_name": "Żółkiewska",
                "client.name": "Zakład Śrub",
                "client.phone": "600100200",
                "client.street": "ul. Długa 5",
                "client.post_code": "90-001",
                "client.city": "Łódź",
                "client.country": "PL",
                "client.tax_no": "5252344078",
            },
        ),
        (
            "uservoice_suggestions.csv",
            None,
            "uservoice.suggestions",
            {
                "key": "31",
                "suggestion.title": "Dark mode",
                "suggestion.content": 'Please,\n\nmy "eyes"',
                "suggestion.forum_id.name": "General",
                "suggestion.category_id.name": "Pages",
                "suggestion.status_id.name": "planned",
                "suggestion.tags": "ui,accessibility",
                "suggestion.created_at": "2025-07-21 03:37:03",
                "suggestion.voters": "zofia@zaklad.example",
            },
        ),
        (
            "uservoice_ideas.csv",
            None,
            "uservoice.ideas",
            {
                "key": "31",
                "suggestion.title": "Ciemny motyw",
                "suggestion.content": "Proszę",
                "suggestion.author.email": "zofia@zaklad.example",
                "suggestion.author.name": "Zofia",
                "suggestion.forum_id.name": "General",
                "suggestion.tags": '["ui","dark mode"]',
                "suggestion.status_id.name": "planned",
                "suggestion.votes_count": "2",
                "suggestion.created_at": "2025-07-21 03:37:03",
                "suggestion.response": "Soon",
                "suggestion.voters": "jan@acme.example",
            },
        ),
        (
            "uservoice_old.csv",
            None,
            "uservoice.old_suggestions",
            {
                "key": "31",
                "suggestion.title": "Dark mode",
                "suggestion.content": "Please",
                "suggestion.forum_id.name": "General",
                "suggestion.category_id.name": "Pages",
                "suggestion.status_id.name": "started",
                "suggestion.votes_count": "12",
                "suggestion.created_at": "2013-05-04 10:11",
                "suggestion.author.name": "Zofia",
                "suggestion.author.email": "zofia@zaklad.example",
                "suggestion.response": "We're on it",
            },
        ),
        (
            "uservoice_comments.csv",
            None,
            "uservoice.comments",
            {
                "suggestion": "31",
                "suggestion.comments": 'Yes, "please"\nsoon',
                "suggestion.comments.author.name": "Jan",
                "suggestion.comments.author.email": "jan@acme.example",
                "suggestion.comments.created_at": "2014-02-08 22:50",
            },
        ),
        (
            "canny_posts.csv",
            None,
            "canny.posts",
            {
                "suggestion.title": "Ciemny motyw",
                "suggestion.content": 'Proszę, "oczy"',
                "suggestion.status_id.name": "under review",
                "suggestion.category_id.name": "UI",
                "suggestion.tags": "a11y",
                "suggestion.author.name": "Zofia",
                "suggestion.author.email": "zofia@zaklad.example",
                "suggestion.responsible_id.name": "",
                "suggestion.votes_count": "12",
                "suggestion.created_at": "2025-07-21T03:37:03.000Z",
            },
        ),
        (
            "canny_votes.csv",
            None,
            "canny.votes",
            {"suggestion.title": "Ciemny motyw", "suggestion.voters": "jan@acme.example"},
        ),
        (
            "quackback_export.csv",
            None,
            "quackback.export",
            {
                "suggestion.title": "Dark mode",
                "suggestion.content": "'=cmd",
                "suggestion.status_id.name": "Planned",
                "suggestion.category_id.name": "Features",
                "suggestion.tags": "Bug,Feature",
                "suggestion.author.name": "Jane",
                "suggestion.author.email": "jane@acme.example",
                "suggestion.votes_count": "7",
                "suggestion.created_at": "2026-01-02T03:04:05.000Z",
            },
        ),
        (
            "quackback_posts.csv",
            None,
            "quackback.posts",
            {
                "key": "p1",
                "suggestion.title": "Dark mode",
                "suggestion.content": "Body",
                "suggestion.author.email": "jane@acme.example",
                "suggestion.author.name": "Jane",
                "suggestion.category_id.name": "features",
                "suggestion.status_id.name": "planned",
                "suggestion.tags": "ui",
                "suggestion.votes_count": "7",
                "suggestion.created_at": "2026-01-02T03:04:05Z",
                "suggestion.response": "",
            },
        ),
        ("quackback_votes.csv", None, "quackback.votes", {"post": "p1", "suggestion.voters": "bob@acme.example"}),
        (
            "quackback_comments.csv",
            None,
            "quackback.comments",
            {
                "post": "p1",
                "suggestion.comments": "Me too",
                "suggestion.comments.author.email": "bob@acme.example",
                "suggestion.comments.author.name": "Bob",
                "suggestion.comments.created_at": "2026-01-02T03:04:05Z",
            },
        ),
        (
            "fider_export.csv",
            None,
            "fider.export",
            {
                "key": "10",
                "suggestion.title": "Szybciej",
                "suggestion.content": "Bardzo\nkrótki opis",
                "suggestion.created_at": "2018-03-23T19:33:22Z",
                "suggestion.author.name": "Zofia",
                "suggestion.votes_count": "4",
                "suggestion.status_id.name": "Declined",
                "suggestion.response": "Nie teraz",
                "suggestion.tags": "easy, ignored",
            },
        ),
        (
            "fider_backup.zip",
            "posts.json",
            "fider.posts",
            {
                "key": "1",
                "author": "2",
                "suggestion.title": "Szybciej",
                "suggestion.content": 'Opis\nz "cudzysłowem"',
                "suggestion.created_at": "2018-03-23T19:33:22.123456Z",
                "suggestion.status_id.name": "3",
                "suggestion.response": "Nie teraz",
                "suggestion.approved": "true",
            },
        ),
        ("fider_backup.zip", "post_votes.json", "fider.votes", {"post": "1", "voter": "1"}),
        (
            "fider_backup.zip",
            "comments.json",
            "fider.comments",
            {
                "post": "1",
                "author": "1",
                "suggestion.comments": "Też proszę",
                "suggestion.comments.created_at": "2018-03-24T20:00:00Z",
            },
        ),
        ("fider_backup.zip", "tags.json", "fider.tags", {"key": "3", "name": "łatwe"}),
        ("fider_backup.zip", "post_tags.json", "fider.post_tags", {"post": "1", "tag": "3"}),
        ("fider_backup.zip", "users.json", "fider.users", {"key": "1", "name": "Ewa", "email": "ewa@acme.example"}),
        (
            "rostrum_clients_pl.csv",
            None,
            "rostrum.rows",
            {
                "client.id": "12",
                "client.name": "Zakład Śrub",
                "client.email": "biuro@zaklad.example",
                "client.phone": "22 555 01 02",
                "client.city": "Łódź",
            },
        ),
    ],
)
def test_it_works(name, member, source, expected, tmp_path):
    """Each column has a field, a role in a join, or is left out. Only the own field of a user is not known."""
    sheet, row = read(tmp_path, name, member)
    found = recognize(sheet.header, LABELS)
    assert f"{found.table.source}.{found.table.table}" == source
    values = {code: cell for code, cell in zip(found.fields, row, strict=True) if code}
    values |= {join: row[index] for join, index in found.joins.items()}
    if found.key is not None and found.fields[found.key] is None:
        values["key"] = row[found.key]
    unknown = [
        cell for cell, code, left in zip(row, found.fields, found.left_out, strict=True) if code is None and not left
    ]
    assert values | ({"unknown": unknown[0]} if unknown else {}) == expected
    for code, value in values.items():
        if code.endswith(("created_at", "expected_close_date")) and found.table.dates:
            assert parse_date(value, DATE_FORMATS[found.table.dates])


def test_every_fixture_is_a_row_of_the_table():
    names = {case["name"] for _label, case in test_it_works.cases}
    assert names == {path.name for path in FILES.iterdir()} - {"unknown.csv"}


@table(
    ("source", "headings"),
    [
        (
            "contacts",
            "Datensatz-ID,Vorname,Nachname,E-Mail,Telefonnummer,Firmenname,Jobbezeichnung,Branche,Lifecycle Phase,Leadstatus,Für Kontakt zuständiger Mitarbeiter",
        ),
        (
            "contacts",
            "名,姓,Eメール,電話番号,携帯電話番号,会社名,コンタクト担当者,前回のアクティビティー日,作成日,国／地域,業種,レコードID - Contact",
        ),
        (
            "contacts",
            "Nom,Prénom,E-mail,Numéro de téléphone,Associated Company IDs,Date de création,ID de fiche d'informations",
        ),
        (
            "companies",
            "Record ID,Company name,Company owner,Create Date,Phone Number,Last Activity Date,City,Country/Region,Industry",
        ),
        (
            "companies",
            "Datensatz-ID,Unternehmensname,Für Unternehmen zuständiger Mitarbeiter,Erstellungsdatum,Telefonnummer,Datum der letzten Aktivität,Stadt,Land/Region",
        ),
        (
            "companies",
            "Ciudad,Sector,Nombre de la empresa,Propietario del registro de empresa,Fecha de creación,Última actividad,ID de registro",
        ),
        (
            "companies",
            "ID de fiche d'informations,Nom de l'entreprise,Secteur d'activité,Pays/Région,Ville,Adresse postale,URL du site web",
        ),
        (
            "deals",
            "Phase de la transaction,Montant,Pipeline,Associated Company (Primary),Date de fermeture,Propriétaire de la transaction,Nom de la transaction,ID de fiche d'informations",
        ),
        (
            "deals",
            "ID record,Nome trattativa,Importo,Fase trattativa,Data di chiusura,Proprietario della trattativa,Pipeline,Azienda Associata,È con chiusura vinta,È con chiusura persa,Categoria di previsione,Probabilità trattativa,Tipo di trattativa",
        ),
        ("deals", "取引名,取引ステージ,クローズ日,パイプライン,取引担当者,金額,レコードID"),
    ],
)
def test_translated_headings_are_known_in_any_order(source, headings):
    found = recognize(headings.split(","))
    assert (found.table.source, found.table.table) == ("hubspot", source)
    unknown = zip(headings.split(","), found.fields, found.left_out, strict=True)
    assert [heading for heading, code, left in unknown if code is None and not left] == []


@table("header", [["a", "b"], ["Nazwa firmy", "NIP"], ["Numer", "Kolor"], ["id", "name"], ["title", "votes"], [""]])
def test_it_recognizes_no_other_files(header):
    assert recognize(header, LABELS) is None


def test_a_heading_twice_is_known_once():
    found = recognize(["Record ID", "Email", "First Name", "E-mail"])
    assert found.fields == ["contact.external_ids[hubspot]", "contact.email", "contact.first_name", None]
    assert found.left_out == [False, False, False, False]


def test_own_files_are_recognized_by_labels_only():
    assert recognize(["Numer", "Nazwa"], LABELS).fields == ["client.id", "client.name"]
    assert recognize(["Numer", "Nazwa"]) is None


def test_descriptions_are_valid():
    codes = set(yaml.safe_load((sources.DIRECTORY / "aliases.yaml").read_text()))
    for each in tables():
        where = f"{each.source}.{each.table}"
        roles = {"key", *each.columns, *each.left_out}
        assert set(each.recognized_by) <= roles, where
        assert each.dates in {"", *DATE_FORMATS}, where
        assert each.numbers in {"", *NUMBER_FORMATS}, where
        siblings = {other.table: other for other in tables() if other.source == each.source}
        for join in each.joins:
            assert join.by in each.left_out, where
            assert set(join.columns) <= set(siblings[join.table].columns), where
            assert siblings[join.table].key, where
        kinds = {"client", "contact", "deal", "task", "suggestion"}
        assert set(each.kinds) <= kinds, where
        if each.kinds:
            assert all(code.partition(".")[0] in each.kinds for code in each.columns), where
        # A heading stands for one field. Only a column that is left out may take the place of a missing one.
        repeated = Counter(heading for headings in each.columns.values() for heading in set(headings))
        assert [heading for heading, number in repeated.items() if number > 1] == [], where
    assert {code.partition(".")[0] for code in codes} == {"client", "contact", "deal", "task", "suggestion"}


@table(
    ("text", "folded"),
    [("E-mail", "email"), ("  Kod_pocztowy: ", "kodpocztowy"), ("ŁÓDŹ", "lodz"), ("Tel.", "tel"), ("№ / #", "no")],
)
def test_headings_are_folded(text, folded):
    assert fold_heading(text) == folded


def guess(header, kinds, *, labels=None, **columns):
    statistics = [columns.get(f"column_{index}", ColumnStatistics()) for index in range(len(header))]
    return [(each.field, each.confidence) for each in guess_columns(header, kinds, statistics, labels or {})]


def test_it_guesses_columns(tmp_path):
    sheet, _row = read(tmp_path, "unknown.csv")
    guesses = guess_columns(sheet.header, ["client", "contact"], sheet.columns, {"Ulubiony kolor": "client.colour"})
    assert guesses == [
        ColumnGuess("client.name", 0.9),
        ColumnGuess("client.tax_no", 0.9),
        ColumnGuess("client.email", 0.9),
        ColumnGuess("client.phone", 0.9),
        ColumnGuess("client.first_name", 0.9),
        ColumnGuess("client.last_name", 0.9),
        ColumnGuess("client.post_code", 0.9),
        ColumnGuess("client.colour", 1.0),
    ]
    assert guess(["Company", "ZIP", "Job title"], ["contact", "client"]) == [
        ("contact.client_id.name", 0.9),
        ("client.post_code", 0.9),
        ("contact.position", 0.9),
    ]


def test_no_field_has_two_columns():
    assert guess(["E-mail", "e-mail address", "Second e-mail"], ["client"]) == [
        ("client.email", 0.9),
        (None, 0.0),
        (None, 0.0),
    ]
    # A label wins against a name that stands before it.
    labels = {"Poczta firmy": "client.email"}
    assert guess(["E-mail", "Poczta firmy"], ["client"], labels=labels) == [(None, 0.0), ("client.email", 1.0)]
    # A label of a field of another kind does not count.
    assert guess(["Poczta firmy"], ["deal"], labels=labels) == [(None, 0.0)]


def test_values_support_a_guess():
    emails = ColumnStatistics(filled=5, misfits=dict.fromkeys(("phone", "url", "integer"), ("x", 2)))
    texts = ColumnStatistics(filled=5, misfits={"email": ("x", 2), "phone": ("x", 2), "url": ("x", 2)})
    numbers = ColumnStatistics(filled=5, misfits={"email": ("x", 2), "url": ("x", 2)})
    assert guess(["?", "Kolumna 2"], ["client"], column_0=emails, column_1=numbers) == [
        ("client.email", 0.4),
        (None, 0.0),
    ]
    assert guess(["Telefon"], ["client"], column_0=texts) == [("client.phone", 0.45)]
    assert guess(["Adres e-mail klienta"], ["client"], column_0=emails) == [("client.email", 0.6)]
