import json
from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.urls import reverse

from accounts.account.models import Account
from accounts.account_creation.models import AccountInvitation
from accounts.audit.origin import Interface, Origin, called_from
from accounts.factors.models import SecondFactor
from accounts.hosts.names import front_url
from accounts.mail import sending as mail
from accounts.oidc.models import OIDCProvider
from accounts.users.models import User
from accounts.users.names import check_visible
from core.db.transactions import in_transaction
from core.errors import Conflict, FieldErrors
from core.files.models import StoredFile

ACTS: dict[str, Callable[[Account, dict[str, Any]], None]] = {
    "suspend": lambda account, options: account.suspend(options["reason"]),
    "restore": lambda account, options: account.restore(),
    "delete": lambda account, options: account.ask_deletion(),
    "disable-sso": lambda account, options: disable_sso(account),
    "reset-second-factor": lambda account, options: reset_second_factor(account, options["login"]),
}


def disable_sso(account: Account) -> None:
    """Let everybody sign in in the other ways again, if the provider fails and the exempt owner can't come in."""
    provider = OIDCProvider.objects.filter(account_id=account.id).first()
    if provider is None:
        raise CommandError("The account has no single sign-on")
    provider.account = account
    provider.change_state(OIDCProvider.State.DRAFT)


def reset_second_factor(account: Account, login: str) -> None:
    user = User.objects.find_by_login(account.id, login)
    if user is None:
        raise CommandError(f"No user has the login {login}")
    SecondFactor.objects.reset(user, by=None)


def usage() -> QuerySet[Account]:
    """Return all accounts with their users, the bytes of their files and their last sign-in, ordered by prefix."""
    files = StoredFile.objects.filter(account_id=OuterRef("id"), expires_at=None).order_by().values("account_id")
    active = Q(users__is_active=True)
    return Account.objects.annotate(
        user_count=Count("users", filter=active),
        team_count=Count("users", filter=active & ~Q(users__role=User.Role.MEMBER)),
        last_login=Max("users__last_login"),
        file_bytes=Coalesce(Subquery(files.annotate(size_sum=Sum("size")).values("size_sum")), 0),
    ).order_by("prefix")


def describe(account: Any) -> dict[str, Any]:
    state = "to be deleted" if account.deletion_at else "suspended" if account.suspended_at else "open"
    times = ("created_at", "last_login", "suspended_at", "deletion_at")
    return {
        "prefix": account.prefix,
        "name": account.name,
        "state": state,
        "reason": account.suspended_reason,
        "users": account.user_count,
        "team": account.team_count,
        "file_bytes": account.file_bytes,
        **{name: value and value.isoformat(timespec="seconds") for name in times for value in [getattr(account, name)]},
    }


def invite(email: str, language: str) -> str:
    """Invite a person to create an account. Return the URL of the link, which is also sent to them."""
    if settings.SIGN_UP == "closed":
        raise CommandError("SIGN_UP is closed: set it to invitation, or to open")
    try:
        validate_email(email)
        check_visible(email=email)
    except (ValidationError, FieldErrors):
        raise CommandError("This is not an e-mail address") from None
    query = {"secret": AccountInvitation.objects.invite(email)}
    url = front_url() + reverse("accounts-start", query=query)
    template = "accounts/mail/account_invitation.txt"
    mail.send(email, template, account_id=None, language=language, sender=mail.SERVICE_NAME, urgent=False, url=url)
    return url


class Command(BaseCommand):
    help = (
        "List, suspend, restore or delete accounts, or reset a second factor, each in the audit log of the account, or invite somebody to create an"
        " account."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parsers = parser.add_subparsers(dest="act", required=True)
        common: dict[str, Any] = {"action": "store_true", "help": "print JSON, for scripts"}
        inviting = parsers.add_parser("invite", help="invite somebody to create an account, if SIGN_UP allows it")
        inviting.add_argument("email", help="the e-mail address, to which the link is sent")
        inviting.add_argument("--language", choices=sorted(dict(settings.LANGUAGES)), default=settings.LANGUAGE_CODE)
        listing = parsers.add_parser("list", help="list the accounts with their state and their use")
        listing.add_argument("--json", **common)
        for act, text in (
            ("suspend", "close an account until it is restored; nothing is lost"),
            ("restore", "open an account that is suspended or to be deleted"),
            ("disable-sso", "let everybody of an account sign in without its provider of single sign-on"),
            ("reset-second-factor", "remove the authenticator app, the passkeys and the recovery codes of a user"),
            ("delete", f"close an account, and delete it for good after {Account.DELETION_DELAY.days} days"),
        ):
            acting = parsers.add_parser(act, help=text)
            acting.add_argument("prefix", help="the prefix of the account")
            acting.add_argument("--json", **common)
            if act == "reset-second-factor":
                acting.add_argument("login", help="the login or the e-mail of the user")
            if act == "suspend":
                acting.add_argument("--reason", default="", help="what the owners read, at most 500 characters")

    def handle(self, *, act: str, **options: Any) -> None:
        if act == "list":
            self.report([describe(account) for account in usage().iterator()], as_json=options["json"])
            return
        if act == "invite":
            self.stdout.write(in_transaction(partial(invite, options["email"], options["language"])))
            return
        account = usage().filter(prefix=options["prefix"].lower()).first()
        if account is None:
            raise CommandError(f"No account has the prefix {options['prefix']}")
        try:
            with called_from(Origin(Interface.COMMAND)):
                in_transaction(partial(ACTS[act], account, options))
        except (Conflict, FieldErrors) as error:
            raise CommandError(str(error)) from None
        self.report([describe(account)], as_json=options["json"])

    def report(self, rows: list[dict[str, Any]], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(rows, ensure_ascii=False))
            return
        for row in rows:
            use = f"{row['users']} users, {row['team']} of the team, {row['file_bytes'] / 1e6:.1f} MB of files"
            until = f" on {row['deletion_at']}" if row["deletion_at"] else ""
            self.stdout.write(
                f"{row['prefix']:24} {row['state']}{until}: {use}, last sign-in {row['last_login'] or 'never'}"
            )
