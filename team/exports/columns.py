"""The columns of exported files: their keys, their labels, and the fields of which they hold a value. The import reads the same columns.

    for column in columns_of("deal", account):
        column.key, column.label, column.field

- A key is stable. It is the name of the field, `responsible_id`, `additional_fields[size]` or `external_ids[shop]`, with the part of the value
  if the field has several columns: `responsible_id.name`, `additional_fields[budget].currency`.
- A label is the heading of the column, in the active language. It derives from the label of the field, and is unique among all columns of the
  resource: a label that an earlier column has is followed by the key in parentheses.
- A link has two columns: the name of the row, under the label of the field, and its id. An amount has a column with its currency. The price of a
  deal has none: the currency is a field of the deal, which is always exported beside the price.
- The sums of the deals of a client are those in the currency of the account. A third column has the sums in other currencies as a text.

The import recognizes a heading by the key, or by the label in each language (`team.import_lines.fields`). For values, see `team.exports.formats`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from django.utils.translation import gettext as _
from psycopg.types.numeric import Int8

from accounts.account.models import Account
from accounts.fields.catalogue import Field
from core.db.prepared import fetch
from core.db.tenancy import fold
from core.registry import registry
from core.rows.declared import FieldType
from crm.resources.models import ExternallyIdentified
from team.exports.declarations import ID, NAMED, fields_of_export
from team.fields.names import LINKS
from team.summaries.models import SUM_NAMES

EXTERNAL_IDS = "external_ids"
# The maximum number of columns with external ids. If the account has more keys, one column has all external ids of a row as JSON.
MAX_EXTERNAL_KEYS = 200


class Part(StrEnum):
    """The part of the value of a field that a column holds."""

    VALUE = ""
    NAME = "name"
    CURRENCY = "currency"
    OTHERS = "others"


@dataclass(frozen=True)
class Column:
    field: Field
    label: str
    part: Part = Part.VALUE
    # The key of the external id that the column holds.
    external_key: str = ""

    @property
    def key(self) -> str:
        return f"{self.field.name}.{self.part}" if self.part else self.field.name


def columns_of(resource: str, account: Account, fields: Sequence[Field] | None = None) -> list[Column]:
    """Return all columns of a resource, in the active language. `fields` are those of `fields_of_export`, if they have been read already."""
    fields = fields_of_export(resource, account) if fields is None else fields
    columns = [column for field in fields for column in columns_of_field(field)]
    names = [column.key for column in columns]
    if "price" in names and "currency" in names:
        columns.insert(names.index("price") + 1, columns.pop(names.index("currency")))
    return list(with_unique_labels([*columns, *external_columns(resource, account)]))


def columns_of_field(field: Field) -> Iterator[Column]:
    label = str(field.label)
    if field.type in LINKS or field.name in NAMED:
        yield Column(field, label, Part.NAME)
        yield Column(field, _("%(label)s id") % {"label": label})
        return
    yield Column(field, label)
    if field.type == FieldType.MONEY and field.name != "price":
        yield Column(field, _("%(label)s currency") % {"label": label}, Part.CURRENCY)
    if field.name in SUM_NAMES:
        yield Column(field, _("%(label)s in other currencies") % {"label": label}, Part.OTHERS)


def external_columns(resource: str, account: Account) -> Iterator[Column]:
    """Yield a column for each key of the external ids of the account's rows."""
    known = registry.get(resource)
    if known is None or not issubclass(known.model, ExternallyIdentified):
        return
    table = known.model.HOLDER_MODEL._meta.db_table
    first = f"SELECT key FROM {table} WHERE account_id = %s"  # noqa: S608
    # The statement skips from each key to the next one in the index.
    keys = fetch(
        f"""
        WITH RECURSIVE found AS (
            ({first} ORDER BY key LIMIT 1)
            UNION ALL
            SELECT ({first} AND key > found.key ORDER BY key LIMIT 1) FROM found WHERE found.key IS NOT NULL
        ) SELECT key FROM found WHERE key IS NOT NULL LIMIT {MAX_EXTERNAL_KEYS + 1}
        """,  # noqa: S608
        [Int8(account.id), Int8(account.id)],
    )
    if len(keys) > MAX_EXTERNAL_KEYS:
        yield Column(Field(EXTERNAL_IDS, _("External ids"), FieldType.LONG_TEXT), _("External ids"))
        return
    for [key] in keys:
        yield external_column(key)


def external_column(key: str) -> Column:
    label = _("External id: %(key)s") % {"key": key}
    return Column(Field(f"{EXTERNAL_IDS}[{key}]", label, FieldType.TEXT), label, external_key=key)


def with_unique_labels(columns: Iterable[Column]) -> Iterator[Column]:
    taken = set()
    for column in columns:
        label = column.label
        while fold(label) in taken:
            label = f"{label} ({column.key})"
        taken.add(fold(label))
        yield replace(column, label=label)


def shown_columns(columns: Sequence[Column], names: Iterable[str]) -> list[Column]:
    """Return the columns of the number of the row and of the fields with these names, in the order of the names."""
    names = [ID.name, *names]
    if "price" in names and "currency" not in names:
        names.insert(names.index("price") + 1, "currency")
    return [column for name in names for column in columns if column.field.name == name]
