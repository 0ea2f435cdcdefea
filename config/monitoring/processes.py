"""The files with the metrics of the workers of a web server.

Each worker has files of its own, which one of them reads to answer Prometheus. The files belong to a *number*, and not to a process id: a
worker that is started again gets the number of the one that has ended, and continues its counts. So the files do not grow in number.
A number is the lock of a file, so it is free as soon as its process has ended, however it ends.
"""

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
import time
from itertools import count
from pathlib import Path

PREFIX = "rostrum-metrics-"
# Seconds before another server may remove a directory. A server locks its directory right after it has created it.
MIN_AGE = 60


def lock(path: Path) -> bool:
    """Lock a file or a directory until this process and its children have ended. Return False if it is locked."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    return True


def create_directory() -> Path:
    """Create the directory of a web server, and remove those of servers that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        status = path.lstat()
        is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
        if is_own and time.time() - status.st_mtime > MIN_AGE and lock(path):
            shutil.rmtree(path, ignore_errors=True)
    directory = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock(directory)
    # A worker ends without calling this function.
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def take_number(directory: Path) -> int:
    """Take the lowest free number for this process, until it ends."""
    return next(number for number in count() if lock(directory / f"{number}.lock"))
