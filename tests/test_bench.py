"""The benchmarks: a short run from end to end, and the modules for loads, charts, reports and timings."""

import contextlib
import json
import os
import queue
import shutil
import socket
import subprocess
import sys
import threading
from itertools import cycle

import psycopg
import pytest
from defusedxml import ElementTree
from django.conf import settings

from bench import accounts, cases, data, layers, machine, open_load, report, timers, triggers, wrk
from bench.chart import chart
from bench.serving import environment
from config.local.postgres import Cluster
from tests.support.tables import table

SVG = "{http://www.w3.org/2000/svg}"
DATA_SET = {
    "posts": 1_000_000,
    "clients": 1_000_000,
    "first_post": 18,
    "last_post": 1_000_017,
    "first_commented": 995_018,
    "first_client": 1_000_018,
    "last_client": 2_000_017,
}
# Invariants of the data, which is created with constraints disabled: each query returns the expected value.
INVARIANTS = {
    "SELECT count(*) FROM forum_post WHERE account_id = %(account)s AND category_id = %(category)s AND shelf = 1": 300,
    "SELECT count(*) FROM forum_post WHERE account_id = %(account)s AND category_id IS NULL": 75,
    "SELECT count(*) FROM forum_comment WHERE account_id = %(account)s": 300 * 20,
    "SELECT count(*) FROM crm_deal WHERE account_id = %(account)s": 300,
    "SELECT count(DISTINCT status_id) FROM crm_deal": 6,
    "SELECT count(DISTINCT currency) FROM crm_deal": 4,
    """SELECT count(*) FROM forum_post AS post
       LEFT JOIN (SELECT account_id, post_id, count(*) FROM forum_vote GROUP BY 1, 2) AS vote
           ON vote.account_id = post.account_id AND vote.post_id = post.id
       LEFT JOIN (SELECT account_id, post_id, count(*) FROM forum_proxyvote GROUP BY 1, 2) AS proxy
           ON proxy.account_id = post.account_id AND proxy.post_id = post.id
       WHERE votes_cache <> coalesce(vote.count, 0) + coalesce(proxy.count, 0)""": 0,
    "SELECT count(*) FROM accounts_account": 3,
    """SELECT count(*) FROM crm_client FULL JOIN crm_clientexternalid AS held
       ON held.account_id = crm_client.account_id AND held.holder_id = crm_client.id
       AND external_ids = jsonb_build_object(held.key, held.value)
       WHERE held.value IS NULL OR crm_client.id IS NULL""": 0,
    """SELECT count(*) FROM forum_post AS post LEFT JOIN forum_comment AS comment
       ON comment.account_id = post.account_id AND comment.post_id = post.id
       WHERE post.account_id = %(account)s GROUP BY post.id, post.comments_cache
       HAVING count(comment.id) <> post.comments_cache""": None,
    """SELECT count(*) FROM forum_post LEFT JOIN accounts_user AS author
       ON author.account_id = forum_post.account_id AND author.id = user_id WHERE author.id IS NULL""": 0,
    """SELECT sum(uses) - (SELECT sum(cardinality(tags)) FROM (
           SELECT tags FROM crm_client UNION ALL SELECT tags FROM crm_contact UNION ALL SELECT tags FROM crm_deal
       ) AS tagged) FROM accounts_tagcount""": 0,
    "SELECT count(*) FROM crm_client WHERE account_id = %(account)s": 300,
    "SELECT count(*) FROM accounts_change": 0,
    "SELECT count(*) FROM pg_index WHERE indrelid = 'crm_client'::regclass AND NOT (indisvalid AND indislive)": 0,
}


# Responses with a length and with chunks.
ANSWERS = (
    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
)

needs_wrk = pytest.mark.skipif(not shutil.which("wrk"), reason="needs wrk, which is not installed")


