"""The settings of deals on the pages: pipelines with their statuses, and the reasons for winning and losing."""

from tests.support.factories import make_deal
from tests.support.jobs import run_jobs
from tests.support.settings import send, texts
from tests.support.tables import table

PATH = "/app/account/deals"
STATUSES = "/app/account/statuses?kind=deal"


def add(page, name: str, source: str = "1"):
    return send(page, PATH, do="add", name=name, source=source).follow()


def statuses_of(acme, pipeline) -> list[tuple]:
    rows = acme.account.statuses_of_kind("deal").filter(pipeline_id=pipeline.id)
    return list(rows.values_list("name", "code", "outcome", "probability", "rot_days"))


def test_it_works(acme):
    """A new pipeline has copies of the statuses of another one. When it is deleted, the statuses with deals move."""
    page = acme.page(acme.alice)
    assert texts(page.get(PATH), ".ordered strong") == ["Sales"]
    form = page.get(PATH).forms["add"]
    form["name"] = "Renewals"
    assert form["source"].value == "1"
    assert "The pipeline Renewals is added." in form.submit("do", value="add").follow()
    sales, renewals = acme.account.pipelines.order_by("position")
    assert statuses_of(acme, renewals) == [
        ("New", "new-2", "open", 10, 7),
        ("Qualified", "qualified-2", "open", 30, 14),
        ("Proposal", "proposal-2", "open", 60, 14),
        ("Won", "won-2", "won", 100, None),
        ("Lost", "lost-2", "lost", 0, None),
    ]
    form = page.get(f"/app/account/pipelines/{renewals.id}").forms["pipeline"]
    form["name"] = "Service"
    assert texts(form.submit("do", value="save").follow(), ".ordered strong") == ["Sales", "Service"]

    status = acme.account.statuses.get(code="won-2")
    deal = make_deal(acme.alice, status_id=status.id)
    form = page.get(f"/app/account/pipelines/{renewals.id}").forms["delete"]
    assert [(value, label) for value, _selected, label in form["target"].options] == [(str(sales.id), "Sales")]
    assert "The pipeline Service is deleted." in form.submit().follow()
    assert [name for name, *_ in statuses_of(acme, sales)] == [
        "New", "Qualified", "Proposal", "Won", "Lost", "Won (Service)",
    ]  # fmt: skip
    deal.refresh_from_db()
    assert deal.status_id == status.id
    assert acme.account.pipelines.get() == sales


def test_a_pipeline_without_statuses(acme):
    page = acme.page(acme.alice)
    add(page, "Partners", source="")
    pipeline = acme.account.pipelines.get(name="Partners")
    response = page.get(f"{STATUSES}&pipeline={pipeline.id}")
    assert "There are no statuses here yet." in response
    form = response.forms["add"]
    form["name"], form["outcome"], form["probability"], form["rot_days"] = "First call", "open", "25", "3"
    response = form.submit("do", value="add").follow()
    assert texts(response, ".ordered .badge") == ["First call"]
    assert statuses_of(acme, pipeline) == [("First call", "first-call", "open", 25, 3)]
    page.get(f"{STATUSES}&pipeline=999", status=404)
    page.get(f"{STATUSES}&pipeline=x", status=404)


@table(("name", "error"), [("", "Can't be blank"), ("Sales", "Is already taken"), ("a" * 256, "Ensure this value has")])
def test_it_rejects_invalid_names(acme, name, error):
    page = acme.page(acme.alice)
    add(page, "Partners")
    row = acme.account.pipelines.get(name="Partners")
    for path, button in ((PATH, "add"), (f"/app/account/pipelines/{row.id}", "save")):
        [shown] = texts(send(page, path, status=422, do=button, name=name), ".field-error")
        assert shown.startswith(error)
    assert acme.account.pipelines.count() == 2


def test_it_rejects_deleting_the_last_pipeline_and_deleting_without_a_target(acme):
    page = acme.page(acme.alice)
    path = "/app/account/pipelines/1"
    assert "delete" not in page.get(path).forms
    assert "Pipeline is the last one, and every account has one" in send(page, path, do="delete").follow()
    add(page, "Partners")
    for target in ("", "1", "999", "x"):
        response = send(page, path, status=422, do="delete", target=target)
        assert len(texts(response, "#delete .field-error")) == 1
    assert acme.account.pipelines.count() == 2


def test_a_pipeline_that_was_deleted_in_another_tab(acme):
    page = acme.page(acme.alice)
    add(page, "Partners", source="")
    row = acme.account.pipelines.get(name="Partners")
    response, form = page.get(f"/app/account/pipelines/{row.id}"), page.get(PATH).forms["add"]
    form["name"], form["source"] = "Copy", str(row.id)
    row.delete()
    response.forms["pipeline"].submit("do", value="save", status=404)
    response.forms["delete"].submit(status=404)
    form.submit("do", value="add", status=422)
    assert acme.account.pipelines.count() == 1


def test_moved_statuses_get_names_of_their_own(acme):
    """Both names may be as long as their column."""
    page = acme.page(acme.alice)
    add(page, "P" * 255)
    row = acme.account.pipelines.exclude(name="Sales").get()
    statuses = acme.account.statuses.filter(kind="deal", name="New")
    statuses.update(name="N" * 255)
    for status in statuses.model.objects.filter(account=acme.account, pipeline_id=row.id):
        make_deal(acme.alice, status_id=status.id)
    page.get(f"/app/account/pipelines/{row.id}").forms["delete"].submit().follow()
    names = [name for name, *_ in statuses_of(acme, acme.account.pipelines.get())]
    assert (len(set(names)), max(map(len, names))) == (10, 255)
    assert names[5] == "N" * 251 + " (1)"


