"""The summaries, the timeline, and the clients and figures of suggestions equal a recount after random histories."""

from datetime import timedelta
from decimal import Decimal
from random import Random

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from crm.notes.models import Note
from team.summaries.jobs import update_summaries_of_status
from tests.support import post_revenue
from tests.support.factories import (
    make_client,
    make_contact,
    make_deal,
    make_post,
    make_task,
    make_user,
    make_user_link,
)
from tests.support.sort_keys import assert_sort_keys_are_correct
from tests.support.summaries import recounted, stored
from tests.support.timeline import mirrored, recount

KINDS = ("client", "contact", "deal")
RESOURCES = (*KINDS, "post", "note")
CHANGES = (
    *(f"create_{resource}" for resource in RESOURCES),
    "relink",
    "change_deal",
    "change_task",
    "trash",
    "trash",
    "restore",
    "erase",
    "change_outcome",
    "undo",
    "vote",
    "withdraw_votes",
    "link_user",
    "merge_posts",
)
chances = st.integers(0, 2**32).map(Random)


class Undone(Exception):
    """Rolls back a savepoint."""


class Histories(RuleBasedStateMachine):
    """Changes of clients, contacts, deals, posts, tasks and notes. `chance` selects rows that exist."""

    def __init__(self, acme) -> None:
        super().__init__()
        self.account, self.user = acme.account, acme.alice
        self.statuses = list(self.account.statuses.filter(kind="deal"))
        self.start, self.changes = timezone.now(), 0
        self.members = [make_user(self.account) for _ in range(2)]
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()
        clients = [make_client(self.user) for _ in range(2)]
        contacts = [make_contact(self.user, client_id=client.id) for client in clients]
        for client, contact in zip(clients, contacts, strict=True):
            make_task(self.user, contact_id=contact.id, scheduled_at=self.start)
            deal = make_deal(self.user, client_id=client.id, contact_id=contact.id, price=Decimal(7))
            make_task(self.user, deal_id=deal.id, scheduled_at=self.start)

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    # The rows

    def pick(self, kind: str, chance: Random, *, live: bool = True):
        """Return one of the rows, locked, or None if there is none."""
        rows = getattr(self.account, f"{kind}s").all()
        rows = rows.live() if live else rows.trashed()
        found = list(rows.order_by("id").locked())
        return chance.choice(found) if found else None

    def links(self, kinds: tuple[str, ...], chance: Random) -> dict:
        """Return links to rows, half of them to none."""
        rows = {kind: self.pick(kind, chance) if chance.random() < 0.5 else None for kind in kinds}
        return {f"{kind}_id": row.id if row else None for kind, row in rows.items()}

    def moment(self, chance: Random):
        return chance.choice([None, *(self.start + timedelta(days=day) for day in range(-3, 4))])

    @staticmethod
    def amount(chance: Random) -> tuple[Decimal | None, str]:
        return chance.choice([None, Decimal("1.25"), Decimal(-2), Decimal(3)]), chance.choice(["EUR", "PLN"])

    # The changes

    def create_client(self, chance):
        make_client(self.user)

    def create_contact(self, chance):
        make_contact(self.user, **self.links(("client",), chance))

    def create_deal(self, chance):
        price, currency = self.amount(chance)
        status = chance.choice([None, *(status.id for status in self.statuses)])
        links = self.links(("client", "contact"), chance)
        make_deal(self.user, price=price, currency=currency, status_id=status, **links)

    def create_post(self, chance):
        if chance.random() < 0.7:
            make_task(self.user, scheduled_at=self.moment(chance), **self.links(KINDS, chance))
        else:
            make_post(self.user, **self.links(("client", "contact"), chance))

    def create_note(self, chance):
        row = self.pick(chance.choice(KINDS), chance)
        if row is not None:
            note = Note(account=self.account)
            note.write({"content": "called", f"{row._meta.model_name}_id": row.id}, by=self.user)

    def relink(self, chance):
        kind = chance.choice(RESOURCES)
        row = self.pick(kind, chance)
        if row is None:
            return
        if kind == "client":
            row.write({"name": "Renamed"}, by=self.user)
        elif kind == "contact":
            row.write(self.links(("client",), chance), by=self.user)
        elif kind == "deal":
            row.write(self.links(("client", "contact"), chance), by=self.user)
        elif kind == "post":
            row.write(self.links(KINDS if row.category_id is None else KINDS[:2], chance), by=self.user)
        else:
            target = self.pick(chance.choice(KINDS), chance)
            links = (
                dict.fromkeys(f"{kind}_id" for kind in KINDS) | {f"{target._meta.model_name}_id": target.id}
                if target
                else {}
            )
            row.write({"content": "called again", **links}, by=self.user)

    def change_deal(self, chance):
        price, currency = self.amount(chance)
        if deal := self.pick("deal", chance):
            status = chance.choice(self.statuses)
            deal.write({"price": price, "currency": currency, "status_id": status.id}, by=self.user)

    def change_task(self, chance):
        row = self.pick("post", chance)
        if row is not None and row.category_id is None:
            row.write({"scheduled_at": self.moment(chance), "closed": chance.random() < 0.3}, by=self.user)

    def trash(self, chance):
        if row := self.pick(chance.choice(RESOURCES), chance):
            row.trash(by=self.user)

    def restore(self, chance):
        if row := self.pick(chance.choice(RESOURCES), chance, live=False):
            row.restore()

    def erase(self, chance):
        kind = chance.choice(RESOURCES)
        if row := self.pick(kind, chance, live=chance.random() < 0.3):
            getattr(self.account, f"{kind}s").filter(id=row.id).erase_one()

    def change_outcome(self, chance):
        status = chance.choice(self.statuses)
        status.refresh_from_db()
        status.write({"outcome": chance.choice(("open", "won", "lost"))})
        update_summaries_of_status(account_id=self.account.id, status_id=status.id)

    def pick_suggestion(self, chance):
        """Return a suggestion that is no duplicate, or None if there is none."""
        posts = self.account.posts.live().without_tasks().filter(duplicate_from_id=None).order_by("id").locked()
        return chance.choice(found) if (found := list(posts)) else None

    def vote(self, chance):
        post, kind = (
            self.pick_suggestion(chance) or make_post(self.user),
            chance.choice(("client", "contact", "member")),
        )
        if kind == "member":
            post.vote(by=chance.choice(self.members))
        elif row := self.pick(kind, chance):
            post.cast_proxy_vote(by=self.user, **{f"{kind}_id": row.id})

    def withdraw_votes(self, chance):
        if post := self.pick_suggestion(chance):
            votes = chance.choice((self.account.votes, self.account.proxy_votes))
            votes.filter(post_id=post.id).delete()

    def link_user(self, chance):
        links = list(self.account.user_links.order_by("id"))
        if links and chance.random() < 0.4:
            chance.choice(links).erase()
        elif row := self.pick(kind := chance.choice(("client", "contact")), chance):
            free = [each for each in self.members if not self.account.user_links.filter(user_id=each.id).exists()]
            if free:
                make_user_link(self.user, chance.choice(free), **{f"{kind}_id": row.id})

    def merge_posts(self, chance):
        post, target = self.pick_suggestion(chance), self.pick_suggestion(chance)
        if post and target and post.id != target.id and post.forum_id == target.forum_id:
            post.merge_into(target, by=self.user)

    def undo(self, chance):
        try:
            with transaction.atomic():
                self.create_note(chance)
                self.trash(chance)
                raise Undone
        except Undone:
            pass

    @rule(change=st.integers(0, len(CHANGES) - 1), chance=chances)
    def change(self, change, chance):
        getattr(self, CHANGES[change])(chance)

    @invariant()
    def is_counted(self):
        """Compare after two of three changes, so that some transactions have one change and some have several."""
        self.changes += 1
        if self.changes % 3:
            assert stored(self.account) == recounted(self.account)
            assert mirrored() == recount()
            assert_sort_keys_are_correct()
        if self.changes % 4 == 1:
            post_revenue.process()
            assert post_revenue.stored(self.account) == post_revenue.computed(self.account)


@pytest.mark.soak
def test_it_works(acme):
    run_state_machine_as_test(
        lambda: Histories(acme),
        settings=settings(
            max_examples=40,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
        ),
    )
