"""Fields of the wire, for both generations: what is accepted for a value, and the messages for what is not.

A message continues the field's name ("Title can't be blank"). Numbers are taken for texts, numeric texts for numbers, a
blank text for no number, date or id; a list or an object where a scalar belongs never is (decisions, section 4).
"""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NoReturn

from django.db import connection
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext_lazy as _
from rest_framework.fields import Field

from core.db.tenancy import fold
from core.db.text import is_xml_text
from core.db.trash import TrashedId
from core.errors import FieldError

if TYPE_CHECKING:
    from accounts.account import Account

MISSING = _("can't be blank")
MAX_NAME_LENGTH = 255
MAX_TEXT_LENGTH = 65_536
MAX_INTEGER = 2**63 - 1
# The codes of ISO 4217: funds, metals and what banks account in are among them, and what was replaced since the euro came, as
# deals are old too.
CURRENCIES = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP
    CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS
    INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR
    MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD
    SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST
    XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG

    ADP AFA ANG ATS AZM BEF BGN BYB BYR CSD CUC CYP DEM ECS EEK ESP FIM FRF GHC GRD GWP HRK IEP ITL LTL LUF LVL MGF MRO MTL MZM
    NLG PTE ROL RUR SDD SIT SKK SLL SRG STD TMM TPE TRL USS VEB VEF ZMK ZWD ZWL ZWN ZWR
    """.split()  # noqa: SIM905
)


class WireField(Field):
    """A value and its rules. `column` says where it is kept, when that has another name."""

    default_error_messages = {"required": MISSING, "null": MISSING, "scalar": _("must be a single value")}

    def __init__(self, **kwargs):
        required = kwargs.setdefault("required", False)
        if not kwargs.get("read_only"):
            kwargs.setdefault("allow_null", not required)
        else:
            kwargs.pop("required")
        super().__init__(**kwargs)

    def to_representation(self, value):
        return value

    def fail(self, code: str, /, **params) -> NoReturn:
        """Raise the error of this code. The serializer adds the name of the field."""
        raise FieldError("", self.error_messages[code], code, params)


class ScalarField(WireField):
    blank_is_null = True

    def run_validation(self, data):
        if isinstance(data, str) and self.blank_is_null and not data.strip():
            data = None
        if isinstance(data, dict | list):
            self.fail("scalar")
        return super().run_validation(data)


class TextField(ScalarField):
    """Text that XML 1.0 can carry, of at most `max_length` characters. Where it is required it is not blank either."""

    blank_is_null = False
    default_error_messages = {
        "characters": _("has a character that can't be used (a control character or half of a surrogate pair)"),
        "too_long": _("is too long (maximum is {most} characters)"),
        "boolean": _("must be a text"),
        "form": _("is not valid"),
    }

    def __init__(
        self, *, max_length: int = MAX_NAME_LENGTH, blank: bool | None = None, pattern: str | None = None, **kwargs
    ):
        super().__init__(**kwargs)
        self.max_length = max_length
        self.blank = not kwargs.get("required") if blank is None else blank
        self.pattern = pattern

    def to_internal_value(self, data) -> str:
        if isinstance(data, bool):
            self.fail("boolean")
        text = data if isinstance(data, str) else str(data)
        if not is_xml_text(text):
            self.fail("characters")
        if not self.blank and not text.strip():
            self.fail("null")
        if len(text) > self.max_length:
            self.fail("too_long", most=self.max_length)
        if self.pattern and not re.fullmatch(self.pattern, text):
            self.fail("form")
        return text


def long_text_field(**kwargs) -> TextField:
    return TextField(max_length=MAX_TEXT_LENGTH, **kwargs)


class EmailField(TextField):
    """An address that mail can be sent to: users have one."""

    default_error_messages = {"form": _("is not an e-mail address")}

    def __init__(self, **kwargs):
        super().__init__(pattern=r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)*", **kwargs)


class ChoiceField(ScalarField):
    default_error_messages = {"choice": _("is not one of {choices}")}

    def __init__(self, choices, **kwargs):
        super().__init__(**kwargs)
        self.choices = list(choices)

    def to_internal_value(self, data) -> str:
        if data not in self.choices:
            self.fail("choice", choices=", ".join(self.choices))
        return str(data)


class CurrencyField(ScalarField):
    """A currency by its code. What a row has stays, also where that is none."""

    default_error_messages = {"currency": _("is not a code of ISO 4217, such as EUR")}

    def to_internal_value(self, data) -> str:
        if data not in CURRENCIES and data != getattr(self.parent.instance, self.field_name, None):
            self.fail("currency")
        return str(data)


class IntegerField(ScalarField):
    default_error_messages = {"number": _("is not a whole number"), "range": _("must be between {low} and {high}")}

    def __init__(self, *, min_value: int = -MAX_INTEGER, max_value: int = MAX_INTEGER, **kwargs):
        super().__init__(**kwargs)
        self.min_value, self.max_value = min_value, max_value

    def to_internal_value(self, data) -> int:
        if isinstance(data, bool):
            self.fail("number")
        number = to_decimal(data)
        # The exponent is looked at before anything is made of it: 1e999999999 has a billion digits.
        if number is None or number.adjusted() > 20 or number != number.to_integral_value():
            self.fail("number")
        if not self.min_value <= number <= self.max_value:
            self.fail("range", low=self.min_value, high=self.max_value)
        return int(number)


class DecimalField(ScalarField):
    """A decimal number, exact: at most 14 digits before and 6 after the point."""

    MAX_WHOLE_DIGITS, MAX_DECIMAL_PLACES = 14, 6
    default_error_messages = {
        "number": _("is not a number"),
        "range": _("must have at most {most} digits before the decimal point"),
        "places": _("must have at most {most} decimal places"),
    }

    def to_internal_value(self, data) -> Decimal:
        number = None if isinstance(data, bool) else to_decimal(data)
        if number is None:
            self.fail("number")
        if number and number.adjusted() >= self.MAX_WHOLE_DIGITS:
            self.fail("range", most=self.MAX_WHOLE_DIGITS)
        if (number and number.adjusted() < -self.MAX_DECIMAL_PLACES) or number != round(
            number, self.MAX_DECIMAL_PLACES
        ):
            self.fail("places", most=self.MAX_DECIMAL_PLACES)
        # Zero has no sign.
        return round(number, self.MAX_DECIMAL_PLACES) + 0


def to_decimal(data) -> Decimal | None:
    """A finite number, or the text of one, without rounding; None if it is neither."""
    try:
        text = data.strip() if isinstance(data, str) else data
        if isinstance(text, str) and ("_" in text or not text.isascii()):
            return None
        number = Decimal(text)
    except (InvalidOperation, TypeError, ValueError):
        return None
    return number if number.is_finite() else None


class BooleanField(ScalarField):
    default_error_messages = {"boolean": _("is not true or false")}

    WORDS = {"true": True, "1": True, "yes": True, "on": True, "t": True, "false": False, "0": False, "no": False}
    WORDS |= {"off": False, "f": False}

    def to_internal_value(self, data) -> bool:
        if isinstance(data, bool):
            return data
        # JSON makes no difference between 1 and 1.0.
        text = str(int(data)) if isinstance(data, Decimal) and data in (0, 1) else str(data)
        value = self.WORDS.get(text.strip().lower())
        if value is None:
            self.fail("boolean")
        return value


# The day first, with dots or hyphens; the year first, with slashes. What is written 01/12/2026 may be either day.
_DAY_FIRST = re.compile(r"(\d{1,2})([.-])(\d{1,2})\2(\d{4})", re.ASCII)
_YEAR_FIRST = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})", re.ASCII)


def to_date(text: str) -> date | None:
    """A date as ISO 8601 has it, `2026/12/01`, `01.12.2026` or `01-12-2026`. Raises ValueError for a day that there is not."""
    if match := _DAY_FIRST.fullmatch(text):
        return date(int(match[4]), int(match[3]), int(match[1]))
    if match := _YEAR_FIRST.fullmatch(text):
        return date(int(match[1]), int(match[2]), int(match[3]))
    return parse_date(text)


class DateTimeField(ScalarField):
    """A time (ISO 8601) or a date; without an offset it is in the account's time zone."""

    default_error_messages = {"time": _("is not a time (ISO 8601, such as 2009-01-26T18:06:53+01:00)")}

    def to_internal_value(self, data) -> datetime:
        text = data.strip() if isinstance(data, str) else ""
        try:
            moment = parse_datetime(text)
            if moment is None and (day := to_date(text)) is not None:
                moment = datetime.combine(day, datetime.min.time())
            if moment is not None and moment.tzinfo is None:
                moment = timezone.make_aware(moment, self.context["account"].zone)
            # At either end of the calendar another time zone could be in a year that there is not. What is answered in the
            # account's is the same in UTC.
            fits = moment is not None and 1 < moment.astimezone(UTC).year < 9999
        except (ValueError, OverflowError):
            fits = False
        if not fits:
            self.fail("time")
        return moment


