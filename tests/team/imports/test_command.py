"""The command `import`."""

import pytest
from django.core.management import CommandError, call_command

from tests.support.factories import make_client


def test_it_works(acme, tmp_path, capsys):
    make_client(acme.alice, "Elm", email="elm@example.com", city="Sopot")
    make_client(acme.alice, "Missing", email="missing@example.com")
    path, faults = tmp_path / "clients.csv", tmp_path / "faults.csv"
    path.write_text("Name,E-mail,City\nOak,oak@example.com,Hel\nElm,elm@example.com,Hel\n,,Hel\n")
    call_command("import", "acme", path, "--kind", "client", "--compare")
    assert capsys.readouterr().out == (
        "1 would be created, 1 changed, 0 are unchanged, 1 have faults, 0 occur twice.\n1 Clients are not in the file.\n"
    )
    assert (acme.account.clients.count(), acme.account.imports.count()) == (2, 0)
    call_command("import", "acme", path, "--kind", "client", "--options", '{"tags": ["fair"]}', "--faults", faults)
    assert capsys.readouterr().out == "1 created, 1 changed, 0 unchanged, 1 with faults.\n"
    assert faults.read_text("utf-8-sig") == "Name,E-mail,City,Errors\n,,Hel,Name: can't be blank\n"
    assert acme.account.clients.get(name="Oak").tags == ["fair"]


def test_it_rejects_what_cannot_be_imported(acme, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("")
    for arguments, message in (
        (("nobody", path), "There is no account nobody."),
        (("acme", path, "--user", "carol"), "carol is not an active user of the team of acme."),
        (("acme", path), f"{path} has no rows."),
        (("acme", tmp_path / "none"), f"{tmp_path / 'none'} cannot be read: No such file or directory."),
    ):
        with pytest.raises(CommandError) as caught:
            call_command("import", *arguments)
        assert str(caught.value) == message
