"""The team's work with clients, deals and tasks, from beginning to end.

Each story has one combination of browser, device, theme and language. Together they have each of these.
"""

import re
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override, pgettext
from playwright.sync_api import Locator, Page, expect

from accounts.account.models import AgentsSee
from crm.clients.models import Client
from crm.deals.models import Deal
from team.bulk.models import BulkChange
from tests.support.assertions import read
from tests.support.factories import make_client, make_contact, make_deal, make_note, make_post, make_task, make_voters
from tests.support.jobs import run_jobs
from tests.support.operating import Combination, Operator, in_combination
from tests.support.people import at, messages_on

# A change of more rows than a batch runs in a job.
BATCH_SIZE, NUMBER_OF_ROWS = 10, 35


def find_client(bob: Operator, q: str, name: str) -> None:
    """Open the page of a client from the search in the header: from its list, or from the page of the results."""
    page, keyboard = bob.page, bob.page.keyboard
    if bob.combination.javascript:
        keyboard.press("/")
        expect(page.locator("#find")).to_be_focused()
        keyboard.type(q)
        expect(page.get_by_role("option", name=name)).to_be_visible()
        bob.check()
        page.locator("#find").focus()
        keyboard.press("ArrowDown")
        expect(page.locator("[role=option][aria-selected=true]")).to_contain_text(name)
        keyboard.press("Enter")
    else:
        bob.fill(page.locator("#find"), q)
        keyboard.press("Enter")
        expect(page.locator("main").get_by_role("link", name=name)).to_be_visible()
        bob.check()
        bob.press(page.locator("main").get_by_role("link", name=name))
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)


def timeline_entry(page: Page, label: str) -> Locator:
    return page.locator("#timeline li").filter(has=page.locator("b", has_text=re.compile(f"^{re.escape(label)}$")))


def move_to_won(bob: Operator, deal: Deal) -> None:
    """Drag a deal on the board to won, and choose the first reason."""
    page, won = bob.page, _("Won")
    column = page.get_by_role("region", name=won, exact=True)
    page.locator(f"#deal-{deal.id} h3").hover(position={"x": 2, "y": 2})
    page.mouse.down()
    box = column.locator("[data-cards]").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10, steps=8)
    page.mouse.up()
    scope = page.get_by_role("dialog")
    expect(scope.get_by_role("heading", name=_("Why is “%(name)s” won?") % {"name": deal.name})).to_be_visible()
    bob.check()
    bob.choose(scope.get_by_role("radio").first)
    bob.press(scope.get_by_role("button", name=_("Move to “%(status)s”") % {"status": won}))
    expect(column.get_by_role("link", name=deal.name, exact=True)).to_be_visible()


@in_combination("js mouse 1280 dark pl")
def test_a_lead_from_the_shop_becomes_a_won_deal(acme, browse, combination: Combination):
    shop = acme.json(acme.alice_token)
    values = {"name": "Łukasz Meble", "email": "biuro@meble.example", "responsible_id": acme.bob.id}
    shop.post("/app/clients.json", json={"client": values | {"external_ids": {"shop": "1042"}}}).raise_for_status()
    client = acme.account.clients.get()
    codes = {status.id: status.code for status in acme.account.statuses_of_kind("deal")}
    new = next(id for id, code in codes.items() if code == "new")
    values = {"name": "Forty chairs", "client_id": client.id, "price": "12000", "currency": "EUR", "status_id": new}
    response = shop.post("/app/deals.json", json={"deal": values | {"responsible_id": acme.bob.id}})
    deal = acme.account.deals.get(id=read(response)["id"])
    [reason, *_others] = acme.account.won_reasons
    with override(combination.language):
        bob = Operator(browse, acme.bob, combination)
        page = bob.page
        bob.open("/app/clients")
        find_client(bob, "lukasz mebel", client.name)
        expect(page.get_by_role("region", name=_("In other systems"))).to_contain_text("1042")
        bob.check()

        composer = page.locator("#composer")
        bob.choose(composer.get_by_role("radio", name=_("Call"), exact=True))
        bob.fill(composer.get_by_label(_("Text")), "Wants oak.")
        bob.fill(composer.get_by_label(_("Minutes")), "15")
        bob.press(composer.get_by_role("button", name=_("Save")))
        expect(messages_on(page)).to_contain_text(_("The call is saved."))
        bob.choose(composer.get_by_role("radio", name=_("Task"), exact=True))
        bob.fill(composer.get_by_label(_("New task")), "Send samples")
        bob.check()
        bob.press(composer.get_by_role("button", name=_("Save")))
        expect(messages_on(page)).to_contain_text(_("The task is added."))

        bob.press(page.get_by_role("region", name=_("Deals"), exact=True).get_by_role("link", name=deal.name))
        expect(page.get_by_role("heading", level=1)).to_contain_text(deal.name)
        bob.check()
        bob.press(page.get_by_role("navigation", name=_("Main")).get_by_role("link", name=pgettext("menu", "Deals")))
        expect(page).to_have_url(at("/app/deals"))
        bob.check()
        bob.press(page.locator(".switch").get_by_role("link", name=pgettext("view", "Board")))
        expect(page).to_have_url(at("/app/deals/board"))
        bob.check()
        move_to_won(bob, deal)
        bob.check()

        bob.press(page.get_by_role("link", name=deal.name, exact=True))
        bob.press(page.locator("main .head").get_by_role("link", name=client.name))
        expect(page.get_by_role("heading", level=1)).to_contain_text(client.name)
        expect(timeline_entry(page, _("Call"))).to_contain_text("Wants oak.")
        expect(timeline_entry(page, _("Task added"))).to_contain_text("Send samples")
        expect(timeline_entry(page, _("Deal added"))).to_contain_text(deal.name)
        expect(timeline_entry(page, _("Deal moved"))).to_contain_text(_("Won"))
        bob.check()
    deal.refresh_from_db()
    assert (codes[deal.status_id], deal.won_reason) == ("won", reason)
    assert deal.closed_at is not None
    [note] = acme.account.notes.all()
    assert (note.kind, note.content, note.duration, note.client_id) == ("call", "Wants oak.", 15, client.id)
    [task] = acme.account.posts.tasks()
    assert (task.title, task.client_id, task.responsible_id) == ("Send samples", client.id, acme.bob.id)


