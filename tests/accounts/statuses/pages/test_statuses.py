"""Statuses on the pages: adding, changing, ordering and deleting."""

from tests.support.factories import make_post
from tests.support.settings import (
    button_of,
    send,
    texts,
    token_of,
)

PATH = "/app/account/statuses"
NAMES = ["New", "Accepted", "Planned", "Started", "Done", "Rejected", "Duplicate"]


def names(response) -> list[str]:
    return texts(response, ".ordered .badge")


def test_it_works(acme):
    page = acme.page(acme.alice)
    response = page.get(PATH)
    assert names(response) == NAMES
    form = response.forms["add"]
    form["name"], form["color"], form["closed"] = "On hold", "#123456", True
    response = form.submit("do").follow()
    assert "On hold is added." in response
    assert names(response) == [*NAMES, "On hold"]
    row = acme.account.statuses.get(name="On hold")
    assert (row.kind, row.code, row.color, row.closed) == ("post", "on-hold", "#123456", True)

    form = page.get(f"{PATH}/{row.id}").forms["status"]
    form["name"], form["code"], form["closed"] = "Waiting", "waiting", False
    assert "Waiting is saved." in form.submit("do").follow()
    row.refresh_from_db()
    assert (row.name, row.code, row.color, row.closed) == ("Waiting", "waiting", "#123456", False)

    response = button_of(page.get(f"{PATH}/{row.id}"), "delete").submit().follow()
    assert "Waiting is deleted." in response
    assert names(response) == NAMES


def test_it_rejects_unknown_statuses_and_kinds(acme):
    page = acme.page(acme.alice)
    assert "The list has changed in the meantime" in send(page, PATH, do="move", id=10**6, step="down").follow()
    page.get(f"{PATH}?kind=task", status=404)


INVALID = [
    ({"name": ""}, "Can't be blank"),
    ({"name": "Planned", "code": "p"}, "Is already taken"),
    ({"name": "Soon", "code": "planned"}, "Is already taken"),
    ({"name": "…"}, "Can't be blank"),
    ({"name": "Soon", "color": "red"}, "Enter a valid value."),
    ({"name": "a" * 256}, "Ensure this value has at most 255 characters (it has 256)."),
]


def test_it_rejects_invalid_values(acme):
    before, page = list(acme.account.statuses.values()), acme.page(acme.alice)
    for values, error in INVALID:
        response = send(page, PATH, status=422, do="add", **{"color": "#6b7280", **values})
        assert texts(response, ".field .field-error") == [error]
        assert response.forms["add"]["name"].value == values["name"]
    assert list(acme.account.statuses.values()) == before


def test_it_rejects_deleting_a_status_in_use(acme):
    post = make_post(acme.alice)
    page = acme.page(acme.alice)
    response = button_of(page.get(f"{PATH}/{post.status_id}"), "delete").submit().follow()
    assert "Status is in use by a post, perhaps one in the trash" in response
    assert acme.account.statuses.filter(id=post.status_id).exists()


def test_a_status_that_was_deleted_in_another_tab(acme):
    row = acme.account.statuses.get(kind="post", code="rejected")
    page = acme.page(acme.alice)
    response = page.get(f"{PATH}/{row.id}")
    row.delete()
    button_of(response, "delete").submit(status=404)
    response.forms["status"].submit("do", status=404)


def test_a_color_set_by_the_api_is_kept(acme):
    row = acme.account.statuses.get(kind="post", code="rejected")
    row.write({"color": "crimson"})
    form = acme.page(acme.alice).get(f"{PATH}/{row.id}").forms["status"]
    assert form["color"].value == "#6b7280"
    form["name"] = "Refused"
    form.submit("do")
    row.refresh_from_db()
    assert (row.name, row.color) == ("Refused", "crimson")


def test_the_form_puts_a_status_on_the_roadmap(acme):
    page = acme.page(acme.alice)
    form = page.get(path_of(acme, "rejected")).forms["status"]
    form["on_roadmap"] = True
    form.submit("do", value="save")
    form = page.get(path_of(acme, "planned")).forms["status"]
    form["on_roadmap"] = False
    form.submit("do", value="save")
    on_roadmap = acme.account.statuses.filter(on_roadmap=True).order_by("position")
    assert list(on_roadmap.values_list("code", flat=True)) == ["started", "completed", "rejected"]
    assert page.get(f"{PATH}?kind=deal").html.find(id="id_on_roadmap") is None


def path_of(acme, code: str) -> str:
    return f"{PATH}/{acme.account.statuses.get(code=code).id}"


# Order


def move_form(page, name: str):
    """Return the form that moves the status with this name."""
    response = page.get(PATH)
    [item] = [item for item in response.html.select(".ordered > li") if item["data-name"] == name]
    return button_of(response, "move", id=item["data-id"])


def test_statuses_are_moved_by_buttons(acme):
    page = acme.page(acme.alice)
    assert names(move_form(page, "Planned").submit("step", value="up").follow())[:3] == ["New", "Planned", "Accepted"]
    response = move_form(page, "New").submit("step", value="down")
    assert names(response.follow())[:3] == ["Planned", "New", "Accepted"]
    # The fragment of the redirect is the id of the moved status.
    fragment = response.headers["Location"].partition("#")[2]
    assert response.follow().html.find(id=fragment).find_parent("li")["data-name"] == "New"
    # New posts get the first status.
    assert make_post(acme.alice).status_code == "planned"
    # Statuses of other kinds keep their positions.
    deals = acme.account.statuses_of_kind("deal").values_list("code", "position")
    assert list(deals) == [("new", 8), ("qualified", 9), ("proposal", 10), ("won", 11), ("lost", 12)]


def test_the_first_and_the_last_status_cannot_move_further(acme):
    page = acme.page(acme.alice)
    first, last = (acme.account.statuses.get(kind="post", code=code) for code in ("new", "duplicate"))
    for row, step in ((first, "up"), (last, "down"), (last, "sideways")):
        send(page, PATH, do="move", id=row.id, step=step)
    assert names(page.get(PATH)) == NAMES


def test_statuses_are_moved_by_javascript(acme):
    page = acme.page(acme.alice)
    ids = dict(acme.account.statuses_of_kind("post").values_list("name", "id"))
    headers = {"HX-Request": "true", "X-CSRFToken": token_of(page)}

    def move(status=204, **values):
        page.post(PATH, {"do": "move", **values}, headers=headers, status=status)
        return [status.name for status in acme.account.statuses_of_kind("post")]

    assert move(id=ids["Duplicate"], after=ids["New"])[:3] == ["New", "Duplicate", "Accepted"]
    assert move(id=ids["Duplicate"], before=ids["New"])[:3] == ["Duplicate", "New", "Accepted"]
    assert move(id=ids["Duplicate"], after=ids["Rejected"]) == NAMES
    assert move(id=ids["New"], after=ids["New"]) == NAMES
    # The neighbour does not exist; the neighbour is of another kind; the status itself does not exist.
    assert move(id=ids["New"], after=10**15, status=409) == NAMES
    assert move(id=ids["New"], after=acme.account.statuses.get(code="won").id, status=409) == NAMES
    assert move(id=10**15, after=ids["New"], status=409) == NAMES
    del headers["X-CSRFToken"]
    assert move(id=ids["New"], after=ids["Planned"], status=403) == NAMES
