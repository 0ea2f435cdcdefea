"""`manage.py` with the jobs of the tests, for `tests.support.jobs.run_worker`."""

import sys

import django
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    django.setup()
    import tests.support.worker_jobs  # noqa: F401

    execute_from_command_line(["manage.py", "worker", *sys.argv[1:]])