@in_combination("js keyboard 390 light en")
def test_a_day_of_tasks(acme, browse, combination: Combination):
    client = make_client(acme.bob, "Northwind", responsible_id=acme.bob.id)
    now, day = timezone.now(), timedelta(days=1)
    own = {"responsible_id": acme.bob.id, "client_id": client.id}
    late = make_task(acme.bob, "Call them back", scheduled_at=now - 2 * day, task_kind="phone", **own)
    due = make_task(acme.bob, "Send the offer", scheduled_at=now, **own)
    make_task(acme.bob, "Some day", **own)
    make_task(acme.alice, "Not Bob's", scheduled_at=now, responsible_id=acme.alice.id)
    with override(combination.language):
        bob = Operator(browse, acme.bob, combination)
        page = bob.page
        bob.open("/app/tasks")
        number = page.locator("header a[aria-current=page] .number")
        expect(number).to_have_text("2")
        for group, title in (("Overdue", late.title), ("Today", due.title), ("Without a date", "Some day")):
            expect(page.get_by_role("region", name=_(group), exact=True)).to_contain_text(title)
        expect(page.get_by_text("Not Bob's")).to_have_count(0)

        page.keyboard.press("j")
        expect(page.get_by_role("link", name=late.title)).to_be_focused()
        page.keyboard.press("x")
        expect(page.get_by_text(_("“%(title)s” is done.") % {"title": late.title})).to_be_visible()
        expect(number).to_have_text("1")
        bob.check()
        bob.press(page.get_by_role("link", name=_("In a week"), exact=True))
        expect(page.locator("#task").get_by_text(client.name)).to_be_visible()
        bob.fill(page.get_by_label(_("Title")), "Call them again")
        bob.check()
        bob.press(page.locator("#task .actions").get_by_role("button", name=_("Save")))
        expect(messages_on(page)).to_contain_text(_("The task is saved."))
        again = acme.account.posts.get(title="Call them again")

        page.goto("/app/tasks")
        bob.press(page.locator("summary").filter(has_text=_("Postpone “%(title)s”") % {"title": due.title}))
        menu = page.locator("details[open].snooze")
        bob.press(menu.get_by_role("button", name=_("Tomorrow"), exact=True))
        expect(messages_on(page)).to_contain_text(_("The task is due on %(day)s.").partition("%")[0])
        expect(number).to_have_count(0)
        bob.check()

        bob.press(page.get_by_role("link", name=_("Calendar")))
        bob.check()
        tomorrow = timezone.localdate() + day
        if tomorrow.month != timezone.localdate().month:
            bob.press(page.get_by_role("link", name=_("Next"), exact=True))
        cell = page.locator("td").filter(has=page.locator(f"time[datetime='{tomorrow}']"))
        expect(cell.get_by_role("link", name=due.title)).to_be_visible()
        bob.press(cell.get_by_role("link", name=due.title))
        expect(page.get_by_role("heading", level=1)).to_have_text(due.title)
        bob.check()
    late.refresh_from_db()
    assert late.closed
    assert late.completed_at is not None
    assert (again.client_id, again.task_kind, again.closed) == (client.id, "phone", False)
    assert timezone.localdate(again.scheduled_at) == timezone.localdate() + 7 * day
    due.refresh_from_db()
    assert due.scheduled_at == now + day


