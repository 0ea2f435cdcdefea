"""The deal board as a page: columns, totals, cards, filters and moves."""

from datetime import timedelta

from django.utils import formats, timezone

from core.db.time_limit import TooSlow
from team.board import pages
from tests.support.factories import make_client, make_deal
from tests.support.queries import capture_queries
from tests.support.tables import table

PATH = "/app/deals/board"
# The session, the forum, the numbers of new suggestions and of due tasks, the pipelines, the statuses, the totals, the ids of the first
# cards, the closed deals of this month with the settings of their search, the cards, and the saved views.
STATEMENTS = 11


def texts(element) -> str:
    return " ".join(element.get_text(" ").split())


def columns(page) -> dict[str, list[str]]:
    """Return the names of the cards of each column."""
    return {
        texts(column.find("h2")): [texts(card.find("h3")) for card in column.select("[data-card]")]
        for column in page.html.select("[data-column]")
    }


def test_it_works(acme, statuses):
    client = make_client(acme.bob, "Northwind")
    yesterday = timezone.localdate() - timedelta(days=1)
    make_deal(
        acme.bob,
        "Roof",
        client_id=client.id,
        price="12000.5",
        currency="EUR",
        status_id=statuses["proposal"],
        responsible_id=acme.bob.id,
        expected_close_date=yesterday,
    )
    make_deal(acme.bob, "Barn", price="100", currency="PLN", status_id=statuses["proposal"])
    make_deal(acme.bob, "House", status_id=statuses["won"])
    visitor = acme.page(acme.bob)
    visitor.get(PATH)
    page, queries = capture_queries(lambda: visitor.get(PATH))
    assert len(queries) == STATEMENTS, queries
    assert columns(page) == {"New": [], "Qualified": [], "Proposal": ["Barn", "Roof"], "Won": ["House"], "Lost": []}
    [proposal] = [each for each in page.html.select("[data-column]") if "Proposal" in texts(each.find("h2"))]
    header = texts(proposal.find("header"))
    for text in ("2 deals", "12,000.50 EUR 7,200.30 weighted", "100.00 PLN 60.00 weighted"):
        assert text in header
    # The cards refer to the drawings of their icons, so that the page is small.
    drawings = [symbol["id"] for symbol in page.html.select("symbol")]
    icons = {use["href"].removeprefix("#") for use in page.html.select(".deal-card use")}
    assert icons == {"icon-calendar-x", "icon-arrow-left-right", "icon-grip-vertical"}
    assert [drawings.count(name) for name in icons] == [1, 1, 1]
    card = texts(proposal.select("[data-card]")[1])
    day = formats.date_format(yesterday, "DATE_FORMAT")
    for text in ("Northwind", "12,000.50 EUR", f"Overdue: {day}", "Responsible: Bob Nowak"):
        assert text in card


def test_only_the_chosen_pipeline_is_shown(acme, statuses):
    assert not acme.page(acme.bob).get(PATH).html.select("[aria-label=Pipelines]")
    pipeline = acme.account.pipelines.create(name="Partners", position=2)
    acme.account.statuses.create(kind="deal", code="met", name="Met", pipeline_id=pipeline.id)
    page = acme.page(acme.bob).get(f"{PATH}?mine=true")
    links = {texts(link): link["href"] for link in page.html.select("[aria-label=Pipelines] a")}
    assert links == {"Sales": "?mine=true&pipeline_id=1", "Partners": f"?mine=true&pipeline_id={pipeline.id}"}
    page = page.click(description="Partners")
    assert columns(page) == {"Met": []}
    assert texts(page.html.select_one(".chips .chip bdi")) == "Mine"


