"""Serve the bare twin as `manage.py serve` does, with the same server and options.

It has no limit of requests besides its threads, so there are as many threads as the service answers requests at a time.
"""

import os
import sys


def main() -> None:
    import django
    from django.conf import settings
    from django.core.management import call_command

    os.environ["DJANGO_SETTINGS_MODULE"] = "bench.bare_settings"
    django.setup()

    from config import server

    server.FACTORY = "bench.bare_wsgi:make_application"
    settings.THREADS = settings.REQUEST_THREADS
    call_command("serve", *sys.argv[1:])


if __name__ == "__main__":
    main()