@in_combination("plain keyboard 1280 dark en")
def test_two_duplicates_are_merged_and_the_merge_is_undone(acme, browse, combination: Combination):
    kept = make_client(acme.bob, "Northwind", email="office@northwind.example", city="Gdynia")
    other = make_client(acme.bob, "Northwind Ltd", email="office@northwind.example", city="Gdańsk", phone="123")
    deal = make_deal(acme.bob, "The roof", client_id=other.id, price="900")
    contact = make_contact(acme.bob, "Ann", client_id=other.id)
    task = make_task(acme.bob, "Send the offer", client_id=other.id)
    linked = [deal, contact, task]
    with override(combination.language):
        bob = Operator(browse, acme.bob, combination)
        page = bob.page
        bob.open(f"/app/clients/{kept.id}")
        bob.press(page.locator("summary").filter(has_text=_("More actions")))
        bob.press(page.get_by_role("link", name=_("Merge…")))
        expect(page.get_by_role("heading", level=1)).to_have_text(_("Merge clients"))
        bob.check()
        bob.press(page.get_by_role("link", name=_("Compare")))
        city = page.get_by_role("group", name=_("City"), exact=True)
        bob.choose(city.get_by_role("radio").nth(1))
        bob.check()
        bob.press(page.get_by_role("button", name=_("Merge"), exact=True))
        merged = page.locator(".notice").filter(has_text=_("Merged with %(name)s") % {"name": other.name})
        expect(merged).to_be_visible()
        for row in linked:
            expect(page.get_by_role("link", name=str(row)).first).to_be_visible()
        expect(page.locator("#city .value")).to_have_text("Gdańsk")
        expect(page.locator("#phone .value")).to_have_text("123")
        expect(timeline_entry(page, _("Merged"))).to_contain_text(other.name)
        bob.check()
        for row in linked:
            row.refresh_from_db()
            assert row.client_id == kept.id

        bob.press(page.get_by_role("link", name=_("Change: %(field)s") % {"field": _("City")}))
        bob.fill(page.get_by_label(_("City")), "Sopot")
        page.keyboard.press("Enter")
        expect(page.locator("#city .value")).to_have_text("Sopot")

        bob.press(merged.get_by_role("button", name=_("Undo")))
        expect(messages_on(page)).to_contain_text(_("The merge is undone. Both records are back."))
        # The city was changed after the merge, so it stays. The telephone number goes back.
        expect(page.locator("#city .value")).to_have_text("Sopot")
        expect(page.get_by_role("link", name=deal.name)).to_have_count(0)
        bob.check()
        find_client(bob, other.name, other.name)
        expect(page.locator("#city .value")).to_have_text("Gdańsk")
        expect(page.get_by_role("region", name=_("Deals"), exact=True)).to_contain_text(deal.name)
        bob.check()
    for row in (kept, other, *linked):
        row.refresh_from_db()
    assert (kept.name, kept.city, kept.phone, kept.trashed_at) == ("Northwind", "Sopot", None, None)
    assert (other.city, other.phone, other.trashed_at) == ("Gdańsk", "123", None)
    assert [row.client_id for row in linked] == [other.id] * 3


