"""Finding the rows that the cells of an imported file name: by id, external id, e-mail, tax number or name."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, cast

from django.db.models import F, Func
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Lower

from accounts.statuses.models import Status
from accounts.users.models import User
from core.db.prepared import fetch
from core.db.tenancy import fold
from core.rows.trimmed import fold_email
from crm.resources.models import CRMResource, ExternallyIdentified
from team.import_lines.fields import EXTERNAL_ID

# How a row is named: the way, such as `email`, and the value in the form in which it is compared.
RowKey = tuple[str, str]
SEVERAL_IDS = re.compile(r"\d+(\s*;\s*\d+)+")


def compact(text: str) -> str:
    """Return a tax number as it is compared: without separators, and without the code of Poland."""
    letters = "".join(letter for letter in text.casefold() if letter.isalnum())
    return letters.removeprefix("pl")


def key_of(way: str, text: str) -> RowKey:
    """Return the key of a row that a text names in a way."""
    if way == "email":
        return way, fold_email(text)
    if way == "tax_no":
        return way, compact(text)
    return way, text.strip() if way in ("id", "source_id") or way.startswith("external_ids") else fold(text.strip())


def keys_of(way: str, text: str) -> list[RowKey]:
    """Return the keys of the rows that a cell names. External ids that are numbers may be several, such as `12;34`."""
    has_several = way.startswith("external_ids") and SEVERAL_IDS.fullmatch(text.strip())
    return [key_of(way, part) for part in (text.split(";") if has_several else [text])]


def split_names(text: str, number: int) -> list[str]:
    """Return the names beside a number of ids in another cell. Another number of names is one name with semicolons."""
    names = [name.strip() for name in text.split(";")]
    return names if len(names) == number else [text] * number


def find_ids(rows: Any, keys: Iterable[RowKey], user: User) -> dict[RowKey, list[int]]:
    """Return the ids of those of `rows` that the keys name, oldest first. It takes at most two statements for each way."""
    by_way: dict[str, set[str]] = defaultdict(set)
    for way, text in keys:
        by_way[way].add(text)
    found: dict[RowKey, list[int]] = defaultdict(list)
    for way, texts in by_way.items():
        for id, text in _named_rows(rows, way, texts, user):
            key = key_of(way, text)
            if key[1] in texts and id not in found[key]:
                found[key].append(id)
    return found


def _named_rows(rows: Any, way: str, texts: set[str], user: User) -> Iterable[tuple[int, str]]:
    """Return the ids of rows, each with a text that may name it in the way."""
    external = EXTERNAL_ID.fullmatch(way)
    if external is not None:
        pairs = [(external["key"], text) for text in texts]
        holders = cast(type[ExternallyIdentified], rows.model).holders(user.account_id, pairs)
        ids = set(rows.filter(id__in=holders.values()).values_list("id", flat=True))
        return [(id, value) for (_key, value), id in holders.items() if id in ids]
    if rows.model in (User, Status):
        # The team and the statuses of an account are few.
        names = ("name", "login", "email") if rows.model is User else ("name", "code")
        return [(id, text) for id, *values in rows.order_by("id").values_list("id", *names) for text in values if text]
    rows = rows.order_by("id")
    if way == "id":
        return [(id, str(id)) for id in rows.filter(id__in=map(int, texts)).values_list("id", flat=True)]
    if way == "email":
        return list(rows.filter(email_key__in=texts).values_list("id", "email"))
    if way == "tax_no":
        numbers = rows.exclude(tax_no=None).annotate(compacted=Func(F("tax_no"), function="search.compact"))
        wanted = [*texts, *(f"pl{text}" for text in texts)]
        return list(numbers.filter(compacted__in=wanted).values_list("id", "tax_no"))
    if way == "source_id":
        known = rows.annotate(source_id=KeyTextTransform("source_id", "additional_fields"))
        known = known.filter(additional_fields__has_key="source_id", source_id__in=texts)
        return list(known.values_list("id", "source_id"))
    if way == "title":
        titles = rows.annotate(folded=Lower("title")).filter(folded__in=texts)
        return list(titles.values_list("id", "title"))
    if not issubclass(rows.model, CRMResource):
        return list(rows.values_list("id", "name"))
    folded = [
        name for (name,) in fetch("SELECT DISTINCT search.name(text) FROM unnest(%s::text[]) AS text", [list(texts)])
    ]
    names_of_rows = rows.annotate(folded=RawSQL("search_name", [])).filter(folded__in=folded)
    return list(names_of_rows.values_list("id", "name"))
