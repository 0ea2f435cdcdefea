"""Mentions of users in texts: `@` and a login, or the name of a user of the team.

The team may mention everyone. Others may mention only the team and the users who wrote on the page of the post. Otherwise a member could
discover the logins of other members, and cause e-mails to each of them.

A name that several users have matches nobody. The names of members are not searched, because an account may have a million members.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from django.db.models import Q

from accounts.models import Account, User
from core.db.tenancy import fold

# The number of mentions that are looked up for one text. Later ones are ignored.
MAX_MENTIONS = 20
MAX_NAME_WORDS = 3
_WORD = r"[^\s@<>()\[\]{}\"“”„,;:!?*`~|\\/]+"
# An @ within a word belongs to an e-mail address.
MENTION = re.compile(rf"(?<![\w@.+-])@({_WORD}(?: {_WORD}){{0,{MAX_NAME_WORDS - 1}}})")
# Punctuation that may follow a name. The right single quotation mark is also the apostrophe.
TRAILING = ".'_-\N{RIGHT SINGLE QUOTATION MARK}"


def names_in(text: str) -> list[set[str]]:
    """Return, for each mention of a text, the logins and names that it may stand for."""
    return [_candidates(match[1]) for match, _number in zip(MENTION.finditer(text), range(MAX_MENTIONS), strict=False)]


def _candidates(phrase: str) -> set[str]:
    words = phrase.split(" ")
    phrases = (" ".join(words[:length]) for length in range(1, len(words) + 1))
    return {name for phrase in phrases for name in (phrase, phrase.rstrip(TRAILING)) if 0 < len(name) <= 255}


def find_mentions(account: Account, text: str, *, post: Any, author_id: int) -> dict[str, int | None]:
    """Return the ids of the users that a text mentions, by the names and logins in the text.

    `post` is the post on whose page the author wrote the text. The id is None for a name that several users have. For a text without an
    `@`, no SQL statement is executed.
    """
    mentions = names_in(text)
    if not mentions:
        return {}
    names = set().union(*mentions)
    users = account.users.filter(is_active=True)
    of_login = Q(login_key__in={fold(name) for name in names})
    logins: dict[str, int] = {}
    members: set[int] = set()
    is_by_team = False
    for login, id, role in users.filter(of_login | Q(id=author_id)).values_list("login_key", "id", "role"):
        is_team = role in User.TEAM
        if id == author_id:
            is_by_team = is_team
            continue
        logins[login] = id
        if not is_team:
            members.add(id)
    if members and not is_by_team:
        comments = account.comments.public().filter(post_id=post.id, user_id__in=members).order_by()
        hidden = members - {post.user_id, *comments.values_list("user_id", flat=True).distinct()}
        logins = {login: id for login, id in logins.items() if id not in hidden}
    found: dict[str, int | None] = {}
    for name, id in users.filter(role__in=User.TEAM, name__in=names).exclude(id=author_id).values_list("name", "id"):
        found[name] = None if name in found else id
    return found | {name: logins[fold(name)] for name in names if fold(name) in logins}


def mentioned_ids(account: Account, text: str, *, post: Any, author_id: int) -> list[int]:
    """Return the sorted ids of the users that a text mentions. The arguments are those of `find_mentions`."""
    ids = find_mentions(account, text, post=post, author_id=author_id)
    return sorted(
        {id for candidates in names_in(text) if (id := ids.get(longest_name(candidates, ids) or "")) is not None}
    )


def mentions_in(text: str, ids: Mapping[str, int | None]) -> Iterator[tuple[int, int]]:
    """Return the start and the end of each mention in a text, by the result of `find_mentions`."""
    for match in MENTION.finditer(text):
        name = longest_name(_candidates(match[1]), ids)
        if name is not None and ids[name] is not None:
            yield match.start(), match.start(1) + len(name)


def longest_name(candidates: Iterable[str], names: Container[str]) -> str | None:
    """Return the longest of the candidates that is among the names: "@Ann Smith" mentions Ann Smith, not Ann."""
    return max((name for name in candidates if name in names), key=len, default=None)