@in_combination("js keyboard 1280 dark en")
def test_a_change_of_many_rows_is_undone(acme, browse, monkeypatch, combination: Combination):
    monkeypatch.setattr(BulkChange, "PART_SIZE", BATCH_SIZE)
    people = (acme.alice.id, acme.bob.id, None)
    made = (
        Client(
            account=acme.account,
            name=f"Client {number:04}",
            city="Gdynia",
            creator_id=acme.alice.id,
            updater_id=acme.alice.id,
            responsible_id=people[number % 3],
        )
        for number in range(NUMBER_OF_ROWS)
    )
    Client.objects.bulk_create(made)
    elsewhere = make_client(acme.bob, "Elsewhere", city="Sopot")
    rows = acme.account.clients.order_by("id").values_list("id", "responsible_id")
    before = list(rows)
    with override(combination.language):
        bob = Operator(browse, acme.bob, combination)
        page = bob.page
        bob.open("/app/clients?city=Gdynia&sort=name")
        form = page.locator("#selection")
        # The form appears once a row is selected.
        expect(form).to_be_hidden()
        page.keyboard.press("j")
        page.keyboard.press("x")
        page.keyboard.press("b")
        bob.check_box(form.locator("[name=all]"))
        bob.select(form.locator("[name=action]"), _("Change responsible"))
        bob.press(form.get_by_role("button", name=_("Continue")))
        bob.select(page.get_by_label(_("Responsible")), "Bob Nowak")
        bob.check()
        apply = page.locator("main").get_by_role("button", name=_("Change responsible"))
        bob.press(apply)
        # So many rows need a second answer.
        expect(page.locator("[name=confirmed]")).to_be_attached()
        bob.check()
        bob.press(apply)
        state = page.locator("#state")
        expect(state).to_have_text(_("Running"))
        run_jobs()
        expect(state).to_have_text(_("Done"))
        bob.check()
        assert not acme.account.clients.filter(city="Gdynia").exclude(responsible_id=acme.bob.id).exists()

        # Somebody changes a row before the undo, which leaves that row alone.
        changed = acme.account.clients.filter(responsible_id=acme.bob.id, name="Client 0002").get()
        changed.write({"responsible_id": acme.alice.id}, by=acme.alice)
        bob.press(page.get_by_role("button", name=_("Undo")))
        expect(state).to_have_text(_("Being undone"))
        run_jobs()
        expect(state).to_have_text(_("Undone"))
        expect(page.locator("#progress").get_by_role("link", name="Client 0002")).to_be_visible()
        bob.check()
    expected = dict(before) | {changed.id: acme.alice.id}
    assert dict(rows.all()) == expected
    assert expected[elsewhere.id] is None
    change = BulkChange.objects.get()
    assert (change.changed + change.unchanged, change.kept) == (NUMBER_OF_ROWS, 1)
    assert change.restored == change.changed - 1


@in_combination("plain mouse 390 light pl")
def test_revenue_decides_what_goes_on_the_roadmap(acme, browse, combination: Combination):
    codes = {status.code: status.id for status in acme.account.statuses_of_kind("deal")}
    popular, valuable = make_post(acme.carol, "Dark mode"), make_post(acme.carol, "Invoices by e-mail")
    make_voters(popular, 5)
    for name, post, price, code in (
        ("Small", popular, "900", "new"),
        ("Large", valuable, "50000", "won"),
        ("Larger", valuable, "70000", "proposal"),
    ):
        client = make_client(acme.bob, name)
        make_deal(acme.bob, client_id=client.id, price=price, currency="EUR", status_id=codes[code])
        post.cast_proxy_vote(by=acme.bob, client_id=client.id)
    with override(combination.language):
        bob = Operator(browse, acme.bob, combination)
        page = bob.page

        def customers(title: str) -> Locator:
            """Open a suggestion from the list, and return the customers behind it."""
            page.goto("/app/suggestions")
            bob.press(page.get_by_role("link", name=title, exact=True))
            expect(page.get_by_role("heading", level=1)).to_have_text(title)
            panel = page.get_by_role("region", name=_("Customers behind it"))
            # Scripts would show the clients here.
            bob.press(panel.get_by_role("link", name=_("See the clients and their deals")))
            panel = page.locator("main")
            expect(panel.get_by_role("listitem").first).to_be_visible()
            bob.check()
            return panel

        panel = customers(popular.title)
        expect(panel.get_by_role("link", name="Small")).to_be_visible()
        expect(panel).to_contain_text(re.compile(r"900[.,]00 EUR"))
        panel = customers(valuable.title)
        expect(panel.get_by_role("listitem")).to_have_count(2)
        expect(panel).to_contain_text(re.compile(rf"{_('Won:')}\s*50[\s,]000[.,]00 EUR"))
        expect(panel).to_contain_text(re.compile(rf"{_('Open:')}\s*70[\s,]000[.,]00 EUR"))

        bob.press(page.get_by_role("link", name=valuable.title))
        bob.press(page.get_by_role("link", name=_("Status and response")))
        bob.check()
        bob.select(page.locator("#status").get_by_label(_("Status")), _("Planned"))
        bob.press(page.locator("#status").get_by_role("button", name=_("Save")))
        expect(page.locator("main").get_by_text(_("Planned")).first).to_be_visible()
        bob.press(page.get_by_role("navigation", name=_("Main")).get_by_role("link", name=_("Roadmap")))
        expect(page).to_have_url(at("/app/roadmap"))
        planned = page.get_by_role("region", name=_("Planned"))
        expect(planned.get_by_role("link", name=valuable.title, exact=True)).to_be_visible()
        expect(planned.get_by_role("link", name=popular.title)).to_have_count(0)
        bob.check()

        # A member sees the suggestion on the roadmap, but not the customers behind it.
        carol = Operator(browse, acme.carol, combination)
        carol.open("/app/roadmap")
        carol.press(carol.page.get_by_role("link", name=valuable.title))
        expect(carol.page.get_by_role("heading", level=1)).to_have_text(valuable.title)
        expect(carol.page.get_by_text(_("Customers behind it"))).to_have_count(0)
        response = carol.page.goto(f"/app/posts/{valuable.id}/clients")
        assert response is not None
        assert response.status == 403


