"""The customers of the demo account: clients, contacts, deals with their history, tasks, notes, links and views."""

import tomllib
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.contrib.auth.hashers import make_password

from accounts.statuses.models import Status
from accounts.users.models import User
from config.demo.builder import DemoBuilder, ascii_of
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from crm.fields.models import FieldDefinition
from crm.notes.models import Note
from crm.user_links.models import UserLink
from forum.posts.models import Post
from forum.votes.models import ProxyVote
from team.lists.saved_views import SavedView

FILE = Path(__file__).with_name("crm.toml")
NUMBER_OF_CLIENTS = 300
# One of them is in the trash.
NUMBER_OF_DEALS = 121
# The rate at which a price in EUR is converted to PLN.
PLN_RATE = Decimal("4.25")
# The share of clients that are persons, and of the deals of Polish clients in PLN.
SHARE_OF_PERSONS, SHARE_IN_PLN = 0.12, 0.5
# The numbers of open tasks by the days until they are due.
OPEN_TASKS = ((-9, 2), (-4, 3), (-2, 4), (-1, 4), (0, 9), (1, 6), (2, 5), (3, 4), (5, 4), (8, 6), (14, 6), (25, 5))
NUMBER_OF_DONE_TASKS = 70
NUMBER_OF_NOTES = 260
NUMBER_OF_VOTES = 240
WON, LOST = "won", "lost"
# Deals that were closed more days ago than this belong to the oldest clients.
MAX_OPEN_DAYS = 60


@dataclass
class PlannedDeal:
    """A deal in its first status, and the statuses that it will get: their times and the values."""

    values: dict[str, object]
    created_at: datetime
    by: str
    moves: list[tuple[datetime, dict[str, object]]]


