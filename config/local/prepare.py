"""Migrate the database of `make run` and create the demo account, in one process that starts while PostgreSQL does."""

import os
import sys

import django
from django.core.management import call_command
from django.urls import get_resolver

from config.local.data import MIGRATED


def main() -> None:
    """Prepare the database when a line arrives on standard input. The arguments are those of the command `demo`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    get_resolver().url_patterns  # noqa: B018  # imports all views
    sys.stdin.readline()
    call_command("migrate", interactive=False, from_schema=True, verbosity=0)
    print(MIGRATED, end="", flush=True)
    call_command("demo", *sys.argv[1:])


if __name__ == "__main__":
    main()
