"""The customers of the demo account: clients, contacts, deals with their history, tasks, notes, links and views."""

import tomllib
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from urllib.parse import parse_qsl, urlencode

from accounts.fields.models import FieldDefinition
from accounts.statuses.models import Status
from accounts.users.models import User
from config.demo.builder import DemoBuilder, Values, ascii_of, pick
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from crm.notes.models import Note
from crm.user_links.models import UserLink
from forum.posts.models import Post
from forum.votes.models import ProxyVote
from team.lists.saved_views import SavedView

FILE = Path(__file__).with_name("crm.toml")
# The rate at which a price in EUR is converted to PLN.
PLN_RATE = Decimal("4.25")
WON, LOST = "won", "lost"
# Deals that were closed more days ago than this belong to the oldest clients.
MAX_OPEN_DAYS = 60
# The times at which a deal gets further statuses, and the values.
Moves = list[tuple[datetime, Values]]


class CRMBuilder:
    """The builder of the customers of the demo account, after `DemoBuilder` has added its clients and suggestions.

    Rows are written in bulk. The times of rows are set before they are written, so the triggers write the history with these times.
    """

    def __init__(self, demo: DemoBuilder):
        self.demo, self.account, self.now, self.users = demo, demo.account, demo.now, demo.users
        self.content: Values = tomllib.loads(FILE.read_text())
        # A fixed seed of its own: the forum of the demo account does not depend on the customers.
        self.random = Random(2014)  # noqa: S311
        self.regions: list[Values] = self.content["regions"]
        self.clients = list(demo.clients.values())
        self.contacts = list(self.account.contacts.live())
        # Deals in their first status, each with the statuses that it will get.
        self.plans: list[tuple[Deal, Moves]] = []

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
        entries = [{**entry, "role": User.Role.AGENT} for entry in self.content["users"]]
        User.objects.bulk_create(self.demo.new_user(entry, created_at=self.ago(700)) for entry in entries)
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
        self.new_clients: list[Client] = []
        while len(names) < self.content["numbers"]["clients"]:
            region = self.random.choices(self.regions, [region["share"] for region in self.regions])[0]
            is_person = self.chance(0.12)
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
            values = {"name": name, "responsible_id": self.users[login].id, "company": not is_person}
            values |= self.client_values(region, name, industry, moment)
            self.new_clients.append(self.demo.new(Client, values, created_at=moment, by=login))
        Client.flush(self.new_clients)
        self.clients += self.new_clients

    def client_values(self, region: Values, name: str, industry: str, moment: datetime) -> Values:
        random, people = self.random, self.content["people"]
        city, _, post_code = random.choice(region["cities"]).partition(" ")
        age = (self.now - moment).days
        status = "lead" if self.chance(60 / (60 + age)) else "customer"
        if age > 240 and self.chance(0.12):
            status = "former"
        values: Values = {
            "email": f"{random.choice(['info', 'hello', 'office', 'shop'])}@{domain_of(name)}",
            "phone": self.phone(region),
            "www": f"https://{domain_of(name)}",
            "street": random.choice(region["streets"]),
            "street_no": str(random.randrange(1, 120)),
            "post_code": post_code,
            "city": city,
            "country": region["country"],
            "status_id": self.client_statuses[status].id,
            "origin": random.choice(people["origins"]),
            "tags": random.sample(people["tags"], random.choice([0, 0, 1, 1, 2])),
        }
        fields = values["additional_fields"] = {"industry": industry}
        fields["orders_per_month"] = random.choice([15, 30, 40, 60, 90, 120, 200, 350, 600])
        fields["channels"] = sorted(random.sample(people["channels"], random.choice([1, 2])))
        if status == "customer":
            values["external_ids"] = {"shop": str(1200 + len(self.new_clients))}
            fields["contract_until"] = self.day(random.randrange(20, 360)).isoformat()
        if region["country"] == "PL":
            values["tax_no"] = tax_number(random)
        if self.chance(0.6):
            values["consent"] = self.chance(0.85)
        if status == "former" and self.chance(0.5):
            values["do_not_contact"] = True
        return values

    def add_contacts(self) -> None:
        lists = [contact_list for contact_list in self.demo.lists.values() if contact_list.name != "Import of 3 May"]
        main_contacts: dict[Client, Contact] = {}
        new: list[Contact] = []
        for client in (client for client in self.new_clients if client.company):
            region = next((region for region in self.regions if region["country"] == client.country), self.regions[1])
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
                    "position": self.content["people"]["positions"][number],
                    "client_id": client.id,
                    "responsible_id": client.responsible_id,
                    "contact_list_ids": [contact_list.id for contact_list in lists if self.chance(0.3)],
                    "additional_fields": {"language": region["language"]},
                    "consent": self.random.choice([True, True, True, False, None]),
                }
                moment = min(client.created_at + timedelta(minutes=4, days=number * 6), self.now)
                new.append(self.demo.new(Contact, values, created_at=moment, by=self.responsible(client).login))
                main_contacts.setdefault(client, new[-1])
        Contact.flush(new)
        self.contacts += new
        for client, contact in main_contacts.items():
            client.contact_id = contact.id
        self.account.clients.bulk_update(main_contacts, ["contact_id"])
        # The clients and their main contacts were entered together.
        self.account.timeline_entries.filter(resource="client", kind="change").delete()

    # Deals

    def add_deals(self) -> None:
        """Add the deals in their first status. `replay_deals` writes their further statuses."""
        for entry in (*self.demo.content["deals"], *self.content["deals"]):
            self.plan_written_deal(entry)
        written = [deal for deal, _ in self.plans]
        # The oldest clients come first, so those of deals that were closed long ago are old enough.
        clients = sorted(self.present_clients(), key=lambda client: client.created_at)
        for outcome, closed_days in self.random_outcomes(self.content["numbers"]["deals"] - len(written)):
            old = [client for client in clients if client.created_at < self.now - timedelta(days=closed_days + 9)]
            client = self.random.choice(old[:12] if closed_days > MAX_OPEN_DAYS else old)
            clients.remove(client)
            self.plan_random_deal(client, outcome, closed_days)
        self.deals = [deal for deal, _ in self.plans]
        Deal.flush(self.deals)
        self.demo.deals = {deal.name: deal for deal in written}

    def plan_deal(self, client: Client, values: Values, moves: Moves, *, created_at: datetime, by: str) -> None:
        links = {"client_id": client.id, "contact_id": client.contact_id, "status_id": self.stages["new"].id}
        self.plans.append((self.demo.new(Deal, values | links, created_at=created_at, by=by), moves))

    def plan_written_deal(self, entry: Values) -> None:
        values = pick(entry, "name", "description", "currency", "tags")
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
        self.plan_deal(self.demo.clients[entry["client"]], values, moves, created_at=created_at, by="theo")

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

    def plan_random_deal(self, client: Client, status: str, closed_days: float) -> None:
        random, offers = self.random, self.content["offers"]
        name, plan, price = random.choice(offers["rows"])
        is_in_pln = client.country == "PL" and self.chance(0.5)
        amount = Decimal(price) * random.choice([1, 1, 1, 2])
        fields = {"plan": plan}
        values: Values = {
            "name": name,
            "responsible_id": client.responsible_id,
            "price": (amount * PLN_RATE).quantize(Decimal(10)) if is_in_pln else amount,
            "currency": "PLN" if is_in_pln else "EUR",
            "additional_fields": fields,
            "tags": ["yearly"] if plan == "Yearly" and self.chance(0.4) else [],
        }
        if status == "open":
            status = random.choices(self.open_stages, [11, 12, 9, 6])[0]
            # A third of the open deals has been in its status for too long.
            last = random.uniform(16, 34) if self.chance(0.3) else random.uniform(0.5, 8)
            length = len(self.path_to(status)) * random.uniform(5, 12)
            values["expected_close_date"] = self.day(random.choice([-6, -2, 4, 9, 15, 22, 31, 45, 62, 80, 110]))
        else:
            last, length = closed_days, random.uniform(12, 70)
            values["expected_close_date"] = self.day(-int(last))
        if status == LOST and self.chance(0.6):
            fields["competitor"] = random.choice(offers["competitors"])
        days = max(min(last + length, (self.now - client.created_at).days - 0.5), last + 0.2)
        codes = self.path_to(status)
        moves = [
            (self.now - timedelta(days=days - (days - last) * index / len(codes)), self.stage_values(code))
            for index, code in enumerate(codes, start=1)
        ]
        created_at = self.now - timedelta(days=days)
        self.plan_deal(client, values, moves, created_at=created_at, by=self.responsible(client).login)

    def path_to(self, status: str) -> list[str]:
        """Return the statuses that a deal gets after its first one."""
        if status == LOST:
            return [*self.open_stages[1 : self.random.randrange(2, len(self.open_stages) + 1)], LOST]
        codes = [*self.open_stages, WON]
        return codes[1 : codes.index(status) + 1]

    def stage_values(self, code: str, reason: str | None = None) -> Values:
        values: Values = {"status_id": self.stages[code].id}
        if code in (WON, LOST):
            name = f"{code}_reason"
            values[name] = reason or self.random.choice(getattr(self.account, f"{name}s"))
        return values

    def replay_deals(self) -> None:
        """Write the statuses of the deals, one after the other, and make customers of the clients of won deals."""
        won: dict[int | None, datetime] = {}
        for index in range(max(len(moves) for _, moves in self.plans)):
            moved = []
            for deal, moves in self.plans:
                if index < len(moves):
                    moment, values = moves[index]
                    deal.assign(values, by=self.responsible(deal))
                    deal.updated_at = moment
                    moved.append(deal)
                    if "won_reason" in values:
                        won[deal.client_id] = moment
            Deal.flush(moved)
        customer = self.client_statuses["customer"].id
        customers = [client for client in self.clients if client.id in won and client.status_id != customer]
        for client in customers:
            client.assign({"status_id": customer}, by=self.responsible(client))
            client.updated_at = won[client.id]
        Client.flush(customers)

    # Notes and tasks

    def add_notes(self) -> None:
        kinds = self.content["notes"]
        notes: list[Note] = []
        for entry in self.content["written_notes"]:
            values = {"client_id": self.demo.clients[entry["client"]].id, "content": entry["text"]}
            values |= pick(entry, "kind", "duration")
            notes.append(self.new_note(values, self.ago(entry["days"]), self.users[entry["by"]]))
        subjects: list[Client | Contact | Deal] = [*self.deals * 3, *self.contacts, *self.new_clients]
        while len(notes) < self.content["numbers"]["notes"]:
            subject, kind = self.random.choice(subjects), self.random.choices([*kinds], [3, 6, 1, 4])[0]
            values = {f"{subject._meta.model_name}_id": subject.id, "kind": kind}
            values["content"] = self.random.choice(kinds[kind])
            if kind in ("call", "meeting"):
                values["duration"] = self.random.choice([5, 10, 15, 20, 30, 45])
            moment = self.demo.pick_time(subject.created_at, self.now - timedelta(hours=3), early=0.7)
            notes.append(self.new_note(values, max(moment, subject.created_at), self.responsible(subject)))
        # Ids in the order of time.
        Note.flush(sorted(notes, key=lambda note: note.noted_at))

    def new_note(self, values: Values, moment: datetime, by: User) -> Note:
        return self.demo.new(Note, values | {"noted_at": moment}, created_at=moment, by=by.login)

    def add_tasks(self) -> None:
        status = self.demo.statuses(Status.Kind.POST)["new"]
        open_ids = {self.stages[code].id for code in self.open_stages}
        # Rotting deals have no planned task. Half of the tasks belong to deals that moved lately.
        since = self.now - timedelta(days=10)
        recent = [deal for deal in self.deals if deal.status_id in open_ids and deal.updated_at > since]
        tasks = []
        for (kind, title), values in self.plan_tasks():
            deal = self.random.choice(recent) if self.chance(0.5) else None
            values["client_id"] = deal.client_id if deal else self.random.choice(self.new_clients).id
            values["user_id"] = values["responsible_id"] = self.random.choices(self.team, [5, 3, 3, 3])[0].id
            values |= {"deal_id": deal.id if deal else None, "status_id": status.id, "content_html": ""}
            tasks.append(Post(account=self.account, task_kind=kind, title=title, **values))
        self.account.posts.bulk_create(tasks)

    def plan_tasks(self) -> Iterator[tuple[list[str], Values]]:
        """Yield the kind and the title of each task, and its values that do not depend on the customer."""
        random, content = self.random, self.content["tasks"]
        for days, number in content["numbers_by_due_day"]:
            for _ in range(number):
                day = self.day(days)
                # Most tasks are due on a weekday.
                if days and day.weekday() > 4:
                    day = self.day(days + (2 if days > 0 else -2))
                due = datetime.combine(day, time(random.randrange(7, 16)), self.now.tzinfo)
                moment = min(due, self.now) - timedelta(days=random.uniform(1, 9))
                task = random.choice(content["open"])
                priority = random.choice([0, 0, 0, 0, 1, 2])
                yield task, {"scheduled_at": due, "created_at": moment, "updated_at": moment, "priority": priority}
        for task in content["open"][:4]:
            moment = self.ago(random.uniform(2, 30))
            yield task, {"created_at": moment, "updated_at": moment}
        for _ in range(content["number_done"]):
            end = self.ago(random.uniform(0, 150))
            task = random.choice(content["done"])
            times = {"created_at": end - timedelta(days=random.uniform(0.3, 7)), "updated_at": end}
            yield task, {"scheduled_at": end, "completed_at": end, "closed": True, **times}

    # The forum

    def add_user_links(self) -> None:
        """Link members of the forum to the customers that they work for."""
        entry = self.content["links"]
        contacts = {contact.name: contact for contact in self.contacts}
        links = {self.users[login]: {"contact_id": contacts[name].id} for login, name in entry["contacts"].items()}
        links |= {
            self.users[login]: {"client_id": self.demo.clients[name].id} for login, name in entry["clients"].items()
        }
        customer = self.client_statuses["customer"].id
        clients = [client for client in self.new_clients if client.status_id == customer]
        voters = [user for user in self.users.values() if user.role == User.Role.MEMBER and user not in links]
        voters = self.random.sample(voters, entry["voters"])
        chosen = self.random.sample(clients, entry["voters"])
        links |= {user: {"client_id": client.id} for user, client in zip(voters, chosen, strict=True)}
        rows = []
        for user, target in links.items():
            is_proposed = user in voters[: entry["proposed"]]
            author = None if is_proposed else self.users["nina"].id
            moment = self.demo.pick_time(max(user.created_at, self.ago(200)), self.now)
            values: Values = {"state": UserLink.State.PROPOSED if is_proposed else UserLink.State.CONFIRMED, **target}
            values |= {"creator_id": author, "updater_id": author, "created_at": moment, "updated_at": moment}
            rows.append(UserLink(account=self.account, user_id=user.id, **values))
        UserLink.objects.bulk_create(rows)

    def add_votes(self) -> None:
        """Add votes that the team cast for clients. A trigger counts them."""
        excluded = {"duplicate_of", "trashed", "waiting", "private"}
        entries = (entry for entry in self.demo.content["posts"] if not pick(entry, *excluded))
        posts = [self.demo.posts[entry["title"]] for entry in entries]
        votes, clients = self.account.proxy_votes, self.present_clients()
        taken = set(votes.values_list("post_id", "client_id"))
        rows: list[ProxyVote] = []
        while len(rows) < self.content["numbers"]["votes"]:
            post = self.random.choices(posts, [post.votes_cache + 1 for post in posts])[0]
            client = self.random.choice(clients)
            if (post.id, client.id) in taken:
                continue
            taken.add((post.id, client.id))
            moment = self.demo.pick_time(max(post.created_at, client.created_at), self.now)
            row = {"post_id": post.id, "client_id": client.id, "user_id": client.responsible_id, "created_at": moment}
            rows.append(ProxyVote(account=self.account, **row))
        rows.sort(key=lambda row: row.created_at)
        votes.bulk_create(rows)

    # Merges and views

    def merge_clients(self) -> None:
        for entry in self.content["merged_clients"]:
            values = pick(entry, "name", "email", "phone", "external_ids", "note")
            kept = self.demo.clients[entry["into"]]
            copy = self.demo.new(Client, values, created_at=self.ago(entry["days"]), by="theo")
            Client.flush([copy])
            moment = self.ago(entry["merged"])
            merge = self.account.merges.merge(self.account, "client", kept.id, copy.id, {}, by=self.users["theo"])
            # The merge and the entries that it logged get the time of the merge.
            self.account.merges.filter(id=merge.id).update(created_at=moment, updated_at=moment)
            self.account.clients.filter(id=copy.id).update(trashed_at=moment)
            self.account.clients.filter(id=kept.id).update(updated_at=moment)
            logged = self.account.timeline_entries.filter(client_id=kept.id, at__gte=self.now)
            logged.filter(kind__in=("change", "merge")).update(at=moment)

    def add_views(self) -> None:
        values: Values = {code: self.client_statuses[code].id for code in ("customer", "lead")}
        for resource, name, login, shared, query in self.content["views"]["rows"]:
            owner = self.users[login]
            view = SavedView(account=self.account, resource=resource, owner_id=owner.id)
            query = urlencode(parse_qsl(query.format(**values)))
            view.write({"name": name, "shared": shared, "query": query}, by=owner)

    def present_clients(self) -> list[Client]:
        """Return the new clients without former ones."""
        former = self.client_statuses["former"].id
        return [client for client in self.new_clients if client.status_id != former]

    def responsible(self, row: Client | Contact | Deal) -> User:
        return self.by_id.get(row.responsible_id or 0, self.users["theo"])

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def ago(self, days: float) -> datetime:
        return self.now - timedelta(days=days, minutes=self.random.randrange(5, 300))

    def day(self, days: int) -> date:
        return (self.now + timedelta(days=days)).date()

    def phone(self, region: Values) -> str:
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