class DateField(ScalarField):
    """A date, or the date of a time."""

    default_error_messages = {"date": _("is not a date (ISO 8601, such as 2009-01-26)")}

    def to_internal_value(self, data) -> date:
        text = data.strip() if isinstance(data, str) and data.isascii() else ""
        try:
            day = to_date(text) or parse_datetime(text)
        except ValueError:
            day = None
        if day is None:
            self.fail("date")
        return day.date() if isinstance(day, datetime) else day


def lock_ids(rows, lock: str = "SHARE") -> list[int]:
    """The ids of these rows, each a `TrashedId` if the row is in the trash.

    Nobody can move them to the trash, restore or erase them before the transaction ends (SELECT … FOR SHARE).
    """
    sql, parameters = rows.order_by("id").values_list("id", "trashed_at").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} FOR {lock}", parameters)
        return [id if trashed_at is None else TrashedId(id) for id, trashed_at in cursor.fetchall()]


def to_id(data) -> int | None:
    """A whole number, or the text of one, which may be an id; None if it is neither."""
    number = None if data is None or isinstance(data, bool | list | dict) else to_decimal(data)
    if number is None or number.adjusted() > 18 or number != number.to_integral_value():
        return None
    return int(number)


class ReferenceMixin:
    """A field that names things of the same account by their ids. They are looked up through the account, and held until
    the transaction ends if they could go to the trash meanwhile.

    Where many bodies are read, what all of them name was looked up ahead: the context's `found` has it, by field.
    """

    relation: str
    only: dict[str, Any]
    lock = "SHARE"

    def found(self, ids: list[int]) -> Mapping[int, int]:
        """The ids that are there, each by itself; what is in the trash has a `TrashedId`."""
        ahead = self.context.get("existing_ids")
        return self.look_up(self.context["account"], ids) if ahead is None else ahead[self.field_name]

    def look_up(self, account: "Account", ids: Collection[int]) -> dict[int, int]:
        # The database would not take the others for ids at all.
        ids = [id for id in ids if 0 < id <= MAX_INTEGER]
        if not ids:
            return {}
        rows = getattr(account, self.relation).filter(id__in=ids, **self.only)
        return {
            id: id for id in (lock_ids(rows, self.lock) if hasattr(rows, "live") else rows.values_list("id", flat=True))
        }

    @staticmethod
    def ids_in(data) -> set[int]:
        """The ids that a body names, whatever is wrong with it."""
        items = to_list(data)
        return {id for item in (items if isinstance(items, list) else [items]) if (id := to_id(item)) is not None}


