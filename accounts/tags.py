"""Tags, and the numbers of resources that have them."""

from collections import Counter
from typing import TYPE_CHECKING, Any, Self

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models

from core.db.tenancy import FoldedField, TenantModel, fold
from core.db.trash import Trashable

if TYPE_CHECKING:
    from accounts.account import Account


class TagQuerySet(models.QuerySet["Tag"]):
    def get_or_create_named(self, account: "Account", names: list[str]) -> list["Tag"]:
        """Return the tags with these names, ignoring case and without duplicates, in the given order. Create missing ones."""
        wanted = {fold(name): name for name in reversed(names)}
        if not wanted:
            return []
        found = {tag.name_key: tag for tag in self.filter(account=account, name_key__in=wanted)}
        missing = sorted(wanted.keys() - found.keys())
        if missing:
            Tag.objects.bulk_create([Tag(account=account, name=wanted[key]) for key in missing], ignore_conflicts=True)
            found |= {tag.name_key: tag for tag in self.filter(account=account, name_key__in=missing)}
        return [found[key] for key in dict.fromkeys(fold(name) for name in names)]

    def in_use(self, kind: str) -> "models.QuerySet[Tag, dict[str, Any]]":
        """Return the id, name and count of the tags that resources of the kind have, most used first."""
        return (
            self.filter(counts__kind=kind)
            .values("id", "name")
            .annotate(count=models.Sum("counts__uses"))
            .filter(count__gt=0)
            .order_by("-count", "name_key", "id")
        )


class Tag(TenantModel):
    """A tag. Its name is unique within the account, ignoring case."""

    MAX_LENGTH = 64

    name = models.CharField(max_length=255)
    name_key = FoldedField(source="name")

    objects = TagQuerySet.as_manager()

    class Meta:
        default_related_name = "tags"
        constraints = [models.UniqueConstraint(fields=["account", "name_key"], name="tag_name_unique")]

    def __str__(self) -> str:
        return self.name


class ShardedCount(models.Model):
    """A counter that is the sum of several rows, its shards.

    An updated row stays locked until the transaction ends. With one row per counter, transactions that add the same tag to clients
    would run one after another. So the process id of a connection selects the shard that it updates.
    """

    SHARDS = 16

    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+", db_index=False)
    shard = models.SmallIntegerField()
    uses = models.BigIntegerField()

    class Meta:
        abstract = True

    @classmethod
    def add(cls, account_id: int, column: str, changes: dict[int, int], **of: str) -> None:
        """Add to the counts. `changes` maps the value of `column` to the difference, `of` has the other columns of the key.

        Rows are updated in the order of the ids, so that concurrent transactions do not deadlock.
        """
        rows = [(id, by) for id, by in sorted(changes.items()) if by]
        if not rows:
            return
        key = ", ".join(["account_id", *of, column, "shard"])
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                INSERT INTO {cls._meta.db_table} AS counts ({key}, uses)
                SELECT %s, {"%s, " * len(of)} id, pg_backend_pid() %% {cls.SHARDS}, uses
                FROM unnest(%s::bigint[], %s::bigint[]) AS given (id, uses) ORDER BY id
                ON CONFLICT ({key}) DO UPDATE SET uses = counts.uses + excluded.uses
                """,  # noqa: S608
                [account_id, *of.values(), [id for id, _ in rows], [by for _, by in rows]],
            )


class TagCount(ShardedCount):
    """The number of resources of a kind that have a tag."""

    pk = models.CompositePrimaryKey("account_id", "kind", "tag_id", "shard")
    kind = models.CharField(max_length=255)
    tag_id = models.BigIntegerField()
    tag = models.ForeignObject(
        Tag, models.CASCADE, from_fields=["account_id", "tag_id"], to_fields=["account_id", "id"], related_name="counts"
    )

    @classmethod
    def change(cls, account_id: int, kind: str, changes: dict[int, int]) -> None:
        """Add to the counts of the tags. `changes` maps the id of a tag to the difference."""
        cls.add(account_id, "tag_id", changes, kind=kind)


class Tagged(Trashable):
    """A resource with tags. Its row has the names of its tags, so that reading it needs no other table."""

    if TYPE_CHECKING:
        account_id: int

    tags = ArrayField(models.TextField(), default=list)

    class Meta:
        abstract = True

    @classmethod
    def tag_all(cls, account: "Account", wanted: list[tuple[Self, list[str]]]) -> None:
        """Replace the tags of each row and update the counts. The caller has locked the rows, and saves them afterwards in the
        same transaction.
        """
        names = [name for _, row_names in wanted for name in row_names]
        tags = {tag.name_key: tag for tag in Tag.objects.get_or_create_named(account, names)}
        ids = {tag.name: tag.id for tag in tags.values()}
        changes: Counter[int] = Counter()
        removed: Counter[str] = Counter()
        for row, row_names in wanted:
            before = set(row.tags)
            row.tags = list(dict.fromkeys(tags[fold(name)].name for name in row_names))
            changes.update(ids[name] for name in row.tags if name not in before)
            removed.update(before.difference(row.tags))
        for tag in Tag.objects.filter(account=account, name__in=removed):
            changes[tag.id] -= removed[tag.name]
        TagCount.change(account.id, cls._tag_kind(), changes)

    @classmethod
    def _tag_kind(cls) -> str:
        """Return the kind under which the tags are counted."""
        return str(cls._meta.model_name)

    def detach(self) -> None:
        self._count_tags(-1)
        super().detach()

    def reattach(self) -> None:
        self._count_tags(+1)
        super().reattach()

    def _count_tags(self, by: int) -> None:
        ids = Tag.objects.filter(account_id=self.account_id, name__in=self.tags).values_list("id", flat=True)
        TagCount.change(self.account_id, self._tag_kind(), dict.fromkeys(ids, by))
