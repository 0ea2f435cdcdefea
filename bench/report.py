"""The printed and written results of a run."""

import json
from pathlib import Path

NAME_WIDTH = 28


def say(text: str) -> None:
    """Print a line at once, also if the output is not a terminal."""
    print(text, flush=True)


def row(name: str, cells: list[str], machine: str) -> None:
    say(f"{name:{NAME_WIDTH}}" + "".join(f"{cell:>11}" for cell in cells) + f"   {machine}")


def start_table(title: str, headings: list[str]) -> None:
    say(f"\n{title}")
    row("", headings, "machine")


def start_cases(title: str) -> None:
    headings = [
        "requests/s",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "bare/s",
        "ratio",
        "queries",
        "alone p50",
        "alone p95",
        "kB",
    ]
    start_table(title, headings)


def show_case(result: dict) -> None:
    service, alone = result["service"], result.get("alone")
    cells = [f"{service['per second']:.0f}", *(f"{service[name]:.1f}" for name in ("p50 ms", "p95 ms", "p99 ms"))]
    cells += [f"{result['bare']['per second']:.0f}", f"{result['ratio']:.2f}", f"{result['queries']:.1f}"]
    if alone:
        cells += [f"{alone['p50 ms']:.1f}", f"{alone['p95 ms']:.1f}", f"{result['bytes'] / 1000:.1f}"]
    row(result["case"], cells + [""] * (10 - len(cells)), result["machine"])


def show_failure(name: str, reason: str) -> None:
    say(f"{name:{NAME_WIDTH}}   failed: {reason}")


def show_scaling(result: dict) -> None:
    rates = [f"{result[data_set]['per second']:.0f}" for data_set in ("first", "second")]
    row(result["case"], [*rates, f"{result['times']:.2f}"], result["machine"])


def show_memory(result: dict) -> None:
    steps = ", ".join(
        f"{step['mib']:.0f} MiB ({step['mib with parent']:.0f} with their parent) after {step['requests']:,} requests"
        for step in result["steps"]
    )
    say(f"\nMemory of {result['workers']} workers together: {steps}; {result['failed']} requests failed")


def write(directory: Path, report: dict) -> Path:
    """Write the results of the run as JSON, and return the path of the file."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "latest.json"
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return path
