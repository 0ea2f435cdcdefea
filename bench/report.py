"""The printed and written results of a run."""

import json
from pathlib import Path

from bench.chart import chart

# The targets of each page: the 95th percentile of the times with one connection, in milliseconds; the statements; and the bytes of the page
# with its styles and scripts, as they are sent.
MAX_P95, MAX_STATEMENTS, MAX_BYTES = 150, 12, 60_000
# The memory of two workers in MiB, and the time from the start of `manage.py serve` to the first response in seconds.
MAX_MEMORY, MAX_START = 130, 2
# The targets for the ratios to the bare views, by case. For pages, it is half of the rate.
RATIOS = {
    "posts, page 1": 0.95,
    "posts, page 100": 0.90,
    "post, 20 comments": 0.85,
    "me.xml": 0.80,
    "create a post": 0.70,
    "create a client": 0.85,
    "update a client": 0.95,
}
PAGES, PAGE_RATIO = {"forum home", "suggestion, 20 comments", "clients", "client", "board"}, 0.5
# How long a request may take with ten times the rows, as a multiple of its time. Few results of a search are found in its last stages.
GROWTH, GROWTH_FEW_FOUND = 1.15, 1.30
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
    """The rates and times of the closed load, and the times with open arrivals at `measure.OPEN_SHARE` of these rates."""

    def __init__(self):
        open_headings = [("open p50", 10), ("p95", 9), ("p99", 9)]
        headings = [
            *(("requests/s", 11), ("p50 ms", 8), ("p99 ms", 8), *open_headings),
            *(("bare/s", 9), ("p50 ms", 8), ("p99 ms", 8), *open_headings),
            *(("ratio", 7), ("queries", 9), ("lag p99", 9), ("failed", 8)),
        ]
        super().__init__("Beside a bare view of the same SQL", [("", NAME_WIDTH), *headings, ("machine", 0)])

    def show(self, result: dict) -> None:
        cells = [result["case"]]
        for server in ("service", "bare"):
            figures, open_figures = result[server], result["open"][server]
            cells += [f"{figures['per second']:.0f}", f"{figures['p50 ms']:.1f}", f"{figures['p99 ms']:.1f}"]
            cells += [f"{open_figures[name]:.1f}" for name in ("p50 ms", "p95 ms", "p99 ms")]
        queries = "" if result["queries"] is None else f"{result['queries']:.1f}"
        lag, failed = (result["open"]["service"][name] for name in ("generator lag p99 ms", "failed"))
        cells += [f"{result['ratio']:.2f}", queries, f"{lag:.1f}", str(failed)]
        loads = f"{machine_load(result['machine load'])}; open: {machine_load(result['open']['machine load'])}"
        self.row([*cells, loads])


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


class Triggers(Table):
    def __init__(self):
        headings = [("connections", 13), ("requests/s", 12), ("without", 9), ("ratio", 7)]
        headings += [("CPU ms", 8), ("without", 9), ("ratio", 7)]
        super().__init__(
            "Creates with the triggers of the room workspace, and without",
            [("", NAME_WIDTH), *headings, ("machine", 0)],
        )

    def show(self, result: dict) -> None:
        cells = [result["case"], str(result["connections"])]
        for name, digits, ratio in (("per second", 0, "ratio"), ("CPU ms", 2, "CPU ratio")):
            cells += [f"{result[side][name]:.{digits}f}" for side in ("with", "without")] + [f"{result[ratio]:.2f}"]
        self.row([*cells, machine_load(result["machine load"])])


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


def show_webhooks(result: dict) -> None:
    say(f"\nWebhooks: {result['deliveries_per_second']}/s to a receiver that answers at once")
    say(
        f"  lag beside {result['hanging_requests']} requests to endpoints that never answer: median {result['lag_median']} s,"
        f" p99 {result['lag_99']} s, at most {result['lag_max']} s"
    )


def show_accounts(result: dict) -> None:
    say(f"\nAn installation with {result['accounts']:,} accounts, {result['database bytes'] / 1e6:,.0f} MB")
    say(f"  created in {result['create s']} s")
    say(
        f"  dumped in {result['dump s']} s to {result['dump bytes'] / 1e6:,.0f} MB, with {result['dump memory bytes'] / 2**20:.0f} MiB of memory"
    )
    say(f"  restored in {result['restore s']} s, with {result['restore memory bytes'] / 2**20:.0f} MiB of memory")
    say(
        f"  all housekeeping: {result['first housekeeping s']} s at first, {result['housekeeping s']} s with nothing to do"
    )
    memory = ", ".join(
        f"{size / 2**20:.1f} MiB after {number}" for number, size in result["memory of a connection"].items()
    )
    say(f"  a connection that takes ids for many accounts: {memory}")


def show_overload(result: dict) -> None:
    say(
        f"\nOverload ({result['case']}): {result['offered per second']:.0f}/s, five times its peak of {result['peak per second']:.0f}/s"
    )
    statuses = ", ".join(f"{count:,} x {status}" for status, count in sorted(result["statuses"].items()))
    say(
        f"  served {result['served per second']:.0f}/s, {result['served share of peak']:.0%} of the peak (of "
        f"{', '.join(f'{share:.0%}' for share in result['shares of the rounds'])}); {statuses}; "
        f"{result['503 without Retry-After']} x 503 without Retry-After, {result['timeouts']} timed out, "
        f"{result['broken connections']} connections broke"
    )
    say(f"  responses: p50 {result['p50 ms']:.0f} ms, p99 {result['p99 ms']:.0f} ms, at most {result['max ms']:.0f} ms")
    health = result["healthz"]
    say(
        f"  /healthz meanwhile: {health['requests']} requests, {health['failed']} failed, at most {health['max ms']:.0f} ms"
    )
    say(f"  {machine_load(result['machine load'])}")


