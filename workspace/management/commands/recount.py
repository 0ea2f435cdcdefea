import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Account
from core.db.time_limit import without_statement_timeout
from workspace.recount import recount

MAX_IDS_SHOWN = 10
LABELS = {
    "entries": "deals, notes, suggestions, tasks and votes with other entries of the timeline",
    "deals": "deals",
    "revenue": "clients with other sums of deals",
    "contacts": "contacts",
    "clients": "clients",
    "posts": "suggestions with other clients or sums of deals",
    "sort_keys": "suggestions and tasks with other sort keys",
    "last_changes": "clients, contacts and deals with another last change",
}


class Command(BaseCommand):
    help = (
        "Compare the entries of the timeline and the stored last activities, next tasks, sums of deals, clients of suggestions, sort keys of posts and"
        " last changes with the rows of each account. The exit status is 1 if any differ and were not repaired."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account", nargs="*", metavar="PREFIX", help="the prefixes of the accounts (all accounts)")
        parser.add_argument("--repair", action="store_true", help="write the values that differ")

    @without_statement_timeout()
    def handle(self, *, account: list[str], repair: bool, **options: Any) -> None:
        accounts = Account.objects.order_by("prefix")
        if account:
            accounts = accounts.filter(prefix__in=account)
            if unknown := set(account) - set(accounts.values_list("prefix", flat=True)):
                raise CommandError(f"There is no account {', '.join(sorted(unknown))}.")
        number = 0
        for id, prefix in accounts.values_list("id", "prefix"):
            for name, ids in recount(id, repair=repair).items():
                number += len(ids)
                if ids:
                    more = ", …" if len(ids) > MAX_IDS_SHOWN else ""
                    shown = ", ".join(map(str, ids[:MAX_IDS_SHOWN]))
                    self.stdout.write(f"{prefix}: {len(ids)} {LABELS[name]} ({shown}{more})")
        if not number:
            self.stdout.write("No values differ.")
        elif repair:
            self.stdout.write("The values are repaired.")
        else:
            self.stdout.write("Repair them with: python manage.py recount --repair")
            sys.exit(1)
