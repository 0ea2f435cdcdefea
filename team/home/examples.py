"""Examples of rows in a new account, which an admin adds and removes at once.

`Account.examples` has the id of each row and the time at which it was written. Removal moves the rows to the trash, except those that
somebody has changed since, or to which other rows link.
"""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.statuses.models import Status
from accounts.users.models import User
from core.errors import Conflict
from core.rows.trash import Trashable
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from forum.posts.models import Post

# By the key of the resource. What links to a row is removed before the row.
KINDS: dict[str, str] = {"post": "posts", "deal": "deals", "contact": "contacts", "client": "clients"}
Stored = dict[str, dict[str, str]]


def add_examples(account: Account, user: User) -> Stored:
    """Add the examples in the language of the account, and return them. Raise Conflict if they exist. Call this in a transaction."""
    lock(account)
    if account.examples:
        raise Conflict(_("The examples are there already"))
    with override(account.language):
        rows = list(make_examples(account, user))
    stored: Stored = {key: {} for key in KINDS}
    for row in rows:
        stored[key_of(row)][str(row.id)] = row.updated_at.isoformat()
    save(account, stored)
    record(account.id, "examples.created", by=user)
    return stored


def make_examples(account: Account, user: User) -> Iterator[Any]:
    """Write the examples, and return them."""
    today = timezone.localdate()
    stages = [status for status in account.deal_statuses() if status.outcome == Status.Outcome.OPEN and status.id]
    client_status = account.default_status(Status.Kind.CLIENT)
    entries = (
        (_("Example: Northwind"), "Nora North", "nora@northwind.example", _("Example: yearly plan"), Decimal(1200), 10),
        (
            _("Example: Linden Bakery"),
            "Leon Linden",
            "leon@linden.example",
            _("Example: two new shops"),
            Decimal(4800),
            30,
        ),
    )
    for number, (name, contact_name, email, deal_name, price, days) in enumerate(entries):
        client = Client(account=account)
        client.write({"name": name, "email": email, "status_id": client_status and client_status.id}, by=user)
        contact = Contact(account=account)
        contact.write({"name": contact_name, "email": email, "client_id": client.id}, by=user)
        stage = stages[min(number, len(stages) - 1)].id if stages else None
        links = {"client_id": client.id, "contact_id": contact.id, "status_id": stage, "responsible_id": user.id}
        deal = Deal(account=account)
        closing = today + timedelta(days=days)
        deal.write({"name": deal_name, "price": price, "expected_close_date": closing, **links}, by=user)
        yield from (client, contact, deal)
    category = account.categories.order_by("id").first()
    titles = (_("Example: a dark theme"), _("Example: remember my last search"))
    if category is None:
        return
    for title in titles:
        post = Post(account=account, forum_id=category.forum_id, category_id=category.id, agent="")
        post.write({"title": title, "content": _("This suggestion is an example.")}, by=user)
        yield post


def remove_examples(account: Account, user: User) -> list[str]:
    """Move the examples to the trash. Return the names of those that stay, because the team has changed them or linked something.

    Raise Conflict if there are none. Call this in a transaction.
    """
    lock(account)
    if not account.examples:
        raise Conflict(_("There are no examples"))
    kept = []
    for key, relation in KINDS.items():
        stored: dict[str, str] = account.examples.get(key, {})
        rows = getattr(account, relation).live().locked().filter(id__in=[int(id) for id in stored]).order_by("id")
        for row in rows:
            if row.updated_at.isoformat() != stored[str(row.id)] or is_linked(account, key, row):
                kept.append(str(row))
            else:
                row.trash(by=user)
    save(account, {})
    record(account.id, "examples.deleted", by=user)
    return kept


def is_linked(account: Account, key: str, row: Trashable) -> bool:
    """Return whether rows link to the example. The examples that link to it are in the trash already."""
    if isinstance(row, Post):
        others = account.votes.filter(post_id=row.id).exclude(user_id=row.user_id)
        return account.comments.filter(post_id=row.id).exists() or others.exists()
    link = Q(**{f"{key}_id": row.id})
    relations = [account.posts.filter(link), account.notes.filter(link)]
    if key != "deal":
        relations.append(account.deals.filter(link))
    if key == "client":
        relations.append(account.contacts.filter(link))
    return any(rows.live().exists() for rows in relations)


def key_of(row: Any) -> str:
    return str(type(row).api_resource.key)


def lock(account: Account) -> None:
    account.lock()
    account.refresh_from_db(fields=["examples"])


def save(account: Account, stored: Stored) -> None:
    account.examples = stored
    Account.objects.filter(id=account.id).update(examples=stored)
