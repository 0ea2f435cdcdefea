"""The forms of an import: its file, how the file is read, and the settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.fields.models import FieldDefinition
from accounts.layout.forms import Form, LongSelect
from accounts.statuses.models import status_name
from accounts.users.models import User
from core.db.tenancy import fold
from core.errors import FieldError
from core.rows.declared import FieldType
from team.fields.names import LINKS
from team.import_lines.fields import KIND_LABELS, NEW_FIELD, ImportField, RowKind, fields_of, find_field
from team.import_lines.guessing import guess_mapping, guess_match
from team.import_lines.lines import split
from team.import_lines.settings import (
    CREATE,
    MATCHED,
    MAX_TAGS,
    MODES,
    SKIP,
    TYPES_WITH_FORMAT,
    UNKNOWN,
    ColumnMapping,
    ImportSettings,
    Mode,
    Unknown,
)
from team.imports.models import Import
from team.imports.writing import STATUS_KINDS
from team.spreadsheets.delimited import ENCODINGS
from team.spreadsheets.sheets import MAX_DISTINCT, ColumnStatistics, column_letters
from team.spreadsheets.values import NUMBER_FORMATS, guess_date_format, guess_number_format

# A longer table is uploaded as a file.
MAX_PASTED = 400_000
# Further columns keep their guessed settings, which the API can change.
MAX_SHOWN_COLUMNS = 200
# The values of all columns whose meaning can be chosen: a form has at most 1,000 inputs.
MAX_SHOWN_VALUES = 400
# The default values that the page asks for, beside those that are set.
MAX_DEFAULTS, FURTHER_DEFAULTS = 10, 2

ENCODING_NAMES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "utf-16-le": "UTF-16 LE", "utf-16-be": "UTF-16 BE"}
ENCODING_NAMES |= {"cp852": "CP 852", "mac_latin2": "Mac Latin 2", "koi8-r": "KOI8-R", "shift_jis": "Shift JIS"}
ENCODING_NAMES |= {"euc_kr": "EUC-KR", "gb18030": "GB 18030", "big5": "Big5"}
RECOGNIZE = ("", gettext_lazy("Recognize it"))
SEPARATORS = [
    RECOGNIZE,
    (",", gettext_lazy("Comma")),
    (";", gettext_lazy("Semicolon")),
    ("\t", gettext_lazy("Tab")),
    ("|", gettext_lazy("Vertical bar")),
]
# The same date in each format.
DATE_EXAMPLES = {
    "YYYY-MM-DD": "2025-09-29",
    "YYYY/MM/DD": "2025/09/29",
    "DD.MM.YYYY": "29.09.2025",
    "DD-MM-YYYY": "29-09-2025",
    "DD/MM/YYYY": "29/09/2025",
    "MM/DD/YYYY": "09/29/2025",
    "DD MMM YYYY": "29 Sep 2025",
    "MMM DD, YYYY": "Sep 29, 2025",
    "unix": "1759104000 (Unix)",
    "unix_ms": "1759104000000 (Unix)",
    "excel": "45929 (Excel)",
}
TYPE_LABELS: Mapping[str, str | Promise] = {
    **dict(FieldDefinition.Type.choices),
    FieldType.LONG_TEXT: gettext_lazy("Long text"),
    FieldType.EMAIL: gettext_lazy("E-mail"),
    FieldType.PHONE: gettext_lazy("Telephone"),
    FieldType.TIME: gettext_lazy("Date and time"),
    FieldType.CURRENCY: gettext_lazy("Currency"),
    FieldType.USER: gettext_lazy("Person"),
    FieldType.STATUS: gettext_lazy("Status"),
    FieldType.TAGS: gettext_lazy("Tags"),
    FieldType.CLIENT: gettext_lazy("Client"),
    FieldType.CONTACT: gettext_lazy("Contact"),
    FieldType.DEAL: gettext_lazy("Deal"),
}
# What a value of the file stands for, in forms: the rule for unknown values, a name after a mark, a new choice, or nothing.
BY_RULE, NAMED, LEFT_BLANK = "", "=", "-"
DEFINABLE = frozenset(FieldDefinition.Target.values)


class UploadForm(Form):
    file = forms.FileField(
        label=gettext_lazy("File"),
        required=False,
        help_text=gettext_lazy("CSV, Excel (XLSX), or a ZIP file with CSV files. At most 200 MB."),
    )
    pasted = forms.CharField(
        label=gettext_lazy("Or paste cells of a spreadsheet"),
        required=False,
        strip=False,
        max_length=MAX_PASTED,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("With the row of headings."),
    )
    kinds = forms.MultipleChoiceField(
        label=gettext_lazy("What is in it"),
        required=False,
        choices=list(KIND_LABELS.items()),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Without a choice, it is guessed from the headings."),
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if not self.errors and bool(values["file"]) == bool(values["pasted"].strip()):
            self.add_error("file", _("Choose a file, or paste cells, and not both"))
        return values


class ReadingForm(Form):
    """How the file is read. A blank value is recognized again."""

    id_format = "reading-%s"

    encoding = forms.ChoiceField(label=gettext_lazy("Encoding"), required=False)
    separator = forms.ChoiceField(label=gettext_lazy("Separator"), required=False, choices=SEPARATORS)
    sheet = forms.ChoiceField(label=gettext_lazy("Sheet"), required=False)
    has_header = forms.ChoiceField(
        label=gettext_lazy("First row"),
        required=False,
        choices=[RECOGNIZE, ("1", gettext_lazy("has the headings")), ("0", gettext_lazy("is an entry"))],
    )

    def __init__(self, data: Mapping[str, Any] | None, reading: Mapping[str, Any]) -> None:
        has_header = reading.get("has_header")
        initial = {name: reading.get(name, "") for name in ("encoding", "separator", "sheet")}
        super().__init__(data, initial=initial | {"has_header": "" if has_header is None else str(int(has_header))})
        codes = dict.fromkeys([*ENCODINGS, *filter(None, [reading.get("encoding")])])
        names = [(code, encoding_name(code)) for code in codes]
        self.set_choices("encoding", [RECOGNIZE, *names])
        known = dict(SEPARATORS)
        if (separator := reading.get("separator", "")) not in known:
            self.set_choices("separator", [*SEPARATORS, (separator, separator)])
        sheets = reading.get("sheets", ())
        self.set_choices("sheet", [(name, name) for name in sheets])
        if reading.get("format") in ("xlsx", "zip") and not reading.get("encoding"):
            del self.fields["encoding"], self.fields["separator"]
        if len(sheets) < 2:
            del self.fields["sheet"]

    def options(self) -> dict[str, Any]:
        """Return the valid values as `Import.reread` takes them."""
        values = {name: value or None for name, value in self.cleaned_data.items()}
        return values | {"has_header": values["has_header"] and values["has_header"] == "1"}


def encoding_name(code: str) -> str:
    return ENCODING_NAMES.get(code) or code.replace("cp", "windows-").replace("iso8859", "ISO-8859")


class GroupedSelect(LongSelect):
    """A select with hundreds of options in groups, whose HTML is created once."""

    def render(
        self, name: str, value: object, attrs: Mapping[str, object] | None = None, renderer: object = None
    ) -> SafeString:
        chosen = format_html('<option value="{}"', value or "")
        groups = tuple((label, tuple(options)) for label, options in self.choices)
        options = _grouped_options(groups).replace(f"{chosen}>", f"{chosen} selected>", 1)
        attributes = forms.utils.flatatt(self.build_attrs(self.attrs, {"name": name, **(attrs or {})}))
        return format_html("<select{}>{}</select>", attributes, SafeString(options))


@lru_cache(maxsize=20)
def _grouped_options(groups: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]) -> str:
    texts = []
    for label, options in groups:
        text = format_html_join("", '<option value="{}">{}</option>', options)
        texts.append(format_html('<optgroup label="{}">{}</optgroup>', label, text) if label else text)
    return "".join(texts)


@dataclass
class ColumnRow:
    """A column of the file, as the form shows it."""

    letter: str
    heading: str
    statistics: ColumnStatistics
    input: BoundField
    target: ImportField | None
    format: BoundField | None = None
    # Whether several formats fit all values of the column.
    is_uncertain: bool = False
    # The first value that does not fit, and the number of its row.
    misfit: tuple[str, int] | None = None
    # The values of the file, each with the input of what it stands for.
    values: list[tuple[str, BoundField]] = field(default_factory=list)

    @property
    def type_label(self) -> str | Promise:
        if self.target is None:
            return ""
        return TYPE_LABELS[FieldType.NUMBER] if self.target.name == "id" else TYPE_LABELS.get(self.target.type, "")

    @property
    def unknown_number(self) -> int:
        """The number of values that stand for nothing yet."""
        return sum(not bound.value() for _text, bound in self.values)


class SettingsForm(Form):
    """The mapping of the columns, and the rules.

    The inputs of a column depend on its field. Inputs that were not sent, because the field was just chosen, get guessed values.
    """

    id_format = "import-%s"

    mode = forms.ChoiceField(label=gettext_lazy("Which rows"), choices=list(MODES.items()), widget=forms.RadioSelect)
    clear_blank = forms.ChoiceField(
        label=gettext_lazy("Blank cells"),
        choices=[("0", gettext_lazy("leave the value as it is")), ("1", gettext_lazy("empty the field"))],
        widget=forms.RadioSelect,
    )
    unknown = forms.ChoiceField(label=gettext_lazy("Unknown choices and statuses"), widget=forms.RadioSelect)
    stop = forms.ChoiceField(
        label=gettext_lazy("Wrong rows"),
        choices=[
            ("0", gettext_lazy("Import the other rows")),
            ("1", gettext_lazy("Stop at the first wrong row")),
        ],
        widget=forms.RadioSelect,
    )
    notify = forms.ChoiceField(
        label=gettext_lazy("Notifications"),
        choices=[
            ("0", gettext_lazy("Notify nobody")),
            ("1", gettext_lazy("Notify people and webhooks of each change")),
        ],
        widget=forms.RadioSelect,
    )
    tags = forms.CharField(
        label=gettext_lazy("Tags for all entries"),
        required=False,
        max_length=2000,
        help_text=gettext_lazy("Separate several with commas."),
    )
    contact_list = forms.CharField(
        label=gettext_lazy("Contact list for all contacts"),
        required=False,
        max_length=255,
        help_text=gettext_lazy("A new name creates a list."),
    )
    RULES = ("mode", "clear_blank", "unknown", "stop", "notify", "tags", "contact_list")

    def __init__(self, data: QueryDict | None, *, row: Import, user: User) -> None:
        stored = row.parsed_settings
        initial: dict[str, Any] = {name: getattr(stored, name) for name in ("mode", "unknown", "contact_list")}
        initial |= {name: str(int(getattr(stored, name))) for name in ("clear_blank", "stop", "notify")}
        super().__init__(None if data is None else data.copy(), initial=initial | {"tags": ", ".join(stored.tags)})
        self.account, self.user, self.stored = row.account, user, stored
        self.sheet = row.parsed_sheet
        self.known = {kind: {each.code: each for each in fields_of(kind, row.account)} for kind in RowKind}
        self.all_fields = {code: each for fields in self.known.values() for code, each in fields.items()}
        rules = [rule for rule in UNKNOWN if rule != Unknown.CREATE or user.is_admin]
        self.set_choices("unknown", [(rule, UNKNOWN[rule]) for rule in rules])
        if stored.unknown not in rules:
            self.initial["unknown"] = Unknown.SKIP
        self.statuses: dict[str, list[tuple[str, set[str]]]] = {}
        self.shown_values = 0
        groups = self.groups()
        self.columns = [
            self.add_column(index, groups) for index in range(min(len(self.sheet.header), MAX_SHOWN_COLUMNS))
        ]
        self.matched_kinds = self.add_matches()
        self.defaults = self.add_defaults(groups)

    # Adding the inputs

    def groups(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the fields of all kinds, as choices in groups."""
        groups: list[tuple[str, list[tuple[str, str]]]] = [("", [("", _("Leave out"))])]
        further = {column.field for column in self.stored.columns if column.field} - self.all_fields.keys()
        for kind, fields in self.known.items():
            choices = [(code, each.label) for code, each in fields.items()]
            for code in sorted(further):
                found = find_field(code, self.account, self.all_fields) if NEW_FIELD not in code else None
                if found is not None and found.kind == kind:
                    choices.append((code, found.label))
            if self.user.is_admin and kind in DEFINABLE:
                choices += [
                    (f"{kind}.{NEW_FIELD}{type}", _("New field: %(type)s") % {"type": label})
                    for type, label in FieldDefinition.Type.choices
                ]
            groups.append((str(kind.label), choices))
        return groups

    def add(self, name: str, input: forms.Field, value: object) -> BoundField:
        """Add an input with a stored or guessed value, which replaces a value that was not sent."""
        self.fields[name] = input
        self.initial[name] = value
        if self.is_bound and name not in self.data:
            self.data[name] = value  # type: ignore[index]  # a copy
        return self[name]

    def add_select(self, name: str, choices: Iterable[tuple[Any, Any]], value: str, label: str) -> BoundField:
        return self.add(name, forms.ChoiceField(choices=list(choices), required=False, label=label), value)

    def add_column(self, index: int, groups: list[tuple[str, list[tuple[str, str]]]]) -> ColumnRow:
        heading, statistics = self.sheet.header[index], self.sheet.columns[index]
        mapping = self.stored.columns[index] if index < len(self.stored.columns) else ColumnMapping()
        select = GroupedSelect(attrs={"hx-post": ""})
        input = forms.ChoiceField(choices=groups, required=False, label=heading, widget=select)
        bound = self.add(f"field-{index}", input, mapping.field)
        code = bound.value() or ""
        found = self.find(code)
        row = ColumnRow(column_letters(index), heading, statistics, bound, found)
        if found is None:
            return row
        if code != mapping.field:
            mapping = guess_mapping(found, statistics, self.account.language)
        formats: Mapping[str, Any] = TYPES_WITH_FORMAT.get(found.type, {})  # type: ignore[assignment]
        if formats and not found.way and found.name != "id":
            examples = [(code, DATE_EXAMPLES.get(code, code)) for code in formats]
            if self.is_bound and self.data.get(f"format-{index}") not in formats:
                self.data.pop(f"format-{index}", None)  # type: ignore[attr-defined]
            row.format = self.add_select(f"format-{index}", examples, mapping.format, _("Format of %s") % heading)
            guess = guess_number_format if formats is NUMBER_FORMATS else guess_date_format
            guessed = guess(statistics, self.account.language)
            row.is_uncertain = (
                guessed is not None and not guessed.is_certain and guessed.format.code == row.format.value()
            )
        row.misfit = statistics.misfits.get(self.value_type(found, row.format))
        texts = self.texts(found, statistics)
        self.shown_values += len(texts)
        for number, text in enumerate(texts if self.shown_values <= MAX_SHOWN_VALUES else ()):
            row.values.append((text, self.add_value(f"value-{index}-{number}", found, mapping, text)))
        return row

    def find(self, code: str) -> ImportField | None:
        return find_field(code, self.account, self.all_fields) if code else None

    def value_type(self, found: ImportField, format: BoundField | None) -> str:
        """Return the name in `ColumnStatistics.misfits` of what the values have to be."""
        if format is not None:
            return f"{'number' if format.value() in NUMBER_FORMATS else 'datetime'}:{format.value()}"
        if found.name == "id" or (not found.way and found.type in LINKS):
            return "integer"
        return "boolean" if found.type == FieldType.BOOLEAN else ""

    def texts(self, found: ImportField, statistics: ColumnStatistics) -> list[str]:
        """Return the values of a column whose field has certain values, if they are few."""
        has_values = found.type in (FieldType.CHOICE, FieldType.CHOICES) and found.field.definition is not None
        if statistics.more or not (has_values or (found.type == FieldType.STATUS and found.way == "name")):
            return []
        texts = [text.strip() for text in statistics.distinct]
        if found.type == FieldType.CHOICES:
            texts = [part for text in texts for part in split(text)]
        return list(dict.fromkeys(filter(None, texts)))[:MAX_DISTINCT]

    def add_value(self, name: str, found: ImportField, mapping: ColumnMapping, text: str) -> BoundField:
        names = self.names(found)
        chosen = mapping.values.get(text)
        wanted = fold(text if chosen is None else chosen)
        same = next((each for each, spellings in names if wanted in spellings), None)
        value = CREATE if chosen == CREATE else LEFT_BLANK if chosen == SKIP else f"{NAMED}{same}" if same else BY_RULE
        if chosen and same is None and chosen != CREATE:
            names = [*names, (chosen, set())]
            value = f"{NAMED}{chosen}"
        choices = [(BY_RULE, _("Unknown")), *((f"{NAMED}{each}", each) for each, _set in names)]
        if self.user.is_admin:
            choices.append((CREATE, _("Create “%s”") % text))
        return self.add_select(name, [*choices, (LEFT_BLANK, _("Leave the field blank"))], value, text)

    def names(self, found: ImportField) -> list[tuple[str, set[str]]]:
        """Return the choices of a field, or the names of its statuses, each with its folded spellings."""
        if found.type != FieldType.STATUS:
            return [(choice, {fold(choice)}) for choice in found.field.choices]
        kind = STATUS_KINDS[found.kind]
        if kind not in self.statuses:
            self.statuses[kind] = [
                (status.name, {fold(text) for text in (status.name, status.code, status_name(status)) if text})
                for status in self.account.statuses_of_kind(kind)
            ]
        return self.statuses[kind]

    def add_matches(self) -> list[RowKind]:
        """Add a select for each kind of rows in the file, with the field by which existing rows are found."""
        mappings = [ColumnMapping(field=row.input.value() or "") for row in self.columns]
        kinds = [kind for kind in RowKind if any(mapping.field.startswith(f"{kind}.") for mapping in mappings)]
        for kind in kinds:
            guessed = guess_match(kind, mappings, self.sheet)
            value = self.stored.match.get(kind, guessed)
            keys = [key for code in self.codes() if (key := code.removeprefix(f"{kind}.")).startswith("external_ids[")]
            keys = [key for key in (*MATCHED[kind], *keys) if self.find(f"{kind}.{key}")]
            labels = [(key, self.find(f"{kind}.{key}").label) for key in keys]  # type: ignore[union-attr]
            label = _("%(kind)s are the same if they have the same") % {"kind": kind.label}
            self.add_select(f"match-{kind}", [*labels, ("", _("nothing: each row is a new entry"))], value, label)
        return kinds

    def codes(self) -> list[str]:
        return [row.input.value() or "" for row in self.columns]

    def add_defaults(self, groups: list[tuple[str, list[tuple[str, str]]]]) -> list[tuple[BoundField, BoundField]]:
        """Add the values of fields without a column."""
        stored = list(self.stored.defaults.items())
        choices = [
            (label, [choice for choice in options if NEW_FIELD not in choice[0]]) for label, options in groups[1:]
        ]
        choices.insert(0, ("", [("", "\N{EN DASH}")]))
        rows = []
        for number in range(min(len(stored) + FURTHER_DEFAULTS, MAX_DEFAULTS)):
            code, text = stored[number] if number < len(stored) else ("", "")
            select = forms.ChoiceField(choices=choices, required=False, label=_("Field"), widget=GroupedSelect)
            value = forms.CharField(required=False, max_length=1000, label=_("Value"))
            rows.append((self.add(f"default-{number}", select, code), self.add(f"text-{number}", value, text)))
        return rows

    # Reading the values

    def clean_tags(self) -> list[str]:
        tags = [tag.strip() for tag in self.cleaned_data["tags"].split(",") if tag.strip()]
        if len(tags) > MAX_TAGS:
            raise forms.ValidationError(_("At most %(n)s tags are possible") % {"n": MAX_TAGS})
        return tags

    def settings(self) -> ImportSettings:
        """Return the valid values."""
        values = self.cleaned_data
        columns = [self.mapping_of(index, row) for index, row in enumerate(self.columns)]
        return ImportSettings(
            columns=[*columns, *self.stored.columns[len(columns) :]],
            match={kind: values[f"match-{kind}"] for kind in self.matched_kinds},
            mode=Mode(values["mode"]),
            unknown=Unknown(values["unknown"]),
            defaults={
                values[select.name]: values[text.name]
                for select, text in self.defaults
                if values[select.name] and values[text.name]
            },
            tags=values["tags"],
            contact_list=values["contact_list"],
            clear_blank=values["clear_blank"] == "1",
            stop=values["stop"] == "1",
            notify=values["notify"] == "1",
        )

    def mapping_of(self, index: int, row: ColumnRow) -> ColumnMapping:
        values = self.cleaned_data
        chosen = {text: values[bound.name] for text, bound in row.values if values[bound.name] != BY_RULE}
        meanings = {text: SKIP if value == LEFT_BLANK else value.removeprefix(NAMED) for text, value in chosen.items()}
        if row.target is not None and row.target.name in (f"{NEW_FIELD}choice", f"{NEW_FIELD}choices"):
            # The choices of the new field.
            meanings = {text.strip(): text.strip() for text in row.statistics.distinct if text.strip()}
        format = values[row.format.name] if row.format is not None else ""
        return ColumnMapping(field=values[row.input.name], format=format, values=meanings)

    def place(self, error: FieldError) -> FieldError:
        """Return an error of the settings as an error of the input where it belongs."""
        params = error.params or {}
        name = error.field or ""
        if name == "columns":
            wanted = [row for row in self.columns if row.heading == params.get("column")]
            wanted += [row for row in self.columns if row.target and row.target.label == params.get("field")]
            name = wanted[-1].input.name if wanted else ""
        elif name == "match":
            name = next((f"match-{kind}" for kind in self.matched_kinds if kind.label == params.get("kind")), "")
        elif name == "defaults":
            name = next((select.name for select, _text in self.defaults if select.value() == params.get("field")), "")
        return FieldError(name, error.message, error.code, error.params)
