"""Invitations of users. The link in the e-mail holds a secret, of which only the digest is stored."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.roles.models import Role, RoleMixin
from accounts.users.digests import MAX_SECRET_LENGTH, digest_of, new_secret
from accounts.users.names import check_visible
from core.db.tenancy import TenantModel, foreign_object
from core.errors import FieldError
from core.http.throttling import HOUR
from core.limits.rate_limits import hit
from core.rows.trimmed import EmailKeyField, TrimmedCharField, fold_email


class InvitationQuerySet(models.QuerySet["Invitation"]):
    @transaction.atomic
    def invite(
        self, account: Account, *, email: str, role: str, by: RoleMixin, site_ids: Iterable[int] = ()
    ) -> tuple["Invitation", str]:
        """Create an invitation for an e-mail address, or replace its earlier invitation. Return the invitation and the secret for the link.

        A member is invited to the sites, and stays invited to those of an earlier invitation. Raise PermissionDenied if `by` may not
        give the role. Raise FieldError if a user has the address, and if the account has too many invitations, or has sent too many
        within an hour.
        """
        # Lock and reload the sender, so that a concurrent demotion of the sender either ends before or deletes this invitation.
        by = account.users.select_for_update(no_key=True).get(id=by.id)
        if not by.may_invite(role):
            raise PermissionDenied(_("You may not invite somebody with this role"))
        check_visible(email=email)
        if account.users.find_taken_names(account.id, [email]):
            raise FieldError("email", _("is of somebody who is a user here already"))
        if account.invitations.count() >= Invitation.MAX_PER_ACCOUNT:
            raise FieldError("email", _("is one too many: revoke some invitations first"))
        limit = settings.INVITATION_LIMIT_OF_NEW_ACCOUNTS if account.is_new else settings.INVITATION_LIMIT
        if limit and not hit(f"invitations:{account.id}", limit, HOUR).allowed:
            message = _("is one too many: your account may send {most} invitations an hour; try again later")
            raise FieldError("email", message, "too_many", {"most": limit})
        secret, digest = new_secret()
        now = timezone.now()
        ids = set(site_ids) if role == Role.MEMBER else set()
        if ids and (earlier := account.invitations.filter(email_key=fold_email(email)).first()):
            ids.update(earlier.site_ids)
        row, _is_new = self.update_or_create(
            account=account,
            email_key=fold_email(email),
            defaults={
                "email": email,
                "role": role,
                "site_ids": sorted(ids),
                "invited_by_id": by.id,
                "digest": digest,
                "created_at": now,
                "expires_at": now + Invitation.LIFETIME,
            },
        )
        record(account.id, "invitation.sent", by=by, target=row, role=role)
        return row, secret

    def pending(self) -> Self:
        return self.filter(expires_at__gt=timezone.now())

    def for_site(self, site_id: int) -> Self:
        """Return the invitations to a site, and those to the team."""
        return self.filter(~Q(role=Role.MEMBER) | Q(site_ids__contains=[site_id]))

    def outdated(self) -> Self:
        """Return the invitations that have expired."""
        return self.filter(expires_at__lte=timezone.now())

    def find_by_secret(self, account_id: int, secret: str) -> "Invitation | None":
        if len(secret) > MAX_SECRET_LENGTH:
            return None
        rows = self.pending().filter(account_id=account_id, digest=digest_of(secret))
        row = rows.select_related("invited_by").first()
        return row if row is not None and row.is_authorized_by(row.invited_by) else None


class Invitation(TenantModel):
    """An e-mail address invited to become a user with a role. The link in the e-mail is valid for a week."""

    LIFETIME = timedelta(days=7)
    MAX_PER_ACCOUNT = 1000

    email = TrimmedCharField(max_length=255)
    email_key = EmailKeyField(source="email")
    role = models.CharField(max_length=255)
    # The sites that a member is invited to. An invitation to the team is one to all sites.
    site_ids = ArrayField(models.BigIntegerField(), default=list, db_default=[])
    digest = models.BinaryField()
    invited_by_id = models.BigIntegerField()
    invited_by = foreign_object("accounts.User", "invited_by_id", on_delete=models.CASCADE)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()

    objects = InvitationQuerySet.as_manager()

    class Meta:
        default_related_name = "invitations"
        constraints = [
            models.UniqueConstraint(fields=["account", "email_key"], name="invitation_email_unique"),
            models.CheckConstraint(condition=Q(role__in=("admin", "agent", "member")), name="invitation_role"),
        ]

    def __str__(self) -> str:
        return self.email

    @transaction.atomic(savepoint=False)
    def revoke(self) -> None:
        record(self.account_id, "invitation.revoked", target=self)
        self.delete()

    def is_authorized_by(self, sender: RoleMixin) -> bool:
        """Return whether the sender may still give the role. Invitations of members stay valid when the sender loses rights."""
        return self.role == Role.MEMBER or sender.may_invite(self.role)
