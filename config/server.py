"""`python -m config.server`: granian, with the application loaded before its workers are made, so that they share the memory."""

import gc
import importlib
import logging
import multiprocessing
import os
import sys

from granian.cli import entrypoint

from config import deadline


def main() -> None:
    importlib.import_module(sys.argv[-1].partition(":")[0])
    load_views()
    # What is there stays: looking through it for garbage would give each worker a copy of it.
    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork")
    logging.getLogger("_granian").addFilter(is_news)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    os.register_at_fork(after_in_child=lambda: deadline.watch(port))
    entrypoint()


def load_views() -> None:
    """Django would, at the first request of each worker."""
    from django.urls import get_resolver

    get_resolver().url_patterns  # noqa: B018


def is_news(record: logging.LogRecord) -> bool:
    """That there are many threads is meant to be (`config.admission`)."""
    return "Python threads" not in record.msg


if __name__ == "__main__":
    main()
