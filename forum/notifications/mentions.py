"""Mentions of users in texts: `@` and a login, or the name of a user of the team.

A name that several users have matches nobody. The names of members are not searched, because an account may have a million.
"""

import re

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


def mentioned_ids(account: Account, text: str) -> list[int]:
    """Return the ids of the active users that a text mentions. A text without an @ needs no statement."""
    mentions = names_in(text)
    if not mentions:
        return []
    return sorted({id for id in _found(account, mentions) if id})


def _found(account: Account, mentions: list[set[str]]) -> list[int]:
    names = set().union(*mentions)
    users = account.users.filter(is_active=True)
    ids_by_login = dict(users.filter(login_key__in={fold(name) for name in names}).values_list("login_key", "id"))
    ids_by_name: dict[str, list[int]] = {}
    team = users.filter(role__in=User.TEAM, name__in=names)
    for name, id in team.values_list("name", "id"):
        ids_by_name.setdefault(name, []).append(id)
    ids = []
    for candidates in mentions:
        # The longest name counts: "@Ann Smith" is not "@Ann".
        for name in sorted(candidates, key=len, reverse=True):
            matches = ids_by_name.get(name, [])
            if fold(name) in ids_by_login:
                matches = [ids_by_login[fold(name)]]
            if matches:
                ids += matches if len(matches) == 1 else []
                break
    return ids
