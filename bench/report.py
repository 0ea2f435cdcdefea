"""The printed and written results of a run."""

import json
from pathlib import Path

from bench.chart import chart

NAME = 20


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def meanwhile(values: dict) -> str:
    said = f"load {values['load']:.1f}"
    for name in ("idle", "others", "steal", "waiting"):
        if values[name] is not None and (name in ("idle", "others") or values[name] >= 0.005):
            said += f", {name} {share(values[name])}"
    return said


def say(*words: str) -> None:
    print(*words, flush=True)


class Table:
    """A table of results of one kind, each printed as soon as it is measured."""

    def __init__(self, title: str, heads: list[tuple[str, int]]):
        self.widths = [width for _, width in heads]
        say(f"\n{title}")
        self.row([head for head, _ in heads])

    def row(self, cells: list[str]) -> None:
        shown = [f"{cells[0]:{self.widths[0]}}"]
        shown += [f"{cell:>{width}}" for cell, width in zip(cells[1:-1], self.widths[1:-1], strict=True)]
        say("".join(shown) + "   " + cells[-1])


class BesideBare(Table):
    def __init__(self):
        heads = [
            ("requests/s", 11),
            ("p50 ms", 8),
            ("p99 ms", 8),
            ("bare/s", 9),
            ("p50 ms", 8),
            ("p99 ms", 8),
            ("ratio", 7),
        ]
        super().__init__("Beside a bare view of the same SQL", [("", NAME), *heads, ("queries", 9), ("meanwhile", 0)])

    def show(self, result: dict) -> None:
        cells = [result["case"]]
        for who in ("service", "bare"):
            figures = result[who]
            cells += [f"{figures['per second']:.0f}", f"{figures['p50 ms']:.1f}", f"{figures['p99 ms']:.1f}"]
        queries = "" if result["queries"] is None else f"{result['queries']:.1f}"
        self.row([*cells, f"{result['ratio']:.2f}", queries, meanwhile(result["meanwhile"])])


class Scaling(Table):
    def __init__(self, title: str, names: tuple[str, str]):
        super().__init__(title, [("requests/s", NAME), *((name, 16) for name in names), ("times", 8), ("meanwhile", 0)])

    def show(self, result: dict) -> None:
        rates = [f"{result[which]['per second']:.0f}" for which in ("first", "second")]
        self.row([result["case"], *rates, f"{result['times']:.2f}", meanwhile(result["meanwhile"])])


def show_memory(result: dict | None) -> None:
    if result is None:
        say("\nMemory: this system does not tell how much a process uses.")
        return
    steps = ", ".join(f"{step['mib']:.0f} MiB after {step['requests']:,} requests" for step in result["steps"])
    say(f"\nMemory of {result['workers']} workers together: {steps}; {result['failed']} of the answers were no success")


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
    say(f"  answers: p50 {result['p50 ms']:.0f} ms, p99 {result['p99 ms']:.0f} ms, at most {result['most ms']:.0f} ms")
    health = result["healthz"]
    say(f"  /healthz meanwhile: {health['asked']} asked, {health['wrong']} wrong, at most {health['most ms']:.0f} ms")
    say(f"  {meanwhile(result['meanwhile'])}")


def checks(report: dict) -> list[dict]:
    """Return the targets and whether they are met. Ratios within a run are binding on any machine; figures are for guidance."""
    by_name = {result["case"]: result for result in report.get("cases", [])}
    found = []

    def check(rule: str, value: float | None, holds: bool) -> None:
        if value is not None:
            found.append({"rule": rule, "value": round(value, 3), "holds": holds, "binds": True})

    def guide(rule: str, value: float, wanted: float, short: float) -> None:
        found.append(
            {
                "rule": rule,
                "value": value,
                "wanted": wanted,
                "holds": short <= 0,
                "short": round(short, 3),
                "binds": False,
            }
        )

    first = by_name.get("posts, page 1")
    if first:
        check("page 1: at least 0.7 of the bare view", first["ratio"], first["ratio"] >= 0.7)
        for name, result in by_name.items():
            if name.startswith("posts, page") and result is not first:
                part = result["service"]["per second"] / first["service"]["per second"]
                check(f"{name}: at least 0.5 of page 1", part, part >= 0.5)
    for result in report.get("rows x 10", []):
        check(f"{result['case']}, rows x 10: at most 1.15 times as long", result["times"], result["times"] <= 1.15)
    for result in report.get("accounts x 20", []):
        check(f"{result['case']}, accounts x 20: at most 1.1 times as long", result["times"], result["times"] <= 1.1)
    if memory := report.get("memory"):
        last = memory["steps"][-1]["mib"]
        check("memory of all workers: at most 160 MiB", last, last <= 160)
        check("memory: grows by 2 MiB at most after the first half", memory["growth mib"], memory["growth mib"] <= 2)
    if overload := report.get("overload"):
        part, statuses = overload["served share of peak"], overload["statuses"]
        check("overload: at least 0.8 of the peak is served", part, part >= 0.8)
        others = sum(count for status, count in statuses.items() if status not in ("200", "503"))
        wrong = others + overload["503 without Retry-After"] + overload["timeouts"] + overload["broken connections"]
        check("overload: the rest is 503 with Retry-After, in time", wrong, wrong == 0)
        slowest, refused = overload["healthz"]["most ms"], overload["healthz"]["wrong"]
        check("overload: /healthz answers within 1000 ms", slowest, slowest <= 1000 and not refused)
    for name, result in by_name.items():
        rate, wanted = result["service"]["per second"], result.get("wanted per second")
        if wanted:
            guide(f"{name}: {wanted:,} requests a second", rate, wanted, 1 - rate / wanted)
        slow, most = result["service"]["p99 ms"], result.get("p99 ms wanted")
        if most:
            guide(f"{name}: p99 under {most} ms", slow, most, slow / most - 1)
    return found


def show_checks(found: list[dict]) -> None:
    if binding := [check for check in found if check["binds"]]:
        say("\nAsked of the ratios")
        for check in binding:
            say(f"  {'holds ' if check['holds'] else 'MISSED'}  {check['rule']}: {check['value']:g}")
    if guidance := [check for check in found if not check["binds"]]:
        say("\nFor guidance, as it depends on the machine")
        for check in guidance:
            said = "reached" if check["holds"] else f"short by {check['short']:.0%}"
            say(f"  {said:14}  {check['rule']}: {check['value']:,g}")


def write(directory: Path, report: dict) -> list[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    written = {directory / "latest.json": json.dumps(report, indent=2, ensure_ascii=False) + "\n"}
    if report.get("cases"):
        machine = report["machine"]
        subtitles = [report["data"], f"{report['workers']} workers, {machine['cores']} cores, {machine['processor']}"]
        written[directory / "latest.svg"] = chart(report["cases"], title="Requests per second", subtitles=subtitles)
    for path, text in written.items():
        path.write_text(text)
    return list(written)
