"""Mentions of users in texts: `@` and a login, or the name of a user of the team. A name that several users have matches nobody."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from django.db.models import Q, QuerySet

from accounts.account.models import Account
from accounts.users.models import User
from core.db.tenancy import fold

# The number of mentions that are looked up for one text. Later ones are ignored.
MAX_MENTIONS = 20
MAX_NAME_WORDS = 3
# The number of places in the text after an @ where a name may end.
MAX_NAME_ENDS = 40
_WORD = r"[^\s@<>()\[\]{}\"“”„,;:!?*`~|\\/\u3001-\u3004\u3008-\u301f\uff01-\uff0f\uff1a-\uff20]+"
# The characters of languages without spaces between words.
_IDEOGRAPHIC = r"\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
# An @ within a word belongs to an e-mail address.
MENTION = re.compile(rf"(?<![@.+-])(?<![^\W{_IDEOGRAPHIC}])@({_WORD}(?: {_WORD}){{0,{MAX_NAME_WORDS - 1}}})")
# A name may end before a space, an apostrophe or an ideographic character: "@theo's", "@theo你好".
NAME_END = re.compile(rf"(?=[ '\u2019{_IDEOGRAPHIC}]|\Z)")
# Punctuation that may follow a name. The right single quotation mark is also the apostrophe.
TRAILING = ".'_-\N{RIGHT SINGLE QUOTATION MARK}"


def names_in(text: str) -> list[set[str]]:
    """Return, for each mention of a text, the logins and names that it may stand for."""
    if "@" not in text:
        return []
    for read in _readers:
        text = read(text)
    return [_candidates(match[1]) for match in islice(MENTION.finditer(text), MAX_MENTIONS)]


# The functions that return the parts of a text whose mentions count.
_readers: list[Callable[[str], str]] = []


def register_reader(read: Callable[[str], str]) -> None:
    """Register the function that returns the parts of a text whose mentions count, such as those outside of code."""
    _readers[:] = [read]


def _candidates(phrase: str) -> set[str]:
    ends = islice(NAME_END.finditer(phrase), MAX_NAME_ENDS)
    phrases = (phrase[: end.start()] for end in ends)
    return {name for phrase in phrases for name in (phrase, phrase.rstrip(TRAILING)) if 0 < len(name) <= 255}


def mentions_in(text: str, ids: Mapping[str, int | None]) -> Iterator[tuple[int, int]]:
    """Return the start and the end of each mention in a text. `ids` are the ids of the mentioned users by login and name."""
    for match in MENTION.finditer(text):
        name = longest_name(_candidates(match[1]), ids)
        if name is not None and ids[name] is not None:
            yield match.start(), match.start(1) + len(name)


def longest_name(candidates: Iterable[str], names: Container[str]) -> str | None:
    """Return the longest of the candidates that is among the names: "@Ann Smith" mentions Ann Smith, not Ann."""
    return max((name for name in candidates if name in names), key=len, default=None)


def replace_mentions(text: str, user: User, replacement: str) -> str:
    """Return the text with the replacement in place of each mention of the user."""
    names = set().union(*(_candidates(match[1]) for match in MENTION.finditer(text)))
    keys = {fold(name) for name in names}
    own = {name for name in names if fold(name) == user.login_key or name == user.name != ""}
    if not own:
        return text
    # A longer name, such as "ann smith" beside "ann", may be that of another user.
    others = user.account.users.filter(Q(login_key__in=keys) | Q(name__in=names)).exclude(id=user.id)
    taken = set().union(*others.values_list("login_key", "name"))
    ids = {name: user.id if name in own else None for name in names if name in own or {name, fold(name)} & taken}
    for start, end in reversed(list(mentions_in(text, ids))):
        text = text[:start] + replacement + text[end:]
    return text


def replace_mentions_in(
    rows: QuerySet[Any, Any], column: str, user: User, replacement: str, **derived: Callable[[str, Any], object]
) -> int:
    """Replace the mentions of the user in a column of rows. Return the number of rows.

    `derived` computes other columns from the new text and their former values.
    """
    found = Q(**{f"{column}__icontains": f"@{user.login}"})
    if user.name:
        found |= Q(**{f"{column}__contains": f"@{user.name}"})
    number = 0
    for id, text, *former in list(rows.filter(found).order_by("id").values_list("id", column, *derived)):
        new_text = replace_mentions(text, user, replacement)
        if new_text != text:
            values = {
                name: compute(new_text, value) for (name, compute), value in zip(derived.items(), former, strict=True)
            }
            number += rows.filter(id=id).update(**{column: new_text}, **values)
    return number


def ids_in(text: str, ids: Mapping[str, int | None]) -> list[int]:
    """Return the sorted ids of the users that a text mentions. `ids` are those of `mentions_in`."""
    found = (ids.get(longest_name(candidates, ids) or "") for candidates in names_in(text))
    return sorted({id for id in found if id is not None})


def mentioned_team(account: Account, text: str) -> list[int]:
    """Return the sorted ids of the users of the team that a text mentions. Without an `@`, no SQL statement is executed."""
    mentions = names_in(text)
    if not mentions:
        return []
    names = set().union(*mentions)
    keys = {fold(name) for name in names}
    team = account.users.filter(Q(login_key__in=keys) | Q(name__in=names), is_active=True, role__in=User.TEAM)
    logins: dict[str, int] = {}
    ids: dict[str, int | None] = {}
    for login, name, id in team.values_list("login_key", "name", "id"):
        logins[login] = id
        if name in names:
            ids[name] = None if name in ids else id
    return ids_in(text, ids | {name: logins[fold(name)] for name in names if fold(name) in logins})
