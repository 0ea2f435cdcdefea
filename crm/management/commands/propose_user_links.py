from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.account.models import Account
from accounts.audit.models import record
from accounts.audit.origin import Interface, Origin, called_from
from crm.user_links.jobs import propose_all_links


class Command(BaseCommand):
    help = (
        "Propose links from the members of the forums to the clients and contacts with the same e-mail. A worker does it. New users and"
        " changed customers need no command."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("prefix", nargs="?", help="the prefix of one account; without it, all accounts")

    def handle(self, *, prefix: str | None, **options: object) -> None:
        accounts = Account.objects.filter(prefix=prefix) if prefix else Account.objects.all()
        ids = list(accounts.order_by("id").values_list("id", flat=True))
        if prefix and not ids:
            raise CommandError(f"There is no account {prefix}.")
        with transaction.atomic(), called_from(Origin(Interface.COMMAND)):
            propose_all_links.defer_many({"account_id": id} for id in ids)
            for id in ids:
                record(id, "data.links_proposed")
        self.stdout.write(f"{len(ids)} account(s) will be processed.")
