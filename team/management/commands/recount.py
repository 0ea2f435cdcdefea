import sys

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.audit.origin import Interface, Origin, called_from
from core.db.time_limit import without_statement_timeout
from core.rows import last_changes
from crm.clients.models import Client
from crm.contacts.models import Contact
from crm.deals.models import Deal
from forum.posts import sort_keys
from team.backers.models import recount_posts
from team.summaries.recount import recount_summaries
from team.timeline.mirrored_entries import recount_entries

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
    def handle(self, *, account: list[str], repair: bool, **options: object) -> None:
        accounts = Account.objects.order_by("prefix")
        if account:
            accounts = accounts.filter(prefix__in=account)
            if unknown := set(account) - set(accounts.values_list("prefix", flat=True)):
                raise CommandError(f"There is no account {', '.join(sorted(unknown))}.")
        number = 0
        for id, prefix in accounts.values_list("id", "prefix"):
            differing = recount(id, repair=repair)
            if repair and any(differing.values()):
                with called_from(Origin(Interface.COMMAND)):
                    record(id, "data.recounted", **{name: len(ids) for name, ids in differing.items() if ids})
            for name, ids in differing.items():
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


def recount(account_id: int, *, repair: bool = False) -> dict[str, list[int]]:
    """Compare all stored values of an account with its rows. Return the ids of the rows whose values differ, by the names in `LABELS`.

    The ids of "entries" are those of deals, notes, suggestions, tasks or votes, the ids of "revenue" are those of clients, those of "posts" and
    "sort_keys" those of suggestions or tasks, and those of "last_changes" those of clients, contacts or deals. With `repair`, write the
    differing values.
    """
    differing = {"entries": recount_entries(account_id, repair=repair)}
    differing |= recount_summaries(account_id, repair=repair)
    differing["posts"] = recount_posts(account_id, repair=repair)
    differing["sort_keys"] = sort_keys.find_differing(account_id)
    if differing["sort_keys"] and repair:
        sort_keys.repair(Account.objects.get(id=account_id), differing["sort_keys"])
    differing["last_changes"] = []
    for model in (Client, Contact, Deal):
        found = last_changes.find_differing(model, account_id)
        if found and repair:
            last_changes.repair(model, account_id, found)
        differing["last_changes"] += found
    return differing
