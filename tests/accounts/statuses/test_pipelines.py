"""Pipelines of deals. The team reads them; admins and owners write them."""

from tests.support.assertions import assert_answered, assert_refused, on_the_wire, read
from tests.support.factories import make_deal
from tests.support.lists import link_to_first_page

PATH = "/app/pipelines.json"


def body(row, name: str, position: int) -> dict:
    times = {"created_at": on_the_wire(row.created_at), "updated_at": on_the_wire(row.updated_at)}
    return {"id": row.id, "name": name, "position": position, **times}


def test_it_works(acme):
    admin = acme.json(acme.alice_token)
    response = admin.post(PATH, json={"pipeline": {"name": "Repairs"}})
    first, row = acme.account.pipelines.order_by("position")
    path = f"/app/pipelines/{row.id}.json"
    assert_answered(response, 201, body(row, "Repairs", 2), location=f"http://acme.example.test{path}")
    assert_answered(
        acme.json().get(PATH),
        200,
        [body(first, "Sales", 1), body(row, "Repairs", 2)],
        link=link_to_first_page(PATH),
    )
    response = admin.put(path, json={"pipeline": {"name": "Service", "position": 0}})
    row.refresh_from_db()
    assert_answered(response, 200, body(row, "Service", 0))
    assert_answered(acme.json().get(path), 200, body(row, "Service", 0))
    assert_answered(admin.delete(path), 200, "ok")
    assert_refused(acme.json().get(path), 404, "not_found")


def test_every_account_has_a_pipeline_with_the_statuses_of_deals(acme, other):
    for account in (acme.account, other.account):
        pipeline = account.pipelines.get()
        assert (pipeline.id, pipeline.name) == (1, "Sales")
        statuses = account.statuses_of_kind("deal").values_list("code", "outcome", "probability", "pipeline_id")
        assert list(statuses) == [
            ("new", "open", 10, 1),
            ("qualified", "open", 30, 1),
            ("proposal", "open", 60, 1),
            ("won", "won", 100, 1),
            ("lost", "lost", 0, 1),
        ]


def test_it_rejects_invalid_values(acme):
    admin = acme.json(acme.alice_token)
    for fields, errors in (
        ({}, {"name": ["can't be blank"]}),
        ({"name": " "}, {"name": ["can't be blank"]}),
        ({"name": "Sales"}, {"name": ["is already taken"]}),
        ({"name": "a", "position": "x"}, {"position": ["is not a whole number"]}),
    ):
        assert_refused(admin.post(PATH, json={"pipeline": fields}), 422, "validation_failed", errors)
    assert acme.account.pipelines.count() == 1
    # The pipeline's own name is not taken.
    assert admin.put("/app/pipelines/1.json", json={"pipeline": {"name": "Sales"}}).status_code == 200


def test_it_rejects_the_deletion_of_a_pipeline_with_statuses_and_of_the_last_one(acme):
    admin = acme.json(acme.alice_token)
    errors = {"pipeline": ["is the last one, and every account has one"]}
    assert_refused(admin.delete("/app/pipelines/1.json"), 422, "validation_failed", errors)
    read(admin.post(PATH, json={"pipeline": {"name": "Repairs"}}))
    errors = {"pipeline": ["has statuses; move them to another one or delete them first"]}
    assert_refused(admin.delete("/app/pipelines/1.json"), 422, "validation_failed", errors)


def test_the_statuses_of_a_deleted_pipeline_move(acme):
    """The status with a deal moves, and the others are deleted."""
    admin, account = acme.json(acme.alice_token), acme.account
    target = read(admin.post("/app/pipelines.json", json={"pipeline": {"name": "Repairs"}}))["id"]
    lead = account.statuses.get(kind="deal", code="new")
    make_deal(acme.alice, status_id=lead.id)
    for value, error in (("1", "can't be found"), ("999", "can't be found"), ("x", "is not a whole number")):
        response = admin.delete(f"/app/pipelines/1.json?move_to_id={value}")
        assert_refused(response, 422, "validation_failed", {"move_to_id": [error]})
    assert_answered(admin.delete(f"/app/pipelines/1.json?move_to_id={target}"), 200, "ok")
    assert list(account.statuses_of_kind("deal").values_list("id", "pipeline_id")) == [(lead.id, target)]
    assert list(account.pipelines.values_list("id", flat=True)) == [target]


def test_the_reasons_for_winning_and_losing(acme):
    admin = acme.json(acme.alice_token)
    assert read(acme.json().get("/app/account.json"))["won_reasons"] == ["Price", "Features", "Recommendation"]
    changes = {"lost_reasons": [" Too late ", "", "Too late", 7], "won_reasons": None}
    response = admin.put("/app/account.json", json={"account": changes})
    assert response.status_code == 200
    for answer in (read(response), read(acme.json().get("/app/account.json"))):
        assert (answer["lost_reasons"], answer["won_reasons"]) == (["Too late", "7"], [])
    for value, message in (
        ("Price", "must be a list of texts"),
        ([{}], "must be a list of texts"),
        (["a" * 256], "has a text that is too long (maximum is 255 characters)"),
        ([str(number) for number in range(51)], "are too many (maximum is 50)"),
    ):
        response = admin.put("/app/account.json", json={"account": {"won_reasons": value}})
        assert_refused(response, 422, "validation_failed", {"won_reasons": [message]})