@table(("code", "heading"), [("new", "New"), (None, "No status")])
def test_more_cards_of_a_column(acme, statuses, monkeypatch, code, heading):
    """Deals without a status have a column, which comes first."""
    monkeypatch.setattr("team.board.columns.COLUMN_SIZE_OF_PAGES", 1)
    for name in ("Roof", "Barn"):
        make_deal(acme.bob, name, status_id=statuses[code] if code else None)
    visitor = acme.page(acme.bob)
    visitor.get(PATH)
    page, queries = capture_queries(lambda: visitor.get(PATH))
    assert len(queries) == STATEMENTS, queries
    assert next(iter(columns(page).items())) == (heading, ["Barn"])
    [link] = page.html.select(".more a")
    rest = page.goto(link["href"])
    assert columns(rest) == {heading: ["Roof"]}
    assert "Back to the whole board" in texts(rest.html.find("main"))
    fragment = page.goto(link["hx-get"], headers={"HX-Request": "true"})
    assert [texts(card) for card in fragment.html.select("h3")] == ["Roof"]
    assert not fragment.html.find("header")


def test_the_list_and_the_board_keep_the_filters(acme, statuses):
    make_deal(acme.bob, "Roof", price=5, status_id=statuses["new"])
    make_deal(acme.bob, "Barn", price=1, status_id=statuses["new"])
    page = acme.page(acme.bob).get("/app/deals?price__after=2&sort=name").click(description="Board", href="board")
    assert columns(page)["New"] == ["Roof"]
    page = page.click(description="List")
    assert [texts(cell) for cell in page.html.select("tbody th")] == ["Roof"]
    assert not page.html.select(".notice.error")


def test_it_names_what_it_cannot_read(acme):
    page = acme.page(acme.bob).get(f"{PATH}?pipeline_id=999&column=1&colour=red", status=422)
    assert {texts(item.find("code")) for item in page.html.select(".notice.error li")} == {
        "pipeline_id",
        "column",
        "colour",
    }
    assert len(page.html.select("[data-column]")) == 5


def test_a_search_that_takes_too_long_is_cut_off(acme, monkeypatch):
    def refuse(*_args, **_options):
        raise TooSlow

    monkeypatch.setattr(pages, "read_board", refuse)
    page = acme.page(acme.bob).get(f"{PATH}?price__after=2")
    assert "This takes too long" in texts(page.html.find("main"))


# Moves without JavaScript


def move_page(acme, deal, query: str = "?board="):
    return acme.page(acme.bob).get(f"/app/deals/{deal.id}/move{query}")


def test_a_deal_is_moved_with_the_form(acme, statuses):
    deal = make_deal(acme.bob, "Roof")
    make_deal(acme.bob, "Barn", status_id=statuses["proposal"])
    page = acme.page(acme.bob).get(f"{PATH}?q=roof").click(href=f"/{deal.id}/move")
    form = page.forms["move"]
    assert (form["status_id"].value, form["status_id"].options[0][2]) == ("0", "No status")
    for place, message in (("0", "Ensure this value is greater than or equal to 1."), ("x", "Enter a whole number.")):
        form["place"] = place
        assert message in texts(form.submit(status=422).html.find("main"))
    form["status_id"], form["place"] = str(statuses["proposal"]), "2"
    page = form.submit(status=303).follow()
    assert page.request.url.endswith("/app/deals/board?q=roof")
    assert "“Roof” is in Proposal now." in texts(page.html.find(id="messages"))
    page = page.goto(PATH)
    assert columns(page)["Proposal"] == ["Barn", "Roof"]
    assert "No status" not in columns(page)
    form = page.click(href=f"/{deal.id}/move").forms["move"]
    form["status_id"] = "0"
    page = form.submit(status=303).follow()
    assert "“Roof” has no status now." in texts(page.html.find(id="messages"))
    assert columns(page)["No status"] == ["Roof"]


