import getpass
import json
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError

from accounts.account.models import Account
from accounts.account_creation.api import NewAccountSerializer
from accounts.account_creation.creation import create_account
from accounts.audit.origin import Interface, Origin, called_from
from accounts.hosts.domains import Proof
from accounts.hosts.models import Host
from accounts.hosts.names import is_reserved, normalize, public_url
from accounts.users.api import NewUserSerializer
from accounts.users.models import User
from core.errors import FieldErrors
from core.http.errors import sentence_of


class Command(BaseCommand):
    help = "Create an account with a forum, a category, statuses, and an owner who has an api_token."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("prefix", help="the first part of the account's address: acme for acme.BASE_DOMAIN")
        parser.add_argument("--login", required=True, help="the login of the owner")
        parser.add_argument("--email", required=True, help="the e-mail address of the owner")
        parser.add_argument(
            "--password",
            help="the password of the owner; without it, the command asks for one, or reads a line from standard input",
        )
        parser.add_argument(
            "--partner", metavar="KEY", help="let this account create others, as the partner with this key"
        )
        parser.add_argument("--host", help="the host of the forum, if it differs from the account's own address")
        parser.add_argument(
            "--language",
            choices=sorted(dict(settings.LANGUAGES)),
            default=settings.LANGUAGE_CODE,
            help="the language of the account, for its first category and for readers without a preference",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object, for scripts")

    def handle(self, *, prefix: str, login: str, email: str, password: str | None, **options: Any) -> None:
        partner, host = options["partner"], options["host"]
        password = password if password is not None else self.read_password()
        account = NewAccountSerializer(data={"prefix": prefix}, context={})
        user = NewUserSerializer(data={"login": login, "email": email, "password": password}, context={"account": None})
        problems = [sentence_of(error) for error in account.find_errors() + user.find_errors()]
        if host is not None:
            problems += self.problems_of_host(host, prefix)
        if partner and Account.objects.filter(partner_key=partner).exists():
            problems.append("Partner is already taken")
        if problems:
            raise CommandError("\n".join(problems))
        try:
            with called_from(Origin(Interface.COMMAND)):
                made, owner, token = create_account(
                    prefix=account.values["prefix"],
                    login=login,
                    email=email,
                    password=password,
                    partner_key=partner or None,
                    host=host,
                    language=options["language"],
                )
        except (IntegrityError, FieldErrors):
            raise CommandError("Prefix, host or partner was taken meanwhile") from None
        self.report(made, owner, token, as_json=options["json"])

    def report(self, account: Account, owner: User, token: str, *, as_json: bool) -> None:
        host = account.hosts.order_by("id").last()
        url = public_url(host.name if host is not None and host.is_proven else account.prefix)
        values = {"prefix": account.prefix, "login": owner.login, "url": url, "api_token": token}
        if host is not None and not host.is_proven:
            proof = Proof.build(host)
            values |= {"txt_name": proof.record_name, "txt_value": proof.record_value}
        if as_json:
            self.stdout.write(json.dumps(values))
        else:
            for name, value in values.items():
                self.stdout.write(f"{name:10} {value}")
            if "txt_name" in values:
                self.stdout.write(
                    "Add the TXT record to prove the domain, then choose Check now in the settings of the forum."
                )
            self.stdout.write("Keep the api_token: only its hash is stored, so it cannot be shown again.")

    def read_password(self) -> str:
        """Return the password that was entered twice at the terminal or, without a terminal, the first line of standard input."""
        if not sys.stdin.isatty():
            return sys.stdin.readline().rstrip("\n")
        try:
            while (password := getpass.getpass("Password: ")) != getpass.getpass("Password (again): "):
                self.stderr.write("The two passwords differ. Type them again.")
        except (EOFError, KeyboardInterrupt):
            raise CommandError("No password was given, so no account was created.") from None
        return password

    @staticmethod
    def problems_of_host(host: str, prefix: str) -> list[str]:
        """Return the reasons why an account with this prefix cannot have this host."""
        name = normalize(host)
        if name is None or ":" in host:
            return ["Host is not the name of a host (letters of other alphabets are written in Punycode: xn--…)"]
        if name in {settings.BASE_DOMAIN, prefix.lower()} or is_reserved(name):
            return ["Host is reserved"]
        if Host.objects.proven().filter(name=name).exists() or Account.objects.filter(prefix=name).exists():
            return ["Host is already taken"]
        return []
