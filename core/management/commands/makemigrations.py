from django.core.management.commands import makemigrations

from core.management.autodetector import Autodetector


class Command(makemigrations.Command):
    """Django's `makemigrations`, which also writes the SQL of new tables and of changed searches."""

    autodetector = Autodetector
