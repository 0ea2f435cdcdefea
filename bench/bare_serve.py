"""Serve the bare twin as `manage.py serve` does, with the same server and options, but in granian's own way: one thread for each request.

Each thread of the twin has its own connection, so there are as many threads as the service has slots.
"""

import os
import sys


def main() -> None:
    import django
    import granian.server.mp
    from django.conf import settings
    from django.core.management import call_command

    os.environ["DJANGO_SETTINGS_MODULE"] = "bench.bare_settings"
    django.setup()

    from config.serving import server

    server.APPLICATION = "bench.bare_wsgi:application"
    server.dispatcher_of = granian.server.mp._wsgi_call_wrap
    settings.THREADS = settings.SLOTS
    call_command("serve", *sys.argv[1:])


if __name__ == "__main__":
    main()
