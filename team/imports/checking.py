"""The preview and the check of an import: what its lines would create and change, counted and with the first entries of each kind."""

import secrets
from collections import Counter
from collections.abc import Mapping, Set
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from accounts.account.models import Account
from accounts.users.models import User
from crm.clients.similar import find_similar
from team.batches.models import RowResult
from team.import_lines.fields import RowKind
from team.imports.writing import PartOutcome

# The number of lines that the preview shows of each kind of outcome.
SHOWN_LINES = 20
# The number of missing rows that are named, of new rows with similar ones, of new rows that are compared, and of names that are created.
MAX_SHOWN_MISSING, MAX_SIMILAR, MAX_COMPARED, MAX_NAMES = 100, 100, 200, 100


def new_check() -> dict[str, Any]:
    """Return the state of a check that has read no line."""
    numbers = dict.fromkeys(("position", "offset", "created", "changed", "unchanged", "faults", "duplicates"), 0)
    return {
        "id": secrets.token_hex(8),
        "line": None,
        "is_done": False,
        **numbers,
        "names": {},
        "left_out": {},
        "further_ids": {},
        "similar": [],
    }


def count_outcome(check: dict[str, Any], outcome: PartOutcome, *, repeated: Set[str]) -> None:
    """Add the outcome of a part, which is rolled back, to a check. `repeated` are the keys of rows that an earlier line has."""
    check["created"] += sum(row.key not in repeated for row in outcome.linked)
    for row in outcome.rows:
        # A row of an earlier part, which was rolled back, would be changed now.
        check["changed" if row.result == RowResult.CREATED and row.key in repeated else row.result] += 1
    check["duplicates"] += len(repeated & {row.key for row in outcome.rows})
    check["faults"] += len(outcome.faulty)
    found_names = {"names": outcome.created_names, "left_out": outcome.left_out, "further_ids": outcome.further_ids}
    for key, found in found_names.items():
        for label, names in found.items():
            known = check[key].setdefault(label, [])
            known += [name for name in sorted(names) if name not in known][: MAX_NAMES - len(known)]


def find_missing_rows(rows_by_kind: Mapping[RowKind, QuerySet[Any]], keys: QuerySet[Any]) -> dict[str, Any]:
    """Return how many of the rows of each kind no line names, and the first of them. `keys` are those of the lines."""
    missing = {}
    for kind, rows in rows_by_kind.items():
        others = rows.filter(~Exists(keys.filter(kind=kind, target=OuterRef("id")))).order_by("id")
        name = rows.model.DISPLAY_NAME_FIELD
        first = [{"id": id, "name": text} for id, text in others.values_list("id", name)[:MAX_SHOWN_MISSING]]
        missing[str(kind)] = {"number": others.count(), "first": first}
    return missing


def describe(outcome: PartOutcome) -> dict[str, Any]:
    """Return the numbers of rows by result, and the first ones of each, with their changes field by field."""
    counts = Counter(row.result for row in (*outcome.linked, *outcome.rows))
    shown: dict[str, list[dict[str, Any]]] = {RowResult.CREATED: [], RowResult.CHANGED: []}
    for row in outcome.rows:
        if len(listed := shown.get(row.result, [])) < SHOWN_LINES and row.result in shown:
            listed.append(
                {
                    "number": row.line.number,
                    "kind": str(row.kind),
                    "id": None if row.result == RowResult.CREATED else row.row.id,
                    "name": str(row.row),
                    "before": row.before,
                    "after": {
                        name: value for name, value in row.after.items() if name != "updated_at" and value is not None
                    },
                }
            )
    faulty = [
        {"number": line.number, "faults": [{"column": fault.column, "message": fault.text} for fault in line.faults]}
        for line in outcome.faulty[:SHOWN_LINES]
    ]
    return {
        "created": counts[RowResult.CREATED],
        "changed": counts[RowResult.CHANGED],
        "unchanged": counts[RowResult.UNCHANGED],
        "faults": len(outcome.faulty),
        "rows": {**shown, "faulty": faulty},
        "names": {label: sorted(names)[:MAX_NAMES] for label, names in outcome.created_names.items()},
        "left_out": {label: sorted(names)[:MAX_NAMES] for label, names in outcome.left_out.items()},
        "further_ids": {label: sorted(ids)[:MAX_NAMES] for label, ids in outcome.further_ids.items()},
    }


def find_similar_rows(account: Account, user: User, outcome: PartOutcome, *, room: int) -> list[dict[str, Any]]:
    """Return new clients and contacts that are similar to existing ones, at most `room`. The first `MAX_COMPARED` of a part are compared."""
    new = [row for row in outcome.rows if row.result == RowResult.CREATED and row.kind in ("client", "contact")]
    own = {row.row.id for row in new}
    found: list[dict[str, Any]] = []
    for row in new[:MAX_COMPARED]:
        if len(found) >= room:
            break
        values = {name: getattr(row.row, name, None) or "" for name in ("name", "email", "tax_no")}
        similar = [other for other in find_similar(account, user, **values) if other.id not in own]
        if similar:
            others = [
                {"kind": other.kind, "id": other.id, "name": other.name, "reason": str(other.reason)}
                for other in similar
            ]
            found.append({"number": row.line.number, "name": row.row.name, "similar": others})
    return found
