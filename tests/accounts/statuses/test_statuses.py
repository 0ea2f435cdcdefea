"""Statuses of posts, deals and clients. The team reads them; admins and owners write them."""

import pytest
from django.db import IntegrityError, transaction
from django.utils import translation
from django.utils.translation import gettext

from accounts.statuses.models import Status
from tests.support.assertions import assert_answered, assert_refused, headers_of, read
from tests.support.bodies import status_body
from tests.support.factories import make_client, make_deal, make_post, make_task, make_token, make_user
from tests.support.lists import values_by_page, values_of
from tests.support.tables import table

ADMINS_ONLY = "Only an admin or the owner may do this"


@pytest.fixture
def admin(acme):
    return acme.json(acme.alice_token)


def post(admin, **status):
    return admin.post("/app/statuses.json", json={"status": status})


def stored(acme) -> list[dict]:
    return list(acme.account.statuses.order_by("id").values())


def test_it_works(acme, admin):
    fields = {"code": "waiting", "name": "Czeka", "kind": "deal", "color": "#abc", "position": 3, "closed": True}
    response = post(admin, **fields)
    row = acme.account.statuses.get(code="waiting")
    body = status_body(row, **fields)
    path = f"/app/statuses/{row.id}.json"
    assert_answered(response, 201, body, location=f"http://acme.example.test{path}")
    assert_answered(acme.json().get(path), 200, body)

    response = admin.put(path, json={"status": {"name": "Waiting", "color": None, "position": "", "closed": None}})
    row.refresh_from_db()
    body = status_body(row, **{**fields, "name": "Waiting", "color": None})
    assert_answered(response, 200, body)
    assert_answered(acme.json().get(path), 200, body)

    assert_answered(admin.delete(path), 200, "ok")
    assert_refused(acme.json().get(path), 404, "not_found")


@table(
    ("fields", "errors"),
    [
        ({}, {"code": ["can't be blank"], "name": ["can't be blank"]}),
        ({"code": " ", "name": None}, {"code": ["can't be blank"], "name": ["can't be blank"]}),
        ({"code": "a" * 256, "name": "a"}, {"code": ["is too long (maximum is 255 characters)"]}),
        ({"code": [], "name": {}}, {"code": ["must be a single value"], "name": ["must be a single value"]}),
        ({"code": "a", "name": "b", "kind": "task"}, {"kind": ["is not one of post, deal, client"]}),
        ({"code": "a", "name": "b", "kind": []}, {"kind": ["must be a single value"]}),
        ({"code": "a", "name": "b", "closed": "x"}, {"closed": ["is not true or false"]}),
        ({"code": "a", "name": "b", "kind": "deal", "on_roadmap": True}, {"on_roadmap": ["can only be set for posts"]}),
        ({"code": "a", "name": "b", "position": 2**31}, {"position": ["must be between -2147483647 and 2147483647"]}),
        ({"code": "a", "name": "New"}, {"name": ["is already taken"]}),
        ({"code": "a", "name": "Won", "kind": "deal"}, {"name": ["is already taken"]}),
        ({"code": "new", "name": "Planned"}, {"name": ["is already taken"]}),
    ],
)
def test_it_rejects_invalid_values(acme, admin, fields, errors):
    before = stored(acme)
    assert_refused(post(admin, **fields), 422, "validation_failed", errors)
    assert stored(acme) == before


def test_an_admin_may_create_statuses(acme):
    token = make_token(make_user(acme.account, role="admin"))
    assert post(acme.json(token), code="a", name="a").status_code == 201
    response = acme.json(token).post("/app/statuses.json", json={"status": None})
    assert_refused(response, 422, "validation_failed", {"status": ["can't be blank"]})


def test_default_values(acme, admin):
    response = post(admin, code="a", name="A")
    row = acme.account.statuses.get(code="a")
    location = f"http://acme.example.test/app/statuses/{row.id}.json"
    assert_answered(response, 201, status_body(row, code="a", name="A"), location=location)
    # The position is that after the last status of the kind.
    assert read(post(admin, code="a", name="A", kind="client"))["position"] == 1
    post(admin, code="b", name="B", position=2**31 - 1)
    assert read(post(admin, code="c", name="C"))["position"] == 2**31 - 1


def test_posting_an_existing_code_updates_its_status(acme, admin):
    row = acme.account.statuses.get(kind="post", code="new")
    response = post(admin, id=10**6, code="new", name="Fresh", color="")
    row.refresh_from_db()
    body = status_body(row, code="new", name="Fresh", color="", position=1)
    assert_answered(response, 200, body, x_ignored_fields="id")
    # Codes are unique for each kind.
    deal = acme.account.statuses.get(kind="deal", code="new")
    response = post(admin, code="new", kind="deal", closed=True)
    assert read(response) == {**read(response), "id": deal.id, "name": "New", "closed": True}
    assert post(admin, code="new", name="New", kind="client").status_code == 201
    # A code in another case is the same code.
    response = post(admin, code="NEW", name="Brand new")
    assert (response.status_code, read(response)["id"]) == (200, row.id)


