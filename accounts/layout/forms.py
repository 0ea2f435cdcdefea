"""The base class of the forms of all pages, the choices of time zones, and a select for long lists."""

import zoneinfo
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, cast

from babel.core import get_global
from django import forms
from django.forms.utils import flatatt
from django.http import QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from core.db.text import is_xml_text
from core.rows.trimmed import is_blank, trim


class Form(forms.Form):
    """A form of a page. `core/pages/field.html` renders each field with its label, help text and errors."""

    required_css_class = "required"
    # The format of the ids of the fields. The forms of one page have different ones.
    id_format = "id_%s"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "auto_id": self.id_format, **kwargs})
        for name, field in self.fields.items():
            if field.required:
                field.error_messages["required"] = _("Can't be blank")
            # A field says `is_trimmed = False` to refuse invisible characters instead.
            is_trimmed = isinstance(field, forms.CharField) and field.strip and getattr(field, "is_trimmed", True)
            if self.is_bound and is_trimmed:
                self._trim(self.add_prefix(name), is_line=not isinstance(field.widget, forms.Textarea))

    def _trim(self, name: str, *, is_line: bool) -> None:
        """Replace a text without visible characters by an empty one, and trim a text of one line."""
        text = self.data.get(name)
        if not isinstance(text, str) or text.isascii():
            return  # Django removes white space
        trimmed = "" if is_blank(text) else trim(text) if is_line else text
        if trimmed != text:
            self.replace_data(name, trimmed)

    def set_choices(self, name: str, choices: Iterable[tuple[object, object]]) -> None:
        cast(forms.ChoiceField, self.fields[name]).choices = list(choices)

    def replace_data(self, name: str, value: str) -> None:
        """Replace the value that was sent for a field."""
        data = cast(QueryDict, self.data).copy()
        data[name] = value
        self.data = data

    def clean(self) -> dict[str, Any]:
        super().clean()
        values = self.cleaned_data
        for name, value in list(values.items()):
            if isinstance(value, str) and not is_xml_text(value):
                self.add_error(name, _("Has characters that can't be stored"))
        return values


@cache
def time_zone_choices() -> list[tuple[str, str]]:
    names = sorted(zoneinfo.available_timezones())
    return [(name, name.replace("_", " ")) for name in names if "/" in name or name == "UTC"]


@cache
def usual_time_zones() -> list[str]:
    """Return the names of the current time zones of all countries."""
    names = {name for zones in get_global("territory_zones").values() for name in zones if "/" in name}
    return sorted(names & zoneinfo.available_timezones())


@cache
def _zone_options() -> SafeString:
    return format_html_join("", '<option value="{}">', ((name,) for name in usual_time_zones()))


class TimeZoneInput(forms.TextInput):
    """A field that proposes time zones while the user types a part of the name."""

    def render(
        self, name: str, value: object, attrs: Mapping[str, object] | None = None, renderer: object = None
    ) -> SafeString:
        list_id = f"{(attrs or {}).get('id', name)}-zones"
        html = super().render(
            name, value, {**(attrs or {}), "list": list_id, "autocomplete": "off", "spellcheck": "false"}
        )
        return format_html('{}<datalist id="{}">{}</datalist>', html, list_id, _zone_options())


class TimeZoneField(forms.CharField):
    """The name of a time zone. A city is enough if only one time zone has it: `warsaw` is `Europe/Warsaw`."""

    widget = TimeZoneInput

    def to_python(self, value: object) -> str:
        text = str(super().to_python(value)).replace(" ", "_")
        if not text or text in zoneinfo.available_timezones():
            return text
        found = [name for name in usual_time_zones() if text.lower() in (name.lower(), name.lower().rpartition("/")[2])]
        if len(found) != 1:
            raise forms.ValidationError(_("Is not a time zone such as Europe/Warsaw"))
        return found[0]


class ColorInput(forms.ColorInput):
    """The field of a browser for a colour. It always has a value, so HTML does not allow `required` in it."""

    def use_required_attribute(self, initial: object) -> bool:
        return False


class LongSelect(forms.Select):
    """A select with hundreds of options, whose HTML is created once."""

    def render(
        self, name: str, value: object, attrs: Mapping[str, object] | None = None, renderer: object = None
    ) -> SafeString:
        chosen = format_html('<option value="{}"', value or "")
        options = _options(tuple(self.choices)).replace(f"{chosen}>", f"{chosen} selected>", 1)
        attributes = flatatt(self.build_attrs(self.attrs, {"name": name, **(attrs or {})}))
        return format_html("<select{}>{}</select>", attributes, SafeString(options))


@lru_cache(maxsize=20)
def _options(choices: tuple[tuple[str, str], ...]) -> str:
    return format_html_join("", '<option value="{}">{}</option>', choices)
