from accounts.attachments.holders import Holder, register_holder, rows_for_team
from crm.notes.models import Note

register_holder(
    Holder(
        "note",
        Note,
        lambda account, user: rows_for_team(account, user, account.notes),
        may_change=Note.may_be_changed_by,
    )
)
