"""The mirrored entries of the timeline equal a recount from the rows, after any history."""

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crm.models import Client, Contact, Deal, Note
from forum.models import Post
from tests.support.factories import make_client, make_contact, make_deal, make_note, make_post, make_task
from workspace.mirrored_entries import MIRRORS
from workspace.models import TimelineEntry
from workspace.timeline import MIRRORED_KINDS

COLUMNS = ("account_id", "kind", "at", "resource", "resource_id", "client_id", "contact_id", "deal_id", "user_id")
MODELS = {"clients": Client, "contacts": Contact, "deals": Deal, "notes": Note, "posts": Post}
LINKS = {"clients": "client_id", "contacts": "contact_id", "deals": "deal_id"}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["link", "trash", "restore", "erase", "close", "add note", "add task", "add post", "vote"]),
        st.sampled_from(list(MODELS)),
        st.integers(0, 3),
        st.sampled_from(list(LINKS)),
        st.integers(0, 3),
    ),
    min_size=5,
    max_size=25,
)


def mirrored() -> list[tuple]:
    return sorted(TimelineEntry.objects.filter(kind__in=MIRRORED_KINDS).values_list(*COLUMNS), key=repr)


def recount() -> list[tuple]:
    with connection.cursor() as cursor:
        select = " UNION ALL ".join(mirror.entries() for mirror in MIRRORS.values())
        cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM ({select}) AS entry")  # noqa: S608
        return sorted(cursor.fetchall(), key=repr)


class History:
    """Rows of an account, changed step by step. A step that makes no sense for a row is skipped."""

    def __init__(self, acme):
        self.user, self.account = acme.alice, acme.account
        clients = [make_client(self.user) for _ in range(2)]
        contacts = [make_contact(self.user, client_id=clients[0].id) for _ in range(2)]
        deals = [make_deal(self.user, client_id=client.id, contact_id=contacts[0].id) for client in clients]
        notes = [make_note(self.user, deal_id=deals[0].id), make_note(self.user, contact_id=contacts[0].id)]
        posts = [
            make_task(self.user, deal_id=deals[0].id, contact_id=contacts[1].id),
            make_post(self.user, contact_id=contacts[0].id),
        ]
        rows = {"clients": clients, "contacts": contacts, "deals": deals, "notes": notes, "posts": posts}
        self.ids = {kind: [row.id for row in of_kind] for kind, of_kind in rows.items()}

    def find(self, kind: str, number: int):
        """Return a row as it is stored, or None if it was erased."""
        id = self.ids[kind][number % len(self.ids[kind])]
        row = MODELS[kind].objects.filter(account_id=self.account.id, id=id).first()
        if row is not None:
            row.account = self.account
        return row

    def apply(self, act: str, kind: str, number: int, target: str, target_number: int) -> None:
        row, linked = self.find(kind, number), self.find(target, target_number)
        is_live = row is not None and row.trashed_at is None
        link = {LINKS[target]: linked.id} if linked is not None and linked.trashed_at is None else None
        match act:
            case "link" if is_live and link and hasattr(row, LINKS[target]) and kind != target:
                others = dict.fromkeys(LINKS.values()) if kind == "notes" else {}
                row.write(others | link, by=self.user)
            case "trash" if is_live:
                row.trash(by=self.user)
            case "restore" if row is not None and not is_live:
                row.restore()
            case "erase" if row is not None and not is_live:
                MODELS[kind].objects.filter(account_id=self.account.id, id=row.id).erase(before=timezone.now(), limit=1)
            case "close" if is_live and kind == "posts":
                row.write({"closed": not row.closed}, by=self.user)
            case "add note" if link:
                self.ids["notes"].append(make_note(self.user, **link).id)
            case "add task" if link:
                self.ids["posts"].append(make_task(self.user, **link).id)
            case "add post" if link and target != "deals":
                self.ids["posts"].append(make_post(self.user, **link).id)
            case "vote" if is_live and kind == "posts" and row.category_id and link and target != "deals":
                row.cast_proxy_vote(by=self.user, **link)


# `acme` is created once for all examples. Their rows stay, and each example has rows of its own.
@pytest.mark.soak
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_it_works(acme, steps):
    history = History(acme)
    assert mirrored() == recount()
    for step in steps:
        history.apply(*step)
        assert mirrored() == recount(), step
