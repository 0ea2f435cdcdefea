"""Tags of clients, contacts, deals and posts, and the lists of tags."""

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.factories import make_client, make_contact, make_deal, make_post, make_task
from tests.support.tables import table

MAKE = {"client": make_client, "contact": make_contact, "deal": make_deal, "post": make_task}
every_kind = table("kind", MAKE)
CHARACTERS = "has a character that can't be used (a control character or half of a surrogate pair)"
NO_LIST = "must be a list of names, or one text with commas"


def put(acme, kind, row, tags):
    return acme.json().put(f"/app/{kind}s/{row.id}.json", json={kind: {"tags": tags}})


def tag_counts(acme, kind):
    return {tag["name"]: tag["count"] for tag in read(acme.json().get(f"/app/{kind}s/tags.json"))}


@every_kind
def test_it_works(acme, kind):
    make = MAKE[kind]
    row, *_others = [make(acme.alice, tags=tags) for tags in (["vip", "new"], ["vip"], ["Opal"], ["Źle"], [])]
    ids = dict(acme.account.tags.values_list("name", "id"))
    # The most used come first, then the names in their order without case.
    numbers = (("vip", 2), ("new", 1), ("Opal", 1), ("Źle", 1))
    expected = [{"id": ids[name], "name": name, "count": count} for name, count in numbers]
    assert_answered(acme.json().get(f"/app/{kind}s/tags.json"), 200, expected)
    # An update without tags keeps them.
    field = "title" if kind == "post" else "name"
    response = acme.json().put(f"/app/{kind}s/{row.id}.json", json={kind: {field: "new"}})
    assert read(response)["tags"] == ["vip", "new"]
    # A tag keeps the spelling of its first use, by any kind of row.
    make_client(acme.alice, tags=["VIP 2"])
    assert read(put(acme, kind, row, ["VIP", "Vip", "vip 2"]))["tags"] == ["vip", "VIP 2"]
    assert acme.account.tags.count() == 5
    before = tag_counts(acme, kind)
    assert (before["vip"], before["VIP 2"]) == (2, 2 if kind == "client" else 1)
    # Rows in the trash are not counted until they are restored.
    acme.json().delete(f"/app/{kind}s/{row.id}.json")
    assert tag_counts(acme, kind).get("vip") == 1
    row.refresh_from_db()
    row.restore()
    assert tag_counts(acme, kind) == before
    assert read(acme.json().get(f"/app/{kind}s/{row.id}.json"))["tags"] == ["vip", "VIP 2"]


INVALID = [
    *((tags, NO_LIST) for tags in (7, True, {"vip": 1}, [None], [["vip"]], [True])),
    (["a" * 65], "has a name that is too long (maximum is 64 characters)"),
    ("a," + "b" * 65, "has a name that is too long (maximum is 64 characters)"),
    (["a,b"], "has a name with a comma"),
    (["a\x00"], CHARACTERS),
    ("a\x7f,b\x01", CHARACTERS),
    ([str(number) for number in range(101)], "are too many (maximum is 100)"),
]


def test_it_rejects_invalid_tags(acme):
    rows = {kind: make(acme.alice, tags=["kept"]) for kind, make in MAKE.items()}
    for number, (tags, rule) in enumerate(INVALID):
        kind = list(MAKE)[number % 4]
        assert_refused(put(acme, kind, rows[kind], tags), 422, "validation_failed", {"tags": [rule]})
    assert [tag_counts(acme, kind) for kind in MAKE] == [{"kept": 1}] * 4
    assert acme.account.tags.count() == 1


ACCEPTED = [
    (["a", "b"], ["a", "b"]),
    ("a,b", ["a", "b"]),
    (" a , b,,  ,", ["a", "b"]),
    ("a", ["a"]),
    ("", []),
    (None, []),
    ([], []),
    (["", " "], []),
    (["  two   words\t"], ["two words"]),
    (["a", "A", "a"], ["a"]),
    ("ŁÓDŹ,łódź", ["ŁÓDŹ"]),
    # Two notations of one letter: with a combining character, and composed.
    (["z\u0301", "\u017a"], ["z\u0301"]),
    (["straße", "STRASSE"], ["straße"]),
    ([7, 1.5], ["7", "1.5"]),
    (["b", "a"], ["b", "a"]),
    ({"0": "a", "1": "b"}, ["a", "b"]),
    (["😀" * 64], ["😀" * 64]),
    ([str(number) for number in range(100)], [str(number) for number in range(100)]),
]


def test_accepted_notations_of_tags(acme):
    rows = {kind: make(acme.alice, tags=["old"]) for kind, make in MAKE.items()}
    for number, (tags, names) in enumerate(ACCEPTED):
        kind = list(MAKE)[number % 4]
        response = put(acme, kind, rows[kind], tags)
        assert response.status_code == 200
        assert read(response)["tags"] == names == read(acme.json().get(f"/app/{kind}s/{rows[kind].id}.json"))["tags"]
        # Former tags of the row are no longer used.
        assert tag_counts(acme, kind) == dict.fromkeys(names, 1)


def test_tags_are_counted_for_each_kind_of_row(acme):
    for make in MAKE.values():
        make(acme.alice, tags=["all"])
    make_deal(acme.alice, tags=["all", "deals"])
    make_post(acme.alice, tags=["all"])
    assert tag_counts(acme, "client") == {"all": 1}
    assert tag_counts(acme, "contact") == {"all": 1}
    assert tag_counts(acme, "deal") == {"all": 2, "deals": 1}
    # Posts and tasks are counted together.
    assert tag_counts(acme, "post") == {"all": 2}