@in_combination("js mouse 1280 light pl")
def test_an_agent_with_own_rows_finds_nothing_else(acme, browse, combination: Combination):
    acme.account.agents_see = AgentsSee.OWN
    acme.account.save()
    post = make_post(acme.carol, "Invoices by e-mail")
    [_qualified, status, *_rest] = acme.account.statuses_of_kind("deal")
    hidden = []
    for user, name, price in ((acme.alice, "Hidden", "70000"), (acme.bob, "Visible", "900")):
        own = {"responsible_id": user.id}
        client = make_client(acme.alice, f"{name} client", **own)
        contact = make_contact(acme.alice, f"{name} contact", client_id=client.id, **own)
        deal = make_deal(acme.alice, f"{name} deal", client_id=client.id, price=price, status_id=status.id, **own)
        task = make_task(acme.alice, f"{name} task", client_id=client.id, scheduled_at=timezone.now(), **own)
        note = make_note(acme.alice, f"{name} note", client_id=client.id)
        post.cast_proxy_vote(by=acme.alice, client_id=client.id)
        if user == acme.alice:
            hidden = [
                *(f"/app/clients/{client.id}{rest}" for rest in ("", "/edit?field=name", "/merge")),
                *(f"/app/contacts/{contact.id}{rest}" for rest in ("", "/edit?field=name", "/merge")),
                *(f"/app/deals/{deal.id}{rest}" for rest in ("", "/edit?field=name", "/move")),
                *(f"/app/tasks/{task.id}{rest}" for rest in ("", "/edit")),
                *(f"/app/notes/{note.id}{rest}" for rest in ("", "/edit")),
            ]
    with override(combination.language):
        bob = Operator(browse, acme.bob, combination)
        page, main = bob.page, bob.page.locator("main")
        # Lists and their counts, with and without filters that would find the hidden rows.
        for path in (
            "clients",
            "contacts",
            "deals",
            "tasks/list",
            "tasks?who=all",
            "tasks/calendar?who=all",
            "deals/board",
        ):
            bob.open(f"/app/{path}")
            expect(main.get_by_text("Visible").first).to_be_visible()
            expect(main.get_by_text("Hidden")).to_have_count(0)
        for path in ("clients", "contacts", "deals"):
            page.goto(f"/app/{path}?responsible_id={acme.alice.id}")
            expect(main.get_by_text(_("Nothing matches these filters."))).to_be_visible()
            page.goto(f"/app/{path}?q=hidden")
            expect(main.get_by_text(_("Nothing matches these filters."))).to_be_visible()
        page.goto("/app/clients")
        expect(page.locator(".count")).to_contain_text("1")
        page.goto("/app/deals/board")
        expect(page.get_by_role("region", name=_(status.name), exact=True).locator(".totals")).to_contain_text(
            re.compile(r"900[.,]00 EUR")
        )

        # The search
        page.goto("/app/find")
        field = main.locator("input[name=q]")
        bob.fill(field, "hidden")
        page.keyboard.press("Enter")
        expect(main.get_by_text(_("Nothing was found."))).to_be_visible()
        bob.check()
        bob.fill(field, "visible")
        page.keyboard.press("Enter")
        for kind in ("client", "contact", "deal", "task"):
            expect(main.get_by_role("link", name=f"Visible {kind}")).to_be_visible()

        # The customers behind a suggestion, and their deals
        bob.open(f"/app/posts/{post.id}/clients")
        expect(main.get_by_role("listitem")).to_have_count(1)
        expect(main).to_contain_text(re.compile(r"900[.,]00 EUR"))
        expect(main).not_to_contain_text(re.compile(r"70[\s,.]?[09]00"))

        # The number in the menu: Bob's own task
        expect(page.locator("header nav a[href='/app/tasks'] .number")).to_have_text("1")
        for path in hidden:
            response = page.goto(path)
            assert response is not None
            assert response.status == 404, path
        expect(page.get_by_role("heading", name=_("There is nothing here"))).to_be_visible()
        bob.check()
