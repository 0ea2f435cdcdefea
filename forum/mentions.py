"""Mentions of users in texts: `@` and a login, or the name of a user of the team.

A name that several users have matches nobody. The names of members are not searched, because an account may have a million.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from accounts.models import Account, User
from core.db.tenancy import fold

# The limit of the names that are looked up for one text.
MAX_MENTIONS = 20
MAX_NAME_WORDS = 3
_WORD = r"[^\s@<>()\[\]{}\"“”„,;:!?*`~|\\/]+"
# An @ within a word belongs to an e-mail address.
MENTION = re.compile(rf"(?<![\w@.+-])@({_WORD}(?: {_WORD}){{0,{MAX_NAME_WORDS - 1}}})")
# Punctuation after a name, with the closing quotation mark.
TRAILING = ".'_-\N{RIGHT SINGLE QUOTATION MARK}"


def names_in(text: str) -> list[set[str]]:
    """Return, for each mention of a text, the logins and names that it may stand for."""
    return [_candidates(match[1]) for match, _number in zip(MENTION.finditer(text), range(MAX_MENTIONS), strict=False)]


def _candidates(phrase: str) -> set[str]:
    words = phrase.split(" ")
    phrases = (" ".join(words[:length]) for length in range(1, len(words) + 1))
    return {name for phrase in phrases for name in (phrase, phrase.rstrip(TRAILING)) if 0 < len(name) <= 255}


class Mentioned(NamedTuple):
    """A user whose login or name a text has after an `@`."""

    id: int
    role: str
    notification: str


def mentioned_ids(account: Account, text: str) -> list[int]:
    """Return the ids of the active users that a text mentions. A text without an @ needs no statement."""
    users = _users_by_name(account, text)
    names = (longest_name(candidates, users) for candidates in names_in(text))
    return sorted({user.id for name in names if name is not None and (user := users[name]) is not None})


def notified_names(
    account: Account,
    text: str,
    *,
    author_id: int,
    post_author_id: int,
    is_closed: bool,
    previous_text: str | None = None,
) -> dict[str, bool]:
    """Return the names that a comment mentions, each with whether the mention notifies a user (`RECIPIENTS`).

    Only the team and, unless the comment is internal, the author of the post see a post that `is_closed`; the caller passes the id 0 for an
    author who does not. A comment that was edited has notified only the users whom its `previous_text` mentions as well.
    """
    users = _users_by_name(account, text)
    ids = {user.id for user in users.values() if user is not None}
    if ids and previous_text is not None:
        ids.intersection_update(mentioned_ids(account, previous_text))

    def is_notified(user: Mentioned | None) -> bool:
        if user is None or user.id not in ids or user.id == author_id or user.notification == User.Notification.NONE:
            return False
        return not is_closed or user.role in User.TEAM or user.id == post_author_id

    return {name: is_notified(user) for name, user in users.items()}


def mentions_in(text: str, names: Mapping[str, bool]) -> Iterator[tuple[int, int]]:
    """Return the start and the end of each mention in a text that notifies a user, by the result of `notified_names`."""
    for match in MENTION.finditer(text):
        name = longest_name(_candidates(match[1]), names)
        if name is not None and names[name]:
            yield match.start(), match.start(1) + len(name)


def longest_name(candidates: Iterable[str], names: Container[str]) -> str | None:
    """Return the longest of the candidates that is among the names: "@Ann Smith" is not "@Ann"."""
    return max((name for name in candidates if name in names), key=len, default=None)


def _users_by_name(account: Account, text: str) -> dict[str, Mentioned | None]:
    """Return the users by the logins and names that a text mentions, or None for a name that several users have."""
    mentions = names_in(text)
    if not mentions:
        return {}
    names = set().union(*mentions)
    users = account.users.filter(is_active=True)
    columns = Mentioned._fields
    logins = users.filter(login_key__in={fold(name) for name in names}).values_list("login_key", *columns)
    by_login = {login: Mentioned(*values) for login, *values in logins}
    found: dict[str, Mentioned | None] = {}
    for name, *values in users.filter(role__in=User.TEAM, name__in=names).values_list("name", *columns):
        found[name] = None if name in found else Mentioned(*values)
    return found | {name: by_login[fold(name)] for name in names if fold(name) in by_login}
