"""The printed and written results of a run."""

import json
from pathlib import Path

# The width of the column with the names of cases.
NAME_WIDTH = 20


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def machine_load(values: dict) -> str:
    text = f"load {values['load']:.1f}"
    for name in ("idle", "others", "steal", "iowait"):
        if values[name] is not None and (name in ("idle", "others") or values[name] >= 0.005):
            text += f", {name} {share(values[name])}"
    return text


def say(text: str) -> None:
    """Print a line at once, also if the output is not a terminal."""
    print(text, flush=True)


class Table:
    """A table of results of one kind. Each row is printed as soon as it is measured."""

    def __init__(self, title: str, headings: list[tuple[str, int]]):
        self.widths = [width for _, width in headings]
        say(f"\n{title}")
        self.row([heading for heading, _ in headings])

    def row(self, cells: list[str]) -> None:
        aligned = [f"{cells[0]:{self.widths[0]}}"]
        aligned += [f"{cell:>{width}}" for cell, width in zip(cells[1:-1], self.widths[1:-1], strict=True)]
        say("".join(aligned) + "   " + cells[-1])


class BesideBare(Table):
    def __init__(self) -> None:
        times = [("p50 ms", 8), ("p99 ms", 8)]
        headings = [("requests/s", 11), *times, ("bare/s", 9), *times, ("ratio", 7), ("queries", 9), ("machine", 0)]
        super().__init__("Beside a bare view of the same SQL", [("", NAME_WIDTH), *headings])

    def show(self, result: dict) -> None:
        cells = [result["case"]]
        for server in ("service", "bare"):
            figures = result[server]
            cells += [f"{figures['per second']:.0f}", f"{figures['p50 ms']:.1f}", f"{figures['p99 ms']:.1f}"]
        queries = "" if result["queries"] is None else f"{result['queries']:.1f}"
        self.row([*cells, f"{result['ratio']:.2f}", queries, machine_load(result["machine load"])])


class Pages(Table):
    def __init__(self) -> None:
        headings = [
            ("requests/s", 11),
            ("p50 ms", 8),
            ("p95 ms", 8),
            ("p99 ms", 8),
            ("bare/s", 9),
            ("ratio", 7),
            ("alone p50", 11),
            ("alone p95", 11),
            ("queries", 9),
            ("kB", 7),
        ]
        super().__init__("Pages beside bare views of the same statements", [("", 28), *headings, ("machine", 0)])

    def show(self, result: dict) -> None:
        service, alone = result["service"], result["alone"]
        times = [f"{service[name]:.1f}" for name in ("p50 ms", "p95 ms", "p99 ms")]
        self.row(
            [
                result["case"],
                f"{service['per second']:.0f}",
                *times,
                f"{result['bare']['per second']:.0f}",
                f"{result['ratio']:.2f}",
                f"{alone['p50 ms']:.1f}",
                f"{alone['p95 ms']:.1f}",
                f"{result['queries']:.1f}",
                f"{result['bytes'] / 1000:.1f}",
                machine_load(result["machine load"]),
            ]
        )


class Scaling(Table):
    def __init__(self, title: str, names: tuple[str, str]):
        super().__init__(
            title, [("requests/s", NAME_WIDTH), *((name, 16) for name in names), ("times", 8), ("machine", 0)]
        )

    def show(self, result: dict) -> None:
        rates = [f"{result[data_set]['per second']:.0f}" for data_set in ("first", "second")]
        self.row([result["case"], *rates, f"{result['times']:.2f}", machine_load(result["machine load"])])


def show_start(seconds: float) -> None:
    say(f"\nStart: the first response after {seconds:.2f} s")


def show_memory(result: dict | None) -> None:
    if result is None:
        say("\nMemory: this system does not report the memory of a process.")
        return
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
