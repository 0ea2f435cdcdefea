"""Create rows of every kind in an account, with every possible link between them."""

from types import SimpleNamespace

from django.db import connection

from accounts.models import Account, Invitation, Session, Status, User
from tests.support.factories import (
    make_category,
    make_client,
    make_contact,
    make_contact_list,
    make_deal,
    make_post,
    make_task,
    make_user,
)

SECRET = "acme-secret"


def fill(account: Account, user: User, mark: str) -> SimpleNamespace:
    """Create one row of each kind, with every link set and with `mark` in its texts."""
    account.partner_key = f"{mark} partner"
    account.save()
    statuses = {kind: account.statuses.create(kind=kind, code=mark, name=mark) for kind in Status.Kind}
    category = make_category(account, f"{mark} category")
    host = account.hosts.create(name=f"{mark}.elsewhere.test")
    other_forum = account.forums.create(host_id=host.id, name=f"{mark} forum")
    other_category = account.categories.create(forum_id=other_forum.id, name=mark)
    contact_list = make_contact_list(user, f"{mark} list")
    common = {"responsible_id": user.id, "tags": [f"{mark} tag"], "description": mark}
    contact = make_contact(user, f"{mark} contact", **common)
    client = make_client(
        user,
        f"{mark} client",
        contact_id=contact.id,
        status_id=statuses[Status.Kind.CLIENT].id,
        external_ids={"key": mark},
        **common,
    )
    contact.write({"client_id": client.id, "contact_list_ids": [contact_list.id]}, by=user)
    deal = make_deal(
        user,
        f"{mark} deal",
        client_id=client.id,
        status_id=statuses[Status.Kind.DEAL].id,
        external_ids={"key": mark},
        **common,
    )
    post = make_post(
        user,
        f"{mark} post",
        content=mark,
        client_id=client.id,
        contact_id=contact.id,
        responsible_id=user.id,
        tags=[mark],
        response=mark,
        category_id=category.id,
        status=statuses[Status.Kind.POST],
    )
    post.comment(by=user, text=f"{mark} comment")
    post.cast_proxy_vote(client_id=client.id, by=user)
    post.cast_proxy_vote(contact_id=contact.id, by=user)
    account.status_changes.create(post_id=post.id, name=mark, user_id=user.id)
    post.vote(by=user)
    make_post(user, f"{mark} duplicate", duplicate_from_id=post.id)
    task = make_task(user, f"{mark} task", client_id=client.id)
    Session.objects.start(user, agent=mark)
    owner = account.users.get(role=User.Role.OWNER)
    Invitation.objects.invite(account, email=f"{mark}@example.com", role=User.Role.AGENT, by=owner)

    # Rows in the trash, and the rows that were linked to them.
    gone = make_contact(user, f"{mark} gone contact")
    make_client(user, f"{mark} left client", contact_id=gone.id)
    gone.trash(by=user)
    gone = make_client(user, f"{mark} gone client")
    make_contact(user, f"{mark} left contact", client_id=gone.id)
    make_deal(user, f"{mark} left deal", client_id=gone.id)
    make_task(user, f"{mark} left task", client_id=gone.id)
    gone.trash(by=user)
    for make in (make_contact_list, make_deal, make_post):
        gone = make(user, f"{mark} gone {make.__name__}")
        gone.trash(by=user)
    return SimpleNamespace(
        user=user.id,
        client=client.id,
        contact=contact.id,
        contact_list=contact_list.id,
        deal=deal.id,
        post=post.id,
        task=task.id,
        status=account.statuses.create(kind=Status.Kind.POST, code=f"{mark} spare", name=f"{mark} spare").id,
        trash=gone.id,
        category=category.id,
        category_name=category.name,
        other_forum=other_forum.id,
        other_category=other_category.id,
        client_status=statuses[Status.Kind.CLIENT].id,
        deal_status=statuses[Status.Kind.DEAL].id,
        post_status=statuses[Status.Kind.POST].id,
        partner_key=account.partner_key,
    )


def fill_both(acme, other) -> SimpleNamespace:
    """Fill both accounts. The ids of acme are far from those of mallory's account."""
    for account, number in ((other.account, 500_000), (acme.account, 1_000_000)):
        with connection.cursor() as cursor:
            cursor.execute("SELECT setval(%s, %s)", [f"account_ids.a{account.id}", number])
    carols = make_post(acme.carol, f"{SECRET} of carol")
    return SimpleNamespace(
        acme=acme,
        other=other,
        hers=fill(other.account, make_user(other.account, "mallory-own-mike", role="agent"), "mallory-own"),
        theirs=fill(acme.account, make_user(acme.account, f"{SECRET}-dora", role="agent"), SECRET),
        carols_post=carols.id,
    )
