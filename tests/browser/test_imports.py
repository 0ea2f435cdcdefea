"""A Polish spreadsheet with wrong rows is imported, the rows are mended and imported, and the first import is undone."""

import pytest
from playwright.sync_api import expect

SPREADSHEET = """Nazwa;E-mail;Rabat;Klient od;Miasto
Dąb;biuro@dab.example;1 234,50;28.09.2025;Gdańsk
Jodła;biuro@jodla.example;dużo;01.10.2025;Hel
Sosna;biuro@sosna.example;2;31.09.2025;Hel
Modrzew;biuro@modrzew.example;3;40.10.2025;Hel
"""
MENDED = {"dużo": "1 000,50", "31.09.2025": "30.09.2025", "40.10.2025": "04.10.2025"}
BUTTONS = {
    "en": ("Upload", "Next", "Import", "Download the wrong rows", "Undo", "Undo the import", "1 entry is reversed"),
    "pl": ("Prześlij", "Dalej", "Importuj", "Pobierz błędne wiersze", "Cofnij", "Cofnij import", "Cofnięto 1 pozycję"),
}


@pytest.mark.parametrize(("language", "javascript", "width"), [("pl", True, 390), ("en", False, 1280)])
def test_it_works(acme, browse, language, javascript, width, tmp_path):
    page = browse(acme.alice, javascript=javascript, language=language, width=width)
    upload, following, start, download, undo, undo_import, reversed_rows = BUTTONS[language]

    def bring_in(content: bytes) -> None:
        page.goto("/app/imports?kind=client")
        page.locator("[type=file]").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": content})
        page.get_by_role("button", name=upload, exact=True).click()
        page.get_by_role("button", name=following, exact=True).click()
        page.get_by_role("button", name=start, exact=True).click()
        page.locator("#progress").wait_for()

    bring_in(SPREADSHEET.encode("cp1250"))
    result = page.url
    assert acme.account.clients.get().created_at.date().isoformat() == "2025-09-28"
    with page.expect_download() as started:
        page.get_by_role("link", name=download).click()
    file = tmp_path / "faults.csv"
    started.value.save_as(file)
    text = file.read_text("utf-8")
    assert text.count("\n") == 4
    # Only the cells: the last column repeats the values.
    for wrong, right in MENDED.items():
        for separator in ",;":
            text = text.replace(f"{separator}{wrong}{separator}", f'{separator}"{right}"{separator}')
    bring_in(text.encode())
    assert acme.account.clients.count() == 4
    assert acme.account.clients.get(name="Jodła").discount == 1000.5
    page.goto(result)
    page.get_by_text(undo, exact=True).click()
    page.get_by_role("button", name=undo_import).click()
    expect(page.locator("#progress")).to_contain_text(reversed_rows)
    assert not acme.account.clients.live().filter(name="Dąb").exists()
    assert acme.account.clients.live().count() == 3
