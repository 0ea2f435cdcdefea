import json
import os
import time
from argparse import ArgumentTypeError
from getpass import getpass
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.account.models import Account
from accounts.users.models import User
from core.errors import Conflict, FieldErrors
from team.move_in.client import BusyError, OldServerError
from team.move_in.models import MoveIn, process_page
from team.move_in.services import SERVICES, Service

# What the interface of an older server does not give.
NOT_GIVEN = "Not moved: passwords, attachments, notes and settings, and voters unless they are counted above."


def read_key(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise ArgumentTypeError(f"{path} can't be read") from None


class Command(BaseCommand):
    help = (
        "Move the data of an older server, Canny or Nolt into an account, or move what has changed there since. The token or "
        "key is read from a file or MOVE_IN_TOKEN, or asked for, and the password of the forum from MOVE_IN_PASSWORD."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--account", metavar="PREFIX", required=True, help="the prefix of the account")
        parser.add_argument(
            "--from", metavar="ADDRESS", required=True, dest="url", help="its address, or canny, or nolt"
        )
        parser.add_argument("--key-file", metavar="FILE", type=read_key, help="a file with the token or API key")
        parser.add_argument("--forum", default="", help="the address of its forum, for categories and suggestions")
        parser.add_argument("--login", default="", help="the login of a user of its team, or an SSO id of Nolt")
        parser.add_argument(
            "--continue", action="store_true", dest="resume", help="continue a run that was interrupted"
        )

    def handle(self, *, account: str, resume: bool, **options: Any) -> None:
        owned = Account.objects.filter(prefix=account).first()
        if owned is None:
            raise CommandError(f"There is no account {account}.")
        row = owned.move_ins.running().first() if resume else self.start(owned, **options)
        if row is None:
            raise CommandError("No move is running.")
        while self.process(row):
            pass
        row.refresh_from_db()
        self.report(row)
        if row.state == MoveIn.State.FAILED:
            raise CommandError(row.failure)

    def start(
        self, account: Account, *, url: str, forum: str, login: str, key_file: str | None, **options: Any
    ) -> MoveIn:
        owner = account.users.get(role=User.Role.OWNER, is_active=True)
        owner.account = account
        token = key_file or os.environ.get("MOVE_IN_TOKEN") or getpass("Token or API key: ")
        has_password = login and url not in SERVICES
        password = (os.environ.get("MOVE_IN_PASSWORD") or getpass(f"Password of {login}: ")) if has_password else ""
        secrets = {"token": token, "login": login, "password": password}
        try:
            server = MoveIn.find_server(account, url=url, forum=forum, **secrets)
            for old, here in MoveIn.plan(account, server) if isinstance(server, Service) else ():
                name = here.name if here else "will be created" + (", closed" if old.data.get("closed") else "")
                self.stdout.write(f"{old.kind} {old.data.get('name')}: {name}")
            return MoveIn.start(account, by=owner, url=url, forum=forum, in_job=False, **secrets)
        except FieldErrors as caught:
            raise CommandError("; ".join(f"{error.field}: {error.text}" for error in caught.errors)) from None
        except OldServerError as error:
            raise CommandError(str(error)) from None
        except Conflict as conflict:
            raise CommandError(f"{conflict} Add --continue to continue it.") from None

    def process(self, row: MoveIn) -> bool:
        try:
            return process_page(row.account_id, row.id)
        except BusyError as error:
            self.stderr.write(f"{error} Waiting {error.seconds:.0f} seconds.")
            time.sleep(error.seconds)
            return True

    def report(self, row: MoveIn) -> None:
        for kind, counts in row.counts.items():
            self.stdout.write(
                f"{kind}: " + ", ".join(f"{number:,} {result}" for result, number in sorted(counts.items()))
            )
        for name, found in row.report.items():
            self.stdout.write(f"{name}: {json.dumps(found, ensure_ascii=False, sort_keys=True)}")
        self.stdout.write(NOT_GIVEN)
