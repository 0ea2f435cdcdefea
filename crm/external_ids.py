"""Identifiers that a resource has in other applications.

They are read from the resource's own row. A table beside it, one for each kind of resource, holds every pair once for its
account: its primary key is what makes an identifier unique, and what finds its holder.
"""

from typing import Self

from django.db import models
from rest_framework.exceptions import ValidationError

from accounts.errors import Outrun

MOST = 50


class ExternalIdHolder(models.Model):
    """A pair (key, value) and the resource that holds it now; one in the trash holds none."""

    pk = models.CompositePrimaryKey("account_id", "key", "value")
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=64)
    value = models.CharField(max_length=255)
    holder_id = models.BigIntegerField()

    class Meta:
        abstract = True


class ExternallyIdentified(models.Model):
    external_ids = models.JSONField(default=dict)

    HOLDERS: type[ExternalIdHolder]

    class Meta:
        abstract = True

    @classmethod
    def holders(cls, account_id: int, pairs: dict[str, str]) -> dict[tuple[str, str], int]:
        """Which resource of the account holds each of the pairs that are held."""
        if not pairs:
            return {}
        rows = cls.HOLDERS.objects.filter(account_id=account_id, key__in=pairs.keys(), value__in=pairs.values())
        held = {(row.key, row.value): row.holder_id for row in rows}
        return {pair: held[pair] for pair in pairs.items() if pair in held}

    @classmethod
    def holding(cls, rows: models.QuerySet, account_id: int, pairs: dict[str, str]) -> Self | None:
        """The one of `rows`, locked, that holds any of the pairs. Raises ValidationError where different ones do."""
        holders = sorted(set(cls.holders(account_id, pairs).values()))
        if len(holders) > 1:
            different = f"belong to different {cls._meta.verbose_name_plural} ({', '.join(map(str, holders))})"
            raise ValidationError({"external_ids": [different]})
        if not holders:
            return None
        row = rows.locked().filter(id=holders[0]).first()
        if row is None or not pairs.items() & row.external_ids.items():
            raise Outrun(f"{cls._meta.verbose_name.capitalize()} {holders[0]} let go of it meanwhile")
        return row

    @classmethod
    def taken(cls, pair: tuple[str, str], holder_id: int) -> str:
        return f"{pair[0]} {pair[1]} belongs to {cls._meta.model_name} {holder_id}"

    def merged_external_ids(self, changes: dict[str, str | None]) -> dict[str, str]:
        """Its external ids after `changes`: keys not named stay, a null value removes its key."""
        return {key: value for key, value in {**self.external_ids, **changes}.items() if value is not None}

    def hold(self, pairs: dict[str, str]) -> None:
        """Hold exactly these pairs, as the transaction's outcome; the caller saves the row.

        Raises Outrun, naming the holder, for one that another resource holds. Whoever comes second waits for the first to
        commit, always in the same order.
        """
        before = set(
            self.HOLDERS.objects.filter(account_id=self.account_id, holder_id=self.id).values_list("key", "value")
        )
        after = set(pairs.items())
        for key, value in sorted(before - after):
            self.HOLDERS.objects.filter(account_id=self.account_id, key=key, value=value).delete()
        self.HOLDERS.objects.bulk_create(
            [
                self.HOLDERS(account_id=self.account_id, key=key, value=value, holder_id=self.id)
                for key, value in sorted(after - before)
            ],
            ignore_conflicts=True,
        )
        if after - before:
            others = {
                pair: holder for pair, holder in self.holders(self.account_id, pairs).items() if holder != self.id
            }
            if others:
                raise Outrun("; ".join(self.taken(pair, holder) for pair, holder in others.items()))

    def hold_what_is_free(self) -> None:
        """Coming back from the trash, hold again what nobody took meanwhile."""
        held = self.holders(self.account_id, self.external_ids)
        self.external_ids = {key: value for key, value in self.external_ids.items() if (key, value) not in held}
        self.hold(self.external_ids)
        self.save(update_fields=["external_ids"])

    def hold_none(self) -> None:
        """Going to the trash, let go of all; the row keeps them, for a restore."""
        self.HOLDERS.objects.filter(account_id=self.account_id, holder_id=self.id).delete()
