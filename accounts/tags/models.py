"""Tags, and the numbers of resources that have them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

from django.db import connection, models
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from core.db.tenancy import FoldedField, TenantModel, fold, foreign_object
from core.rows.declared import TagNames
from core.rows.trash import Trashable
from core.rows.trimmed import TrimmedCharField, name_key, trim


class TagQuerySet(models.QuerySet["Tag"]):
    def get_or_create_named(self, account: Account, names: list[str]) -> list["Tag"]:
        """Return the tags with these names, in the order of the names and without duplicates. Create the tags that do not exist.

        Names that differ only in case or blanks are the same tag.
        """
        names = [" ".join(trim(name).split()) for name in names]
        names_by_key = {fold(name): name for name in reversed(names)}
        if not names_by_key:
            return []
        tags = {tag.name_key: tag for tag in self.filter(account=account, name_key__in=names_by_key)}
        new_keys = sorted(names_by_key.keys() - tags.keys())
        if new_keys:
            new_tags = [Tag(account=account, name=names_by_key[key]) for key in new_keys]
            Tag.objects.bulk_create(new_tags, ignore_conflicts=True)
            tags |= {tag.name_key: tag for tag in self.filter(account=account, name_key__in=new_keys)}
        return [tags[key] for key in dict.fromkeys(fold(name) for name in names)]

    def in_use(self, kind: str) -> "models.QuerySet[Tag, Any]":
        """Return the id, name and count of the tags that resources of the kind have, most used first."""
        tags = self.filter(counts__kind=kind).values("id", "name").annotate(count=models.Sum("counts__uses"))
        return tags.filter(count__gt=0).order_by("-count", "name_key", "id")

    def with_counts(self, counts: dict[str, int]) -> list[dict[str, object]]:
        """Return the same as `in_use`, with other counts, by the name of the tag."""
        tags = self.filter(name__in=counts).values("id", "name", "name_key")
        ordered = sorted(tags, key=lambda tag: (-counts[tag["name"]], tag["name_key"], tag["id"]))
        return [{"id": tag["id"], "name": tag["name"], "count": counts[tag["name"]]} for tag in ordered]


def count_tags(rows: "models.QuerySet[Any]") -> dict[str, int]:
    """Return the numbers of rows that have a tag, by the name of the tag. All of the rows are read."""
    tags = rows.order_by().exclude(tags=[]).annotate(tag=models.Func(models.F("tags"), function="unnest")).values("tag")
    return dict(tags.annotate(count=models.Count("*")).values_list("tag", "count"))


class Tag(TenantModel):
    """A tag. Its name is unique within the account, ignoring case."""

    MAX_LENGTH = 64

    name = TrimmedCharField(max_length=255)
    name_key = FoldedField(source="name")

    objects = TagQuerySet.as_manager()

    class Meta:
        default_related_name = "tags"
        constraints = [models.UniqueConstraint(fields=["account", "name_key"], name="tag_name_unique")]

    def __str__(self) -> str:
        return self.name


class ShardedCount(models.Model):
    """A counter whose value is the sum of several rows, the shards.

    An updated row stays locked until the transaction ends. If a counter had one row only, transactions that add the same tag would
    wait for each other. So each database connection updates its own shard, which is selected by the id of its server process.
    """

    SHARDS = 16

    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    shard = models.SmallIntegerField()
    uses = models.BigIntegerField()

    class Meta:
        abstract = True

    @classmethod
    def add(cls, account_id: int, column: str, changes: dict[int, int], **other_columns: str) -> None:
        """Add to several counters of an account.

        `changes` has one item for each counter: the id in `column`, and the number to add, which may be negative. `other_columns`
        are the values of the other key columns, which are the same for all these counters.

        The rows are updated in the order of the ids, so that concurrent transactions do not deadlock.
        """
        rows = [(id, number) for id, number in sorted(changes.items()) if number]
        if not rows:
            return
        key = ", ".join(["account_id", *other_columns, column, "shard"])
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                INSERT INTO {cls._meta.db_table} AS counts ({key}, uses)
                SELECT %s, {"%s, " * len(other_columns)} id, pg_backend_pid() %% {cls.SHARDS}, uses
                FROM unnest(%s::bigint[], %s::bigint[]) AS changes (id, uses) ORDER BY id
                ON CONFLICT ({key}) DO UPDATE SET uses = counts.uses + excluded.uses
                """,  # noqa: S608
                [account_id, *other_columns.values(), [id for id, _ in rows], [number for _, number in rows]],
            )


class TagCount(ShardedCount):
    """The number of resources of a kind that have a tag."""

    pk = models.CompositePrimaryKey("account_id", "kind", "tag_id", "shard")
    kind = models.CharField(max_length=255)
    tag_id = models.BigIntegerField()
    tag = foreign_object(Tag, "tag_id", on_delete=models.CASCADE, related_name="counts")


class Tagged(Trashable):
    """A resource with tags. Its row stores the names of its tags, so that a read needs no other table."""

    account_id: int

    tags = TagNames(_("Tags"), models.TextField(), default=list)

    class Meta:
        abstract = True

    @classmethod
    def tag_all(cls, account: Account, rows_with_names: list[tuple[Self, list[str]]]) -> None:
        """Give each row exactly the tags with the names listed for it, and update the counts.

        The caller must lock the rows before, and save them afterwards in the same transaction.
        """
        names = [name for _, row_names in rows_with_names for name in row_names]
        tags = {tag.name_key: tag for tag in Tag.objects.get_or_create_named(account, names)}
        ids = {tag.name: tag.id for tag in tags.values()}
        changes: Counter[int] = Counter()
        removed: Counter[str] = Counter()
        for row, row_names in rows_with_names:
            old_names = set(row.tags)
            row.tags = list(dict.fromkeys(tags[name_key(name)].name for name in row_names))
            changes.update(ids[name] for name in row.tags if name not in old_names)
            removed.update(old_names.difference(row.tags))
        for tag in Tag.objects.filter(account=account, name__in=removed):
            changes[tag.id] -= removed[tag.name]
        TagCount.add(account.id, "tag_id", changes, kind=str(cls._meta.model_name))

    @classmethod
    def detach(cls, rows: Sequence[Self]) -> None:
        cls._change_counts(rows, -1)
        super().detach(rows)

    @classmethod
    def reattach(cls, rows: Sequence[Self]) -> None:
        cls._change_counts(rows, +1)
        super().reattach(rows)

    @classmethod
    def _change_counts(cls, rows: Sequence[Self], number: int) -> None:
        """Add a number to the counts of the tags of each row."""
        uses = Counter(name for row in rows for name in row.tags)
        account_id = rows[0].account_id
        tags = Tag.objects.filter(account_id=account_id, name__in=uses).values_list("id", "name")
        TagCount.add(
            account_id, "tag_id", {id: uses[name] * number for id, name in tags}, kind=str(cls._meta.model_name)
        )
