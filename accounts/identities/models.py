"""The names under which other systems know the users: the customers of a shop, and the people of a provider of single sign-on."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from accounts.users.models import User
from core.db.tenancy import TenantModel, foreign_object


class IdentityQuerySet(models.QuerySet["Identity"]):
    def find_user(self, account_id: int, provider: str, subject: str) -> User | None:
        """Return the user with this name in the other system, or None."""
        row = self.filter(account_id=account_id, provider=provider, subject=subject).select_related("user").first()
        return row.user if row is not None else None


class Identity(TenantModel):
    """A user's name in another system."""

    SHOP: ClassVar = "shop"
    OIDC: ClassVar = "oidc"
    MAX_SUBJECT = 255

    user_id = models.BigIntegerField()
    user = foreign_object(User, "user_id", related_name="identities")
    provider = models.CharField(max_length=255)
    subject = models.CharField(max_length=MAX_SUBJECT)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = IdentityQuerySet.as_manager()

    class Meta:
        default_related_name = "identities"
        constraints = [models.UniqueConstraint(fields=["account", "provider", "subject"], name="identity_unique")]
        indexes = [models.Index(fields=["account", "user_id"], name="identity_of_user")]

    def __str__(self) -> str:
        return f"{self.provider} {self.subject}"