@table(("language", "offered"), [("en", "Features"), ("pl", "Funkcje")])
def test_default_reasons_are_translated_and_stored_in_english(acme, statuses, language, offered):
    acme.account.users.filter(id=acme.bob.id).update(language=language)
    deal = make_deal(acme.bob, "Roof", status_id=statuses["new"])
    form = move_page(acme, deal, f"?status_id={statuses['won']}").forms["move"]
    assert offered in texts(form.html)
    form["other_reason"] = offered
    visitor = acme.page(acme.bob)
    for _ in range(2):
        form.submit(status=303)
        deal.refresh_from_db()
        assert deal.won_reason == "Features"
        form = visitor.get(f"/app/deals/{deal.id}/edit?field=won_reason").forms["edit-field"]
        assert form["value"].value == offered
    assert offered in texts(visitor.get(f"/app/deals/{deal.id}").html.find("main"))
    assert offered in texts(visitor.get("/app/deals?columns=won_reason").html.find("table"))


def test_won_asks_for_a_reason(acme, statuses):
    deal = make_deal(acme.bob, "Roof", status_id=statuses["proposal"])
    form = move_page(acme, deal, "").forms["move"]
    form["status_id"] = str(statuses["won"])
    page = form.submit(status=200)
    assert texts(page.html.find("h1")) == "Why is “Roof” won?"
    deal.refresh_from_db()
    assert deal.status_id == statuses["proposal"]
    form = page.forms["move"]
    form["reason"] = "Features"
    page = form.submit(status=303).follow()
    assert page.request.path == f"/app/deals/{deal.id}"
    deal.refresh_from_db()
    assert (deal.status_id, deal.won_reason) == (statuses["won"], "Features")
    # It is opened again on the page of the deal.
    page = page.forms["reopen"].submit("status_id", status=303).follow()
    deal.refresh_from_db()
    assert (deal.status_id, deal.closed_at) == (statuses["proposal"], None)
    # Another reason as a text, and none.
    for code, reason in (("lost", "The roof is gone"), ("won", "")):
        form = page.click(description=code.capitalize(), href="move").forms["move"]
        form["other_reason"] = reason
        page = form.submit(status=303).follow()
        deal.refresh_from_db()
        assert (deal.status_id, getattr(deal, f"{code}_reason")) == (statuses[code], reason or None)
        page.forms["reopen"].submit("status_id", status=303)
        page = acme.page(acme.bob).get(f"/app/deals/{deal.id}")


def test_it_rejects_moves_after_other_changes(acme, statuses):
    """The status was deleted meanwhile, or the deal was moved or deleted."""
    status = acme.account.statuses.create(kind="deal", code="met", name="Met")
    deal = make_deal(acme.bob, "Roof", status_id=statuses["new"])
    forms = [move_page(acme, deal).forms["move"] for _ in range(3)]
    for form, status_id in zip(forms, (status.id, statuses["qualified"], statuses["qualified"]), strict=True):
        form["status_id"] = str(status_id)
    changes = (
        (status.delete, "This status was deleted meanwhile. Choose another one."),
        (
            lambda: deal.write({"status_id": statuses["proposal"]}, by=acme.alice),
            "Somebody else has moved the deal meanwhile.",
        ),
        (lambda: deal.trash(by=acme.alice), "This deal can't be found."),
    )
    for form, (change, message) in zip(forms, changes, strict=True):
        change()
        assert message in texts(form.submit(status=303).follow().html.find(id="messages"))


def test_it_rejects_deals_of_others(acme, statuses):
    deal = make_deal(acme.alice, responsible_id=acme.alice.id, status_id=statuses["new"])
    acme.account.change(agents_see="own")
    acme.page(acme.bob).get(f"/app/deals/{deal.id}/move", status=404)
    assert columns(acme.page(acme.bob).get(PATH))["New"] == []


# The responses to htmx


