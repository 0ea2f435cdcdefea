"""Groups of processes that end with the process that started them, however it ends."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class ProcessGroup:
    """Processes that are killed when this process ends, even if it is killed.

    A shell leads the group. It reads from a pipe that only this process has open, so the read ends with this process.
    """

    def __init__(self, *, stop: str = "", pass_fds: Sequence[int] = ()) -> None:
        """Start the shell. `stop` are the commands with which it ends the group before it kills what is left of it."""
        script = f'trap "" TERM INT HUP; read _; {stop} kill -9 0'
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", script], stdin=subprocess.PIPE, pass_fds=pass_fds, process_group=0
        )

    def start(self, command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
        """Start a command in the group. Ctrl-C in a terminal does not reach it."""
        options = {"stdin": subprocess.DEVNULL, **options}
        return subprocess.Popen(command, process_group=self._shell.pid, **options)

    def kill(self) -> None:
        """Kill all processes of the group, and those that they have started and left in it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()  # waits, and closes the pipe


def outcome(status: int) -> str:
    """Describe an exit status of `subprocess`."""
    return f"killed by signal {-status}" if status < 0 else f"status {status}"
