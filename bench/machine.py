"""Facts about the machine and its load. Values that the system does not provide are None."""

import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

PROC = Path("/proc")


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat after the name, which may contain any character."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _parents() -> dict[int, int]:
    parents = {}
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError, IndexError):
            parents[int(folder.name)] = int(_stat(int(folder.name))[1])
    return parents


def children(pid: int) -> list[int]:
    return [child for child, parent in _parents().items() if parent == pid]


def process_tree(pid: int) -> list[int]:
    """Return the ids of the process and all its descendants."""
    parents, members = _parents(), [pid]
    for member in members:
        members += [child for child, parent in parents.items() if parent == member]
    return members


def command_of(pid: int) -> str:
    with suppress(OSError):
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def memory(pid: int) -> int | None:
    """Return the proportional set size in bytes, or else the resident set size."""
    with suppress(OSError):
        text = (PROC / str(pid) / "smaps_rollup").read_text()
        if match := re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE):
            return int(match[1]) * 1024
    with suppress(OSError):
        if match := re.search(r"^VmRSS:\s+(\d+) kB", (PROC / str(pid) / "status").read_text(), re.MULTILINE):
            return int(match[1]) * 1024
    return None


@dataclass(frozen=True)
class MachineLoad:
    """The load average before a measurement, and the shares of the CPU time of all cores during it.

    `others` is the share of unrelated processes.
    """

    load: float
    idle: float | None = None
    iowait: float | None = None
    steal: float | None = None
    others: float | None = None


class LoadMonitor:
    """A measurement of the machine's load, from its creation to `end`."""

    def __init__(self) -> None:
        self.load = os.getloadavg()[0]
        self._core_times_before, self._own_time_before = self._core_times(), self.own_time()

    def end(self) -> MachineLoad:
        core_times, own_time = self._core_times(), self.own_time()
        if not core_times or not self._core_times_before or sum(core_times) == sum(self._core_times_before):
            return MachineLoad(self.load)
        spent = [after - before for before, after in zip(self._core_times_before, core_times, strict=True)]
        user, nice, system, idle, iowait, irq, softirq, steal = spent
        total = sum(spent)
        others = user + nice + system + irq + softirq - (own_time - self._own_time_before)
        shares = {"idle": idle, "iowait": iowait, "steal": steal, "others": max(0, others)}
        return MachineLoad(self.load, **{name: round(part / total, 3) for name, part in shares.items()})

    @staticmethod
    def _core_times() -> list[int]:
        with suppress(OSError):
            # The first eight columns of the line `cpu`; the others repeat parts of them.
            return [int(field) for field in (PROC / "stat").read_text().splitlines()[0].split()[1:9]]
        return []

    @staticmethod
    def own_time() -> int:
        """Return the CPU time of this process and all its descendants, including ended ones, in clock ticks."""
        total = 0
        for pid in process_tree(os.getpid()):
            with suppress(OSError, IndexError):
                # utime, stime, cutime, cstime.
                total += sum(map(int, _stat(pid)[11:15]))
        return total


def _first_match(path: Path, pattern: str) -> str | None:
    with suppress(OSError):
        if match := re.search(pattern, path.read_text(), re.MULTILINE):
            return match[1]
    return None


def _output_of(*command: str) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return result.stdout.strip()


def description(postgresql: str) -> dict[str, object]:
    memory_kb = _first_match(PROC / "meminfo", r"^MemTotal:\s+(\d+)")
    versions = {
        name: metadata.version(name) for name in ("django", "djangorestframework", "psycopg", "granian", "orjson")
    }
    return {
        "system": platform.platform(),
        "processor": _first_match(PROC / "cpuinfo", r"^model name\s*:\s*(.+)$")
        or platform.processor()
        or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory_kb) / 2**20, 1) if memory_kb else None,
        "python": sys.version.split()[0],
        "postgresql": postgresql,
        "wrk": _output_of("wrk", "-v").split(" Copyright")[0].removeprefix("wrk "),
        "commit": _output_of("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"),
        **versions,
    }
