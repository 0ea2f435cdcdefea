"""Consent of clients and contacts to be contacted, with the time and the author of the last change."""

from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.rows.declared import FieldType, Moment, RowId, YesOrNo
from core.rows.trimmed import fold_email
from crm.resources.models import CRMResource


class Contactable(CRMResource):
    """A person or company that may have agreed to be contacted, or asked not to be.

    `consent` is null until somebody records an answer. `do_not_contact` excludes the row from messages, whatever the consent says.
    """

    consent = YesOrNo(_("Agrees to be contacted"))
    consent_at = Moment(_("Answer recorded"), editable=False)
    consent_by_id = RowId(_("Answer recorded by"), "users", type=FieldType.USER, editable=False)
    do_not_contact = YesOrNo(_("Do not contact"), default=False, db_default=False)
    do_not_contact_at = Moment(_("“Do not contact” changed"), editable=False)
    do_not_contact_by_id = RowId(_("“Do not contact” changed by"), "users", type=FieldType.USER, editable=False)

    class Meta:
        abstract = True

    def assign(self, values: dict[str, object], *, by: User) -> None:
        """Set attributes from the validated values. A changed answer gets the time and the author of the change."""
        values = dict(values)
        if "do_not_contact" in values:
            values["do_not_contact"] = bool(values["do_not_contact"])
        changed = [
            name
            for name in ("consent", "do_not_contact")
            if values.get(name, getattr(self, name)) != getattr(self, name)
        ]
        super().assign(values, by=by)
        for name in changed:
            setattr(self, f"{name}_at", self.updated_at)
            setattr(self, f"{name}_by_id", by.id)
            self.unsaved_fields |= {f"{name}_at", f"{name}_by_id"}


def blocked_addresses(account: Account, keys: set[str]) -> set[str]:
    """Return those of the e-mails (`email_key`) of which a client or contact refused consent or asked not to be contacted.

    They are looked up in the whole account, with one statement: a person may be stored more than once.
    """
    if not keys:
        return set()
    refused = Q(do_not_contact=True) | Q(consent=False)
    clients, contacts = (
        rows.live().filter(refused, email_key__in=keys).order_by().values_list("email_key", flat=True)
        for rows in (account.clients, account.contacts)
    )
    return {key for key in clients.union(contacts) if key}


def stop_contact(account: Account, email: str, ids: dict[str, set[int]]) -> list[Any]:
    """Record that a person asked not to be contacted. Return the rows that did not say so before.

    This holds for all clients and contacts with the e-mail, and for those with the ids, by resource, also in the trash.
    """
    changed: list[object] = []
    now, email_key = timezone.now(), fold_email(email)
    for resource, rows in (("client", account.clients), ("contact", account.contacts)):
        people = rows.filter(Q(email_key=email_key, trashed_at=None) | Q(id__in=ids.get(resource, ())))
        found = list(people.filter(do_not_contact=False).order_by("id").locked())
        if not found:
            continue
        written = rows.filter(id__in=[row.id for row in found])
        # The time of the last change is written apart: otherwise the timeline would name the last updater as the author.
        written.update(do_not_contact=True, do_not_contact_at=now, do_not_contact_by_id=None)
        written.update(updated_at=now)
        changed += found
    return changed
