"""The demo account's content: what demo.toml tells, as if it had happened over two years."""

import tomllib
import unicodedata
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import models, transaction
from django.utils import timezone

from accounts.models import Account, Status, User

FILE = Path(__file__).with_name("demo.toml")
# With so many of the suggestions an account begins, also one that is to have no more.
FIRST = 3
# After which an answer to a comment is late.
SOON = timedelta(days=30)


class Story:
    """Tells it in a new account.

    What happens is done by the models' own acts, so that it is counted and noted as ever; but votes, of which there are a
    thousand, are inserted at once, and times are set in the end.
    """

    def __init__(self, account: Account, owner: User):
        self.account, self.owner = account, owner
        self.told: dict[str, Any] = tomllib.loads(FILE.read_text())
        self.now = timezone.now()
        # The same for everyone; nobody is to be kept from guessing it.
        self.random = Random(2009)  # noqa: S311
        self.users = {owner.login: owner}
        self.clients: dict[str, Any] = {}
        self.posts: dict[str, Any] = {}
        self.comments: list[Any] = []
        # By the id of a post, when it got its statuses.
        self.decided: dict[int, list[datetime]] = {}

    @transaction.atomic
    def begin(self) -> None:
        """A few suggestions to look at: all that the examples of the documents know of."""
        forum, category = self.account.forums.get(), self.account.categories.get()
        for entry in self.told["posts"][:FIRST]:
            post = self.account.posts.model(
                account=self.account, forum_id=forum.id, category_id=category.id, agent="demo"
            )
            post.write({"title": entry["title"], "content": entry["content"]}, by=self.owner)
            self.posts[entry["title"]] = post
        self.comments.append(post.comment(by=self.owner, text=entry["comments"][0][1], agent="demo"))
        post.vote(by=self.owner)

    @transaction.atomic
    def go_on(self) -> None:
        """All of it, after `begin`."""
        self.account.change(name=self.told["name"], currency=self.told["currency"])
        self.add_users()
        self.add_forums()
        self.add_clients()
        self.add_deals()
        self.add_posts()
        self.add_votes()
        self.merge()
        tasks = self.add_tasks()
        self.put_in_trash()
        self.set_times(tasks)

    # Who there is

    def add_users(self) -> None:
        told = self.told["users"]
        voters = [{"login": login_of(name), "name": name} for name in self.told["voters"]["names"]]
        # Nobody signs in as most of them, and a hash for each would take its time.
        nobody = make_password(None)
        new = []
        for entry in (*told, *voters):
            values = {name: entry[name] for name in ("name", "description", "www") if name in entry}
            # Who writes anything was there from the beginning on.
            values["created_at"] = self.ago(735 if entry in told else 720 * self.random.random() ** 0.5)
            if entry["login"] == self.owner.login:
                save(self.owner, **values)
                save(self.account, created_at=values["created_at"])
                continue
            user = User(
                account=self.account,
                login=entry["login"],
                email=f"{entry['login']}@example.com",
                role=entry.get("role", User.Role.MEMBER),
                password=self.owner.password if entry.get("sign_in") else nobody,
                **values,
            )
            self.users[user.login] = user
            new.append(user)
        User.objects.bulk_create(new)

    def add_forums(self) -> None:
        first, second = self.account.forums.get(), dict(self.told["second_forum"])
        save(first, **self.told["forum"])
        names = second.pop("categories")
        # Members' posts wait there from now on; those of the story say so themselves.
        forum = self.account.forums.open(self.account, approval=True, **second)
        opened_with = self.account.categories.get(forum_id=forum.id)
        opened_with.write(name=names[0])
        self.categories = {None: self.account.categories.get(forum_id=first.id), names[0]: opened_with}
        for of, name in (*((first, name) for name in self.told["categories"]), *((forum, name) for name in names[1:])):
            self.categories[name] = self.account.categories.model(account=self.account, forum_id=of.id)
            self.categories[name].write(name=name)

    # The forums

    def add_posts(self) -> None:
        statuses = self.statuses(Status.Kind.POST)
        for entry in self.told["posts"]:
            values = {name: entry[name] for name in ("kind", "private", "tags") if name in entry}
            post = self.posts.get(entry["title"])
            if post is None:
                category = self.categories[entry.get("category")]
                post = self.account.posts.model(
                    account=self.account, forum_id=category.forum_id, category_id=category.id, agent="Mozilla/5.0"
                )
                post.held_back = entry.get("waiting", False)
                values |= {"title": entry["title"], "content": entry["content"].strip(), "status": statuses["new"]}
                self.posts[entry["title"]] = post
            post.write(values, by=self.users[entry["by"]])
            post.created_at = self.ago(entry["days"])
            moments = self.decided[post.id] = []
            for code, days, login, *response in entry.get("history", ()):
                values = {"status": statuses[code]} | ({"response": response[0].strip()} if response else {})
                post.write(values, by=self.users[login])
                before = moments[-1] if moments else post.created_at
                moments.append(max(self.ago(days), before + timedelta(hours=1)))
            self.add_comments(post, entry)

    def add_comments(self, post: Any, entry: dict[str, Any]) -> None:
        texts = entry.get("comments", [])
        end = self.ago(entry.get("merged", 0))
        moment = post.created_at
        for number, (login, text, *days) in enumerate(texts):
            following = next((given[2] for given in texts[number + 1 :] if len(given) > 2), None)
            limit = end if following is None else self.ago(following)
            soon = self.between(moment, min(moment + SOON, limit), early=2)
            moment = max(self.ago(days[0]) if days else soon, moment + timedelta(minutes=2))
            if post.id == self.comments[0].post_id and number == 0:
                comment = self.comments[0]
            else:
                comment = post.comment(by=self.users[login], text=text, agent="Mozilla/5.0")
                self.comments.append(comment)
            comment.created_at = comment.updated_at = moment

    def add_votes(self) -> None:
        third = next(post for post in self.posts.values() if post.id == self.comments[0].post_id)
        third.withdraw_vote(by=self.owner)
        votes, for_clients = [], []
        for entry in self.told["posts"]:
            post, author = self.posts[entry["title"]], self.users[entry["by"]]
            end = self.ago(entry.get("merged", 0))
            others = [user for user in self.users.values() if user is not author and user.created_at < end]
            for user in [author, *self.random.sample(others, entry["votes"] - 1)] if entry["votes"] else ():
                moment = self.between(max(post.created_at, user.created_at), end, early=2)
                vote = {"post_id": post.id, "user_id": user.id, "created_at": moment}
                votes.append(self.account.votes.model(account=self.account, **vote))
                post.votes_cache += 1
            for name in entry.get("clients", ()):
                moment = self.between(max(post.created_at, self.clients[name].created_at), self.now)
                vote = {"post_id": post.id, "client_id": self.clients[name].id, "created_at": moment}
                theo = self.users["theo"].id
                for_clients.append(self.account.proxy_votes.model(account=self.account, user_id=theo, **vote))
        self.account.votes.bulk_create(votes)
        rewrite(self.posts.values(), "votes_cache")
        # The database counts these.
        self.account.proxy_votes.bulk_create(for_clients)

    def merge(self) -> None:
        for entry in self.told["posts"]:
            if "duplicate_of" in entry:
                post, original = self.posts[entry["title"]], self.posts[entry["duplicate_of"]]
                post.merge_into(original, by=self.users["theo"])
                self.decided[post.id].append(self.ago(entry["merged"]))
                for comment in self.comments:
                    if comment.post_id == post.id:
                        comment.post_id = original.id

    # The customers

    def add_clients(self) -> None:
        for values in self.told["client_statuses"]:
            status = self.account.statuses.model(account=self.account, kind=Status.Kind.CLIENT)
            status.write(dict(values))
        statuses = self.statuses(Status.Kind.CLIENT)
        lists = {}
        for name in (*self.told["contact_lists"]["names"], *self.told["contact_lists"]["trashed"]):
            lists[name] = self.new(self.account.contact_lists, {"name": name}, days=700, by="nina")
        lists_model = self.account.contact_lists.model
        lists_model.flush(list(lists.values()))
        self.lists = lists

        people: list[tuple[Any, list[Any]]] = []
        for told in self.told["clients"]:
            entry = {name: value for name, value in told.items() if name not in ("contacts", "person", "trashed")}
            entry["company"] = not told.get("person", False)
            if "status" in entry:
                entry["status_id"] = statuses[entry.pop("status")].id
            entry["responsible_id"] = self.users[self.random.choice(["demo", "nina", "theo", "theo"])].id
            client = self.new(self.account.clients, entry, days=entry.pop("days"), by="theo")
            self.clients[client.name] = client
            people.append((client, told.get("contacts", [])))
        client_model = self.account.clients.model
        client_model.flush(list(self.clients.values()))

        contacts, mains = [], []
        for client, entries in people:
            for number, told in enumerate(entries):
                names = {"contact_list_ids": [lists[name].id for name in told.get("lists", ())]}
                values = {name: value for name, value in told.items() if name != "lists"} | names
                values["client_id"] = client.id
                contact = self.new(self.account.contacts, values, created_at=client.created_at, by="theo")
                contacts.append(contact)
                if number == 0:
                    mains.append((client, contact))
        self.account.contacts.model.flush(contacts)
        for client, contact in mains:
            client.contact_id = contact.id
        rewrite([client for client, _ in mains], "contact_id")

    def add_deals(self) -> None:
        statuses = self.statuses(Status.Kind.DEAL)
        self.deals = {}
        for told in self.told["deals"]:
            values = {name: told[name] for name in ("name", "description", "currency", "tags") if name in told}
            values["client_id"] = self.clients[told["client"]].id
            values["status_id"] = statuses[told["status"]].id
            values["responsible_id"] = self.users["demo" if told["status"] == "won" else "theo"].id
            if "price" in told:
                values["price"] = Decimal(told["price"])
            if "closing" in told:
                values["expected_close_date"] = (self.now + timedelta(days=told["closing"])).date()
            self.deals[told["name"]] = self.new(self.account.deals, values, days=told["days"], by="theo")
        self.account.deals.model.flush(list(self.deals.values()))

    def add_tasks(self) -> list[Any]:
        new = self.account.default_status(Status.Kind.POST)
        tasks = []
        for told in self.told["tasks"]:
            values = {name: told[name] for name in ("title", "content", "priority", "closed") if name in told}
            values |= {"task_kind": told["kind"], "responsible_id": self.users[told["for"]].id, "status": new}
            if "client" in told:
                values["client_id"] = self.clients[told["client"]].id
            if "due" in told:
                values["scheduled_at"] = self.now + timedelta(days=told["due"])
            task = self.account.posts.model(account=self.account)
            task.write(values, by=self.users[told["by"]])
            task.created_at = task.updated_at = self.ago(told["days"])
            tasks.append(task)
        return tasks

    def new(self, things: models.Manager, values: dict[str, Any], *, by: str, days: int = 0, created_at=None) -> Any:
        """Something of a customer's, to be flushed with others."""
        row = things.model(account=self.account)
        row.assign(values, by=self.users[by])
        row.created_at = row.updated_at = created_at or self.ago(days)
        return row

    # What is left

    def put_in_trash(self) -> None:
        kinds = (
            (self.posts, self.told["posts"], "title"),
            (self.clients, self.told["clients"], "name"),
            (self.deals, self.told["deals"], "name"),
            (self.lists, [{"name": name, "trashed": 25} for name in self.told["contact_lists"]["trashed"]], "name"),
        )
        for rows, entries, called in kinds:
            for entry in entries:
                if "trashed" in entry:
                    row = rows[entry[called]]
                    row.trash(by=self.users["theo"])
                    save(row, trashed_at=max(self.ago(entry["trashed"]), row.created_at + timedelta(hours=1)))

    def set_times(self, tasks: list[Any]) -> None:
        changes = []
        for change in self.account.status_changes.order_by("id"):
            change.created_at = self.decided[change.post_id].pop(0)
            changes.append(change)
        posts = {post.id: post for post in self.posts.values()}
        for post in posts.values():
            post.updated_at = post.created_at
        for row in (*changes, *self.comments):
            post = posts[row.post_id]
            post.updated_at = max(post.updated_at, row.created_at)
        rewrite(changes, "created_at")
        rewrite(self.comments, "created_at", "updated_at")
        rewrite([*posts.values(), *tasks], "created_at", "updated_at")

    def statuses(self, kind: str) -> dict[str, Status]:
        return {status.code: status for status in self.account.first_statuses(kind)}

    def ago(self, days: float) -> datetime:
        """About that many days ago; never a moment to come."""
        return self.now - timedelta(days=days, minutes=self.random.randrange(5, 300))

    def between(self, start: datetime, end: datetime, *, early: float = 1) -> datetime:
        """The higher `early` is, the nearer to the start."""
        return start + max(end - start, timedelta()) * self.random.random() ** early


def login_of(name: str) -> str:
    """The first name, without accents."""
    first = unicodedata.normalize("NFKD", name.split()[0].lower())
    return first.encode("ascii", "ignore").decode()


def save(row: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=[*values])


def rewrite(rows: Any, *fields: str) -> None:
    """Write these fields of rows that are there, all in one statement."""
    rows = list(rows)
    type(rows[0]).objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["account", "id"], update_fields=list(fields)
    )
