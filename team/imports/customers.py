"""Writing the clients, contacts and deals of an import."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from accounts.account.models import Account
from accounts.fields.api import DefinedFieldsSerializer
from accounts.fields.models import FieldDefinition
from accounts.users.models import User
from core.api.serializers import declared_fields
from core.db.tenancy import fold
from core.errors import FieldErrors
from core.registry import registry
from core.rows.trimmed import name_key
from crm.contacts.models import Contact, ContactList
from crm.resources.api.fields import BulkLookup
from crm.resources.api.views import CRMViewSet, name_defined_field, nested
from crm.resources.models import CRMResource
from team.batches.restoring import COMPANIONS, CONTACT_LISTS, has_tag, split_name, values_of
from team.import_lines.fields import ImportField, RowKind
from team.import_lines.lines import Line, LinkText, read_time
from team.import_lines.settings import Mode
from team.imports.writing import KindWriter, PartContext, PendingRow


class CRMWriter(KindWriter):
    """The writer of clients, contacts or deals. The serializers of the JSON API validate the values."""

    lookup: BulkLookup

    def __init__(self, part: PartContext, kind: RowKind) -> None:
        super().__init__(part, kind)
        resource = registry[kind.resource]
        self.model = cast(type[CRMResource], resource.model)
        self.viewset = cast(type[CRMViewSet], resource.viewset)
        self.serializer_class = cast(type[DefinedFieldsSerializer], self.viewset.serializer_class)
        self.serializers: dict[tuple[Any, ...], DefinedFieldsSerializer] = {}

    def find_rows(self) -> Any:
        rows = getattr(self.account, f"{self.kind}s").live().accessible_to(self.user)
        return rows.with_list_ids() if self.model is Contact else rows

    def look_up(self, lines: Sequence[Line]) -> None:
        super().look_up(lines)
        known = sum(self.match_key(line) in self.matches for line in lines)
        max_new = 0 if self.settings.mode == Mode.UPDATE else len(lines) - known
        self.lookup = cast(Any, self.viewset).bulk_lookup_class(self.account, self.user.access, max_new=max_new)
        bodies = [nested_values(self.link_ids(line)) for line in lines]
        self.lookup.look_up_links(declared_fields(self.serializer_class), bodies)
        self.lookup.look_up_holders(self.model, bodies)  # type: ignore[arg-type]  # each is externally identified
        self.find_contact_lists(lines)

    def link_ids(self, line: Line) -> dict[str, Any]:
        """Return the values of a line, with an id for each link that is found."""
        values = {}
        for name, value in line.values[self.kind].items():
            if isinstance(value, LinkText):
                value = next(iter(self.links.get((name, self.choose_link(name, value)[1]), ())), None)
            values[name] = value
        return values

    def find_contact_lists(self, lines: Sequence[Line]) -> None:
        """Find or create the contact lists that the lines name."""
        if self.model is not Contact:
            return
        names = {name for line in lines for name in line.values[self.kind].get("contact_lists") or ()}
        if self.settings.contact_list:
            names.add(self.settings.contact_list)
        self.contact_lists = find_or_create_lists(self.account, names, by=self.user)
        ids = self.contact_lists.values()
        self.lookup.existing_ids[CONTACT_LISTS] = {
            **self.lookup.existing_ids.get(CONTACT_LISTS, {}),
            **{id: id for id in ids},
        }

    def admit(self, name: str, id: int) -> None:
        self.lookup.existing_ids[name] = {**self.lookup.existing_ids.get(name, {}), id: id}

    def make(self) -> Any:
        return self.lookup.new(self.model)

    def resolve(self, line: Line, *, row: Any) -> dict[str, Any]:
        data = super().resolve(line, row=row)
        tags = [*(data.get("tags") or ()), *self.settings.tags]
        if tags:
            current = [] if row is None else row.unsaved_tags or row.tags
            data["tags"] = current + [name for name in dict.fromkeys(tags) if not has_tag(current, name)]
        if self.model is Contact:
            names = data.pop("contact_lists", None) or ()
            ids = {self.contact_lists[fold(name)] for name in (*names, *filter(None, [self.settings.contact_list]))}
            if ids:
                current = () if row is None else row.contact_list_ids
                data[CONTACT_LISTS] = sorted(ids.union(current))
                for id in current:
                    self.admit(CONTACT_LISTS, id)
        return data

    def validate(self, row: Any, data: dict[str, Any], *, is_new: bool) -> dict[str, Any]:
        created_at = data.pop("created_at", None)
        try:
            values = self.serializer(None if is_new else row, nested_values(data)).read()
        except FieldErrors as caught:
            raise FieldErrors(map(name_defined_field, caught.errors)) from None
        return {**values, "created_at": read_time(created_at)} if created_at and is_new else values

    def serializer(self, row: Any, data: dict[str, Any]) -> DefinedFieldsSerializer:
        """Return a serializer with the data. Lines with values of the same fields share one, because DRF copies the fields for each."""
        key = (row is None, *data)
        if key not in self.serializers:
            context = {
                "account": self.account,
                "access": self.user.access,
                "lookup": self.lookup,
                "existing_ids": self.lookup.existing_ids,
            }
            self.serializers[key] = self.serializer_class(row, data=data, partial=row is not None, context=context)
        serializer = self.serializers[key]
        serializer.instance, serializer.initial_data = row, data
        return serializer

    def assign_values(self, row: Any, values: dict[str, Any], *, is_new: bool) -> None:
        values = dict(values)
        created_at = values.pop("created_at", None)
        self.lookup.assign(row, values, by=self.user)
        if created_at is not None:
            row.created_at = created_at

    def change(self, row: Any, values: dict[str, Any], before: dict[str, Any]) -> list[str]:
        unsaved = row.unsaved_fields, row.unsaved_tags
        self.assign_values(row, values, is_new=False)
        after = self.values_of(row, before)
        changed = [name for name in before if before[name] != after[name]]
        if not changed:
            row.unsaved_fields, row.unsaved_tags = unsaved
        return changed

    def recorded_names(self, pending: PendingRow) -> list[str]:
        names = [name for name in pending.names if name != "created_at"]
        return names + [companion for name in names for companion in COMPANIONS.get(name, ())]

    def values_of(self, row: Any, names: Iterable[str]) -> dict[str, Any]:
        values = values_of(row, names)
        if "tags" in values and row.unsaved_tags is not None:
            values["tags"] = row.unsaved_tags
        return values

    def definition_of(self, field: ImportField) -> FieldDefinition:
        return self.lookup.definitions(self.kind.resource)[field.field.key]

    def flush(self) -> None:
        if self.changed:
            self.model.flush(list(self.changed.values()))


def nested_values(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with `additional_fields[key]` and `external_ids[key]` in objects, as the JSON API takes them."""
    if not any("[" in name for name in data):
        return data
    found = nested(data)
    pairs = {name: split_name(name) for name in found}
    external_ids = {key: found.pop(name) for name, (column, key) in pairs.items() if key and column == "external_ids"}
    return {**found, "external_ids": external_ids} if external_ids else found


def find_or_create_lists(account: Account, names: Iterable[str], *, by: User) -> dict[str, int]:
    """Return the ids of the contact lists with these names, by the folded name. Create those that do not exist."""
    wanted = {fold(name.strip()): name.strip() for name in names}
    found = {
        fold(name): id
        for id, name in account.contact_lists.live()
        .filter(name_key__in=map(name_key, wanted.values()))
        .values_list("id", "name")
    }
    for key, name in wanted.items():
        if key not in found:
            row = ContactList(account=account)
            row.write({"name": name}, by=by)
            found[key] = row.id
    return found
