"""Facts about the machine and the memory of processes. Values that the system does not provide are None."""

import os
import platform
import re
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

PROC = Path("/proc")


def first_match(path: Path, pattern: str) -> str | None:
    with suppress(OSError):
        if match := re.search(pattern, path.read_text(errors="replace"), re.MULTILINE):
            return match[1]
    return None


def children(pid: int) -> list[int]:
    return [
        int(path.parent.name) for path in PROC.glob("[0-9]*/status") if first_match(path, r"^PPid:\s+(\d+)") == str(pid)
    ]


def is_worker(pid: int) -> bool:
    """Return False for the process in which Python tracks the resources of others."""
    return first_match(PROC / str(pid) / "cmdline", "(resource_tracker)") is None


def memory(pid: int) -> int:
    """Return the proportional set size in bytes, or 0 if the system does not report it."""
    return int(first_match(PROC / str(pid) / "smaps_rollup", r"^Pss:\s+(\d+) kB") or 0) * 1024


def cpu_times() -> list[int]:
    """Return the times of all cores since the start of the machine: user, nice, system, idle, iowait, irq, softirq and steal."""
    times = first_match(PROC / "stat", r"^cpu +(.+)$")
    return [int(ticks) for ticks in times.split()[:8]] if times else []


def load_since(before: list[int]) -> str:
    """Return the load average, and the shares of the times since `before` in which the cores were idle or taken by other machines."""
    spent = [after - start for start, after in zip(before, cpu_times(), strict=True)]
    total = sum(spent)
    shares = f", idle {spent[3] / total:.0%}, steal {spent[7] / total:.0%}" if total else ""
    return f"load {os.getloadavg()[0]:.1f}{shares}"


def description(postgresql: str) -> dict[str, object]:
    memory_kb = first_match(PROC / "meminfo", r"^MemTotal:\s+(\d+)")
    names = ("django", "djangorestframework", "psycopg", "granian", "orjson")
    return {
        "system": platform.platform(),
        "processor": first_match(PROC / "cpuinfo", r"^model name\s*:\s*(.+)$") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory_kb) / 2**20, 1) if memory_kb else None,
        "python": sys.version.split()[0],
        "postgresql": postgresql,
        **{name: metadata.version(name) for name in names},
    }