def test_a_dragged_card_gets_the_totals_of_both_columns(acme, statuses):
    deal = make_deal(acme.bob, "Roof", price=5, status_id=statuses["new"])
    below = make_deal(acme.bob, "Barn", price=2, status_id=statuses["proposal"])
    visitor = acme.page(acme.bob)
    page = visitor.get(PATH)
    token = page.html.find("input", {"name": "csrfmiddlewaretoken"})["value"]
    values = {"status_id": statuses["proposal"], "after_id": below.id, "seen_status_id": statuses["new"]}
    path = f"/app/deals/{deal.id}/move?board="
    headers = {"HX-Request": "true", "X-CSRFToken": token}
    response, queries = capture_queries(lambda: visitor.post(path, values, headers=headers))
    assert len(queries) <= 19, queries
    assert response.headers["HX-Retarget"] == "#board-news"
    swapped = response.html.select("[hx-swap-oob]")
    assert [element.get("id") or element["hx-swap-oob"] for element in swapped] == [
        "messages",
        f"totals-{statuses['new']}",
        f"totals-{statuses['proposal']}",
        f"deal-{deal.id}",
        f"afterend:#deal-{below.id}",
    ]
    assert [texts(element).split(" EUR")[0] for element in swapped[1:3]] == ["0 deals", "2 deals 7.00"]
    # A deal that loses its status may be the first one, so the response has the whole board with the column for it.
    values |= {"status_id": 0, "after_id": 0, "seen_status_id": statuses["proposal"]}
    response, queries = capture_queries(lambda: visitor.post(path, values, headers=headers))
    assert len(queries) <= 19, queries
    assert columns(response)["No status"] == ["Roof"]
    assert "“Roof” has no status now." in texts(response.html)
    # In the column itself, only the card is moved.
    response = visitor.post(path, values | {"seen_status_id": 0}, headers=headers)
    assert [element.get("id") or element["hx-swap-oob"] for element in response.html.select("[hx-swap-oob]")] == [
        "messages",
        "totals-0",
        f"deal-{deal.id}",
        "afterbegin:#cards-0",
    ]
    values = {"status_id": statuses["proposal"], "after_id": below.id, "seen_status_id": 0}
    assert "totals-0" in str(visitor.post(path, values, headers=headers).html)
    values["seen_status_id"] = statuses["new"]
    # After a conflict, the response has the message and the whole board.
    deal.write({"status_id": statuses["lost"]}, by=acme.alice)
    response = visitor.post(path, values | {"status_id": statuses["qualified"]}, headers=headers)
    assert response.headers["HX-Retarget"] == "#messages"
    assert "Somebody else has moved the deal meanwhile." in texts(response.html)
    assert columns(response)["Lost"] == ["Roof"]


# The page of a deal


def test_the_page_of_a_deal_without_a_status_shows_the_first_pipeline(acme, statuses):
    deal = make_deal(acme.bob, "Order 7")
    page = acme.page(acme.bob).get(f"/app/deals/{deal.id}")
    assert [texts(button) for button in page.html.select(".stages button")] == ["New", "Qualified", "Proposal"]
    assert not page.html.select(".stages [aria-current], .stage-facts")
    assert page.html.select(f"[href$='/move?status_id={statuses['won']}']")
    # The buttons move the deal only while it has no status.
    assert page.html.select_one(".stages [name=seen_status_id]")["value"] == "0"
    field = page.goto(f"/app/deals/{deal.id}/edit?field=status_id").forms["edit-field"]["value"]
    assert [label for _value, _selected, label in field.options] == ["–", "New", "Qualified", "Proposal", "Won", "Lost"]


def test_the_page_of_a_deal_shows_its_stages(acme, statuses):
    pipeline = acme.account.pipelines.create(name="Partners", position=2)
    acme.account.statuses.create(kind="deal", code="met", name="Met", pipeline_id=pipeline.id)
    deal = make_deal(acme.bob, "Roof", status_id=statuses["new"])
    deal.write({"status_id": statuses["qualified"]}, by=acme.alice)
    acme.account.deals.update(stage_entered_at=timezone.now() - timedelta(days=15))
    visitor = acme.page(acme.bob)
    path = f"/app/deals/{deal.id}"
    visitor.get(path)
    page, queries = capture_queries(lambda: visitor.get(path))
    assert len(queries) <= 12, queries
    # The statuses that close the deal have buttons beside the path.
    assert [texts(button) for button in page.html.select(".stages button")] == ["New", "Qualified", "Proposal"]
    assert texts(page.html.select_one(".stages [aria-current]")) == "Qualified"
    facts = texts(page.html.select_one(".stage-facts"))
    assert "15 days in this stage" in facts
    assert "No task is planned" in facts
    history = [texts(item) for item in page.html.select("[aria-labelledby=stage-history] li")]
    assert [item.split(" ")[0] for item in history] == ["Qualified", "New"]
    # A new status is chosen from those of the pipeline.
    field = page.goto(f"{path}/edit?field=status_id").forms["edit-field"]["value"]
    assert [label for _value, _selected, label in field.options] == ["–", "New", "Qualified", "Proposal", "Won", "Lost"]


