"""The pages of imports: the upload, the mapping, the preview, the result, the wrong rows and the undo."""

import csv
import io

import pytest
from webtest import Upload

from accounts.statuses.models import Status
from team.imports.models import Import
from tests.support.factories import make_client, make_field_definition
from tests.support.jobs import run_jobs

IMPORTS = "/app/imports"
# As a Polish spreadsheet program writes it, with three faults.
POLISH = "\r\n".join(
    [
        "Nazwa;E-mail;Rabat;Klient od;Miasto",
        "Dąb;biuro@dab.example;1 234,50;28.09.2025;Gdańsk",
        "Buk;biuro@buk.example;0,5;29.09.2025;Łódź",
        "Żarnowiec;nie podano;1;30.09.2025;Hel",
        "Jodła;biuro@jodla.example;dużo;01.10.2025;Hel",
        "Sosna;biuro@sosna.example;2;31.09.2025;Hel",
    ]
).encode("cp1250")


@pytest.fixture
def alice(acme):
    return acme.page(acme.alice)


@pytest.fixture
def bob(acme):
    return acme.page(acme.bob)


def upload(visitor, content: bytes | str, *, name="klienci.csv", kinds=()):
    """Send the form of a file. Return the response."""
    form = visitor.get(IMPORTS).forms["upload"]
    form["file"] = Upload(name, content if isinstance(content, bytes) else content.encode())
    for kind in kinds:
        form.set("kinds", True, index=["client", "contact", "deal", "task", "suggestion"].index(kind))
    return form.submit(expect_errors=True)


def uploaded(visitor, content: bytes | str, **options):
    """Return the page of an import."""
    return upload(visitor, content, **options).follow()


def send(page, action: str, form: str = "settings", **values):
    form = page.forms[form]
    for name, value in values.items():
        form[
            name.replace("_", "-") if name[0:5] in ("field", "forma", "value", "match", "defau", "text_") else name
        ] = value
    return form.submit("do", value=action, expect_errors=True)


def button(page, value: str):
    """Return the response to the form with this button."""
    key = next(key for key, form in page.forms.items() if f'value="{value}"' in str(form.html))
    return page.forms[key].submit("do", value=value, expect_errors=True)


def text_of(page, selector: str) -> str:
    return " ".join(page.html.select_one(selector).get_text(" ", strip=True).split())


def cells(page) -> list[list[str]]:
    """Return the heading, the code of the field, and the check of each column."""
    return [
        [
            " ".join(row.th.get_text(" ", strip=True).split()),
            (row.select_one("select option[selected]") or {"value": ""})["value"],
            " ".join(row.select("td")[-1].get_text(" ", strip=True).split()),
        ]
        for row in page.html.select(".import-columns tbody tr")
    ]


def facts(page) -> dict[str, str]:
    return {fact.dt.text: fact.dd.text for fact in page.html.select(".facts .fact")}


def test_it_works(acme, alice):
    page = uploaded(alice, POLISH)
    print(page.html.main.get_text(" ", strip=True))
    print(cells(page))
    page = send(page, "next").follow()
    print(page.html.main.get_text(" ", strip=True))
    run_jobs()
    page = alice.get(page.request.path)
    print(page.html.main.get_text(" ", strip=True))
    page = button(page, "import").follow()
    print(page.html.main.get_text(" ", strip=True))
    print(alice.get(page.request.path + "/faults.csv").body.decode())
    page = button(page, "undo").follow()
    print(page.html.main.get_text(" ", strip=True))
