import json
import os
import time
from getpass import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.account.models import Account
from accounts.users.models import User
from core.errors import Conflict, FieldErrors
from team.move_in.client import BusyError
from team.move_in.models import MoveIn, process_page

# What the interface of an older server does not give.
NOT_GIVEN = "Not moved, because the interface does not give them: passwords, attachments, voters, notes and settings."


class Command(BaseCommand):
    help = (
        "Move the data of an older server into an account, or move what has changed there since. The token is read from "
        "MOVE_IN_TOKEN, or asked for, and the password of the forum from MOVE_IN_PASSWORD."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--account", metavar="PREFIX", required=True, help="the prefix of the account")
        parser.add_argument(
            "--from", metavar="ADDRESS", required=True, dest="url", help="the address of the older server"
        )
        parser.add_argument("--forum", default="", help="the address of its forum, for categories and suggestions")
        parser.add_argument("--login", default="", help="the login of a user of the team in that forum")
        parser.add_argument(
            "--continue", action="store_true", dest="resume", help="continue a run that was interrupted"
        )

    def handle(self, *, account: str, url: str, forum: str, login: str, resume: bool, **options: Any) -> None:
        owned = Account.objects.filter(prefix=account).first()
        if owned is None:
            raise CommandError(f"There is no account {account}.")
        row = owned.move_ins.running().first() if resume else self.start(owned, url, forum, login)
        if row is None:
            raise CommandError("No move is running.")
        while self.process(row):
            pass
        row.refresh_from_db()
        self.report(row)
        if row.state == MoveIn.State.FAILED:
            raise CommandError(row.failure)

    def start(self, account: Account, url: str, forum: str, login: str) -> MoveIn:
        owner = account.users.get(role=User.Role.OWNER, is_active=True)
        owner.account = account
        token = os.environ.get("MOVE_IN_TOKEN") or getpass("Token: ")
        password = (os.environ.get("MOVE_IN_PASSWORD") or getpass(f"Password of {login}: ")) if login else ""
        secrets = {"token": token, "login": login, "password": password}
        try:
            return MoveIn.start(account, by=owner, url=url, forum=forum, in_job=False, **secrets)
        except FieldErrors as caught:
            raise CommandError("; ".join(f"{error.field}: {error.text}" for error in caught.errors)) from None
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
