from typing import Any

from django.contrib.postgres.functions import TransactionNow
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from core.db.availability import find_problem
from core.jobs.counts import count_jobs, heartbeat_ages
from core.jobs.queue import Job

NO_WORKER = "No worker runs, so no e-mails and no webhooks are sent. Start one with: python manage.py worker"


class Command(BaseCommand):
    help = (
        "Show the workers and count the background jobs, list the failed ones, and retry or delete them. The arguments of jobs are never"
        " shown."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        views = parser.add_mutually_exclusive_group()
        views.add_argument("--failed", action="store_true", help="list the failed jobs")
        views.add_argument(
            "--check",
            action="store_true",
            help="for monitoring: exit with status 1 if no worker runs, or if a due job has waited for longer than --max-wait",
        )
        parser.add_argument(
            "--max-wait",
            type=int,
            default=300,
            metavar="SECONDS",
            help="how long a due job may wait before --check fails (300)",
        )
        actions = parser.add_subparsers(dest="action", title="actions", metavar="retry | delete")
        retry = actions.add_parser("retry", help="let a failed job be due again, with all its attempts")
        retry.add_argument("id", type=int, nargs="?", metavar="ID")
        retry.add_argument("--all", action="store_true", help="retry all failed jobs")
        delete = actions.add_parser("delete", help="delete a job that is not running")
        delete.add_argument("id", type=int, metavar="ID")

    def handle(self, *, action: str | None, failed: bool, check: bool, max_wait: int, **options: Any) -> None:
        try:
            if action == "retry":
                self.retry(options["id"], all=options["all"])
            elif action == "delete":
                self.delete(options["id"])
            elif failed:
                self.list_failed()
            elif check:
                self.check_jobs(max_wait)
            else:
                self.show()
        except Error as error:
            # A traceback would hide the reason.
            if problem := find_problem():
                raise CommandError(problem) from error
            raise

    def retry(self, id: int | None, *, all: bool) -> None:
        if (id is None) != all:
            raise CommandError("Give the id of a job, or --all.")
        failed = Job.objects.filter(state=Job.State.FAILED, **({} if all else {"id": id}))
        number = failed.update(state=Job.State.WAITING, attempts=0, scheduled_at=TransactionNow())
        if id is not None and not number:
            raise CommandError(f"There is no failed job {id}.")
        self.stdout.write("1 job is due again." if number == 1 else f"{number} jobs are due again.")

    def delete(self, id: int) -> None:
        if not Job.objects.filter(id=id).exclude(state=Job.State.RUNNING).delete()[0]:
            raise CommandError(f"There is no job {id} that could be deleted. A running job cannot be deleted.")
        self.stdout.write(f"Job {id} is deleted.")

    def list_failed(self) -> None:
        row = "{:>10}  {:<40}  {:>8}  {:>8}  {:<20}  {}"
        self.stdout.write(row.format("id", "name", "account", "attempts", "failed at (UTC)", "last error"))
        for job in Job.objects.filter(state=Job.State.FAILED).defer("arguments").order_by("id"):
            time = f"{job.scheduled_at:%Y-%m-%d %H:%M:%S}"
            self.stdout.write(row.format(job.id, job.name, job.account_id or "", job.attempts, time, job.error or ""))

    def show(self) -> None:
        ages = heartbeat_ages()
        if ages:
            self.stdout.write(f"Running workers: {len(ages)}. Longest time since a heartbeat: {ages[0]:.0f} s.")
        else:
            self.stdout.write(NO_WORKER)
        counts = count_jobs()
        if not counts:
            self.stdout.write("There are no jobs.")
            return
        row = "{:>8}  {:>9}  {:>9}  {:>8}  {:>8}  {:>8}  {:<45}  {}"
        headings = ("due", "waits for", "scheduled", "retried", "running", "failed", "name", "last error")
        self.stdout.write(row.format(*headings).rstrip())
        for count in counts:
            wait = "" if count.longest_wait is None else f"{count.longest_wait:.0f} s"
            numbers = (count.due, wait, count.scheduled, count.retried, count.running, count.failed)
            self.stdout.write(row.format(*numbers, count.name, count.last_error or "").rstrip())

    def check_jobs(self, max_wait: int) -> None:
        ages = heartbeat_ages()
        problems = [] if ages else [NO_WORKER]
        problems += [
            f"{count.due} of {count.name} are due, and the oldest has waited for {count.longest_wait:.0f} s."
            for count in count_jobs()
            if count.longest_wait is not None and count.longest_wait > max_wait
        ]
        if problems:
            raise CommandError("\n".join(problems))
        self.stdout.write(f"Running workers: {len(ages)}. No job has been due for more than {max_wait} s.")
