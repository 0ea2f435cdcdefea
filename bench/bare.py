"""The bare twin of the service: a Django view that repeats the statements of a request, and answers as many bytes.

It has no accounts, checks or templates. It is served as `manage.py serve` serves the service, by the same server with the same options.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import django
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.http import HttpResponse
from django.urls import path

from bench.cases import UNIQUE

_counter = count(1)


@cache
def recorded_cases() -> list[dict]:
    return list(json.loads(Path(os.environ["BENCH_RECORDED"]).read_text())["cases"].values())


def repeat(request: Any, case: int, number: int) -> HttpResponse:
    """Repeat the statements of one recorded request."""
    recorded = recorded_cases()[case]
    statements = recorded["statements"][number]
    unique = f"{os.getpid()}-{time.time_ns():x}-{next(_counter)}"
    # A setting of a transaction has no effect outside of it.
    needs_transaction = request.method != "GET" or any("set_config" in sql for sql in statements)
    with transaction.atomic() if needs_transaction else nullcontext(), connection.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql.replace(UNIQUE, unique))
            if cursor.description:
                cursor.fetchall()
    return HttpResponse(b" " * recorded["bytes"][number], status=recorded["status"])


urlpatterns = [path("recorded/<int:case>/<int:number>", repeat)]


def make_application() -> Callable[..., Any]:
    return get_wsgi_application()


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "bench.bare_settings"
    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from config import server

    server.FACTORY = "bench.bare:make_application"
    # The twin has no limit of requests besides its threads, so there are as many threads as the service answers requests at a time.
    settings.THREADS = settings.REQUEST_THREADS
    call_command("serve", *sys.argv[1:])


if __name__ == "__main__":
    main()
