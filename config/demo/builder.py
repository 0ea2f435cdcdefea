"""The content of account.toml in the demo account: users, forums, suggestions, clients and tasks."""

import tomllib
import unicodedata
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from django.contrib.auth.hashers import make_password
from django.db import models, transaction
from django.utils import timezone

from accounts.account.models import Account
from accounts.statuses.models import Status
from accounts.users.models import User
from crm.clients.models import Client
from crm.contacts.models import Contact, ContactList
from crm.deals.models import Deal
from crm.resources.models import CRMResource
from forum.activities.models import Activity
from forum.categories.models import Category
from forum.comments.models import Comment
from forum.posts.models import Post, StatusChange
from forum.votes.models import ProxyVote, Vote

FILE = Path(__file__).with_name("account.toml")
# The number of suggestions in a bare demo account.
BARE_POSTS = 3
# A comment without a date is written within this time after the one before it.
MAX_COMMENT_DELAY = timedelta(days=30)
# The program that sent the suggestions and comments.
BROWSER = "Mozilla/5.0"

# Values by name, of a row or of an entry of a file.
Values = dict[str, Any]
Row = TypeVar("Row", bound=CRMResource)


class DemoBuilder:
    """The builder of the demo account's content, in an account that has just been created.

    It calls the same methods of the models as the APIs and pages, so counters and the change feed are right. There are two
    exceptions: the votes, about a thousand, are inserted in bulk, and the times are set at the end.
    """

    def __init__(self, account: Account, owner: User):
        self.account, self.owner = account, owner
        self.content: Values = tomllib.loads(FILE.read_text())
        self.now = timezone.now()
        # A fixed seed: every demo account has the same content.
        self.random = Random(2009)  # noqa: S311
        self.users = {owner.login: owner}
        # Hashing a password for each user would be slow, and nobody signs in as most of them.
        self.unusable_password = make_password(None)
        self.clients: dict[str, Client] = {}
        # The deals of account.toml, which `add_customers` adds.
        self.deals: dict[str, Deal] = {}
        self.posts: dict[str, Post] = {}
        self.comments: list[Comment] = []
        # For each post id, the times of its status changes.
        self.status_times: dict[int, list[datetime]] = {}

    @transaction.atomic
    def add_first_posts(self) -> None:
        """Add the suggestions that the examples of docs/interface.md show."""
        forum, category = self.account.forums.get(), self.account.categories.get()
        for entry in self.content["posts"][:BARE_POSTS]:
            post = Post(account=self.account, forum_id=forum.id, category_id=category.id, agent="demo")
            post.write({"title": entry["title"], "content": entry["content"]}, by=self.owner)
            self.posts[entry["title"]] = post
        self.comments.append(post.comment(by=self.owner, text=entry["comments"][0][1], agent="demo"))
        post.vote(by=self.owner)

    @transaction.atomic
    def add_everything_else(self, add_customers: Callable[["DemoBuilder"], None]) -> None:
        """Add the rest of the content, after `add_first_posts`. `add_customers` adds the customers that are not in account.toml."""
        self.account.change(
            name=self.content["name"], currency=self.content["currency"], exchange_rates=self.content["exchange_rates"]
        )
        self.add_users()
        self.add_forums()
        self.add_clients()
        self.add_posts()
        self.add_votes()
        self.merge_duplicates()
        tasks = self.add_tasks()
        add_customers(self)
        self.move_to_trash()
        self.set_times(tasks)

    # People and forums

    def add_users(self) -> None:
        named_users, new_users = self.content["users"], []
        voters = [{"login": ascii_of(name.split()[0]), "name": name} for name in self.content["voters"]["names"]]
        for entry in (*named_users, *voters):
            # Named users write posts and comments, so they joined before the first post.
            created_at = self.ago(735 if entry in named_users else 720 * self.random.random() ** 0.5)
            if entry["login"] == self.owner.login:
                save(self.owner, **pick(entry, "name", "description", "www"), created_at=created_at)
                save(self.account, created_at=created_at)
            else:
                new_users.append(self.new_user(entry, created_at=created_at))
        User.objects.bulk_create(new_users)

    def new_user(self, entry: Values, *, created_at: datetime) -> User:
        user = User(account=self.account, created_at=created_at, email=f"{entry['login']}@example.com")
        user.password = self.owner.password if entry.get("sign_in") else self.unusable_password
        for name, value in pick(entry, "login", "role", "name", "description", "www").items():
            setattr(user, name, value)
        self.users[user.login] = user
        return user

    def add_forums(self) -> None:
        first, second = self.account.forums.get(), dict(self.content["second_forum"])
        save(first, **self.content["forum"])
        names = second.pop("categories")
        # The posts of the demo content set `requires_approval` themselves; `approval` applies to those that are written later.
        forum = self.account.forums.create_for(self.account, approval=True, **second)
        first_category = self.account.categories.get(forum_id=forum.id)
        first_category.write(name=names[0])
        self.categories = {None: self.account.categories.get(forum_id=first.id), names[0]: first_category}
        for forum_id, other_names in ((first.id, self.content["categories"]), (forum.id, names[1:])):
            for name in other_names:
                self.categories[name] = Category(account=self.account, forum_id=forum_id)
                self.categories[name].write(name=name)

    # Posts, comments and votes

    def add_posts(self) -> None:
        statuses = self.statuses(Status.Kind.POST)
        for entry in self.content["posts"]:
            values = pick(entry, "kind", "private", "tags")
            post = self.posts.get(entry["title"])
            if post is None:
                category = self.categories[entry.get("category")]
                post = Post(account=self.account, forum_id=category.forum_id, category_id=category.id, agent=BROWSER)
                post.requires_approval = entry.get("waiting", False)
                values |= {"title": entry["title"], "content": entry["content"].strip(), "status": statuses["new"]}
                self.posts[entry["title"]] = post
            post.write(values, by=self.users[entry["by"]])
            if not post.approved and "waiting" not in entry:
                # The first suggestion of a member has a link.
                post.approve(by=self.owner)
                post.refresh_from_db(fields=["visibility"])
            post.created_at = self.ago(entry["days"])
            moments = self.status_times[post.id] = []
            for code, days, login, *response in entry.get("history", ()):
                values = {"status": statuses[code]} | ({"response": response[0].strip()} if response else {})
                post.write(values, by=self.users[login])
                previous = moments[-1] if moments else post.created_at
                moments.append(max(self.ago(days), previous + timedelta(hours=1)))
            self.add_comments(post, entry)

    def add_comments(self, post: Post, entry: Values) -> None:
        texts = entry.get("comments", [])
        end = self.ago(entry.get("merged", 0))
        moment = post.created_at
        for number, (login, text, *days) in enumerate(texts):
            next_days = next((later[2] for later in texts[number + 1 :] if len(later) > 2), None)
            limit = end if next_days is None else self.ago(next_days)
            random_time = self.pick_time(moment, min(moment + MAX_COMMENT_DELAY, limit), early=2)
            moment = max(self.ago(days[0]) if days else random_time, moment + timedelta(minutes=2))
            if post.id == self.comments[0].post_id and number == 0:
                comment = self.comments[0]
            else:
                comment = post.comment(by=self.users[login], text=text, agent=BROWSER)
                self.comments.append(comment)
            comment.created_at = comment.updated_at = moment

    def add_votes(self) -> None:
        # `add_first_posts` gave this post a vote of the owner.
        first_post = next(post for post in self.posts.values() if post.id == self.comments[0].post_id)
        first_post.withdraw_vote(by=self.owner)
        votes, for_clients = [], []
        for entry in self.content["posts"]:
            post, author = self.posts[entry["title"]], self.users[entry["by"]]
            end = self.ago(entry.get("merged", 0))
            others = [user for user in self.users.values() if user is not author and user.created_at < end]
            for user in [author, *self.random.sample(others, entry["votes"] - 1)] if entry["votes"] else ():
                moment = self.pick_time(max(post.created_at, user.created_at), end, early=2)
                votes.append(Vote(account=self.account, post_id=post.id, user_id=user.id, created_at=moment))
                post.votes_cache += 1
            for client in (self.clients[name] for name in entry.get("clients", ())):
                moment = self.pick_time(max(post.created_at, client.created_at), self.now)
                ids = {"post_id": post.id, "client_id": client.id, "user_id": self.users["theo"].id}
                for_clients.append(ProxyVote(account=self.account, created_at=moment, **ids))
        self.account.votes.bulk_create(votes)
        rewrite(self.posts.values(), "votes_cache")
        # A trigger counts these votes.
        self.account.proxy_votes.bulk_create(for_clients)

    def merge_duplicates(self) -> None:
        for entry in self.content["posts"]:
            if "duplicate_of" in entry:
                post, original = self.posts[entry["title"]], self.posts[entry["duplicate_of"]]
                post.merge_into(original, by=self.users["theo"])
                self.status_times[post.id].append(self.ago(entry["merged"]))
                for comment in self.comments:
                    if comment.post_id == post.id:
                        comment.post_id = original.id

    # Clients, contacts and tasks

    def add_clients(self) -> None:
        for values in self.content["client_statuses"]:
            Status(account=self.account, kind=Status.Kind.CLIENT).write(dict(values))
        statuses = self.statuses(Status.Kind.CLIENT)
        self.lists = {
            name: self.new(ContactList, {"name": name}, days=700, by="nina")
            for name in (*self.content["contact_lists"]["names"], *self.content["contact_lists"]["trashed"])
        }
        ContactList.flush(list(self.lists.values()))
        for entry in self.content["clients"]:
            values = {name: value for name, value in entry.items() if name not in ("contacts", "person", "trashed")}
            values["company"] = not entry.get("person", False)
            if "status" in values:
                values["status_id"] = statuses[values.pop("status")].id
            values["responsible_id"] = self.users[self.random.choice(["demo", "nina", "theo", "theo"])].id
            client = self.new(Client, values, days=values.pop("days"), by="theo")
            self.clients[client.name] = client
        Client.flush(list(self.clients.values()))

        contacts: dict[Client, list[Contact]] = {}
        for client_entry in self.content["clients"]:
            client = self.clients[client_entry["name"]]
            for entry in client_entry.get("contacts", ()):
                values = {name: value for name, value in entry.items() if name != "lists"}
                values["contact_list_ids"] = [self.lists[name].id for name in entry.get("lists", ())]
                values["client_id"] = client.id
                contact = self.new(Contact, values, created_at=client.created_at, by="theo")
                contacts.setdefault(client, []).append(contact)
        Contact.flush([contact for listed in contacts.values() for contact in listed])
        for client, (main_contact, *_) in contacts.items():
            client.contact_id = main_contact.id
        rewrite(contacts, "contact_id")

    def add_tasks(self) -> list[Post]:
        new = self.account.default_status(Status.Kind.POST)
        hour = self.now.replace(minute=0, second=0, microsecond=0)
        tasks = []
        for entry in self.content["tasks"]:
            values = pick(entry, "title", "content", "priority", "closed")
            values |= {"task_kind": entry["kind"], "responsible_id": self.users[entry["for"]].id, "status": new}
            if "client" in entry:
                values["client_id"] = self.clients[entry["client"]].id
            if "due" in entry:
                values["scheduled_at"] = hour + timedelta(days=entry["due"])
            task = Post(account=self.account)
            task.write(values, by=self.users[entry["by"]])
            task.created_at = task.updated_at = self.ago(entry["days"])
            tasks.append(task)
        return tasks

    def new(
        self, model: type[Row], values: Values, *, by: str, days: int = 0, created_at: datetime | None = None
    ) -> Row:
        """Return a row of the CRM with these values. The caller flushes several rows together."""
        row = model(account=self.account)
        row.assign(values, by=self.users[by])
        row.created_at = row.updated_at = created_at or self.ago(days)
        return row

    # Trash and times

    def move_to_trash(self) -> None:
        kinds = (
            (self.posts, self.content["posts"], "title"),
            (self.clients, self.content["clients"], "name"),
            (self.deals, self.content["deals"], "name"),
            (self.lists, [{"name": name, "trashed": 25} for name in self.content["contact_lists"]["trashed"]], "name"),
        )
        for rows, entries, key in kinds:
            for entry in entries:
                if "trashed" in entry:
                    row = rows[entry[key]]
                    row.trash(by=self.users["theo"])
                    save(row, trashed_at=max(self.ago(entry["trashed"]), row.created_at + timedelta(hours=1)))

    def set_times(self, tasks: list[Post]) -> None:
        """Replace the times of status changes, comments, posts and tasks, which the models set to now."""
        changes = list(self.account.status_changes.order_by("id"))
        for change in changes:
            change.created_at = self.status_times[change.post_id].pop(0)
        posts = {post.id: post for post in self.posts.values()}
        for post in posts.values():
            post.updated_at = post.created_at
        rows: list[StatusChange | Comment] = [*changes, *self.comments]
        for row in rows:
            post = posts[row.post_id]
            post.updated_at = max(post.updated_at, row.created_at)
        rewrite(changes, "created_at")
        rewrite(self.comments, "created_at", "updated_at")
        rewrite([*posts.values(), *tasks], "created_at", "updated_at")
        self.set_times_of_activities(posts)

    def set_times_of_activities(self, posts: dict[int, Post]) -> None:
        """Give each activity the time of its comment or post, because only activities of the last days create notifications.

        Also add the activities of new posts. The follower of the change feed adds no activity that exists already.
        """
        comment_times = {comment.id: comment.created_at for comment in self.comments}
        rows = list(self.account.activities.filter(post_id__isnull=False))
        for row in rows:
            row.created_at = comment_times.get(row.comment_id or 0) or posts[row.post_id or 0].updated_at
        rewrite(rows, "created_at")
        values = {"account_id": self.account.id, "kind": Activity.Kind.NEW_POST}
        Activity.objects.bulk_create(
            Activity(**values, post_id=post.id, user_id=post.user_id, created_at=post.created_at)
            for post in posts.values()
        )

    def statuses(self, kind: str) -> dict[str, Status]:
        return {status.code: status for status in self.account.statuses_of_kind(kind)}

    def ago(self, days: float) -> datetime:
        """Return a random time about that many days ago, which is never in the future."""
        return self.now - timedelta(days=days, minutes=self.random.randrange(5, 300))

    def pick_time(self, start: datetime, end: datetime, *, early: float = 1) -> datetime:
        """Return a random time between two times. A higher `early` makes a time near the start more likely."""
        share: float = self.random.random() ** early
        return start + max(end - start, timedelta()) * share


def pick(entry: Values, *names: str) -> Values:
    """Return the values that the entry has under these names."""
    return {name: entry[name] for name in names if name in entry}


def ascii_of(text: str) -> str:
    """Return a name in lower case without diacritics, spaces and signs."""
    plain = unicodedata.normalize("NFKD", text.lower().replace("ł", "l").replace("ß", "ss"))
    return "".join(character for character in plain if character.isascii() and character.isalnum())


def save(row: models.Model, **values: object) -> None:
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=[*values])


def rewrite(rows: Iterable[models.Model], *fields: str) -> None:
    """Update these fields of existing rows in one statement."""
    rows = list(rows)
    type(rows[0])._default_manager.bulk_create(
        rows, update_conflicts=True, unique_fields=["account", "id"], update_fields=fields
    )