def test_a_move_is_undone(acme, statuses):
    """The deal goes back to its status and its place."""
    deals = [make_deal(acme.bob, name, status_id=statuses["new"]) for name in ("Barn", "Roof", "Wall")]
    visitor = acme.page(acme.bob)
    page = visitor.get(PATH)
    assert columns(page)["New"] == ["Wall", "Roof", "Barn"]
    token = page.html.find("input", {"name": "csrfmiddlewaretoken"})["value"]
    headers = {"HX-Request": "true", "X-CSRFToken": token}
    for status, reason in (("proposal", {}), ("lost", {"reason": "", "other_reason": "Too dear"})):
        values = {"status_id": statuses[status], "after_id": 0, "seen_status_id": statuses["new"], **reason}
        response = visitor.post(f"/app/deals/{deals[1].id}/move?board=", values, headers=headers)
        assert columns(visitor.get(PATH))["New"] == ["Wall", "Barn"]
        # Losing a deal changes the sum of the open ones, so the whole board is shown.
        assert bool(response.html.find(id="board-total")) == (status == "lost")
        form = response.html.select_one("#messages form")
        undo = {field["name"]: field["value"] for field in form.select("input")}
        assert visitor.post(form["action"], undo, headers=headers).headers["HX-Retarget"] == "#board-news"
        assert columns(visitor.get(PATH))["New"] == ["Wall", "Roof", "Barn"]


def test_closed_deals_of_this_month_and_converted_sums(acme, statuses):
    """The columns of won and lost deals link to all of them. The form of a new deal begins with the status of its column."""
    acme.account.change(exchange_rates={"PLN": "0.25"})
    make_deal(acme.bob, "Roof", price=100, currency="PLN", status_id=statuses["new"])
    make_deal(acme.bob, "Barn", price=7, status_id=statuses["qualified"])
    old, new = (make_deal(acme.bob, name, price=5, status_id=statuses["won"]) for name in ("Old roof", "New roof"))
    acme.account.deals.filter(id=old.id).update(closed_at=timezone.now() - timedelta(days=40))
    visitor = acme.page(acme.bob)
    for query in ("", "?price__empty=false", "?q=roof"):
        shown = columns(visitor.get(PATH + query))
        assert (shown["New"], shown["Won"]) == (["Roof"], [new.name])
    page = visitor.get(PATH)
    assert texts(page.html.find(id="board-total")) == "Open deals: ≈ 32.00 EUR"
    headers = {texts(each.find("h2")): texts(each.find("header")) for each in page.html.select("[data-column]")}
    assert "≈ 25.00 EUR" in headers["New"]
    assert "This month · All : Won 1 deal 5.00 EUR" in headers["Won"]
    assert page.html.find("a", href=f"/app/deals?status_id={statuses['won']}")
    form = visitor.get(f"/app/deals/new?status_id={statuses['qualified']}").forms["new-record"]
    assert form["status_id"].value == str(statuses["qualified"])
    # The API has all.
    board = acme.json().get("/app/deals/board.json").json()
    won = next(column for column in board["columns"] if column["status_id"] == statuses["won"])
    assert [deal["name"] for deal in won["deals"]] == ["New roof", "Old roof"]
