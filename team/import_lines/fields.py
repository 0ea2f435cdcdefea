"""The fields to which the columns of an imported file can be mapped.

    for field in fields_of("contact", account):
        field.code, field.label, field.type

- A code is the kind of row and the key of the column in exports (`team.exports.columns`): `client.email`, `deal.additional_fields[size]`,
  `contact.external_ids[shop]`. So an exported file is recognized by its headings.
- A link to another row has several fields, one for each way to name the row: `contact.client_id` by its id, and `contact.client_id.name`,
  `.email`, `.tax_no` and `.external_ids[shop]`.
- Suggestions have further fields for their authors, voters and comments.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from django.conf import settings
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.account.models import Account
from accounts.fields.catalogue import Field
from accounts.fields.models import FieldDefinition
from core.db.tenancy import fold
from core.rows.declared import FieldType
from team.exports.columns import Part, columns_of
from team.exports.declarations import ID


class RowKind(StrEnum):
    """The kinds of rows that can be imported. The rows of a kind may link to those of an earlier kind in the same line of the file."""

    CLIENT = "client"
    CONTACT = "contact"
    DEAL = "deal"
    TASK = "task"
    SUGGESTION = "suggestion"

    @property
    def resource(self) -> str:
        return "post" if self in (self.TASK, self.SUGGESTION) else self.value

    @property
    def label(self) -> str | Promise:
        return KIND_LABELS[self]


KIND_LABELS: dict[RowKind, str | Promise] = {
    RowKind.CLIENT: gettext_lazy("Clients"),
    RowKind.CONTACT: gettext_lazy("Contacts"),
    RowKind.DEAL: gettext_lazy("Deals"),
    RowKind.TASK: gettext_lazy("Tasks"),
    RowKind.SUGGESTION: gettext_lazy("Suggestions"),
}
# The ways to name a linked row, besides its id, by the type of the link.
WAYS: dict[FieldType, tuple[str, ...]] = {
    FieldType.CLIENT: ("name", "email", "tax_no"),
    FieldType.CONTACT: ("name", "email"),
    FieldType.DEAL: ("name",),
    FieldType.USER: ("name",),
    FieldType.STATUS: ("name",),
}
WAY_LABELS: dict[str, str | Promise] = {
    "email": gettext_lazy("%(label)s (e-mail)"),
    "tax_no": gettext_lazy("%(label)s (tax number)"),
}
# Fields that the service sets, and that a new row takes over from the file.
KEPT_TIMES = frozenset({"created_at"})
EXTERNAL_ID = re.compile(r"(?:(?P<link>[a-z]+_id)\.)?external_ids\[(?P<key>[A-Za-z0-9_.-]{1,64})\]")
# The key of a field that is defined for the column is this mark and the type: `client.+number`.
NEW_FIELD = "+"


@dataclass(frozen=True)
class ImportField:
    """A field of a kind of rows. `way` says how a cell names the linked row: by its id if it is empty."""

    kind: RowKind
    field: Field
    label: str
    way: str = ""

    @property
    def key(self) -> str:
        return f"{self.field.name}.{self.way}" if self.way else self.field.name

    @property
    def code(self) -> str:
        return f"{self.kind}.{self.key}"

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def type(self) -> FieldType:
        return self.field.type


# The fields of suggestions and tasks that no export has in this form.
AUTHOR_EMAIL = Field("author.email", gettext_lazy("Author (e-mail)"), FieldType.EMAIL)
AUTHOR_NAME = Field("author.name", gettext_lazy("Author"), FieldType.TEXT)
FURTHER: dict[RowKind, tuple[Field, ...]] = {
    RowKind.SUGGESTION: (
        AUTHOR_EMAIL,
        AUTHOR_NAME,
        # Kept as an additional field, so that further files with votes or comments find the suggestion.
        Field("source_id", gettext_lazy("Number in the old system"), FieldType.TEXT),
        Field("voters", gettext_lazy("Voters (e-mails)"), FieldType.LONG_TEXT),
        Field("comments", gettext_lazy("Comment"), FieldType.LONG_TEXT),
        Field("comments.author.email", gettext_lazy("Author of the comment (e-mail)"), FieldType.EMAIL),
        Field("comments.author.name", gettext_lazy("Author of the comment"), FieldType.TEXT),
        Field("comments.created_at", gettext_lazy("Time of the comment"), FieldType.TIME),
    ),
    RowKind.TASK: (AUTHOR_EMAIL, AUTHOR_NAME),
    RowKind.CONTACT: (Field("contact_lists", gettext_lazy("Contact lists"), FieldType.TAGS),),
}


def fields_of(kind: RowKind, account: Account) -> list[ImportField]:
    """Return the fields of a kind of rows, with labels in the active language."""
    found: dict[str, ImportField] = {}
    for field in _fields_of(kind, account):
        found.setdefault(field.code, field)
    return list(found.values())


def _fields_of(kind: RowKind, account: Account) -> Iterator[ImportField]:
    for column in columns_of(kind.value, account):
        field = column.field
        if field.read_only and field != ID and field.name not in KEPT_TIMES:
            continue
        if field.name in ("votes_cache", "comments_cache"):
            continue
        way = column.part.value if column.part in (Part.NAME, Part.CURRENCY) else ""
        yield ImportField(kind, field, column.label, way)
        if way == Part.NAME:
            for other in WAYS.get(field.type, ())[1:]:
                yield ImportField(kind, field, str(WAY_LABELS[other]) % {"label": column.label}, other)
    for further in FURTHER.get(kind, ()):
        yield ImportField(kind, further, str(further.label))


def find_field(code: str, account: Account, known: dict[str, ImportField]) -> ImportField | None:
    """Return the field with a code. `known` are those of `fields_of`. An external id may have a key that no row has yet."""
    if (field := known.get(code)) is not None:
        return field
    kind, _dot, key = code.partition(".")
    if not any(field.kind == kind for field in known.values()):
        return None
    is_customer = RowKind(kind).resource != "post"
    is_definable = kind in FieldDefinition.Target.values
    if is_definable and key.startswith(NEW_FIELD) and key[1:] in FieldDefinition.Type.values:
        return ImportField(RowKind(kind), Field(key, _("New field"), FieldType(key[1:])), _("New field"))
    match = EXTERNAL_ID.fullmatch(key)
    if match is None:
        return None
    if not match["link"]:
        if not is_customer:
            return None
        label = _("External id: %(key)s") % {"key": match["key"]}
        return ImportField(RowKind(kind), Field(key, label, FieldType.TEXT), label)
    linked = known.get(f"{kind}.{match['link']}")
    if linked is None or linked.type not in (FieldType.CLIENT, FieldType.CONTACT, FieldType.DEAL):
        return None
    return replace(linked, way=f"external_ids[{match['key']}]")


def codes_by_heading(kind: RowKind, account: Account) -> dict[str, str]:
    """Return the codes of fields by their possible headings: the code, the key, and the label in each language. Headings are folded."""
    codes: dict[str, str] = {}
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            for field in fields_of(kind, account):
                for heading in (field.code, field.key, field.label):
                    codes.setdefault(fold(heading), field.code)
    return codes
