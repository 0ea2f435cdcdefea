from django.db.models import Model
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from accounts.audit.actions import CRUD, register
from accounts.audit.models import Audited, record
from core.db.ordering import moved_among_siblings
from core.rows.trash import erased

register("account", _("Account"), *CRUD)
register("address", _("Address"), *CRUD, "proven", "lapsed")
register("data", _("Data"), "recounted", "links_proposed")
register("export", _("Export"), "started")
register("group", _("Group"), *CRUD)
register("invitation", _("Invitation"), "sent", "revoked")
register("pipeline", _("Pipeline"), *CRUD, "moved")
register("sign_in", _("Sign-in"), "succeeded", "failed", "signed_out")
register("status", _("Status"), *CRUD, "moved")
register("token", _("Token"), "created", "revoked")
register("trash", _("Trash"), "erased")
register(
    "user",
    _("User"),
    *("created", "role_changed", "group_changed", "deactivated", "reactivated", "blocked", "unblocked"),
    *("app_added", "passkey_added", "factor_removed", "factors_reset", "recovery_codes_made"),
    *("erased", "sessions_ended", "password_changed", "password_reset", "email_changed", "login_changed"),
)


@receiver(moved_among_siblings)
def record_move(*, row: object, **_options: object) -> None:
    if isinstance(row, Audited):
        row.record("moved")


@receiver(erased)
def record_erasure(*, sender: type[Model], account_id: int, number: int, **_options: object) -> None:
    record(account_id, "trash.erased", resource=sender._meta.model_name, rows=number)