def checks(report: dict) -> list[dict]:
    """Return the targets and whether they are met. Targets for ratios are binding on any machine; targets for rates and times are for guidance."""
    by_name = {result["case"]: result for result in report.get("cases", [])}
    results = []

    def check(rule: str, value: float | None, holds: bool) -> None:
        if value is not None:
            results.append({"rule": rule, "value": round(value, 3), "holds": holds, "binds": True})

    def guide(rule: str, value: float, target: float, shortfall: float) -> None:
        results.append(
            {
                "rule": rule,
                "value": value,
                "target": target,
                "holds": shortfall <= 0,
                "short": round(shortfall, 3),
                "binds": False,
            }
        )

    for name, target in RATIOS.items():
        if name in by_name:
            ratio = by_name[name]["ratio"]
            check(f"{name}: at least {target} of the bare view", ratio, ratio >= target)
    if first := by_name.get("posts, page 1"):
        for name, result in by_name.items():
            if name.startswith("posts, page") and result is not first:
                part = result["service"]["per second"] / first["service"]["per second"]
                check(f"{name}: at least 0.5 of page 1", part, part >= 0.5)
    for result in report.get("rows x 10", []):
        most = GROWTH_FEW_FOUND if result["case"] == "search, few found" else GROWTH
        check(f"{result['case']}, rows x 10: at most {most} times as long", result["times"], result["times"] <= most)
    for result in report.get("accounts x 20", []):
        check(f"{result['case']}, accounts x 20: at most 1.1 times as long", result["times"], result["times"] <= 1.1)
    for result in report.get("triggers", []):
        name = f"{result['case']} with triggers, {result['connections']} at a time"
        check(f"{name}: at least 0.9 of the rate without", result["ratio"], result["ratio"] >= 0.9)
    if memory := report.get("memory"):
        last = memory["steps"][-1]["mib"]
        check(f"memory of all workers: at most {MAX_MEMORY} MiB", last, last <= MAX_MEMORY)
        check("memory: grows by 2 MiB at most after the first half", memory["growth mib"], memory["growth mib"] <= 2)
    if start := report.get("start s"):
        guide("start: the first response within 2 s", start, MAX_START, start / MAX_START - 1)
    if overload := report.get("overload"):
        part, statuses = overload["served share of peak"], overload["statuses"]
        check("overload: at least 0.8 of the peak is served", part, part >= 0.8)
        others = sum(count for status, count in statuses.items() if status not in ("200", "503"))
        unexpected = (
            others + overload["503 without Retry-After"] + overload["timeouts"] + overload["broken connections"]
        )
        check("overload: the rest is 503 with Retry-After, in time", unexpected, unexpected == 0)
        slowest, failed = overload["healthz"]["max ms"], overload["healthz"]["failed"]
        check("overload: /healthz answers within 1000 ms", slowest, slowest <= 1000 and not failed)
    if webhooks := report.get("webhooks"):
        rate, lag = webhooks["deliveries_per_second"], webhooks["lag_99"]
        guide("webhooks: 300 deliveries a second", rate, 300, 1 - rate / 300)
        guide("webhooks: lag (p99) of at most 2 s beside endpoints that hang", lag, 2, lag / 2 - 1)
    for result in report.get("pages", []):
        name, queries, size, p95 = result["case"], result["queries"], result["bytes"], result["alone"]["p95 ms"]
        if name in PAGES and "ratio" in result:
            check(f"{name}: at least {PAGE_RATIO} of the bare view", result["ratio"], result["ratio"] >= PAGE_RATIO)
        check(f"{name}: at most 12 statements", queries, queries <= MAX_STATEMENTS)
        check(f"{name}: at most 60 kB with styles and scripts", size / 1000, size <= MAX_BYTES)
        guide(f"{name}: p95 of at most 150 ms with one connection", p95, MAX_P95, p95 / MAX_P95 - 1)
    for name, result in by_name.items():
        rate, target = result["service"]["per second"], result.get("target per second")
        if target:
            guide(f"{name}: {target:,} requests a second", rate, target, 1 - rate / target)
        if "open" in result:
            p99, maximum = result["open"]["service"]["p99 ms"], result["target p99 ms"]
            guide(f"{name}: p99 of at most {maximum} ms with open arrivals", p99, maximum, p99 / maximum - 1)
    return results


def show_checks(results: list[dict]) -> None:
    if binding := [check for check in results if check["binds"]]:
        say("\nTargets for ratios, which hold on any machine")
        for check in binding:
            say(f"  {'holds ' if check['holds'] else 'MISSED'}  {check['rule']}: {check['value']:g}")
    if guidance := [check for check in results if not check["binds"]]:
        say("\nTargets for guidance, which depend on the machine")
        for check in guidance:
            outcome = "reached" if check["holds"] else f"short by {check['short']:.0%}"
            say(f"  {outcome:14}  {check['rule']}: {check['value']:,g}")


def write(directory: Path, report: dict) -> list[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    files = {directory / "latest.json": json.dumps(report, indent=2, ensure_ascii=False) + "\n"}
    if report.get("cases"):
        machine = report["machine"]
        subtitles = [report["data"], f"{report['workers']} workers, {machine['cores']} cores, {machine['processor']}"]
        files[directory / "latest.svg"] = chart(report["cases"], title="Requests per second", subtitles=subtitles)
    for path, text in files.items():
        path.write_text(text)
    return list(files)
