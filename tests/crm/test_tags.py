"""Tags of clients, contacts, deals and posts, and the lists of tags."""

from tests.support.assertions import assert_answered, assert_refused, read
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_task
from tests.support.tables import table

MAKE = {"client": make_client, "contact": make_contact, "deal": make_deal, "post": make_task}
every_kind = table("kind", MAKE)


def put(acme, kind, row, tags):
    return acme.json().put(f"/app/{kind}s/{row.id}.json", json={kind: {"tags": tags}})


def tag_counts(acme, kind):
    return {tag["name"]: tag["count"] for tag in read(acme.json().get(f"/app/{kind}s/tags.json"))}


@every_kind
def test_it_works(acme, kind):
    make = MAKE[kind]
    for tags in (["vip", "new"], ["vip"], ["Ala"], []):
        make(acme.alice, tags=tags)
    ids = dict(acme.account.tags.values_list("name", "id"))
    assert_answered(
        acme.json().get(f"/app/{kind}s/tags.json"),
        200,
        [
            {"id": ids["vip"], "name": "vip", "count": 2},
            {"id": ids["Ala"], "name": "Ala", "count": 1},
            {"id": ids["new"], "name": "new", "count": 1},
        ],
    )


@every_kind
def test_it_rejects_other_methods(acme, kind):
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        response = acme.json().request(method, f"/app/{kind}s/tags.json")
        assert_refused(response, 405, "method_not_allowed", allow="GET, HEAD")


@every_kind
@table(
    ("tags", "rule"),
    [
        (7, "must be a list of names, or one text with commas"),
        (True, "must be a list of names, or one text with commas"),
        ({"vip": 1}, "must be a list of names, or one text with commas"),
        ([None], "must be a list of names, or one text with commas"),
        ([["vip"]], "must be a list of names, or one text with commas"),
        ([True], "must be a list of names, or one text with commas"),
        (["a" * 65], "has a name that is too long (maximum is 64 characters)"),
        ("a," + "b" * 65, "has a name that is too long (maximum is 64 characters)"),
        (["a,b"], "has a name with a comma"),
        (
            ["a\x00"],
            "has a character that can't be used (a control character or half of a surrogate pair)",
        ),
        (
            "a\x7f,b\x01",
            "has a character that can't be used (a control character or half of a surrogate pair)",
        ),
        ([str(number) for number in range(101)], "are too many (maximum is 100)"),
    ],
)
def test_it_rejects_invalid_tags(acme, kind, tags, rule):
    row = MAKE[kind](acme.alice, tags=["kept"])
    assert_refused(put(acme, kind, row, tags), 422, "validation_failed", {"tags": [rule]})
    assert tag_counts(acme, kind) == {"kept": 1}
    assert acme.account.tags.count() == 1


@every_kind
@table(
    ("tags", "names"),
    [
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
    ],
)
def test_accepted_notations_of_tags(acme, kind, tags, names):
    row = MAKE[kind](acme.alice, tags=["old"])
    response = put(acme, kind, row, tags)
    assert response.status_code == 200
    assert read(response)["tags"] == names == read(acme.json().get(f"/app/{kind}s/{row.id}.json"))["tags"]
    # The tag `old` is no longer used.
    assert tag_counts(acme, kind) == dict.fromkeys(names, 1)


@every_kind
def test_a_tag_keeps_the_spelling_of_its_first_use(acme, kind):
    make_client(acme.alice, tags=["VIP"])
    row = MAKE[kind](acme.alice)
    assert read(put(acme, kind, row, ["vip", "Vip"]))["tags"] == ["VIP"]
    assert acme.account.tags.count() == 1


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


@every_kind
def test_an_update_without_tags_keeps_them(acme, kind):
    row = MAKE[kind](acme.alice, tags=["vip"])
    field = "title" if kind == "post" else "name"
    response = acme.json().put(f"/app/{kind}s/{row.id}.json", json={kind: {field: "new"}})
    assert read(response)["tags"] == ["vip"]
    assert tag_counts(acme, kind) == {"vip": 1}


@every_kind
def test_trashed_rows_are_not_counted_until_they_are_restored(acme, kind):
    row = MAKE[kind](acme.alice, tags=["vip", "new"])
    MAKE[kind](acme.alice, tags=["vip"])
    acme.json().delete(f"/app/{kind}s/{row.id}.json")
    assert tag_counts(acme, kind) == {"vip": 1}
    row.refresh_from_db()
    row.restore()
    assert tag_counts(acme, kind) == {"vip": 2, "new": 1}
    assert read(acme.json().get(f"/app/{kind}s/{row.id}.json"))["tags"] == ["vip", "new"]


def test_tags_are_ordered_by_name_ignoring_case(acme):
    make_client(acme.alice, tags=["b", "C", "A", "Ź", "d"])
    assert list(tag_counts(acme, "client")) == ["A", "b", "C", "d", "Ź"]


def test_tags_of_a_contact_list_are_ignored(acme):
    row = make_contact_list(acme.alice)
    response = acme.json().put(f"/app/contact_lists/{row.id}.json", json={"contact_list": {"tags": ["a"]}})
    assert response.headers["X-Ignored-Fields"] == "tags"
