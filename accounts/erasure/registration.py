from django.db.models import QuerySet
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.attachments.models import AttachmentQuerySet
from accounts.erasure.erasing import Receipt, user_erasing
from accounts.erasure.inactivity import register_activity
from accounts.erasure.personal_data import register, register_label
from accounts.mail.sending import Email, send_email
from accounts.sessions.models import Session
from accounts.tokens.models import APIToken
from accounts.users.models import User
from core.http.idempotency import IdempotentAnswer
from core.jobs.queue import Job
from core.rows.trimmed import fold_email
from core.sealing import SealError, unseal

register_activity(Session.objects.all, "seen_at")
register_activity(APIToken.objects.all, "last_used_at")
register_label("user", _("User"))
register_label("queued_emails", _("E-mails that were not sent yet"))
register_label("mentions", _("Texts with a mention"))
register(
    "sessions",
    _("Sessions"),
    lambda user: user.sessions.all(),
    public_columns=("id", "agent", "address", "created_at", "seen_at"),
)
register("stored_answers", _("Stored answers of the API"), lambda user: stored_answers(user))
register(
    "tokens",
    _("API tokens"),
    lambda user: user.tokens.all(),
    public_columns=("id", "label", "scopes", "networks", "created_at", "last_used_at", "last_used_from"),
)
register(
    "second_factors",
    _("Second factors"),
    lambda user: user.second_factors.all(),
    public_columns=("id", "kind", "name", "created_at", "last_used_at"),
)
register(
    "identities",
    _("Names in other systems"),
    lambda user: user.identities.all(),
    public_columns=("id", "provider", "subject", "created_at"),
)
register("invitations", _("Invitations"), lambda user: user.account.invitations.filter(invited_by_id=user.id))
register("sign_in_codes", _("Sign-in codes"), lambda user: user.account.sign_in_codes.filter(email__iexact=user.email))
register(
    "drafts_of_attachments",
    _("Attachments of unsaved texts"),
    lambda user: user.account.attachments.drafts().filter(user_id=user.id),
    delete=AttachmentQuerySet.erase,
)
register(
    "attachments",
    _("Attachments"),
    lambda user: user.account.attachments.exclude(row_id=None).filter(user_id=user.id),
    is_erased=False,
    public_columns=("id", "resource", "created_at"),
)
register(
    "attachments",
    _("Attachments"),
    lambda row: row.account.attachments.of_row(row.api_resource.key, row.id),
    subjects=("client", "contact"),
    delete=AttachmentQuerySet.erase,
)


def stored_answers(user: User) -> "QuerySet[IdempotentAnswer]":
    """Return the responses that are stored for repeated requests of the user and of their tokens."""
    callers = [f"user {user.id}", f"form of user {user.id}", *(f"token {token.id}" for token in user.tokens.all())]
    return IdempotentAnswer.objects.filter(account_id=user.account_id, caller__in=callers)


@receiver(user_erasing)
def delete_queued_emails(*, user: User, receipt: Receipt, **_options: object) -> None:
    """Delete the jobs that would send e-mails to the user."""
    jobs = Job.objects.filter(account_id=user.account_id, name=send_email.name).exclude(state=Job.State.RUNNING)
    ids = [id for id, arguments in jobs.values_list("id", "arguments") if is_to(user, arguments["sealed"])]
    receipt.erased["queued_emails"] += jobs.filter(id__in=ids).delete()[0]


def is_to(user: User, sealed: str) -> bool:
    try:
        return fold_email(Email(**unseal(sealed)).to) == user.email_key
    except (SealError, TypeError):
        return False
