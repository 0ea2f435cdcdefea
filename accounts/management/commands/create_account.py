import getpass
import json
import sys

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError
from rest_framework.exceptions import ValidationError

from accounts.api.account import AccountSerializer
from accounts.api.users import NewUserSerializer
from accounts.host_names import is_reserved, normalize, public_url
from accounts.models import Account, Host
from accounts.opening import open_account
from core.api.errors import faults


class Command(BaseCommand):
    help = "Make an account: its forum with a category, its statuses, and its owner with an api_token."

    def add_arguments(self, parser):
        parser.add_argument("prefix", help="the name part of the account's address")
        parser.add_argument("--login", required=True)
        parser.add_argument("--email", required=True)
        parser.add_argument("--password", help="asked for, or read from standard input, when left out")
        parser.add_argument("--partner", metavar="KEY", help="mark the account as a partner with this identifier")
        parser.add_argument("--host", help="the host of its forum, when that is not the account's own address")
        parser.add_argument("--json", action="store_true", help="print one JSON object, for scripts")

    def handle(self, *, prefix, login, email, password, partner, host, json: bool, **options):
        password = password if password is not None else self.ask_password()
        account = AccountSerializer(data={"prefix": prefix}, context={})
        user = NewUserSerializer(data={"login": login, "email": email, "password": password}, context={"account": None})
        found = [*faults(account.faults()), *faults(user.faults())]
        problems = [fault.sentence for fault in found]
        if host is not None:
            problems += self.problems_of_host(host, prefix)
        if partner and Account.objects.filter(partner_key=partner).exists():
            problems.append("Partner is already taken")
        if problems:
            raise CommandError("\n".join(problems))
        try:
            made, owner, token = open_account(
                prefix=account.values["prefix"],
                login=login,
                email=email,
                password=password,
                partner_key=partner or None,
                host=host,
            )
        except (IntegrityError, ValidationError):
            raise CommandError("Prefix, host or partner was taken meanwhile") from None
        self.report(made, owner, token, host, as_json=json)

    def report(self, account, owner, token, host, *, as_json: bool) -> None:
        url = public_url(normalize(host) if host else account.prefix)
        values = {"prefix": account.prefix, "login": owner.login, "url": url, "api_token": token}
        if as_json:
            self.stdout.write(json.dumps(values))
        else:
            for name, value in values.items():
                self.stdout.write(f"{name:10} {value}")
            self.stdout.write("The api_token is not stored; it is shown this once.")

    @staticmethod
    def ask_password() -> str:
        if sys.stdin.isatty():
            return getpass.getpass("Password: ")
        return sys.stdin.readline().rstrip("\n")

    @staticmethod
    def problems_of_host(host: str, prefix: str) -> list[str]:
        name = normalize(host)
        if name is None or ":" in host:
            return ["Host is not the name of a host (letters of other alphabets are written in Punycode: xn--…)"]
        if name in {settings.BASE_DOMAIN, prefix.lower()} or is_reserved(name):
            return ["Host is reserved"]
        if Host.objects.filter(name=name).exists() or Account.objects.filter(prefix=name).exists():
            return ["Host is already taken"]
        return []