def test_codes_and_names_may_change_to_unused_values(acme, admin):
    row = acme.account.statuses.get(kind="post", code="planned")
    path = f"/app/statuses/{row.id}.json"
    assert admin.put(path, json={"status": {"code": "soon", "name": "Soon", "kind": "post"}}).status_code == 200
    assert admin.put(path, json={"status": {"code": "soon", "name": "Soon"}}).status_code == 200
    response = admin.put(path, json={"status": {"code": "new", "name": "Started"}})
    errors = {"code": ["is already taken"], "name": ["is already taken"]}
    assert_refused(response, 422, "validation_failed", errors)
    response = admin.put(path, json={"status": {"kind": "deal"}})
    assert_refused(response, 422, "validation_failed", {"kind": ["can't be changed"]})


def test_the_list_is_ordered_by_kind_and_position(acme, admin):
    for status in Status.objects.filter(kind="post"):
        if status.code != "new":
            status.delete()
    client = read(post(admin, code="good", name="Good", kind="client"))
    rows = acme.account.statuses.filter(kind="deal").order_by("position")
    deals = [
        status_body(
            row, kind="deal", code=row.code, name=row.name, color=row.color, position=row.position, closed=row.closed
        )
        for row in rows
    ]
    row = acme.account.statuses.get(kind="post")
    new = status_body(row, code="new", name="New", color="#6b7280", position=1)
    url = "http://acme.example.test/app/statuses.json"
    assert_answered(
        acme.json().get("/app/statuses.json"), 200, [client, *deals, new], link=f'<{url}?page=1>; rel="first"'
    )
    assert read(acme.json().get("/app/statuses.json?kind=deal")) == deals
    assert read(acme.json().get("/app/statuses.json?kind=client&page=2")) == []
    response = acme.json().get("/app/statuses.json?kind=deal&per_page=2&page=2")
    assert read(response) == deals[2:4]
    assert headers_of(response)["link"] == ", ".join(
        f'<{url}?kind=deal&per_page=2&page={page}>; rel="{name}"'
        for page, name in ((1, "first"), (1, "prev"), (3, "next"))
    )
    response = acme.json().get("/app/statuses.json?kind=task")
    assert_refused(response, 422, "validation_failed", {"kind": ["is not one of post, deal, client"]})


def test_orders_filters_and_searches(acme, other):
    Status.objects.exclude(kind="deal").delete()
    json = acme.json()

    def codes(query: str) -> list[str]:
        return values_of(json.get(f"/app/statuses.json?{query}"), "code")

    assert values_by_page(json, "/app/statuses.json?per_page=2", "code") == [
        ["new", "qualified"],
        ["proposal", "won"],
        ["lost"],
    ]
    assert codes("order=name") == ["lost", "new", "proposal", "qualified", "won"]
    assert codes("order=-id") == ["lost", "won", "proposal", "qualified", "new"]
    Status.objects.filter(account=acme.account, code="won").update(updated_at="2009-01-26T17:06:53Z")
    assert codes("order=updated_at&per_page=1") == ["won"]
    assert codes("updated_since=2010-01-01") == ["new", "qualified", "proposal", "lost"]
    assert codes("q=qualifeid") == ["qualified"]
    assert codes("q=propos&kind=deal") == ["proposal"]
    assert codes("q=propos&kind=post") == []
    response = json.get("/app/statuses.json?tag=a&order=position", headers={"Prefer": "handling=strict"})
    errors = {
        "tag": ["is not one of the parameters page, per_page, order, updated_since, q, kind, pipeline_id"],
        "order": ["is not one of id, -id, created_at, -created_at, updated_at, -updated_at, name, -name"],
    }
    assert_refused(response, 422, "validation_failed", errors)


@table(("kind", "make"), [("post", make_post), ("post", make_task), ("deal", make_deal), ("client", make_client)])
def test_it_rejects_the_deletion_of_a_status_in_use(acme, admin, kind, make):
    status = acme.account.statuses.create(kind=kind, code="mine", name="Mine")
    row = make(acme.alice, **({"status": status} if kind == "post" else {"status_id": status.id}))
    for prepare in (lambda: None, lambda: row.trash(by=acme.alice)):
        prepare()
        response = admin.delete(f"/app/statuses/{status.id}.json")
        errors = {"status": [f"is in use by a {kind}, perhaps one in the trash"]}
        assert_refused(response, 422, "validation_failed", errors)
    row.delete()
    assert_answered(admin.delete(f"/app/statuses/{status.id}.json"), 200, "ok")