class CRMBuilder:
    """The builder of the customers of the demo account, after `DemoBuilder` has added its clients and suggestions.

    Rows are written in bulk. The times of rows are set before they are written, so the triggers write the history with these times.
    """

    def __init__(self, demo: DemoBuilder):
        self.demo, self.account, self.now = demo, demo.account, demo.now
        self.content: dict[str, Any] = tomllib.loads(FILE.read_text())
        # A fixed seed of its own: the forum of the demo account does not depend on the customers.
        self.random = Random(2014)  # noqa: S311
        self.regions: list[dict[str, Any]] = self.content["regions"]
        self.clients = list(demo.clients.values())
        self.contacts = list(self.account.contacts.live())
        self.plans: list[PlannedDeal] = []
        self.deals: list[Deal] = []

    def build(self) -> None:
        self.add_team()
        self.add_settings()
        self.add_clients()
        self.add_contacts()
        self.add_deals()
        self.replay_deals()
        self.add_notes()
        self.add_tasks()
        self.add_user_links()
        self.add_votes()
        self.merge_clients()
        self.add_views()

    # The team and its settings

    def add_team(self) -> None:
        unusable = make_password(None)
        users = [
            User(
                account=self.account,
                email=f"{entry['login']}@example.com",
                role=User.Role.AGENT,
                password=unusable,
                created_at=self.ago(700),
                **entry,
            )
            for entry in self.content["users"]
        ]
        User.objects.bulk_create(users)
        self.demo.users |= {user.login: user for user in users}
        self.users = self.demo.users
        # A list in the order of their names, for random choices.
        self.team = [self.users[login] for login in ("demo", "kasia", "rob", "theo")]
        self.by_id = {user.id: user for user in self.users.values()}

    def add_settings(self) -> None:
        stages = self.demo.statuses(Status.Kind.DEAL)
        last = max(status.position for status in stages.values())
        for position, code in enumerate((WON, LOST), start=2):
            stages[code].write({"position": last + position})
        status = Status(account=self.account, kind=Status.Kind.DEAL)
        status.write({**self.content["status"], "position": last + 1})
        self.stages = self.demo.statuses(Status.Kind.DEAL)
        self.open_stages = [code for code in self.stages if code not in (WON, LOST)]
        self.client_statuses = self.demo.statuses(Status.Kind.CLIENT)
        for entry in self.content["fields"]:
            FieldDefinition(account=self.account).write(dict(entry))

    # Clients and contacts

    def add_clients(self) -> None:
        names = {client.name for client in self.clients}
        new: list[Client] = []
        while len(self.clients) + len(new) < NUMBER_OF_CLIENTS:
            region = self.random.choices(self.regions, [region["share"] for region in self.regions])[0]
            is_person = self.random.random() < SHARE_OF_PERSONS
            pattern, industry = self.random.choice(region["names"])
            if is_person:
                name = f"{self.random.choice(region['first'])} {self.random.choice(region['last'])}"
            else:
                name = pattern.format(last=self.random.choice(region["last"]), word=self.random.choice(region["words"]))
            if name in names:
                continue
            names.add(name)
            # More clients came in the last months than before.
            moment = self.ago(3 + 420 * self.random.random() ** 1.5)
            login = self.random.choice(region["responsible"])
            values = self.client_values(region, name, industry, login, number=len(new), moment=moment)
            new.append(self.demo.new(Client, values, created_at=moment, by=login))
            new[-1].company = not is_person
        Client.flush(new)
        self.clients += new
        self.new_clients = new

    def client_values(
        self, region: dict[str, Any], name: str, industry: str, login: str, *, number: int, moment: datetime
    ) -> dict[str, object]:
        city, _, post_code = self.random.choice(region["cities"]).partition(" ")
        age = (self.now - moment).days
        status = "lead" if self.random.random() < 60 / (60 + age) else "customer"
        if age > 240 and self.random.random() < 0.12:
            status = "former"
        values: dict[str, object] = {
            "name": name,
            "email": f"{self.random.choice(['info', 'hello', 'office', 'shop'])}@{domain_of(name)}",
            "phone": self.phone(region),
            "www": f"https://{domain_of(name)}",
            "street": self.random.choice(region["streets"]),
            "street_no": str(self.random.randrange(1, 120)),
            "post_code": post_code,
            "city": city,
            "country": region["country"],
            "status_id": self.client_statuses[status].id,
            "responsible_id": self.users[login].id,
            "origin": self.random.choice(self.content["people"]["origins"]),
            "tags": self.random.sample(self.content["people"]["tags"], self.random.choice([0, 0, 1, 1, 2])),
        }
        fields = values["additional_fields"] = {
            "industry": industry,
            "orders_per_month": self.random.choice([15, 30, 40, 60, 90, 120, 200, 350, 600]),
            "channels": sorted(
                self.random.sample(["Market stall", "Marketplace", "Own shop", "Web shop"], self.random.choice([1, 2]))
            ),
        }
        if status == "customer":
            values["external_ids"] = {"shop": str(1200 + number)}
            fields["contract_until"] = self.day(self.random.randrange(20, 360)).isoformat()
        if region["country"] == "PL":
            values["tax_no"] = tax_number(self.random)
        if self.random.random() < 0.6:
            values["consent"] = self.random.random() < 0.85
        if status == "former" and self.random.random() < 0.5:
            values["do_not_contact"] = True
        return values

    def find_region(self, client: Client) -> dict[str, Any]:
        return next((region for region in self.regions if region["country"] == client.country), self.regions[1])

    def add_contacts(self) -> None:
        lists = [contact_list for contact_list in self.demo.lists.values() if contact_list.name != "Import of 3 May"]
        contacts, main_contacts = [], []
        for client in self.new_clients:
            if not client.company:
                continue
            region = self.find_region(client)
            last = self.random.choice(region["last"])
            for number in range(self.random.choice([1, 1, 1, 2, 2, 3])):
                # The family name of the first contact is often that of the company.
                own = next((last_name for last_name in region["last"] if last_name in client.name), last)
                surname = own if number == 0 else self.random.choice(region["last"])
                first = self.random.choice(region["first"])
                values = {
                    "name": f"{first} {surname}",
                    "first_name": first,
                    "last_name": surname,
                    "email": f"{ascii_of(first)}.{ascii_of(surname)}@{domain_of(client.name)}",
                    "mobile_phone": self.phone(region),
                    "position": self.content["people"]["positions"][number] if number < 2 else "Orders",
                    "client_id": client.id,
                    "responsible_id": client.responsible_id,
                    "contact_list_ids": [contact_list.id for contact_list in lists if self.random.random() < 0.3],
                    "additional_fields": {"language": region["language"]},
                    "consent": self.random.choice([True, True, True, False, None]),
                }
                moment = client.created_at + timedelta(minutes=4, days=number * 6)
                moment = min(moment, self.now)
                by = self.by_id[client.responsible_id].login
                contact = self.demo.new(Contact, values, created_at=moment, by=by)
                contacts.append(contact)
                if number == 0:
                    main_contacts.append((client, contact))
        Contact.flush(contacts)
        self.contacts += contacts
        for client, contact in main_contacts:
            client.contact_id = contact.id
        self.account.clients.bulk_update([client for client, _ in main_contacts], ["contact_id"])
        # The clients and their main contacts were entered together.
        self.account.timeline_entries.filter(resource="client", kind="change").delete()

    # Deals

    def add_deals(self) -> None:
        """Add the deals in their first status. `replay_deals` writes their further statuses."""
        written = [self.written_deal(entry) for entry in (*self.demo.content["deals"], *self.content["deals"])]
        self.plans = [*written]
        # The oldest clients come first, so those of deals that were closed long ago are old enough.
        clients = sorted(
            (client for client in self.new_clients if client.status_id != self.client_statuses["former"].id),
            key=lambda client: client.created_at,
        )
        for outcome, closed_days in self.random_outcomes(NUMBER_OF_DEALS - len(written)):
            old = [client for client in clients if client.created_at < self.now - timedelta(days=closed_days + 9)]
            client = self.random.choice(old[:12] if closed_days > MAX_OPEN_DAYS else old)
            clients.remove(client)
            self.plans.append(self.random_deal(client, outcome, closed_days))
        self.deals = [self.demo.new(Deal, plan.values, created_at=plan.created_at, by=plan.by) for plan in self.plans]
        Deal.flush(self.deals)
        self.demo.deals = {deal.name: deal for deal in self.deals[: len(written)]}

    def written_deal(self, entry: dict[str, Any]) -> PlannedDeal:
        """Return the plan of a deal in a file."""
        names = ("name", "description", "currency", "tags")
        values: dict[str, object] = {name: entry[name] for name in names if name in entry}
        client = self.demo.clients[entry["client"]]
        values |= {"client_id": client.id, "contact_id": client.contact_id, "status_id": self.stages["new"].id}
        status = entry.get("status", "")
        values["responsible_id"] = self.users["theo" if status in self.open_stages or status == LOST else "demo"].id
        if "price" in entry:
            values["price"] = Decimal(entry["price"])
        if "plan" in entry:
            values["additional_fields"] = {"plan": entry["plan"]}
        if "closing" in entry:
            values["expected_close_date"] = self.day(entry["closing"])
        created_at = self.ago(entry["days"])
        stages = entry.get("stages")
        if stages is None:
            codes = self.path_to(status)
            # The deal got its last status after two thirds of the time, or after two months.
            length = min(entry["days"] * 0.65, 60)
            stages = [[code, entry["days"] - length * (index + 1) / len(codes)] for index, code in enumerate(codes)]
        moves = [(self.ago(days), self.stage_values(code, entry.get("reason"))) for code, days in stages]
        return PlannedDeal(values, created_at, "theo", moves)

    def random_outcomes(self, number: int) -> list[tuple[str, float]]:
        """Return the outcomes of deals, each with the days since the deal was closed, the oldest first. They are spread over a year."""
        won, lost = number * 36 // 100, number * 22 // 100
        closed = [
            (outcome, 355 * ((index + self.random.random()) / total) ** 1.2)
            for outcome, total in ((WON, won), (LOST, lost))
            for index in range(total)
        ]
        closed.sort(key=lambda pair: -pair[1])
        return [*closed, *[("open", 0.0)] * (number - won - lost)]

    def random_deal(self, client: Client, outcome: str, closed_days: float) -> PlannedDeal:
        name, plan, price = self.random.choice(self.content["offers"]["rows"])
        age = (self.now - client.created_at).days
        is_in_pln = client.country == "PL" and self.random.random() < SHARE_IN_PLN
        amount = Decimal(price) * self.random.choice([1, 1, 1, 2])
        fields = {"plan": plan}
        values: dict[str, object] = {
            "name": name,
            "client_id": client.id,
            "contact_id": client.contact_id,
            "responsible_id": client.responsible_id,
            "price": (amount * PLN_RATE).quantize(Decimal(10)) if is_in_pln else amount,
            "currency": "PLN" if is_in_pln else "EUR",
            "status_id": self.stages["new"].id,
            "additional_fields": fields,
            "tags": ["yearly"] if plan == "Yearly" and self.random.random() < 0.4 else [],
        }
        if outcome == "open":
            status = self.random.choices(self.open_stages, [11, 12, 9, 6])[0]
            # A third of the open deals has been in its status for too long.
            last = self.random.uniform(16, 34) if self.random.random() < 0.3 else self.random.uniform(0.5, 8)
            length = len(self.path_to(status)) * self.random.uniform(5, 12)
            values["expected_close_date"] = self.day(self.random.choice([-6, -2, 4, 9, 15, 22, 31, 45, 62, 80, 110]))
        else:
            status = outcome
            last = closed_days
            length = self.random.uniform(12, 70)
            values["expected_close_date"] = self.day(-int(last))
        if status == LOST and self.random.random() < 0.6:
            fields["competitor"] = self.random.choice(self.content["offers"]["competitors"])
        days = max(min(last + length, age - 0.5), last + 0.2)
        codes = self.path_to(status)
        moves = []
        for index, code in enumerate(codes, start=1):
            moment = self.now - timedelta(days=days - (days - last) * index / len(codes))
            moves.append((moment, self.stage_values(code)))
        by = self.by_id[client.responsible_id].login
        return PlannedDeal(values, self.now - timedelta(days=days), by, moves)

    def path_to(self, status: str) -> list[str]:
        """Return the statuses that a deal gets after its first one."""
        if status == LOST:
            return [*self.open_stages[1 : self.random.randrange(2, len(self.open_stages) + 1)], LOST]
        codes = [*self.open_stages, WON]
        return codes[1 : codes.index(status) + 1]

    def stage_values(self, code: str, reason: str | None = None) -> dict[str, object]:
        values: dict[str, object] = {"status_id": self.stages[code].id}
        if code == WON:
            values["won_reason"] = reason or self.random.choice(self.account.won_reasons)
        elif code == LOST:
            values["lost_reason"] = reason or self.random.choice(self.account.lost_reasons)
        return values

    def replay_deals(self) -> None:
        """Write the statuses of the deals, one after the other, and make customers of the clients of won deals."""
        clients = {client.id: client for client in self.clients}
        won: dict[int | None, tuple[datetime, Client]] = {}
        for index in range(max(len(plan.moves) for plan in self.plans)):
            moved = []
            for deal, plan in zip(self.deals, self.plans, strict=True):
                if index < len(plan.moves):
                    moment, values = plan.moves[index]
                    deal.assign(values, by=self.by_id[deal.responsible_id])
                    deal.updated_at = moment
                    moved.append(deal)
                    if "won_reason" in values:
                        won[deal.client_id] = (moment, clients[deal.client_id])
            Deal.flush(moved)
        customers = []
        for moment, client in won.values():
            if client.status_id != self.client_statuses["customer"].id:
                client.assign({"status_id": self.client_statuses["customer"].id}, by=self.by_id[client.responsible_id])
                client.updated_at = moment
                customers.append(client)
        Client.flush(customers)

    # Notes and tasks

    def add_notes(self) -> None:
        kinds = self.content["notes"]
        notes = []
        for entry in self.content["written_notes"]:
            values = {"client_id": self.demo.clients[entry["client"]].id, "content": entry["text"]}
            values |= {name: entry[name] for name in ("kind", "duration") if name in entry}
            notes.append(self.new_note(values, self.ago(entry["days"]), self.users[entry["by"]]))
        subjects: list[Client | Contact | Deal] = [*self.deals * 3, *self.contacts, *self.new_clients]
        while len(notes) < NUMBER_OF_NOTES:
            subject, kind = self.random.choice(subjects), self.random.choices([*kinds], [3, 6, 1, 4])[0]
            values = {f"{subject._meta.model_name}_id": subject.id, "kind": kind}
            values["content"] = self.random.choice(kinds[kind])
            if kind in ("call", "meeting"):
                values["duration"] = self.random.choice([5, 10, 15, 20, 30, 45])
            moment = self.demo.pick_time(subject.created_at, self.now - timedelta(hours=3), early=0.7)
            by = self.by_id.get(subject.responsible_id or self.users["theo"].id, self.users["theo"])
            notes.append(self.new_note(values, max(moment, subject.created_at), by))
        # Ids in the order of time.
        notes.sort(key=lambda note: note.noted_at)
        Note.flush(notes)

    def new_note(self, values: dict[str, object], moment: datetime, by: User) -> Note:
        return self.demo.new(Note, values | {"noted_at": moment}, created_at=moment, by=by.login)

    def add_tasks(self) -> None:
        status = self.demo.statuses(Status.Kind.POST)["new"]
        open_deals = [
            deal for deal in self.deals if deal.status_id in {self.stages[code].id for code in self.open_stages}
        ]
        tasks = []

        def add(
            kind: str,
            title: str,
            due: datetime | None,
            created_at: datetime,
            *,
            priority: int = 0,
            completed_at: datetime | None = None,
        ) -> None:
            # Rotting deals have no planned task. Half of the tasks belong to deals that moved lately.
            recent = [deal for deal in open_deals if deal.updated_at > self.now - timedelta(days=10)]
            deal = self.random.choice(recent) if self.random.random() < 0.5 else None
            client_id = deal.client_id if deal else self.random.choice(self.new_clients).id
            user = self.random.choices(self.team, [5, 3, 3, 3])[0]
            tasks.append(
                Post(
                    account=self.account,
                    task_kind=kind,
                    title=title,
                    content_html="",
                    status_id=status.id,
                    user_id=user.id,
                    responsible_id=user.id,
                    client_id=client_id,
                    deal_id=deal.id if deal else None,
                    scheduled_at=due,
                    created_at=created_at,
                    updated_at=completed_at or created_at,
                    completed_at=completed_at,
                    closed=completed_at is not None,
                    priority=priority,
                )
            )

        for days, number in OPEN_TASKS:
            for _ in range(number):
                day = self.day(days)
                # Most tasks are due on a weekday.
                if days and day.weekday() > 4:
                    day = self.day(days + (2 if days > 0 else -2))
                due = datetime.combine(day, time(self.random.randrange(7, 16)), self.now.tzinfo)
                created_at = min(due, self.now) - timedelta(days=self.random.uniform(1, 9))
                kind, title = self.random.choice(self.content["tasks"]["open"])
                add(kind, title, due, created_at, priority=self.random.choice([0, 0, 0, 0, 1, 2]))
        for kind, title in self.content["tasks"]["open"][:4]:
            add(kind, title, None, self.ago(self.random.uniform(2, 30)))
        for _ in range(NUMBER_OF_DONE_TASKS):
            completed_at = self.ago(self.random.uniform(0, 150))
            kind, title = self.random.choice(self.content["tasks"]["done"])
            created_at = completed_at - timedelta(days=self.random.uniform(0.3, 7))
            add(kind, title, completed_at, created_at, completed_at=completed_at)
        self.account.posts.bulk_create(tasks)

    # The forum

    def add_user_links(self) -> None:
        """Link members of the forum to the customers that they work for."""
        links, entry = [], self.content["links"]
        contacts = {contact.name: contact for contact in self.contacts}
        named = [
            *((login, {"contact_id": contacts[name].id}) for login, name in entry["contacts"].items()),
            *((login, {"client_id": self.demo.clients[name].id}) for login, name in entry["clients"].items()),
        ]
        named_logins = {login for login, _ in named}
        customer = self.client_statuses["customer"].id
        clients = [client for client in self.new_clients if client.status_id == customer]
        voters = [
            user for user in self.users.values() if user.role == User.Role.MEMBER and user.login not in named_logins
        ]
        voters = self.random.sample(voters, entry["voters"])
        chosen = self.random.sample(clients, entry["voters"])
        for login, target in named:
            links.append((self.users[login], target, UserLink.State.CONFIRMED))
        for number, (user, client) in enumerate(zip(voters, chosen, strict=True)):
            state = UserLink.State.PROPOSED if number < entry["proposed"] else UserLink.State.CONFIRMED
            links.append((user, {"client_id": client.id}, state))
        nina = self.users["nina"].id
        rows = []
        for user, target, state in links:
            author = None if state == UserLink.State.PROPOSED else nina
            moment = self.demo.pick_time(max(user.created_at, self.ago(200)), self.now)
            times = {"created_at": moment, "updated_at": moment}
            link = {"user_id": user.id, "state": state, "creator_id": author, "updater_id": author}
            rows.append(UserLink(account=self.account, **link, **target, **times))
        UserLink.objects.bulk_create(rows)

    def add_votes(self) -> None:
        """Add votes that the team cast for clients. A trigger counts them."""
        excluded = ("duplicate_of", "trashed", "waiting", "private")
        posts = [
            self.demo.posts[entry["title"]]
            for entry in self.demo.content["posts"]
            if not any(entry.get(name) for name in excluded)
        ]
        votes = self.account.proxy_votes
        taken = set(votes.values_list("post_id", "client_id"))
        former = self.client_statuses["former"].id
        clients = [client for client in self.new_clients if client.status_id != former]
        rows: list[ProxyVote] = []
        while len(rows) < NUMBER_OF_VOTES:
            post = self.random.choices(posts, [post.votes_cache + 1 for post in posts])[0]
            client = self.random.choice(clients)
            if (post.id, client.id) in taken:
                continue
            taken.add((post.id, client.id))
            moment = self.demo.pick_time(max(post.created_at, client.created_at), self.now)
            user_id = client.responsible_id or self.users["theo"].id
            row = {"post_id": post.id, "client_id": client.id, "user_id": user_id, "created_at": moment}
            rows.append(ProxyVote(account=self.account, **row))
        rows.sort(key=lambda row: row.created_at)
        votes.bulk_create(rows)

    # Merges and views

    def merge_clients(self) -> None:
        for entry in self.content["merged_clients"]:
            values = {name: entry[name] for name in ("name", "email", "phone", "external_ids", "note") if name in entry}
            kept, by = self.demo.clients[entry["into"]], self.users["theo"]
            copy = self.demo.new(Client, values, created_at=self.ago(entry["days"]), by="theo")
            Client.flush([copy])
            moment = self.ago(entry["merged"])
            merge = self.account.merges.merge(self.account, "client", kept.id, copy.id, {}, by=by)
            # The merge and the entries that it logged get the time of the merge.
            self.account.merges.filter(id=merge.id).update(created_at=moment, updated_at=moment)
            self.account.clients.filter(id=copy.id).update(trashed_at=moment)
            self.account.clients.filter(id=kept.id).update(updated_at=moment)
            logged = self.account.timeline_entries.filter(client_id=kept.id, at__gte=self.now)
            logged.filter(kind__in=("change", "merge")).update(at=moment)

    def add_views(self) -> None:
        values: dict[str, object] = {code: self.client_statuses[code].id for code in ("customer", "lead")}
        values["in_60_days"] = self.day(60).isoformat()
        for resource, name, login, shared, query in self.content["views"]["rows"]:
            owner = self.users[login]
            view = SavedView(account=self.account, resource=resource, owner_id=owner.id)
            query = urlencode(parse_qsl(query.format(**values)))
            view.write({"name": name, "shared": shared, "query": query}, by=owner)

    def ago(self, days: float) -> datetime:
        return self.now - timedelta(days=days, minutes=self.random.randrange(5, 300))

    def day(self, days: int) -> date:
        return (self.now + timedelta(days=days)).date()

    def phone(self, region: dict[str, Any]) -> str:
        return f"{region['dial']}{self.random.randrange(10, 99)} 555 {self.random.randrange(100, 999)}"


def domain_of(name: str) -> str:
    return f"{ascii_of(name)}.example"


def tax_number(random: Random) -> str:
    """Return a Polish tax number with a valid check digit."""
    weights = (6, 5, 7, 2, 3, 4, 5, 6, 7)
    while True:
        digits = [random.randrange(1, 10) for _ in weights]
        check = sum(digit * weight for digit, weight in zip(digits, weights, strict=True)) % 11
        if check < 10:
            return "".join(map(str, (*digits, check)))
