"""The fields that the account defines for suggestions in exported and imported files."""

from decimal import Decimal

from team.imports.models import Import
from tests.support.exports import exported
from tests.support.factories import make_field_definition, make_post
from tests.support.imports import counts, faults, imported, upload

HEAD = "Number,Title,Effort,Areas\n"


def define(acme) -> None:
    make_field_definition(acme.account, "effort", resource="suggestion", label="Effort", type="number", in_lists=True)
    choices = {"type": "choices", "choices": ["Web", "App"], "in_lists": True}
    make_field_definition(acme.account, "areas", resource="suggestion", label="Areas", **choices)


def test_it_works(acme):
    define(acme)
    post = make_post(acme.carol, "Dark theme", additional_fields={"effort": 5, "areas": ["Web", "App"], "other": "x"})
    text = f'{HEAD}{post.id},Dark theme,5,"Web, App"\n,New,1.5,App\n,Wrong,much,TV\n'
    row = imported(acme, text, kinds=("suggestion",), unknown="fault")
    assert counts(row) == {"created": 1, "changed": 1, "unchanged": 1, "faults": 1}
    assert faults(row) == {
        4: ["Effort: “much” is not a number in the chosen format", "Areas: “TV” is not one of the choices"]
    }
    assert acme.account.posts.get(title="New").additional_fields == {"effort": Decimal("1.5"), "areas": ["App"]}


def test_a_change_is_undone(acme):
    define(acme)
    post = make_post(acme.carol, "Dark theme", additional_fields={"effort": 5, "other": "x"})
    text = f"{HEAD}{post.id},Dark theme,8,TV\n"
    row = imported(acme, text, kinds=("suggestion",), unknown="create")
    assert (counts(row), faults(row)) == ({"changed": 1}, {})
    post.refresh_from_db()
    assert post.additional_fields == {"effort": 8, "areas": ["TV"], "other": "x"}
    row.undo(by=acme.alice)
    post.refresh_from_db()
    assert post.additional_fields == {"effort": 5, "other": "x"}


def test_a_new_field(acme):
    columns = [{"field": code, "format": "", "values": {}} for code in ("suggestion.title", "suggestion.+text")]
    row = upload(acme, "Title,Quarter\nDark theme,Q3\n", kinds=("suggestion",), columns=columns)
    row.start(by=acme.alice)
    assert faults(row) == {}
    definition = acme.account.field_definitions.get()
    assert (definition.resource, definition.label, definition.key) == ("suggestion", "Quarter", "quarter")
    assert acme.account.posts.get().additional_fields == {"quarter": "Q3"}


def test_an_exported_list_is_read_back_unchanged(acme):
    define(acme)
    make_post(acme.carol, "Dark theme", additional_fields={"effort": Decimal("2.5"), "areas": ["Web", "App"]})
    bob = acme.page(acme.bob)
    for resource in ("suggestion", "forum_suggestion"):
        [labels, row] = exported(bob, resource)
        assert row[labels.index("Effort")] == "2.5"
    lines = exported(bob, "suggestion", "columns=title,additional_fields[effort],additional_fields[areas]")
    content = "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines).encode()
    row = Import.upload(acme.account, by=acme.alice, name="posts.csv", chunks=[content], kinds=["suggestion"])
    row.start(by=acme.alice)
    assert (counts(row), faults(row)) == ({"unchanged": 1}, {})
