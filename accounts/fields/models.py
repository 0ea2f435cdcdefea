"""Definitions of fields: the label, the type and the rules that an account sets for additional fields.

The value of a defined field stays in `additional_fields`, under the key of the definition. Names without a definition remain possible,
and accept any value. `accounts.fields.api` reads the values.
"""

from typing import TYPE_CHECKING

from django.contrib.postgres.fields import ArrayField
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.audit.models import Audited
from core.db.locks import LockableQuerySet
from core.db.ordering import MAX_POSITION, Ordered
from core.db.prepared import prepared
from core.db.tenancy import TenantModel, account_of
from core.errors import FieldError
from core.registry import Resource
from core.rows.trimmed import TrimmedCharField
from core.search.declaration import Search

if TYPE_CHECKING:
    from accounts.account.models import Account

# A key of no definition: the name of a field of a client, and the key of the external id in which its value is stored.
EXTERNAL_ID = "external_id"

MAX_DEFINITIONS = 100  # for each resource
MAX_KEY_LENGTH = 64
MAX_CHOICES = 200


class FieldDefinition(Ordered, Audited, TenantModel):
    """A field that the account defines for its clients, contacts, deals or suggestions. Its key and its label are unique for the resource."""

    api_resource = Resource("field_definition", _("Field"), _("Fields"), icon="text-cursor-input")
    audit_group = "field_definition"
    audited = ("resource", "key", "label", "type", "choices", "required", "in_lists")

    class Target(models.TextChoices):
        CLIENT = "client", _("Clients")
        CONTACT = "contact", _("Contacts")
        DEAL = "deal", _("Deals")
        SUGGESTION = "suggestion", _("Suggestions")

    class Type(models.TextChoices):
        TEXT = "text", _("Text")
        NUMBER = "number", pgettext_lazy("type of a field", "Number")
        MONEY = "money", _("Amount of money")
        DATE = "date", _("Date")
        BOOLEAN = "boolean", _("Yes or no")
        CHOICE = "choice", _("One of several choices")
        CHOICES = "choices", _("Any of several choices")
        LINK = "link", _("Link")

    resource = models.CharField(max_length=255, choices=Target.choices)
    key = TrimmedCharField(max_length=MAX_KEY_LENGTH)
    label = TrimmedCharField(max_length=255)
    type = models.CharField(max_length=255, choices=Type.choices, default=Type.TEXT)
    choices = ArrayField(models.TextField(), default=list, blank=True)
    required = models.BooleanField(default=False)
    in_lists = models.BooleanField(default=False)
    position = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    search = Search(name_field="label", short=("key",), condition=Q())
    objects = LockableQuerySet["FieldDefinition"].as_manager()

    class Meta:
        db_table = "accounts_fielddefinition"
        default_related_name = "field_definitions"
        constraints = [
            models.UniqueConstraint(fields=["account", "resource", "key"], name="field_key_unique"),
            models.UniqueConstraint(fields=["account", "resource", "label"], name="field_label_unique"),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def has_choices(self) -> bool:
        return self.type in (self.Type.CHOICE, self.Type.CHOICES)

    def siblings(self) -> "models.QuerySet[FieldDefinition]":
        return self.account.field_definitions.filter(resource=self.resource)

    @transaction.atomic(savepoint=False)
    def write(self, values: dict[str, object]) -> None:
        """Insert the definition with the values, or update the fields in `values`. Without a position, a new definition comes last.

        Raise FieldError if the account has `MAX_DEFINITIONS` definitions for the resource.
        """
        for name, value in values.items():
            setattr(self, name, value)
        if not self.has_choices:
            self.choices = []
        if not self._state.adding:
            self.save(update_fields={*values, "choices", "updated_at"})
            return
        self._lock_account()
        siblings = self.siblings().aggregate(number=models.Count("*"), last=models.Max("position"))
        if siblings["number"] >= MAX_DEFINITIONS:
            message = _("can't be defined: there are {most} already, which is the maximum")
            raise FieldError("field_definition", message, "too_many", {"most": MAX_DEFINITIONS})
        if "position" not in values:
            self.position = min((siblings["last"] or 0) + 1, MAX_POSITION)
        self.save(force_insert=True)
        self._set_flags()

    @transaction.atomic(savepoint=False)
    def erase(self) -> None:
        """Delete the definition. The values of the rows stay."""
        self._lock_account()
        # `Model.delete` would empty the primary key, and with it the account.
        self.account.field_definitions.filter(id=self.id).delete()
        self.record("deleted")
        self._set_flags()

    def _lock_account(self) -> None:
        type(self.account).objects.select_for_update(no_key=True).only("id").get(id=self.account_id)

    def _set_flags(self) -> None:
        """Update `Account.resources_with_fields`, by which a request knows without a statement whether there are definitions."""
        resources = self.account.field_definitions.order_by("resource").values_list("resource", flat=True).distinct()
        self.account.resources_with_fields = list(resources)
        self.account.save(update_fields=["resources_with_fields"])


def definitions_of(account: "Account", resource: str) -> list[FieldDefinition]:
    """Return the definitions of a resource in their order. It takes one statement, and none if the account has no definitions for it."""
    if resource not in account.resources_with_fields:
        return []
    return _definitions(account_id=account.id, resource=resource)


@prepared(account_id=int, resource=str)
def _definitions(account_id: int, resource: str) -> "models.QuerySet[FieldDefinition]":
    rows = account_of(account_id).field_definitions.filter(resource=resource)
    found: models.QuerySet[FieldDefinition] = rows.order_by("position", "id")[:MAX_DEFINITIONS]
    return found
