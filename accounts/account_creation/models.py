"""Invitations of an operator to create an account."""

from datetime import timedelta
from typing import Self

from django.db import models
from django.utils import timezone

from accounts.users.digests import MAX_SECRET_LENGTH, digest_of, new_secret


class AccountInvitationQuerySet(models.QuerySet["AccountInvitation"]):
    def invite(self, email: str) -> str:
        """Store an invitation. Return the secret for its link."""
        secret, digest = new_secret()
        self.create(email=email, digest=digest, expires_at=timezone.now() + AccountInvitation.LIFETIME)
        return secret

    def with_secret(self, secret: str) -> Self:
        """Return the invitation with the secret, if it is neither used nor expired."""
        if not 0 < len(secret) <= MAX_SECRET_LENGTH:
            return self.none()
        return self.filter(digest=digest_of(secret), expires_at__gt=timezone.now())

    def outdated(self) -> Self:
        """Return the invitations that have expired."""
        return self.filter(expires_at__lte=timezone.now())


class AccountInvitation(models.Model):
    """An invitation to create one account with an e-mail address. It is deleted when it is used."""

    LIFETIME = timedelta(days=14)

    email = models.CharField(max_length=255)
    digest = models.BinaryField()
    expires_at = models.DateTimeField()

    objects = AccountInvitationQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["digest"], name="accountinvitation_digest_unique")]

    def __str__(self) -> str:
        return self.email
