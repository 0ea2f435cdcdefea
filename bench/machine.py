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


def family(pid: int) -> list[int]:
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
class Meanwhile:
    """Shares of the time of all cores. `others` is the share of unrelated processes."""

    load: float
    idle: float | None = None
    waiting: float | None = None
    steal: float | None = None
    others: float | None = None


class Watch:
    """A measurement of the machine's load, from its creation to `end`."""

    def __init__(self) -> None:
        self.load = os.getloadavg()[0]
        self.cores, self.ours = self._cores(), self._ours()

    def end(self) -> Meanwhile:
        cores, ours = self._cores(), self._ours()
        if not cores or not self.cores or sum(cores) == sum(self.cores):
            return Meanwhile(self.load)
        spent = [after - before for before, after in zip(self.cores, cores, strict=True)]
        user, nice, system, idle, waiting, irq, softirq, steal = spent
        total = sum(spent)
        others = user + nice + system + irq + softirq - (ours - self.ours)
        shares = {"idle": idle, "waiting": waiting, "steal": steal, "others": max(0, others)}
        return Meanwhile(self.load, **{name: round(part / total, 3) for name, part in shares.items()})

    @staticmethod
    def _cores() -> list[int]:
        with suppress(OSError):
            return [int(field) for field in (PROC / "stat").read_text().splitlines()[0].split()[1:9]]
        return []

    @staticmethod
    def _ours() -> int:
        """Return the CPU time of this process and all its descendants, including ended ones."""
        total = 0
        for pid in family(os.getpid()):
            with suppress(OSError, IndexError):
                total += sum(map(int, _stat(pid)[11:15]))
        return total


def _first(path: Path, pattern: str) -> str | None:
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
    memory_kb = _first(PROC / "meminfo", r"^MemTotal:\s+(\d+)")
    versions = {
        name: metadata.version(name) for name in ("django", "djangorestframework", "psycopg", "granian", "orjson")
    }
    return {
        "system": platform.platform(),
        "processor": _first(PROC / "cpuinfo", r"^model name\s*:\s*(.+)$") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory_kb) / 2**20, 1) if memory_kb else None,
        "python": sys.version.split()[0],
        "postgresql": postgresql,
        "wrk": _output_of("wrk", "-v").split(" Copyright")[0].removeprefix("wrk "),
        "commit": _output_of("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"),
        **versions,
    }
