"""The worker of `make dev`. Django's autoreloader starts it again after a change of Python."""

import os

import django
from django.utils import autoreload


def work() -> None:
    django.setup()
    from core.jobs.worker import Worker, end_process  # after Django's setup

    end_process(Worker().run())


if __name__ == "__main__":
    os.environ |= {"DJANGO_SETTINGS_MODULE": "config.local.dev_settings"}
    autoreload.run_with_reloader(work)
