"""The filters of a list: a chip for each, the menu with all fields, and the form that adds or changes a filter."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.utils.dateparse import parse_date
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from accounts.fields.catalogue import Field, grouped
from accounts.statuses.models import Status, pipeline_name, status_name
from core.pages.base import redirect
from core.pages.errors import field_message
from core.pages.formatting import date_text, number_text
from core.pages.number_fields import answered_text
from core.rows.declared import FieldType
from crm.deals.stage_history import LABELS as HISTORY_LABELS
from team.conditions.conditions import SEVERAL, TEXTS, Condition, Operator, Target, operators_of
from team.conditions.periods import DAYS_LABELS, period_label, split_days
from team.conditions.periods import LABELS as PERIOD_LABELS
from team.conditions.values import ME, OUTCOME, PIPELINE
from team.fields.names import LINKS, MAX_USERS, OF_FORUM, Names, people_of
from team.list_queries.queries import ListQuery
from team.lists.pages.base import RecordsPage

# The choice of the form for the parameter `__empty=false`.
FILLED = "filled"
INACTIVE = "inactive_days"
DEFAULT_INACTIVE_DAYS = 30
DEFAULT_PERIOD_DAYS = 7
# The choice of the form for one day.
ONE_DAY = "date"
NEW_GROUP = "new"
MAX_GROUPS = 9
# The values of a condition that a chip names.
MAX_VALUES_IN_CHIP = 3
# More choices than this are in a list that scrolls.
MAX_CHECKBOXES = 30
# Fields whose values people do not type: other pages link to lists with them.
NOT_TYPED = (FieldType.CLIENT, FieldType.CONTACT, FieldType.DEAL)
# Fields with an input, in which commas separate several values.
TYPED_LISTS = (*TEXTS, FieldType.TAGS, FieldType.CURRENCY)
OUTCOME_LABELS = {
    Status.Outcome.OPEN: gettext_lazy("open"),
    Status.Outcome.WON: gettext_lazy("won"),
    Status.Outcome.LOST: gettext_lazy("lost"),
}


def operator_label(field: Field, operator: str) -> str:
    labels: dict[str, str] = {
        Operator.IS: _("is"),
        Operator.NOT: _("is not"),
        Operator.ANY: _("is any of"),
        Operator.NONE: _("is none of"),
        Operator.CONTAINS: _("contains"),
        Operator.AFTER: _("is more than") if field.is_amount else _("is after"),
        Operator.BEFORE: _("is less than") if field.is_amount else _("is before"),
        Operator.EMPTY: _("is empty"),
        FILLED: _("is not empty"),
    }
    return labels[operator]


def target_label(target: Target) -> str:
    label = str(target.field.label)
    return f"{target.relation.label}: {label}" if target.relation else label


@dataclass(frozen=True)
class Chip:
    """A filter in use, with the query strings of the list without it, and of the list with the form that changes it ("" for none)."""

    label: str
    remove: str
    edit: str = ""


@dataclass(frozen=True)
class FilterForm:
    """The form for a filter on one field."""

    # The field, with the name of its relation.
    name: str
    label: str | Promise
    operators: list[tuple[str, str]]
    # The values to choose from; None for an input.
    choices: list[tuple[str, str]] | None
    input_type: str
    operator: str = ""
    values: list[str] = field(default_factory=list)
    error: str = ""
    # True for a number in the format of the active language.
    is_number: bool = False
    # The periods to choose from, for a date; the chosen one, and its number of days.
    periods: list[tuple[str, str | Promise]] = field(default_factory=list)
    period: str = ""
    days: str = ""
    # The groups that the filter can belong to, with their labels, and the chosen one.
    groups: list[tuple[str, str | Promise]] = field(default_factory=list)
    group: str = ""
    # The number of the filter that the form changes.
    changes: int | None = None

    @property
    def value(self) -> str:
        return ", ".join(self.values)

    @property
    def has_many_choices(self) -> bool:
        return self.choices is not None and len(self.choices) > MAX_CHECKBOXES


class FilteredPage(RecordsPage):
    """The base of a page with a list and its filters."""

    query_class = ListQuery

    def show(self, query: ListQuery, filter_form: FilterForm | None = None) -> HttpResponse:
        raise NotImplementedError

    def filter_context(self, query: ListQuery, names: Names, filter_form: FilterForm | None) -> dict[str, Any]:
        """Return what the template shows of the filters."""
        asked = self.request.GET
        form = filter_form or self.asked_filter(query) or self.form_to_change(query, asked.get("edit", ""))
        return {
            "chip_groups": self.chip_groups(query, names),
            "filter_groups": self.filter_groups(query),
            "filter_form": form or self.filter_form(query, asked.get("add", "")),
        }

    # The filters in use

    def chip_groups(self, query: ListQuery, names: Names) -> list[list[Chip]]:
        """Return the filters that always apply, and then those of each group."""
        groups = query.groups
        common = [self.chip(query, condition, names) for condition in groups.pop(0, [])]
        common += [
            Chip(self.special_label(name, value), query.query_string(**{name: ""}), self.link_to_edit(query, name))
            for name, value in query.special.items()
        ]
        return [common, *([self.chip(query, each, names) for each in members] for members in groups.values())]

    def chip(self, query: ListQuery, condition: Condition, names: Names) -> Chip:
        number = query.conditions.index(condition)
        edit = "" if condition.field.type in NOT_TYPED else query.query_string(edit=str(number))
        return Chip(self.condition_label(condition, names), query.query_string_without(condition), edit)

    @staticmethod
    def link_to_edit(query: ListQuery, special: str) -> str:
        return query.query_string(edit=INACTIVE) if special == INACTIVE else ""

    def condition_label(self, condition: Condition, names: Names) -> str:
        label, operator = target_label(condition.target), condition.operator
        if operator == Operator.EMPTY:
            return f"{label} {operator_label(condition.field, Operator.EMPTY if condition.value else FILLED)}"
        if condition.field.type == FieldType.BOOLEAN:
            return f"{label}: {_('yes') if condition.value else _('no')}"
        shown = list(zip(condition.texts, condition.values, strict=True))[:MAX_VALUES_IN_CHIP]
        value = ", ".join(self.value_text(condition.field, text, value, names) for text, value in shown)
        if (others := len(condition.texts) - len(shown)) > 0:
            value = _("%(values)s and %(n)d more") % {"values": value, "n": others}
        return f"{label} {operator_label(condition.field, operator)} {value}"

    def value_text(self, field: Field, text: str, value: Any, names: Names) -> str:
        """Return a value of a condition for people, in the format of the active language."""
        if field.name == OUTCOME:
            return str(OUTCOME_LABELS[Status.Outcome(text)])
        if field.name == PIPELINE:
            return dict(self.pipelines_of_account).get(text, text)
        if field.name in self.declaration.choices:
            return str(dict(self.declaration.choices[field.name]).get(text, text))
        if field.type in LINKS:
            return _("me") if text == ME else names.get_name(field.type, value)
        if field.is_amount:
            return number_text(value[0])
        if field.type in (FieldType.DATE, FieldType.TIME):
            if period := period_label(text):
                return period
            if day := parse_date(text):
                return date_text(day)
        return text

    def special_label(self, name: str, value: Any) -> str:
        account = self.request.account
        match name:
            case "mine":
                return _("Mine")
            case "no_task":
                return _("No task planned")
            case "inactive_days":
                return ngettext("No activity for %(n)d day", "No activity for %(n)d days", value) % {"n": value}
            case "contact_list_id":
                named = account.contact_lists.live().filter(id=value).values_list("name", flat=True)
                return _("In the contact list “%(name)s”") % {"name": named.first() or value}
            case "post_id":
                titled = account.posts.live().without_tasks().filter(id=value).values_list("title", flat=True)
                return _("Behind the suggestion “%(name)s”") % {"name": titled.first() or value}
        status = account.statuses.filter(id=value.status_id).first()
        return _("%(stage)s: %(result)s, %(first)s to %(last)s") % {
            "stage": status_name(status) if status else value.status_id,
            "result": HISTORY_LABELS[value.result],
            "first": date_text(value.first),
            "last": date_text(value.end - timedelta(days=1)),
        }

    @cached_property
    def pipelines_of_account(self) -> list[tuple[str, str]]:
        pipelines = self.request.account.pipelines.order_by("position", "id")
        return [(str(pipeline.id), pipeline_name(pipeline)) for pipeline in pipelines]

    # The menu with all fields

    def filter_groups(self, query: ListQuery) -> list[tuple[str | Promise, list[tuple[str | Promise, str, str]]]]:
        """Return the headings of the menu with the labels of their filters, and the name and the value of the parameter of each."""
        special: list[tuple[str | Promise, str, str]] = []
        if self.declaration.has_responsible:
            special.append((_("Mine"), "mine", "true"))
        if self.declaration.has_tasks:
            special.append((_("No task planned"), "no_task", "true"))
        special.append((_("No activity for some time"), "add", INACTIVE))
        groups = [(_("Activity"), special), *self.groups_of_fields(query.filter_fields.values())]
        for relation in self.declaration.relations:
            fields = query.related_fields(relation).values()
            for label, links in self.groups_of_fields(fields, f"{relation.name}."):
                groups.append((f"{relation.label}: {label}", links))
        return groups

    @staticmethod
    def groups_of_fields(
        fields: Iterable[Field], prefix: str = ""
    ) -> list[tuple[str | Promise, list[tuple[str | Promise, str, str]]]]:
        groups = grouped(field for field in fields if field.type not in NOT_TYPED)
        return [
            (label, [(field.label, "add", f"{prefix}{field.name}") for field in members]) for label, members in groups
        ]

    # The form for a filter

    def filter_form(self, query: ListQuery, name: str, **shown: Any) -> FilterForm | None:
        """Return the form for a field, or None if there is no such field. `shown` are further values of the form."""
        if name == INACTIVE:
            label = gettext_lazy("No activity for how many days?")
            days = shown.pop("values", None) or [str(query.special.get(INACTIVE, DEFAULT_INACTIVE_DAYS))]
            return FilterForm(name, label, [], None, "number", values=days, error=shown.get("error", ""))
        target = query.find_target(name)
        if target is None or target.column != name or target.field.type in NOT_TYPED:
            return None
        field, choices = target.field, self.choices(target)
        operators: list[str] = list(operators_of(field))
        if choices is not None and field.type != FieldType.BOOLEAN:
            # One chosen value is a case of several ones.
            operators = [each for each in operators if each not in (Operator.IS, Operator.NOT)]
            shown["operator"] = {Operator.IS: Operator.ANY, Operator.NOT: Operator.NONE}.get(
                shown.get("operator", ""), shown.get("operator", "")
            )
        if Operator.EMPTY in operators:
            operators.append(FILLED)
        is_date = field.type in (FieldType.DATE, FieldType.TIME)
        if is_date:
            shown = {"period": next(iter(PERIOD_LABELS)), "days": str(DEFAULT_PERIOD_DAYS)} | shown
        return FilterForm(
            name,
            target_label(target),
            [(str(operator), operator_label(field, operator)) for operator in operators],
            choices,
            "date" if is_date else "text",
            is_number=field.is_amount,
            periods=[*PERIOD_LABELS.items(), *DAYS_LABELS.items(), (ONE_DAY, _("a date:"))] if is_date else [],
            groups=self.groups_to_choose(query),
            **shown,
        )

    def groups_to_choose(self, query: ListQuery) -> list[tuple[str, str | Promise]]:
        """Return the groups to which a filter can be added."""
        numbers = [number for number in query.groups if number]
        if not (query.conditions or numbers):
            return []
        groups: list[tuple[str, str | Promise]] = [("", _("and: all filters apply"))]
        if numbers:
            groups = [("", _("and: in every case"))]
            groups += [(str(number), _("and: in case %(n)d") % {"n": number}) for number in numbers]
        if len(numbers) < MAX_GROUPS:
            groups.append((NEW_GROUP, _("or: another case")))
        return groups

    def form_to_change(self, query: ListQuery, text: str) -> FilterForm | None:
        """Return the form with the values of a filter in use: its number among the conditions, or `inactive_days`."""
        if text == INACTIVE and INACTIVE in query.special:
            return self.filter_form(query, INACTIVE)
        if not (text.isascii() and text.isdigit() and len(text) < 3 and int(text) < len(query.conditions)):
            return None
        condition = query.conditions[int(text)]
        target, values = condition.target, list(condition.texts)
        operator = str(target.operator)
        shown: dict[str, Any] = {"changes": int(text), "group": str(target.group or "")}
        if operator == Operator.EMPTY:
            operator, values = (operator if condition.value else FILLED), []
        elif target.field.is_amount:
            values = [number_text(condition.value[0], is_grouped=False)]
        elif target.field.type in (FieldType.DATE, FieldType.TIME):
            period, days = split_days(condition.text)
            shown |= {"period": period or ONE_DAY, "days": days or str(DEFAULT_PERIOD_DAYS)}
        return self.filter_form(query, target.column, operator=operator, values=values, **shown)

    def asked_filter(self, query: ListQuery) -> FilterForm | None:
        """Return the form with the question about a number in the address that has two readings, or None."""
        error = next((error for error in query.errors if error.code == "ambiguous"), None)
        target = query.find_target(error.field) if error else None
        if error is None or target is None:
            return None
        query.errors.remove(error)
        values = [self.request.GET.get(error.field, "").strip()]
        group = str(target.group or "")
        shown = {"operator": str(target.operator), "values": values, "group": group, "error": field_message(error)}
        return self.filter_form(query, target.column, **shown)

    def choices(self, target: Target) -> list[tuple[str, str]] | None:
        account, field = self.request.account, target.field
        if field.name == OUTCOME:
            return [(str(outcome), str(label)) for outcome, label in OUTCOME_LABELS.items()]
        if field.name == PIPELINE:
            return self.pipelines_of_account
        if field.type == FieldType.USER:
            return [(ME, _("Me")), *((str(id), name) for id, name in people_of(account))]
        if field.type in OF_FORUM:
            rows = getattr(account, OF_FORUM[field.type]).order_by("name", "id").values_list("id", "name")
            return [(str(id), name) for id, name in rows[:MAX_USERS]]
        if not target.relation and field.name in self.declaration.choices:
            return [(value, str(label)) for value, label in self.declaration.choices[field.name]]
        if field.type == FieldType.STATUS:
            kind = target.relation.resource if target.relation else self.declaration.status_kind
            return [(str(status.id), status_name(status)) for status in account.statuses_of_kind(kind)]
        if field.type == FieldType.BOOLEAN:
            return [("true", _("Yes")), ("false", _("No"))]
        if field.type in (FieldType.CHOICE, FieldType.CHOICES):
            return [(choice, choice) for choice in field.choices]
        return None

    def add_filter(self, query: ListQuery) -> HttpResponse:
        """Redirect to the list with the filter of the submitted form, or show the form again with an error."""
        values = self.request.GET
        name = values.get("field", "").strip()
        changed = self.form_to_change(query, values.get("replace", ""))
        if name == INACTIVE:
            texts, target, parameter = [values.get("value", "").strip() or str(DEFAULT_INACTIVE_DAYS)], None, INACTIVE
        else:
            target = query.find_target(name)
            if target is None:
                return redirect(self.request.path + query.query_string())
            texts, target = self.submitted_values(target)
            parameter = target.parameter
        account, user, language = self.request.account, self.request.user, get_language()
        parameters = QueryDict(urlencode([(parameter, text) for text in texts]))
        checked = self.query_class.read(self.declaration, parameters, account=account, user=user, language=language)
        errors = [error.text.capitalize() for error in checked.errors] if any(texts) else [_("Can't be blank")]
        if errors:
            shown = {key: values[key] for key in ("operator", "period", "days", "group") if key in values}
            number = changed.changes if changed else None
            return self.show(
                query, self.filter_form(query, name, values=texts, error=errors[0], changes=number, **shown)
            )
        if target is None:
            return redirect(self.request.path + query.query_string(**{INACTIVE: texts[0]}))
        if changed is not None and changed.changes is not None:
            place = changed.changes
            # A condition that moves to another group has no other place than any new one.
            query.conditions.pop(place)
        self.insert(query, checked.conditions[0], values.get("group", ""))
        return redirect(self.request.path + query.query_string())

    @staticmethod
    def insert(query: ListQuery, condition: Condition, group: str) -> None:
        """Add a condition to a group, unless the group has it. The first "or" makes a group of the conditions so far."""
        numbers = [number for number in query.groups if number]
        if group == NEW_GROUP and not numbers:
            query.conditions = [each.in_group(1) for each in query.conditions]
            numbers = [1] if query.conditions else []
        number = int(group) if group.isdigit() and int(group) in numbers else 0
        if group == NEW_GROUP and numbers:
            number = max(numbers) + 1
        added = condition.in_group(number)
        if added not in query.conditions:
            query.conditions.append(added)
        query.number_groups()

    def submitted_values(self, target: Target) -> tuple[list[str], Target]:
        """Return the texts of the submitted form, and the field with the operator that fits their number."""
        values, field = self.request.GET, target.field
        operator = values.get("operator", "").strip()
        if operator in (Operator.EMPTY, FILLED) and Operator.EMPTY in operators_of(field):
            texts = ["true" if operator == Operator.EMPTY else "false"]
            return texts, replace(target, operator=Operator.EMPTY)
        if operator not in operators_of(field):
            operator = operators_of(field)[0]
        if field.type in (FieldType.DATE, FieldType.TIME) and (period := values.get("period", ONE_DAY)) != ONE_DAY:
            days = values.get("days", "").strip() or str(DEFAULT_PERIOD_DAYS)
            return [f"{period[:4]}_{days}_days" if period in DAYS_LABELS else period], replace(
                target, operator=Operator(operator)
            )
        texts = [text.strip() for text in values.getlist("value")]
        if field.is_amount:
            texts = [(answered_text(values, "value") or "").strip()]
        elif operator in SEVERAL and field.type in TYPED_LISTS:
            texts = [text.strip() for value in texts for text in value.split(",")]
        texts = list(dict.fromkeys(filter(None, texts)))
        if operator in SEVERAL and len(texts) == 1:
            operator = {Operator.ANY: Operator.IS, Operator.NONE: Operator.NOT}[Operator(operator)]
        elif operator not in SEVERAL:
            texts = texts[-1:]
        return texts or [""], replace(target, operator=Operator(operator))
