"""Imports of clients, contacts and deals: reading, settings, preview, writing, undo."""

from team.imports.models import Import


def upload(acme, text, *, kinds=("client",), name="clients.csv", by=None):
    return Import.upload(acme.account, by=by or acme.alice, name=name, chunks=[text.encode()], kinds=kinds)


def test_it_works(acme):
    row = upload(acme, "Nazwa;E-mail;Miasto\nOak;oak@example.com;Gdańsk\nElm;elm@example.com;\n")
    assert row.error is None
    print(row.reading, row.settings)
    preview = row.preview(acme.alice)
    print(preview)
    row.start(by=acme.alice)
    assert row.state == "done", row.failure
    print(list(acme.account.clients.values("name", "email", "city")))
    row.undo(by=acme.alice)
    print(row.state, row.restored, row.kept, acme.account.clients.live().count())
