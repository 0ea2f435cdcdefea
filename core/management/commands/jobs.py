from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.jobs import queue

PAGE_SIZE = 500


class Command(BaseCommand):
    help = "Count the background jobs, list the failed ones, and retry or delete them. The arguments of jobs are never shown."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--failed", action="store_true", help="list the failed jobs")
        actions = parser.add_subparsers(dest="action", title="actions", metavar="retry | delete")
        retry = actions.add_parser("retry", help="let a failed job be due again, with all its attempts")
        retry.add_argument("id", type=int, nargs="?", metavar="ID")
        retry.add_argument("--all", action="store_true", help="retry all failed jobs")
        delete = actions.add_parser("delete", help="delete a job that does not run")
        delete.add_argument("id", type=int, metavar="ID")

    def handle(self, *, action: str | None, failed: bool, **options: Any) -> None:
        if action == "retry":
            self.retry(options["id"], all=options["all"])
        elif action == "delete":
            self.delete(options["id"])
        elif failed:
            self.list_failed()
        else:
            self.count()

    def retry(self, id: int | None, *, all: bool) -> None:
        if (id is None) != all:
            raise CommandError("Give the id of a job, or --all.")
        number = queue.retry_failed(id)
        if id is not None and not number:
            raise CommandError(f"There is no failed job {id}.")
        self.stdout.write(f"{number} jobs are due again.")

    def delete(self, id: int) -> None:
        if not queue.delete(id):
            raise CommandError(f"There is no job {id} that could be deleted. A running job cannot be deleted.")
        self.stdout.write(f"Job {id} is deleted.")

    def list_failed(self) -> None:
        row = "{:>10}  {:<40}  {:>8}  {:>8}  {:<20}  {}"
        self.stdout.write(row.format("id", "name", "account", "attempts", "failed at (UTC)", "last error"))
        last = 0
        while rows := queue.failed(limit=PAGE_SIZE, after=last):
            for id, name, account_id, attempts, error, at in rows:
                time = f"{at:%Y-%m-%d %H:%M:%S}" if at else ""
                self.stdout.write(row.format(id, name, account_id or "", attempts, time, error or ""))
            last = rows[-1][0]

    def count(self) -> None:
        words = {"todo": "waiting", "doing": "running"}
        counts = queue.count()
        for (status, name), number in counts.items():
            self.stdout.write(f"{number:>10}  {words.get(status, status):<8}  {name}")
        if not counts:
            self.stdout.write("There are no jobs.")
