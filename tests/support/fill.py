"""Create rows of every kind in an account, with every possible link between them."""

from types import SimpleNamespace

from django.db import connection
from django.db.models.functions import Now

from accounts.account.models import Account
from accounts.oidc.models import OIDCProvider
from accounts.sessions.models import Session
from accounts.shop_sign_in.models import ShopSignIn
from accounts.sign_in.drafts import StoredDraft
from accounts.sign_in.models import Handover, SignInCode
from accounts.statuses.models import Status
from accounts.users.digests import digest_of
from accounts.users.invitations import Invitation
from accounts.users.models import User
from core.registry import registry
from forum.content_reports.models import ContentReport
from forum.forums.membership import ForumMember
from forum.notifications.models import NotificationReason
from team.backers.models import process_batch
from team.bulk.models import BulkChange
from team.duplicates.models import update_keys
from team.exports.models import Export
from team.imports.keys import ImportKey
from team.imports.models import Import
from tests.support.factories import (
    make_answer,
    make_attachment,
    make_category,
    make_client,
    make_contact,
    make_contact_list,
    make_deal,
    make_delivery,
    make_draft,
    make_field_definition,
    make_import,
    make_message,
    make_note,
    make_post,
    make_saved_view,
    make_task,
    make_user,
    make_user_link,
)
from tests.support.resources import make_row
from webhooks.models import Endpoint

SECRET = "acme-secret"


