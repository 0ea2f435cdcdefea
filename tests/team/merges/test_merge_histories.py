"""Random histories of merges, edits and undos: no row is lost, and after all undos every row is where it was."""

import itertools
from collections import Counter

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from core.errors import FieldErrors
from crm.clients.models import Client
from crm.contacts.models import Contact, ContactListMembership
from team.merges.models import Merge
from tests.support.factories import make_client, make_contact, make_contact_list, make_deal, make_post, make_task

pytestmark = pytest.mark.soak

ROWS = 4
numbers = st.integers(0, ROWS - 1)
MAKE = {"client": make_client, "contact": make_contact}


def live(row) -> bool:
    return bool(row.trashed_at is None)


class Histories(RuleBasedStateMachine):
    """Merges of four clients or contacts. `cast` is the account of the test."""

    cast = None
    resource = ""
    # The rows of each history stay, so external ids need a number that no other history has.
    histories = itertools.count()

    def __init__(self):
        super().__init__()
        self.account, self.user = self.cast.account, self.cast.bob
        make, bob, number = MAKE[self.resource], self.user, next(self.histories)
        self.lists = [make_contact_list(bob) for _ in range(2)]
        self.posts = [make_post(bob) for _ in range(3)]
        self.rows = [
            make(bob, f"Row {n}", city=f"City {n}", tags=[f"tag {n}"], external_ids={"shop": f"{number}-{n}"})
            if self.resource == "client"
            else make(
                bob,
                f"Row {n}",
                position=f"Position {n}",
                tags=[f"tag {n}"],
                external_ids={"shop": f"{number}-{n}"},
                contact_list_ids=[each.id for each in self.lists[: n % 3]],
            )
            for n in range(ROWS)
        ]
        self.link = f"{self.resource}_id"
        for n, row in enumerate(self.rows):
            for _ in range(n):
                make_deal(bob, **{self.link: row.id})
                make_task(bob, **{self.link: row.id})
            for post in self.posts[: n + 1]:
                post.cast_proxy_vote(by=bob, **{self.link: row.id})
        self.deals = list(self.account.deals.filter(**{f"{self.link}__in": self.ids}).values_list("id", flat=True))
        self.merges: list[int] = []
        # Rows whose links, votes or fields were changed by hand.
        self.is_edited = False
        self.before = self.state()

    @property
    def ids(self):
        return [row.id for row in self.rows]

    def state(self):
        """Return where everything belongs, and the fields of the rows."""
        model = Client if self.resource == "client" else Contact
        column = "city" if self.resource == "client" else "position"
        rows = model.objects.filter(account=self.account, id__in=self.ids).order_by("id")
        linked = {
            name: sorted(
                getattr(self.account, name).filter(**{f"{self.link}__in": self.ids}).values_list("id", self.link)
            )
            for name in ("deals", "posts")
        }
        votes = self.account.proxy_votes.filter(**{f"{self.link}__in": self.ids})
        holders = model.HOLDER_MODEL.objects.filter(account=self.account, holder_id__in=self.ids)
        memberships = ContactListMembership.objects.filter(account=self.account, contact_id__in=self.ids)
        return {
            **linked,
            "votes": sorted(votes.values_list("id", "post_id", self.link, "created_at")),
            "counts": sorted(
                self.account.posts.filter(id__in=[post.id for post in self.posts]).values_list("id", "votes_cache")
            ),
            "holders": sorted(holders.values_list("key", "value", "holder_id")),
            "memberships": sorted(memberships.values_list("contact_id", "contact_list_id")),
            "list counts": sorted(self.account.contact_lists.with_counts().values_list("id", "contacts_count")),
            "tags": sorted((tag["name"], tag["count"]) for tag in self.account.tags.in_use(self.resource)),
            "rows": [
                (
                    row.name,
                    getattr(row, column),
                    sorted(row.tags),
                    row.external_ids,
                    row.further_external_ids,
                    row.trashed_at,
                )
                for row in rows
            ],
        }

    @rule(kept=numbers, merged=numbers, choice=st.sampled_from(["kept", "merged"]))
    def merge(self, kept, merged, choice):
        ids = [self.rows[kept].id, self.rows[merged].id]
        field = "city" if self.resource == "client" else "position"
        try:
            with transaction.atomic():
                row = Merge.objects.all().merge(
                    self.account, self.resource, *ids, {field: choice, "name": choice}, by=self.user
                )
        except FieldErrors:
            model = type(self.rows[0])
            assert kept == merged or model.objects.filter(id__in=ids, account=self.account).trashed().exists()
            return
        self.merges.append(row.id)

    @precondition(lambda self: self.merges)
    @rule(number=st.integers(0, 11))
    def undo(self, number):
        row = self.account.merges.get(id=self.merges[number % len(self.merges)])
        if not self.is_undone(row):
            kept = type(self.rows[0]).objects.get(account=self.account, id=row.kept_id)
            assert not live(kept)

    def is_undone(self, row: Merge) -> bool:
        """Undo a merge. Return False if it is refused."""
        row.account = self.account
        try:
            with transaction.atomic():
                row.undo(by=self.user)
        except FieldErrors:
            return False
        self.merges.remove(row.id)
        return True

    @rule(place=st.integers(0, 5), number=numbers)
    def move_a_deal(self, place, number):
        deal = self.account.deals.get(id=self.deals[place % len(self.deals)])
        row = type(self.rows[0]).objects.get(account=self.account, id=self.rows[number].id)
        if live(row):
            deal.account = self.account
            deal.write({self.link: row.id}, by=self.user)
            self.is_edited = True

    @rule(number=numbers, post=st.integers(0, 2))
    def withdraw_a_vote(self, number, post):
        if self.posts[post].withdraw_proxy_vote(**{self.link: self.rows[number].id}):
            self.is_edited = True

    @invariant()
    def nothing_is_lost(self):
        state = self.state()
        live_ids = {row.id for row in type(self.rows[0]).objects.live().filter(account=self.account, id__in=self.ids)}
        for name in ("deals", "posts"):
            assert [id for id, _ in state[name]] == [id for id, _ in self.before[name]]
            assert {row_id for _, row_id in state[name]} <= live_ids
        assert {row_id for _, _, row_id in state["holders"]} <= live_ids
        assert [pair[:2] for pair in state["holders"]] == [pair[:2] for pair in self.before["holders"]]
        votes = Counter(post_id for _, post_id, _, _ in state["votes"])
        assert dict(state["counts"]) == {post.id: votes[post.id] for post in self.posts}
        assert {row_id for _, _, row_id, _ in state["votes"]} <= live_ids
        in_lists = Counter(list_id for row_id, list_id in state["memberships"] if row_id in live_ids)
        assert dict(state["list counts"]) | {each.id: in_lists[each.id] for each in self.lists} == dict(
            state["list counts"]
        )

    def teardown(self):
        while self.merges:
            remaining = len(self.merges)
            for merge_id in reversed(list(self.merges)):
                self.is_undone(self.account.merges.get(id=merge_id))
            assert len(self.merges) < remaining
        if not self.is_edited:
            assert self.state() == self.before


@pytest.mark.parametrize("resource", ["client", "contact"])
def test_histories(acme, resource):
    machine = type("Histories", (Histories,), {"cast": acme, "resource": resource})
    machine.TestCase.settings = settings(
        max_examples=20, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
    )
    machine.TestCase("runTest").runTest()
