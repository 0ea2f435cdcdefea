"""Consent of clients and contacts to be contacted, with the time and the author of the last change."""

from typing import Any

from django.db import models

from accounts.models import User
from crm.base import Resource


class Contactable(Resource):
    """A person or company that may have agreed to be contacted, or asked not to be.

    `consent` is null until somebody records an answer. `do_not_contact` excludes the row from messages, whatever the consent says.
    """

    consent = models.BooleanField(null=True)
    consent_at = models.DateTimeField(null=True, editable=False)
    consent_by_id = models.BigIntegerField(null=True, editable=False)
    do_not_contact = models.BooleanField(default=False, db_default=False)
    do_not_contact_at = models.DateTimeField(null=True, editable=False)
    do_not_contact_by_id = models.BigIntegerField(null=True, editable=False)

    class Meta:
        abstract = True

    def assign(self, values: dict[str, Any], *, by: User) -> None:
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