def test_it_rejects_the_deletion_of_the_last_status_for_posts(acme, admin):
    *others, last = acme.account.statuses.filter(kind="post")
    for status in others:
        assert_answered(admin.delete(f"/app/statuses/{status.id}.json"), 200, "ok")
    response = admin.delete(f"/app/statuses/{last.id}.json")
    errors = {"status": ["is the last one for posts, and every post has one"]}
    assert_refused(response, 422, "validation_failed", errors)
    # The status of a deal is optional.
    for status in acme.account.statuses.filter(kind="deal"):
        assert admin.delete(f"/app/statuses/{status.id}.json").status_code == 200


@table(
    ("fields", "expected"),
    [
        ({}, (False, "open", 50)),
        ({"closed": True}, (True, "lost", 0)),
        ({"outcome": "won"}, (True, "won", 100)),
        ({"outcome": "lost", "closed": False, "probability": 70}, (True, "lost", 0)),
        ({"outcome": "open", "closed": True, "probability": 70}, (False, "open", 70)),
    ],
)
def test_the_outcome_of_a_new_status_of_deals(acme, admin, fields, expected):
    body = read(post(admin, code="a", name="A", kind="deal", **fields))
    assert (body["closed"], body["outcome"], body["probability"]) == expected
    assert body["pipeline_id"] == 1


@table(
    ("code", "fields", "expected"),
    [
        ("new", {"closed": True}, (True, "lost", 0)),
        ("won", {"closed": False}, (False, "open", 50)),
        # Nothing changes.
        ("won", {"closed": True}, (True, "won", 100)),
        ("won", {"probability": 5}, (True, "won", 100)),
        # A client sends the whole status back, and changes one of the fields.
        ("new", {"closed": False, "outcome": "won", "probability": 10}, (True, "won", 100)),
        ("won", {"closed": False, "outcome": "won"}, (False, "open", 50)),
        ("qualified", {"probability": 35}, (False, "open", 35)),
    ],
)
def test_the_outcome_of_a_changed_status_of_deals(acme, admin, code, fields, expected):
    row = acme.account.statuses.get(kind="deal", code=code)
    body = read(admin.put(f"/app/statuses/{row.id}.json", json={"status": fields}))
    assert (body["closed"], body["outcome"], body["probability"]) == expected


def test_only_statuses_of_deals_have_an_outcome(admin):
    fields = {"outcome": "won", "probability": 5, "pipeline_id": 1, "rot_days": 3}
    errors = {name: ["can only be set for deals"] for name in fields}
    assert_refused(post(admin, code="a", name="A", **fields), 422, "validation_failed", errors)


def test_statuses_of_different_pipelines_may_have_the_same_name(acme, admin):
    other = acme.account.pipelines.create(name="Repairs", position=2)
    body = read(post(admin, code="won-2", name="Won", kind="deal", pipeline_id=other.id))
    assert (body["name"], body["pipeline_id"]) == ("Won", other.id)
    errors = {"name": ["is already taken"]}
    response = post(admin, code="won-3", name="Won", kind="deal", pipeline_id=other.id)
    assert_refused(response, 422, "validation_failed", errors)
    # The status cannot move to a pipeline with a status of the same name.
    response = admin.put(f"/app/statuses/{body['id']}.json", json={"status": {"pipeline_id": 1}})
    assert_refused(response, 422, "validation_failed", errors)


def test_the_database_refuses_a_status_of_deals_without_their_values(acme):
    statuses = acme.account.statuses.filter(kind="deal", code="lost")
    for values in ({"closed": False}, {"outcome": None}, {"probability": None}, {"pipeline_id": None}):
        with pytest.raises(IntegrityError, match="status_of_deal"), transaction.atomic():
            statuses.update(**values)


# The names of a shop's own statuses, in English and Polish. A plug-in that finds one of them in the account assumes that its
# own statuses are set up, and creates none.
SHOP_STATUS_NAMES = {
    "pending payment", "processing", "on hold", "completed", "cancelled", "refunded", "failed", "draft",
    "oczekuje na płatność", "oczekujące na płatność", "w trakcie realizacji", "przetwarzane", "wstrzymane", "wstrzymano",
    "zrealizowane", "zakończone", "anulowane", "zwrócone", "niepowodzenie", "nieudane", "nie powiodło się", "szkic",
}  # fmt: skip


def test_no_default_status_has_the_name_of_a_shop_status(acme):
    posts = acme.account.statuses.filter(kind=Status.Kind.POST)
    assert posts.get(code="completed").name == "Done"
    names = {status.name.lower() for status in posts}
    with translation.override("pl"):
        names |= {gettext(status.name).lower() for status in posts}
        assert gettext("Done") == "Gotowe"
    assert names & SHOP_STATUS_NAMES == set()


def test_paths_may_end_in_a_slash(acme):
    json = acme.json(acme.alice_token)
    response = json.post("/app/statuses.json/", json={"status": {"code": "paid", "name": "Paid", "kind": "deal"}})
    assert response.status_code == 201
    path = f"/app/statuses/{read(response)['id']}.json/"
    assert json.put(path, json={"status": {"name": "Paid!"}}).status_code == 200
    assert json.delete(path).status_code == 200