def test_pipelines_and_their_statuses_are_moved(acme):
    page = acme.page(acme.alice)
    add(page, "Partners")
    row = acme.account.pipelines.get(name="Partners")
    assert texts(send(page, PATH, do="move", id=row.id, step="up").follow(), ".ordered strong") == ["Partners", "Sales"]
    # A step moves a status by one place in its pipeline, and leaves the others as they are.
    status = acme.account.statuses.get(code="proposal")
    path = f"{STATUSES}&pipeline=1"
    for step, names in (
        ("up", ["New", "Proposal", "Qualified", "Won", "Lost"]),
        ("up", ["Proposal", "New", "Qualified", "Won", "Lost"]),
        ("up", ["Proposal", "New", "Qualified", "Won", "Lost"]),
        ("down", ["New", "Proposal", "Qualified", "Won", "Lost"]),
    ):
        response = send(page, path, do="move", id=status.id, step=step).follow()
        assert texts(response, ".ordered .badge") == names
    last = acme.account.statuses.get(code="lost")
    assert texts(send(page, path, do="move", id=last.id, step="down").follow(), ".ordered .badge")[-1] == "Lost"
    assert [name for name, *_ in statuses_of(acme, row)] == ["New", "Qualified", "Proposal", "Won", "Lost"]


def test_the_outcome_of_a_status_can_be_changed(acme):
    page = acme.page(acme.alice)
    status = acme.account.statuses.get(code="proposal")
    deal = make_deal(acme.alice, status_id=status.id)
    form = page.get(f"/app/account/statuses/{status.id}").forms["status"]
    assert "closed" not in form.fields
    assert "pipeline_id" not in form.fields
    assert (form["outcome"].value, form["probability"].value, form["rot_days"].value) == ("open", "60", "14")
    form["outcome"], form["rot_days"] = "won", ""
    response = form.submit("do", value="save").follow()
    assert "The closing times of the deals in this status are being updated." in response
    status.refresh_from_db()
    assert (status.outcome, status.closed, status.probability, status.rot_days) == ("won", True, 100, None)
    run_jobs()
    deal.refresh_from_db()
    assert deal.closed_at == deal.stage_entered_at


def test_a_status_can_be_moved_to_another_pipeline(acme):
    page = acme.page(acme.alice)
    add(page, "Partners")
    row = acme.account.pipelines.get(name="Partners")
    status = acme.account.statuses.get(code="proposal")
    form = page.get(f"/app/account/statuses/{status.id}").forms["status"]
    form["pipeline_id"] = str(row.id)
    assert texts(form.submit("do", value="save", status=422), ".field-error") == ["Is already taken"]
    form["name"] = "Offer"
    response = form.submit("do", value="save").follow()
    assert "Offer" in texts(response, ".ordered .badge")
    status.refresh_from_db()
    assert status.pipeline_id == row.id


@table(
    ("values", "error"),
    [
        ({"probability": "101"}, "less than or equal to 100"),
        ({"probability": "-1"}, "greater than or equal to 0"),
        ({"probability": "x"}, "Enter a whole number"),
        ({"rot_days": "0"}, "greater than or equal to 1"),
        ({"rot_days": "3651"}, "less than or equal to 3650"),
        ({"outcome": "maybe"}, "Select a valid choice"),
    ],
)
def test_it_rejects_invalid_values_of_a_status(acme, values, error):
    page = acme.page(acme.alice)
    before = list(acme.account.statuses.values())
    response = send(page, STATUSES, status=422, do="add", name="Soon", **{"outcome": "open"} | values)
    [shown] = texts(response, ".field-error")
    assert error in shown
    assert list(acme.account.statuses.values()) == before


def test_the_reasons_can_be_changed(acme):
    """Default reasons stay what they are when they are shown translated."""
    acme.bob.change_role("admin", by=acme.alice)
    acme.account.users.filter(id=acme.bob.id).update(language="pl")
    page = acme.page(acme.account.users.get(id=acme.bob.id))
    form = page.get(PATH).forms["reasons"]
    assert form["won_reasons"].value.split("\n") == ["Cena", "Funkcje", "Polecenie"]
    form["won_reasons"] = "Polecenie\nObsługa\nCena"
    form.submit("do", value="reasons", status=303)
    acme.account.refresh_from_db()
    assert acme.account.won_reasons == ["Recommendation", "Obsługa", "Price"]
    page = acme.page(acme.alice)
    form = page.get(PATH).forms["reasons"]
    assert form["won_reasons"].value.split("\n") == ["Recommendation", "Obsługa", "Price"]
    form["won_reasons"], form["lost_reasons"] = " Service \n\nPrice\nService", ""
    assert "The reasons are saved." in form.submit("do", value="reasons").follow()
    acme.account.refresh_from_db()
    assert (acme.account.won_reasons, acme.account.lost_reasons) == (["Service", "Price"], [])
    for text, error in (
        ("\n".join(map(str, range(51))), "Are too many (maximum is 50)"),
        ("a" * 256, "Has a text that is too long (maximum is 255 characters)"),
    ):
        form = page.get(PATH).forms["reasons"]
        form["lost_reasons"] = text
        response = form.submit("do", value="reasons", status=422)
        assert texts(response, ".field-error") == [error]
        assert response.forms["reasons"]["lost_reasons"].value == text
    acme.account.refresh_from_db()
    assert acme.account.lost_reasons == []
