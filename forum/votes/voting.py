"""Casting and withdrawing votes for a post."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from psycopg.types.numeric import Int8

from accounts.users.models import User
from core.errors import FieldError
from core.registry import registry
from core.rows.limited_rows import limit
from core.rows.trash import Trashable, TrashableQuerySet

# The CTE of `Post.lock_and_insert` for a new vote. Its trigger counts the vote.
INSERT_VOTE = """
inserted AS (
    INSERT INTO forum_vote (account_id, post_id, user_id, created_at) SELECT account_id, id, %s, %s FROM post
    ON CONFLICT DO NOTHING RETURNING true
)
"""


class Votable(models.Model):
    """The methods of `Post` for its votes."""

    if TYPE_CHECKING:
        # The attributes of `Post` that the methods use.
        account: Any
        id: Any
        votes_cache: int

        def lock(self) -> None: ...

        def lock_and_insert(self, text: str, values: Sequence[object]) -> tuple[object, ...] | None: ...

        def check_not_merged(self) -> None: ...

    class Meta:
        abstract = True

    def vote(self, *, by: User) -> bool:
        """Cast the vote of a user, and return whether it is new.

        Raise FieldError if the post is merged into another, and ConcurrentUpdate if it changed meanwhile.
        """
        is_new = self.lock_and_insert(INSERT_VOTE, [Int8(by.id), timezone.now()]) is not None
        # A trigger has updated the count in the database.
        self.votes_cache += is_new
        return bool(is_new)

    @transaction.atomic(savepoint=False)
    def withdraw_vote(self, *, by: User) -> bool:
        """Withdraw the vote of a user, and return whether it existed. Raise FieldError if the post is merged into another."""
        self.lock()
        self.check_not_merged()
        withdrawn, _by_model = self.account.votes.filter(post_id=self.id, user_id=by.id).delete()
        self.votes_cache -= withdrawn
        return bool(withdrawn)

    @transaction.atomic(savepoint=False)
    def cast_proxy_vote(self, *, by: User, client_id: int | None = None, contact_id: int | None = None) -> bool:
        """Cast the vote of a client or of a contact, and return whether it is new.

        Raise FieldError if the account has no such client or contact, or if the post is merged into another.
        """
        self.lock()
        self.check_not_merged()
        voter = self._voter(client_id, contact_id)
        for customer in registry.customers():
            link = f"{customer.key}_id"
            if link not in voter:
                continue
            rows = cast(TrashableQuerySet[Trashable], customer.rows_of(self.account))
            if not limit(rows.live(), by.access).filter(id=voter[link]).exists():
                raise FieldError(link, _("can't be found"), "gone")
        _row, is_new = self.account.proxy_votes.get_or_create(post_id=self.id, **voter, defaults={"user_id": by.id})
        self.votes_cache += is_new
        return bool(is_new)

    @transaction.atomic(savepoint=False)
    def withdraw_proxy_vote(self, *, client_id: int | None = None, contact_id: int | None = None) -> bool:
        """Withdraw the vote of a client or of a contact, and return whether it existed.

        Raise FieldError if the post is merged into another.
        """
        self.lock()
        self.check_not_merged()
        voter = self._voter(client_id, contact_id)
        withdrawn, _by_model = self.account.proxy_votes.filter(post_id=self.id, **voter).delete()
        self.votes_cache -= withdrawn
        return bool(withdrawn)

    @staticmethod
    def _voter(client_id: int | None, contact_id: int | None) -> dict[str, int]:
        """Return the id that is not None, by its column. Raise FieldError if both ids are None, or if none is."""
        ids = {"client_id": client_id, "contact_id": contact_id}
        voter = {link: id for link, id in ids.items() if id is not None}
        if len(voter) != 1:
            raise FieldError("client_id", _("must be given, or else a contact_id"))
        return voter
