"""Saved replies: short texts of the team, which a menu inserts into an answer or a comment."""

from collections.abc import Mapping

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit.models import Audited
from core.db import locks
from core.db.tenancy import FoldedField, TenantModel, fold
from core.errors import FieldError
from core.registry import Resource
from core.rows.trimmed import TrimmedCharField


class SavedReplyQuerySet(locks.LockableQuerySet["SavedReply"]):
    pass


class SavedReply(Audited, TenantModel):
    """A text of the team. `{name}` stands for the name of the author of a suggestion, and `{title}` for its title."""

    api_resource = Resource(
        "saved_reply", _("Saved reply"), _("Saved replies"), icon="message-square", collection="saved_replies"
    )
    audit_group, audited = "saved_reply", ("name", "text")

    MAX_PER_ACCOUNT, MAX_LENGTH = 100, 10_000

    name = TrimmedCharField(max_length=100)
    name_key = FoldedField(source="name")
    text = models.CharField(max_length=MAX_LENGTH)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = SavedReplyQuerySet.as_manager()

    class Meta:
        default_related_name = "saved_replies"
        verbose_name_plural = "saved replies"
        constraints = [models.UniqueConstraint(fields=["account", "name_key"], name="savedreply_name_unique")]

    def __str__(self) -> str:
        return self.name

    @transaction.atomic(savepoint=False)
    def write(self, values: Mapping[str, str]) -> None:
        """Insert or update the reply. Raise FieldError if the name is taken or the account has too many replies."""
        for name, value in values.items():
            setattr(self, name, value)
        # Two concurrent requests would otherwise exceed the limit, or use the same name.
        locks.acquire(("saved replies", self.account_id))
        others = self.account.saved_replies.exclude(id=self.id)
        if others.filter(name_key=fold(self.name)).exists():
            raise FieldError("name", _("is already taken"), "taken")
        if self._state.adding and others.count() >= self.MAX_PER_ACCOUNT:
            message = _("is one too many: the account may have {most} saved replies")
            raise FieldError("name", message, "too_many", {"most": self.MAX_PER_ACCOUNT})
        self.save(force_insert=self._state.adding)