class RelatedField(ReferenceMixin, IntegerField):
    """The id of something. What a row names already may stay, such as who has left the team."""

    default_error_messages = {"missing": _("can't be found"), "number": _("is not an id"), "range": _("can't be found")}

    def __init__(self, relation: str, **only):
        self.relation = relation
        self.only = only
        super().__init__(min_value=1)

    def to_internal_value(self, data) -> int:
        number = super().to_internal_value(data)
        # A link to what goes to the trash is let go there, so what a row names is there.
        if number == getattr(self.parent.instance, self.field_name, None):
            return number
        found = self.found([number])
        if number not in found:
            self.fail("missing")
        return found[number]


def to_list(data: Any) -> Any:
    """The list that PHP writes with numbers for keys, in forms above all: `{"0": "a", "1": "b"}`; other data as it is."""
    if isinstance(data, dict) and data and list(data) == [str(number) for number in range(len(data))]:
        return list(data.values())
    return data


class RelatedListField(ReferenceMixin, WireField):
    """Ids of things, each once. Blank ones are left out, as forms have one to say that a list is empty."""

    default_error_messages = {
        "list": _("must be a list of ids"),
        "too_many": _("has too many ids (maximum is {most})"),
        "missing": _("{ids} can't be found"),
    }
    MAX_IDS = 1000

    def __init__(self, relation: str, **kwargs):
        self.relation = relation
        self.only = {}
        super().__init__(**kwargs)

    def run_validation(self, data):
        return super().run_validation([] if data in (None, "") else data)

    def to_internal_value(self, data) -> list[int]:
        items = to_list(data)
        if not isinstance(items, list):
            self.fail("list")
        items = [item for item in items if not isinstance(item, str) or item.strip()]
        if len(items) > self.MAX_IDS:
            self.fail("too_many", most=self.MAX_IDS)
        wanted = list(dict.fromkeys(to_id(item) for item in items))
        if None in wanted:
            self.fail("list")
        found = self.found(wanted)
        if missing := [number for number in wanted if number not in found]:
            self.fail("missing", ids=", ".join(map(str, missing[:10])))
        return [found[number] for number in wanted]


class TagsField(WireField):
    """Names of tags: a list, or one text with commas."""

    MAX_TAGS, MAX_TAG_LENGTH = 100, 64
    default_error_messages = {
        "list": _("must be a list of names, or one text with commas"),
        "too_many": _("are too many (maximum is {most})"),
        "too_long": _("has a name that is too long (maximum is {most} characters)"),
        "characters": TextField.default_error_messages["characters"],
        "comma": _("has a name with a comma"),
    }

    def run_validation(self, data):
        return super().run_validation([] if data is None else data)

    def to_internal_value(self, data) -> list[str]:
        names = data.split(",") if isinstance(data, str) else to_list(data)
        if not isinstance(names, list) or any(isinstance(name, bool | list | dict) or name is None for name in names):
            self.fail("list")
        names = [" ".join(str(name).split()) for name in names if str(name).strip()]
        for name in names:
            if not is_xml_text(name):
                self.fail("characters")
            if len(name) > self.MAX_TAG_LENGTH:
                self.fail("too_long", most=self.MAX_TAG_LENGTH)
            if "," in name:
                self.fail("comma")
        if len({fold(name) for name in names}) > self.MAX_TAGS:
            self.fail("too_many", most=self.MAX_TAGS)
        return names