def run_benchmark(directory, arguments):
    """Run the benchmark with its data in a directory, and return its results and its output."""
    completed = subprocess.run(
        [sys.executable, "-m", "bench.run", *arguments, "--results", str(directory / "results")],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATA_DIR": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return json.loads((directory / "results" / "latest.json").read_text()), completed.stdout


@pytest.mark.slow
@needs_wrk
def test_it_works(tmp_path):
    arguments = ["--posts", "300", "--others", "2", "--seconds", "1", "--rounds", "1", "--case", "create a client"]
    run_benchmark(tmp_path, arguments)
    # The second run uses the data of the first.
    results, output = run_benchmark(tmp_path, arguments)
    [result] = results["cases"]
    assert result["case"] == "create a client"
    assert result["service"]["per second"] > 0
    assert result["bare"]["p99 ms"] > 0
    for server in ("service", "bare"):
        open_figures = result["open"][server]
        assert 0 < open_figures["p50 ms"] <= open_figures["p95 ms"] <= open_figures["p99 ms"]
        assert open_figures["per second"] == pytest.approx(0.7 * result[server]["per second"], abs=0.1)
    # The token; the client with its external id; and the rate limit, which only some requests read.
    assert 2 <= result["queries"] < 3
    assert "create a client" in output
    assert "300 posts, 300 clients, 2 other accounts" in results["data"]
    ElementTree.parse(tmp_path / "results" / "latest.svg")

    size = data.Size(300, 300, 2)
    with Cluster(tmp_path / "bench") as cluster:
        before = data.read(cluster.url, size)
        # The rows that the run created are removed.
        data_set = data.get_or_create(cluster.url, size, environment(cluster.url))
        assert data_set == before
        with psycopg.connect(data.address(cluster.url, size.database)) as connection:
            for statement, expected in INVARIANTS.items():
                row = connection.execute(statement, data_set).fetchone()
                assert (row and row[0]) == expected, statement
        recount = subprocess.run(
            [sys.executable, "manage.py", "recount"],
            cwd=settings.BASE_DIR,
            env=environment(data.address(cluster.url, size.database)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert recount.stdout == "No values differ.\n", recount.stderr
    # Each size has its own database.
    assert size.database != data.Size(301, 300, 2).database


def test_names_of_cases_are_unique():
    names = [case.name for case in cases.of(DATA_SET)]
    assert len(names) == len(set(names)) == 13
    assert "posts, page 10,000" in names
    # The smaller set has fewer pages.
    assert "posts, page 10,000" not in [case.name for case in cases.of({**DATA_SET, "posts": 200_000})]


def test_the_pages_have_a_report(tmp_path):
    """Pages are measured beside the recorded statements. The targets are reported with the values."""
    result = {
        "case": "board",
        "ratio": 0.4,
        "service": {"per second": 9.0},
        "alone": {"p50 ms": 90.0, "p95 ms": 165.0},
        "queries": 13,
        "bytes": 59_000,
    }
    checks = report.checks({"pages": [result]})
    assert [(check["rule"], check["holds"]) for check in checks] == [
        ("board: at least 0.5 of the bare view", False),
        ("board: at most 12 statements", False),
        ("board: at most 60 kB with styles and scripts", True),
        ("board: p95 of at most 150 ms with one connection", False),
    ]
    assert checks[-1]["short"] == 0.1


@pytest.mark.slow
@needs_wrk
def test_pages_are_measured(tmp_path):
    arguments = [
        "--posts",
        "60",
        "--others",
        "1",
        "--seconds",
        "1",
        "--rounds",
        "1",
        "--only",
        "pages",
        "--case",
        "board",
    ]
    results = run_benchmark(tmp_path, arguments)[0]["pages"]
    assert [result["case"] for result in results] == ["board", "board, own deals", "board, by a currency"]
    for result in results:
        assert result["service"]["per second"] > 0
        assert result["alone"]["p50 ms"] <= result["alone"]["p95 ms"]
        assert 8 <= result["queries"] <= 12
        assert 30_000 < result["bytes"] < 60_000


@pytest.mark.slow
@needs_wrk
def test_many_accounts_are_measured(tmp_path):
    results, output = run_benchmark(tmp_path, ["--only", "accounts", "--accounts", "7", "--workers", "2"])
    result = results["accounts"]
    assert result["accounts"] == 7
    assert result["restore s"] > 0
    assert result["dump bytes"] > 100_000
    with Cluster(tmp_path / "bench") as cluster:
        for database in (accounts.DATABASE, accounts.RESTORED):
            with psycopg.connect(data.address(cluster.url, database)) as connection:
                prefixes = connection.execute("SELECT prefix FROM accounts_account ORDER BY prefix").fetchall()
                assert prefixes == [(f"account-{number}",) for number in range(7)]
                [unnumbered] = connection.execute(
                    "SELECT count(*) FROM accounts_change WHERE number IS NULL"
                ).fetchone()
                # The housekeeping of the restored database has numbered the changes.
                assert (unnumbered > 0) == (database == accounts.DATABASE)
    assert "An installation with 7 accounts" in output


def test_it_rejects_error_responses():
    case = next(case for case in cases.of(DATA_SET) if case.name == "me.xml")
    assert case.find_error(200, b"<user>\n  <login>bench</login>\n</user>") is None
    assert case.find_error(401, b"<login>bench</login>").startswith("the status is 401 and not 200")
    assert "0 times and not 1 times" in case.find_error(200, b"<user/>")


# wrk

RESULT = {
    "requests": 4000,
    "seconds": 2.0,
    "p50": 1.5,
    "p95": 5.25,
    "p99": 9.25,
    "max": 12.0,
    "failed": 0,
    "timeouts": 0,
    "broken": 0,
    "statuses": {"200": 3900, "503": 100},
    "without_retry_after": 0,
}


def test_the_output_of_wrk_is_read():
    output = f"Running 2s test\n  Latency 1.50ms\n{wrk.RESULT_PREFIX}{json.dumps(RESULT)}\nRequests/sec: 1"
    load = wrk.Load.read(output)
    assert load.per_second == 2000
    assert (load.p50, load.p99, load.statuses) == (1.5, 9.25, {"200": 3900, "503": 100})


def test_it_rejects_output_without_a_result():
    with pytest.raises(wrk.LoadError, match="unable to connect"):
        wrk.Load.read("unable to connect to 127.0.0.1:1 Connection refused")


def test_the_script_for_wrk_contains_the_request():
    case = next(case for case in cases.of(DATA_SET) if case.name == "create a client")
    closed, open_loop = wrk.script(case), wrk.script(case, rate=250)
    assert 'wrk.method = "POST"' in closed
    assert r"{\"client\": {\"name\": \"Client @unique@\"" in closed
    assert "function delay()" not in closed
    assert "function delay()" in open_loop
    assert '"@unique@"' in open_loop
    assert "250.000" in open_loop


# Open arrivals


@pytest.fixture
def slow_server():
    """A server that answers one request after another on all connections, the first one of them after 300 ms."""
    requests, answers = queue.SimpleQueue(), cycle(ANSWERS)

    def read(connection):
        with connection, connection.makefile("rb") as file:
            for line in file:
                if line == b"\r\n":
                    requests.put(connection)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=read, args=[listener.accept()[0]], daemon=True).start()

    def answer():
        requests_until_stop = iter(requests.get, None)
        for number, connection in enumerate(requests_until_stop):
            stalled.wait(0 if number else 0.3)
            connection.sendall(next(answers))

    stalled = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threads = [threading.Thread(target=accept, daemon=True), threading.Thread(target=answer)]
        for thread in threads:
            thread.start()
        yield listener.getsockname()[1]
        requests.put(None)
        threads[1].join()
        listener.shutdown(socket.SHUT_RDWR)


def test_a_stall_delays_all_requests_that_were_planned_meanwhile(slow_server):
    """A closed load on one connection would count one slow request."""
    case = next(case for case in cases.of(DATA_SET) if case.name == "me.xml")
    load = open_load.run(slow_server, case, "", rate=200, seconds=0.5)
    planned = open_load.planned_times(200, 0.5)
    during_stall = [at for at in planned if at - planned[0] < 0.2]
    assert len(during_stall) > 20
    assert sum(latency >= 90 for latency in load.latencies) >= len(during_stall)
    assert max(load.latencies) >= 300
    assert (len(load.latencies), len(load.lags), load.failed) == (len(planned), len(planned), 0)


def test_open_arrivals_have_the_rate():
    times = open_load.planned_times(1000, 5)
    assert len(times) == pytest.approx(5000, rel=0.05)
    assert times == sorted(times)
    assert times[-1] < 5


def test_percentiles_of_open_arrivals():
    values = [float(value) for value in range(100, 0, -1)]
    assert [open_load.percentile(values, percent) for percent in (50, 99, 100)] == [51, 100, 100]


# Chart and report

RESULT_OF_CASE = {
    "case": "a <b> & c",
    "service": {"per second": 1500.4, "p50 ms": 1, "p99 ms": 2},
    "bare": {"per second": 2000, "p50 ms": 1, "p99 ms": 2},
    "ratio": 0.75,
}


def test_the_chart_is_well_formed():
    root = ElementTree.fromstring(chart([RESULT_OF_CASE, RESULT_OF_CASE], title="A & B", subtitles=["<c>", "d"]))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"A & B", "<c>", "a <b> & c", "d", "1,500/s", "0.75", "2,000/s"} <= set(texts)
    bars = [element for element in root.iter(f"{SVG}rect") if element.get("height") == "14"]
    # The legend has bars too.
    assert len(bars) == 2 + 4
    assert "prefers-color-scheme: dark" in root.find(f"{SVG}style").text
    lengths = [float(bar.get("width")) for bar in bars[2:]]
    assert lengths[0] / lengths[1] == pytest.approx(0.75, abs=0.01)


def test_an_empty_chart_is_well_formed():
    ElementTree.fromstring(chart([], title="", subtitles=[]))


def test_checks_of_ratios():
    def page(number, rate, ratio=1.0):
        figures = {"per second": rate, "p50 ms": 1, "p99 ms": 1}
        return {"case": f"posts, page {number}", "service": figures, "bare": figures, "ratio": ratio}

    overload = {
        "served share of peak": 0.9,
        "statuses": {"200": 900, "503": 100},
        "503 without Retry-After": 1,
        "timeouts": 0,
        "broken connections": 0,
        "healthz": {"max ms": 20.0, "failed": 0},
    }
    checks = report.checks(
        {
            "cases": [page("1", 1000, 0.94), page("100", 900, 0.9), page("10,000", 400)],
            "rows x 10": [{"case": "me.xml", "times": 1.2}, {"case": "search, few found", "times": 1.2}],
            "memory": {"steps": [{"mib": 100}, {"mib": 129}, {"mib": 130}], "growth mib": 1},
            "overload": overload,
        }
    )
    assert [check["rule"] for check in checks if not check["holds"]] == [
        "posts, page 1: at least 0.95 of the bare view",
        "posts, page 10,000: at least 0.5 of page 1",
        "me.xml, rows x 10: at most 1.15 times as long",
        "overload: the rest is 503 with Retry-After, in time",
    ]
    assert len(checks) == 11
    assert report.checks({}) == []


def test_missed_targets_are_reported(capsys):
    def case(name, rate, p99, **targets):
        # The target for the 99th percentile is for open arrivals.
        open_load = {"service": {"p99 ms": p99}}
        return {"case": name, "service": {"per second": rate, "p99 ms": 90.0}, "ratio": 1, "open": open_load, **targets}

    targets = {"target per second": 2000, "target p99 ms": 20}
    checks = report.checks({"cases": [case("a", 1500.0, 25.0, **targets), case("b", 2000.0, 19.9, **targets)]})
    assert [(check["rule"], check["holds"], check["short"], check["binds"]) for check in checks] == [
        ("a: 2,000 requests a second", False, 0.25, False),
        ("a: p99 of at most 20 ms with open arrivals", False, 0.25, False),
        ("b: 2,000 requests a second", True, 0.0, False),
        ("b: p99 of at most 20 ms with open arrivals", True, -0.005, False),
    ]
    report.show_checks(checks)
    output = capsys.readouterr().out
    assert "Targets for ratios" not in output
    assert "short by 25%    a: p99 of at most 20 ms with open arrivals: 25\n" in output
    assert "reached         b: 2,000 requests a second: 2,000\n" in output


def test_the_cost_of_triggers_is_reported(capsys):
    figures = {"per second": 270.0, "CPU ms": 4.4}
    result = {"case": "deal", "connections": 16, "with": figures, "without": {"per second": 300.0, "CPU ms": 4.0}}
    result |= {
        "ratio": 0.89,
        "CPU ratio": 0.91,
        "machine load": {"load": 1.0, "idle": 0, "others": 0, "steal": 0, "iowait": 0},
    }
    report.Triggers().show(result)
    assert capsys.readouterr().out.splitlines()[-1].split()[:8] == [
        "deal",
        "16",
        "270",
        "300",
        "0.89",
        "4.40",
        "4.00",
        "0.91",
    ]
    [check] = report.checks({"triggers": [result]})
    assert check["rule"] == "deal with triggers, 16 at a time: at least 0.9 of the rate without"
    assert (check["holds"], check["binds"]) == (False, True)


def test_the_script_for_wrk_replaces_the_ids_of_random_rows():
    [deal] = [
        case
        for case in triggers.cases_of({"client": 5, "contact": 50_005, "deal": 9, "post": 9})
        if case.name == "deal"
    ]
    script = wrk.script(deal)
    assert "local random_rows = 50000" in script
    assert r"\"client_id\": @id5@, \"contact_id\": @id50005@" in script


def test_the_state_of_the_machine_is_recorded():
    monitor = machine.LoadMonitor()
    sum(range(2_000_000))
    load = monitor.end()
    assert load.load >= 0
    for share in (load.idle, load.others, load.steal):
        assert share is None or 0 <= share <= 1
    assert os.getpid() in machine.process_tree(os.getppid())
    assert machine.memory(os.getpid()) > 1_000_000


# Layers


class Clock:
    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(timers, "perf_counter_ns", clock)
    return clock


def test_the_time_of_a_layer_excludes_inner_layers(clock):
    layer_timers = timers.Timers()

    def spend(time, *inner):
        clock.now += time
        for each in inner:
            each()

    inner = layer_timers.timed("inner", lambda: spend(5))
    middle = layer_timers.timed("middle", lambda: spend(20, inner, inner))
    outer = layer_timers.timed("outer", lambda: spend(100, middle, inner))
    outer()
    assert {layer: (each.calls, each.nanoseconds) for layer, each in layer_timers.figures.items()} == {
        "inner": (3, 15),
        "middle": (1, 20),
        "outer": (1, 100),
    }
    layer_timers.clear()
    assert layer_timers.figures["outer"].calls == 0


def test_recursive_and_failed_calls_are_counted_once(clock):
    layer_timers = timers.Timers()

    def countdown(number):
        clock.now += 10
        if number == 0:
            raise LookupError
        timed(number - 1)

    timed = layer_timers.timed("one", countdown)
    with pytest.raises(LookupError):
        timed(3)
    assert (layer_timers.figures["one"].calls, layer_timers.figures["one"].nanoseconds) == (4, 40)


def test_threads_do_not_share_a_stack():
    layer_timers = timers.Timers()
    started, may_end = threading.Event(), threading.Event()

    def wait():
        started.set()
        may_end.wait(10)

    thread = threading.Thread(target=layer_timers.timed("waiting", wait))
    thread.start()
    started.wait(10)
    layer_timers.timed("other", lambda: None)()
    may_end.set()
    thread.join()
    assert layer_timers.figures["waiting"].nanoseconds > layer_timers.figures["other"].nanoseconds > 0


def test_wrapping_can_be_undone():
    layer_timers = timers.Timers()
    before = data.address
    undo = timers.wrap(layer_timers, "data", "bench.data:address")
    assert data.address("postgresql://rostrum@x:5432/rostrum", "other") == "postgresql://rostrum@x:5432/other"
    undo()
    assert data.address is before
    assert layer_timers.figures["data"].calls == 1


@table("name", ["bench.nothing:f", "bench.data:nothing", "bench.data:Size.nothing", "bench.data:VERSION"])
def test_it_rejects_missing_functions(name):
    with pytest.raises(timers.TimerError, match=name):
        timers.wrap(timers.Timers(), "a layer", name)


def test_all_layers_exist(acme):
    before = acme.xml().get("/app/users/me.xml")
    layer_timers = layers.Layers()
    try:
        response = acme.xml().get("/app/users/me.xml")
    finally:
        layer_timers.remove()
    assert (response.status_code, response.content) == (200, before.content)
    calls = {layer for layer, figures in layer_timers.timers.figures.items() if figures.calls}
    assert {"WSGI wrapper, access log", "middleware", "authentication", "database: statements"} <= calls
    assert layer_timers.timers.figures.keys() == layers.LAYERS.keys()
