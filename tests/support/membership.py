"""The ways in which a member of the account belongs to a forum that is not open to everyone, and ends to belong to it."""

from collections.abc import Callable
from typing import NamedTuple

from accounts.users.models import User
from forum.forums.membership import ForumAddress, ForumMember
from forum.forums.models import Forum
from tests.support.factories import make_client, make_contact, make_saved_view


def add(forum: Forum, user: User) -> None:
    ForumMember.objects.add(forum.account, [forum.id], [user.id])


def remove(forum: Forum, user: User) -> None:
    forum.account.forum_members.filter(user_id=user.id).delete()


def list_as(text: Callable[[User], str]) -> Callable[[Forum, User], None]:
    def enlist(forum: Forum, user: User) -> None:
        ForumAddress.objects.create(account=forum.account, forum_id=forum.id, address=text(user))

    return enlist


def unlist(forum: Forum, user: User) -> None:
    forum.account.forum_addresses.filter(forum_id=forum.id).delete()


def use_segment(forum: Forum) -> None:
    """Let the clients in Berlin enter the forum."""
    owner = forum.account.users.get(role=User.Role.OWNER)
    owner.account = forum.account
    forum.segment_id = make_saved_view(owner, query="city=Berlin", shared=True).id
    forum.save()


def make_client_of_segment(forum: Forum, user: User) -> None:
    owner = forum.account.users.get(role=User.Role.OWNER)
    owner.account = forum.account
    use_segment(forum)
    make_client(owner, city="Berlin", email=user.email.upper())


def make_contact_of_segment(forum: Forum, user: User) -> None:
    owner = forum.account.users.get(role=User.Role.OWNER)
    owner.account = forum.account
    use_segment(forum)
    make_contact(owner, email=user.email, client_id=make_client(owner, city="Berlin").id)


def move_clients(forum: Forum, user: User) -> None:
    owner = forum.account.users.get(role=User.Role.OWNER)
    owner.account = forum.account
    for client in forum.account.clients.all():
        client.write({"city": "Paris"}, by=owner)


class Way(NamedTuple):
    """How a user becomes a member of a forum with the access, and ends to be one."""

    access: str
    join: Callable[[Forum, User], None]
    leave: Callable[[Forum, User], None]


Access = Forum.Access
WAYS = {
    "added to a forum that is public to read": Way(Access.MEMBERS, add, remove),
    "added to a private forum": Way(Access.PRIVATE, add, remove),
    "added beside a list": Way(Access.LIST, add, remove),
    "added beside a segment": Way(Access.SEGMENT, add, remove),
    "e-mail": Way(Access.LIST, list_as(lambda user: user.email.upper()), unlist),
    "domain": Way(Access.LIST, list_as(lambda user: user.email.partition("@")[2]), unlist),
    "client": Way(Access.SEGMENT, make_client_of_segment, move_clients),
    "contact": Way(Access.SEGMENT, make_contact_of_segment, move_clients),
}
