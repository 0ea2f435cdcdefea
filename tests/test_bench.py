"""The benchmarks: short runs from end to end, and the modules that run a load and read its result."""

import json
import os
import re
import shutil
import subprocess
import sys

import psycopg
import pytest
from django.conf import settings

from bench import cases, data, machine, record, wrk
from bench.serving import environment
from config.local.postgres import Cluster

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
    "SELECT count(*) FROM forum_post WHERE account_id = %(account)s AND category_id = %(category)s AND visibility = 1": 300,
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
    "SELECT count(*) FROM core_change": 0,
    "SELECT count(*) FROM pg_index WHERE indrelid = 'crm_client'::regclass AND NOT (indisvalid AND indislive)": 0,
}


needs_wrk = pytest.mark.skipif(not shutil.which("wrk"), reason="needs wrk, which is not installed")


def run_benchmark(directory, arguments, *, status=0, **environment):
    """Run the benchmark with its data in a directory, and return its results and its output."""
    completed = subprocess.run(
        [sys.executable, "-m", "bench.run", *arguments, "--results", str(directory / "results")],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATA_DIR": str(directory), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == status, completed.stdout + completed.stderr
    return json.loads((directory / "results" / "latest.json").read_text()), completed.stdout


def path_with_wrk(directory, pattern, command):
    """Return a PATH with a program `wrk` that runs a command of the shell for some cases, and the real wrk for the others.

    The scripts of the cases match the regular expression.
    """
    program = directory / "bin" / "wrk"
    program.parent.mkdir(exist_ok=True)
    program.write_text(
        f"""#!/bin/sh
for argument; do case $argument in *.lua) script=$argument;; esac; done
if grep -q '{pattern}' "$script"; then {command}; fi
exec {shutil.which("wrk")} "$@"
"""
    )
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@pytest.mark.soak
@needs_wrk
def test_it_works(tmp_path):
    common = ["--posts", "300", "--others", "2", "--rounds", "1"]
    results, output = run_benchmark(tmp_path, [*common, "--seconds", "1", "--case", "create a client"])
    [result] = results["cases"]
    assert result["case"] == "create a client"
    assert result["service"]["per second"] > 0
    assert result["bare"]["p99 ms"] > 0
    # The token, the client, and its external id.
    assert result["queries"] == 3
    assert "create a client" in output
    assert "Creating 300 posts, 300 clients, 2 other accounts" in output

    # The second run uses the data of the first.
    pages = ["--seconds", "4", "--only", "pages", "--case", "board, own"]
    results, output = run_benchmark(tmp_path, [*common, *pages])
    assert "Creating" not in output
    [result] = results["pages"]
    assert result["case"] == "board, own deals"
    assert result["service"]["per second"] > 0
    assert result["alone"]["p50 ms"] <= result["alone"]["p95 ms"]
    assert 8 <= result["queries"] <= 12
    assert 30_000 < result["bytes"] < 90_000

    size = data.Size(300, 300, 2)
    with Cluster(tmp_path / "bench") as cluster:
        # The rows that the runs created are not in the next copy.
        address, data_set = data.copy(cluster.url, size, environment(cluster.url))
        with psycopg.connect(address) as connection:
            for statement, expected in INVARIANTS.items():
                row = connection.execute(statement, data_set).fetchone()
                assert (row and row[0]) == expected, statement
        recount = subprocess.run(
            [sys.executable, "manage.py", "recount"],
            cwd=settings.BASE_DIR,
            env=environment(address),
            capture_output=True,
            text=True,
            check=False,
        )
        assert recount.stdout == "No values differ.\n", recount.stderr
    # Each size has its own database.
    assert size.database != data.Size(301, 300, 2).database


@pytest.mark.soak
@needs_wrk
def test_it_measures_the_other_cases_after_one_is_cut_off(tmp_path):
    arguments = ["--posts", "300", "--others", "2", "--rounds", "1", "--seconds", "1", "--case", "client by"]
    by_id = "clients/[0-9]*[.]json"
    killed = path_with_wrk(tmp_path, by_id, "kill -9 $$")
    parts = ["--only", "cases", "--only", "memory", "--requests", "10"]
    results, output = run_benchmark(tmp_path, [*arguments, *parts], status=1, PATH=killed)
    assert list(results["failed"]) == ["cases: client by id", "memory"]
    assert all("SIGKILL" in reason for reason in results["failed"].values())
    assert [result["case"] for result in results["cases"]] == ["client by ext. id"]
    assert "interrupted" not in results
    assert re.search(
        r"^cases: client by id +failed: LoadError: client by id: wrk failed: .*SIGKILL", output, re.MULTILINE
    )
    assert output.endswith("\nFailed: cases: client by id, memory\n")

    # Ctrl-C during the second case.
    by_external_id = "external_ids"
    interrupted = path_with_wrk(tmp_path, by_external_id, "kill -INT $PPID; exec sleep 60")
    results, output = run_benchmark(tmp_path, arguments, status=130, PATH=interrupted)
    assert [result["case"] for result in results["cases"]] == ["client by id"]
    assert results["cases"][0]["service"]["per second"] > 0
    assert (results["interrupted"], results["failed"]) == (True, {})
    assert "Interrupted" in output


def test_names_of_cases_are_unique():
    names = [case.name for case in cases.requests_of_apis(DATA_SET)]
    assert len(names) == len(set(names)) == 13
    assert "posts, page 10,000" in names
    # The smaller set has fewer pages.
    assert "posts, page 10,000" not in [case.name for case in cases.requests_of_apis({**DATA_SET, "posts": 200_000})]


def test_it_rejects_error_responses():
    case = next(case for case in cases.requests_of_apis(DATA_SET) if case.name == "me.xml")
    assert case.find_error(200, b"<user>\n  <login>bench</login>\n</user>") is None
    assert case.find_error(401, b"<login>bench</login>").startswith("the status is 401 and not 200")
    assert "0 times and not 1 times" in case.find_error(200, b"<user/>")


def test_a_case_that_ends_its_recording_is_left_out(tmp_path, monkeypatch):
    runs = []

    def run_recording(command, *, env, **options):
        """Record the cases up to `b` or `d`, where the process is killed."""
        recorded, names = json.loads((tmp_path / "recorded.json").read_text()), command[3:]
        recorded["session"] = "secret"
        runs.append(names)
        for name in names:
            if name in ("b", "d"):
                break
            recorded["cases"][name] = {"queries": 1}
        record.write(tmp_path / "recorded.json", recorded)
        return subprocess.CompletedProcess(command, -9 if name in ("b", "d") else 0, stderr="no memory\n")

    monkeypatch.setattr(record.subprocess, "run", run_recording)
    recorded = record.record_all({}, ["a", "b", "c", "d"], {}, tmp_path / "recorded.json")
    assert runs == [["a", "b", "c", "d"], ["c", "d"]]
    assert list(recorded["cases"]) == ["a", "c"]
    reason = "the recording ended (killed by signal 9): no memory"
    assert recorded["failed"] == {"b": reason, "d": reason}
    assert recorded == json.loads((tmp_path / "recorded.json").read_text())


def test_it_rejects_a_recording_that_cannot_start(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, stderr="no database\n")
    monkeypatch.setattr(record.subprocess, "run", lambda *arguments, **options: failed)
    with pytest.raises(wrk.LoadError, match=r"the recording ended \(status 1\): no database"):
        record.record_all({}, ["a", "b"], {}, tmp_path / "recorded.json")


# wrk

RESULT = {"requests": 4000, "seconds": 2.0, "p50": 1.5, "p95": 5.25, "p99": 9.25, "failed": 0}


def test_the_output_of_wrk_is_read():
    output = f"Running 2s test\n  Latency 1.50ms\n{wrk.RESULT_PREFIX}{json.dumps(RESULT)}\nRequests/sec: 1"
    load = wrk.Load.read(output)
    assert load.per_second == 2000
    assert (load.p50, load.p99) == (1.5, 9.25)


def test_it_rejects_output_without_a_result():
    with pytest.raises(wrk.LoadError, match="unable to connect"):
        wrk.Load.read("unable to connect to 127.0.0.1:1 Connection refused")


def test_the_script_for_wrk_contains_the_request():
    case = next(case for case in cases.requests_of_apis(DATA_SET) if case.name == "create a client")
    script = wrk.script(case)
    assert 'wrk.method = "POST"' in script
    assert r"{\"client\": {\"name\": \"Client @unique@\"" in script


def test_the_state_of_the_machine_is_recorded():
    before = machine.cpu_times()
    sum(range(2_000_000))
    assert re.fullmatch(r"load \d+\.\d(, idle \d+%, steal \d+%)?", machine.load_since(before))
    assert os.getpid() in machine.children(os.getppid())
    assert machine.memory(os.getpid()) > 1_000_000
