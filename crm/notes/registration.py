from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.attachments.holders import Holder, register_holder, rows_for_team
from accounts.attachments.models import AttachmentQuerySet
from accounts.erasure.erasing import Receipt, mention_of_deleted, user_erasing
from accounts.erasure.personal_data import CUSTOMERS, linked_to, register
from accounts.mentions.parsing import replace_mentions_in
from accounts.users.models import User
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.notes.models import ExcerptField, Note

register_holder(
    Holder(
        "note",
        Note,
        lambda account, user: rows_for_team(account, user, account.notes),
        may_change=Note.may_be_changed_by,
    )
)


def attachments_of_notes(row: Client | Contact) -> AttachmentQuerySet:
    ids = row.account.notes.filter(linked_to(row)).order_by().values("id")
    rows: AttachmentQuerySet = row.account.attachments.filter(resource="note", row_id__in=ids)
    return rows


register(
    "attachments_of_notes",
    _("Attachments of notes"),
    attachments_of_notes,
    subjects=CUSTOMERS,
    delete=AttachmentQuerySet.erase,
)
register("notes", _("Notes"), lambda row: row.account.notes.filter(linked_to(row)), subjects=CUSTOMERS)
register("notes", _("Notes"), lambda user: user.account.notes.filter(creator_id=user.id), is_erased=False)


@receiver(user_erasing)
def erase_mentions(*, user: User, receipt: Receipt, **_options: object) -> None:
    name, notes = mention_of_deleted(user.account), user.account.notes.all()
    receipt.erased["mentions"] += replace_mentions_in(
        notes, "content", user, name, excerpt=lambda text, _former: ExcerptField.derive(text)
    )