def fill(account: Account, user: User, label: str) -> SimpleNamespace:
    """Create one row of each kind, with every link set and with `label` in its texts."""
    account.partner_key = f"{label} partner"
    account.save()
    statuses = {kind: account.statuses.create(kind=kind, code=label, name=label) for kind in Status.Kind}
    category = make_category(account, f"{label} category")
    host = account.hosts.create(name=f"{label}.elsewhere.test")
    other_forum = account.forums.create(host_id=host.id, name=f"{label} forum")
    other_category = account.categories.create(forum_id=other_forum.id, name=label)
    contact_list = make_contact_list(user, f"{label} list")
    common = {"responsible_id": user.id, "tags": [f"{label} tag"], "description": label}
    consent = {"consent": True, "do_not_contact": True}
    contact = make_contact(user, f"{label} contact", external_ids={"key": label}, **common, **consent)
    client = make_client(
        user,
        f"{label} client",
        contact_id=contact.id,
        status_id=statuses[Status.Kind.CLIENT].id,
        external_ids={"key": label},
        **common,
        **consent,
    )
    contact.write({"client_id": client.id, "contact_list_ids": [contact_list.id]}, by=user)
    for kind, row in (("client", client), ("contact", contact)):
        update_keys(account.id, kind, [row.id])
    deal = make_deal(
        user,
        f"{label} deal",
        client_id=client.id,
        contact_id=contact.id,
        status_id=statuses[Status.Kind.DEAL].id,
        external_ids={"key": label},
        **common,
    )
    post = make_post(
        user,
        f"{label} post",
        content=label,
        client_id=client.id,
        contact_id=contact.id,
        responsible_id=user.id,
        tags=[label],
        response=label,
        category_id=category.id,
        status=statuses[Status.Kind.POST],
    )
    note = make_note(user, f"{label} note", client_id=client.id)
    make_note(user, f"{label} note on a contact", contact_id=contact.id)
    make_note(user, f"{label} note on a deal", deal_id=deal.id)
    account.activities.create(kind="note", note_id=note.id, user_id=user.id, internal=True, announced=True)
    comment = post.comment(by=user, text=f"{label} first comment")
    post.edit_comment(comment, f"{label} comment", by=user)
    post.react(comment, "heart", by=user, reacts=True)
    post.comment(by=user, text=f"{label} internal comment", internal=True)
    post.cast_proxy_vote(client_id=client.id, by=user)
    post.cast_proxy_vote(contact_id=contact.id, by=user)
    account.status_changes.create(post_id=post.id, name=label, user_id=user.id)
    post.vote(by=user)
    for row in (post, comment):
        ContentReport.objects.file(row, by=make_user(account), reason="other", note=f"{label} note of a report")
        ContentReport.objects.dismiss(row)
    account.follows.create(post_id=post.id, user_id=user.id, is_following=True)
    goal = account.goals.create(user_id=user.id, target=5)
    account.calendar_feeds.create(user_id=user.id, digest=digest_of(label))
    make_post(user, f"{label} duplicate", duplicate_from_id=post.id)
    other_post = make_post(user, f"{label} other suggestion", category_id=category.id)
    task = make_task(user, f"{label} task", client_id=client.id)
    member, other_member = (make_user(account, f"{label} {name}") for name in ("member", "linked member"))
    make_user_link(user, make_user(account), contact_id=contact.id)
    user_link = make_user_link(user, other_member, client_id=client.id)
    group = account.user_groups.create(name=f"{label} group")
    account.users.filter(id=user.id).update(group_id=group.id)
    session, _secret = Session.objects.start(user, agent=label)
    Handover.objects.begin(session, host=host.name)
    account.identities.create(user_id=user.id, provider="shop", subject=label)
    ShopSignIn.get_or_new(account).rotate()
    OIDCProvider(account=account, issuer="https://login.example.com", client_identifier=label).write(secret=label)
    account.second_factors.create(user_id=user.id, kind="passkey", name=label, key=b"key", credential_key=b"id")
    SignInCode.objects.make(account, f"{label}@example.com")
    StoredDraft.objects.create(account=account, digest=label.encode(), sealed=label, expires_at=Now())
    owner = account.users.get(role=User.Role.OWNER)
    commented = account.activities.filter(post_id=post.id, kind="comment").first()
    notification = account.notifications.create(
        user_id=owner.id, activity_id=commented.id, reason=NotificationReason.EVERYTHING
    )
    Invitation.objects.invite(account, email=f"{label}@example.com", role=User.Role.AGENT, by=owner)

    # Rows in the trash, and the rows that were linked to them.
    trashed = make_contact(user, f"{label} trashed contact")
    make_user_link(user, make_user(account), contact_id=trashed.id)
    make_client(user, f"{label} unlinked client", contact_id=trashed.id)
    make_deal(user, f"{label} deal of a trashed contact", contact_id=trashed.id)
    make_note(user, f"{label} note on a trashed contact", contact_id=trashed.id)
    trashed.trash(by=user)
    trashed = make_deal(user, f"{label} trashed deal with a note")
    make_note(user, f"{label} note on a trashed deal", deal_id=trashed.id)
    trashed.trash(by=user)
    trashed = make_client(user, f"{label} trashed client")
    make_user_link(user, make_user(account), client_id=trashed.id)
    make_contact(user, f"{label} unlinked contact", client_id=trashed.id)
    make_deal(user, f"{label} unlinked deal", client_id=trashed.id)
    make_task(user, f"{label} unlinked task", client_id=trashed.id)
    make_note(user, f"{label} unlinked note", client_id=trashed.id)
    trashed.trash(by=user)
    for make in (make_contact_list, make_deal, make_note, make_post):
        trashed = make(user, f"{label} trashed {make.__name__}")
        trashed.trash(by=user)
    # Merges, and the rows that they moved.
    for make, others in (
        (make_client, {"email": f"{label}@example.com"}),
        (make_contact, {"contact_list_ids": [contact_list.id]}),
    ):
        kept, merged = make(user, f"{label} kept"), make(user, f"{label} merged", **others)
        resource = kept._meta.model_name
        moved = {f"{resource}_id": merged.id, "status_id": statuses[Status.Kind.DEAL].id}
        make_deal(user, f"{label} moved", **moved)
        merge = account.merges.merge(account, resource, kept.id, merged.id, {}, by=user)
    undone = account.merges.merge(
        account, "client", make_client(user, f"{label} a").id, make_client(user, f"{label} b").id, {}, by=user
    )
    undone.undo(by=user)
    # The newest row in the trash, which can be restored.
    make_contact(user, f"{label} trashed last").trash(by=user)
    field_definition = make_field_definition(account, label, type="choice", choices=[label])
    webhook, _secret = Endpoint.objects.all().add(account, url=f"https://hooks.example.com/{label}")
    delivery = make_delivery(webhook, request=label)
    view = make_saved_view(user, f"{label} view", query=f"city={label}", shared=True)
    account.forums.filter(id=other_forum.id).update(segment_id=view.id)
    ForumMember.objects.add(account, [other_forum.id], [member.id])
    account.forum_addresses.create(forum_id=other_forum.id, address=f"{label}.example")
    # The first change is undone, so that all columns have values.
    undone = BulkChange.start(
        account, by=user, resource="client", action="add_tags", data={"tags": ["more"]}, ids=[client.id], query=""
    )
    undone.undo(by=user)
    bulk_change = BulkChange.start(
        account,
        by=user,
        resource="client",
        action="add_tags",
        data={"tags": [label]},
        ids=[client.id],
        query=f"q={label}",
    )
    process_batch(account.id)
    # Its author alone sees it.
    owner = account.users.filter(role=User.Role.OWNER).get()
    started = make_import(owner, f"Name,Discount\n{label} new,1\n{label} wrong,many\n", started=True)
    assert (started.created, started.faults) == (1, 1)
    ImportKey.objects.create(account=account, import_id=started.id, kind="client", key=label)
    move_in = account.move_ins.create(author_id=owner.id, address=f"https://{label}.example.com", state="done", run=1)
    move_in.moved_rows.create(account=account, kind="client", source="1", target=client.id)
    upload = Import.upload(
        account, by=owner, name="clients.csv", chunks=[f"Name\n{label}\n".encode()], kinds=["client"]
    )
    export = Export.start(account, by=owner, resource="client", query=f"q={label}", options={"language": "en"})
    message = make_message(user, f"{label} message")
    draft = make_draft(user, message.post, subject=f"{label} draft")
    answered_post = make_post(user, f"{label} answered")
    ids = SimpleNamespace(
        answered_post=answered_post.id,
        answer=make_answer(answered_post, user, response=label, status_id=statuses[Status.Kind.POST].id).id,
        saved_reply=account.saved_replies.create(name=label, text=label).id,
        attachment=make_attachment(user, "client", client, f"{label}.txt").id,
        message=draft.id,
        bulk_change=bulk_change.id,
        export=export.id,
        **{"import": upload.id},
        view=view.id,
        webhook=webhook.id,
        delivery=delivery.id,
        field_definition=field_definition.id,
        user=user.id,
        member=member.id,
        user_link=user_link.id,
        merge=merge.id,
        unmerged_client=make_client(user, f"{label} unmerged client").id,
        unmerged_contact=make_contact(user, f"{label} unmerged contact").id,
        client=client.id,
        contact=contact.id,
        contact_list=contact_list.id,
        deal=deal.id,
        note=note.id,
        post=post.id,
        comment=comment.id,
        other_post=other_post.id,
        task=task.id,
        group=group.id,
        goal=goal.id,
        pipeline=account.pipelines.create(name=f"{label} pipeline", position=2).id,
        status=account.statuses.create(kind=Status.Kind.POST, code=f"{label} spare", name=f"{label} spare").id,
        trash=trashed.id,
        notification=notification.id,
        category=category.id,
        category_name=category.name,
        other_forum=other_forum.id,
        forum=other_forum.id,
        other_category=other_category.id,
        client_status=statuses[Status.Kind.CLIENT].id,
        deal_status=statuses[Status.Kind.DEAL].id,
        post_status=statuses[Status.Kind.POST].id,
        partner_key=account.partner_key,
        prefix=account.prefix,
    )
    for resource in registry:
        if not hasattr(ids, resource.key):
            setattr(ids, resource.key, make_row(resource, user, ids).id)
    return ids


def fill_both(acme, other) -> SimpleNamespace:
    """Fill both accounts. The ids of the two accounts are in different ranges."""
    for account, number in ((other.account, 500_000), (acme.account, 1_000_000)):
        with connection.cursor() as cursor:
            cursor.execute("SELECT account_ids.advance(%s, %s)", [account.id, number])
    post = make_post(acme.carol, f"{SECRET} of carol")
    return SimpleNamespace(
        acme=acme,
        other=other,
        other_ids=fill(other.account, make_user(other.account, "mallory-own-mike", role="agent"), "mallory-own"),
        acme_ids=fill(acme.account, make_user(acme.account, f"{SECRET}-dora", role="agent"), SECRET),
        carols_post=post.id,
    )
