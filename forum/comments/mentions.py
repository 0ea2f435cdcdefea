"""Mentions of users in texts: `@` and a login, or the name of a user of the team or of a user who wrote on the page of the post.

The team may mention everyone by login. Others may mention only the team and the users who wrote on the page of the post. Otherwise a member
could discover the logins of other members, and cause e-mails to each of them.

A name that several users of the team have matches nobody, and so does one that several other writers have. The names of other members are not searched, because an account may have a million
members.
"""

from typing import Any

from django.db.models import Exists, OuterRef, Q

from accounts.account.models import Account
from accounts.mentions.parsing import ids_in, names_in
from accounts.users.models import User
from core.db.tenancy import fold


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
    writers = account.comments.public().filter(post_id=post.id, user_id=OuterRef("id"))
    is_known = Q(role__in=User.TEAM) | Q(id=post.user_id) | Exists(writers)
    of_team: set[str] = set()
    # The team comes first, so that no member takes over the mentions of a user of the team with an equal name.
    named = users.filter(is_known, name__in=names).exclude(id=author_id).values_list("name", "id", "role")
    for name, id, role in sorted(named, key=lambda row: row[2] == User.Role.MEMBER):
        if role in User.TEAM:
            of_team.add(name)
        elif name in of_team:
            continue
        found[name] = None if name in found else id
    return found | {name: logins[fold(name)] for name in names if fold(name) in logins}


def mentioned_ids(account: Account, text: str, *, post: object, author_id: int) -> list[int]:
    """Return the sorted ids of the users that a text mentions. The arguments are those of `find_mentions`."""
    return ids_in(text, find_mentions(account, text, post=post, author_id=author_id))
