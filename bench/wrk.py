"""Run wrk (https://github.com/wg/wrk) with a Lua script that sends the requests and prints the results as JSON."""

import json
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.cases import UNIQUE, Case

# The defaults of a load: concurrent connections, and threads of wrk.
CONNECTIONS = 16
THREADS = 2
# The line with the result begins with this.
RESULT_PREFIX = "bench "

SCRIPT = """
wrk.method = %(method)s
local paths, body, unique, stamp, rate = %(paths)s, %(body)s, %(unique)s, %(stamp)s, %(rate)s
local random_rows = %(random_rows)s
local threads = {}

function setup(thread)
  table.insert(threads, thread)
  thread:set("number", #threads)
end

-- Each thread begins at another path.
function init()
  requests, at, counter, counts, without_retry_after = {}, number * 37, 0, {}, 0
  for n, path in ipairs(paths) do requests[n] = body or wrk.format(nil, path) end
  math.randomseed(os.time() * 2 + number)
end

-- Replace each "@id1000@" by the id of a row, 1000 for the first one. All ids in a request have the same random number of the row.
function with_ids(text, row)
  return (text:gsub("@id(%%d+)@", function(first) return string.format("%%d", first + row) end))
end

-- Send the requests in turn. The time of the run, the number of the thread and a counter replace the placeholder in the body.
function request()
  at = at + 1
  local n = at %% #requests + 1
  if not body then return requests[n] end
  counter = counter + 1
  local path, text = paths[n], body:gsub(unique, stamp .. "-" .. number .. "-" .. counter)
  if random_rows then
    local row = math.random(0, random_rows - 1)
    path, text = with_ids(path, row), with_ids(text, row)
  end
  return wrk.format(nil, path, nil, text)
end
"""

# Requests are sent at fixed times, even if earlier ones have no response yet. If all connections are busy, a request waits
# for a free one.
OPEN_LOOP = """
local ffi = require("ffi")
ffi.cdef[[ typedef struct { long s; long ns; } bench_time; int clock_gettime(int, bench_time *); ]]
local clock, due = ffi.new("bench_time")

-- Return the milliseconds to wait before the next request.
function delay()
  ffi.C.clock_gettime(1, clock)  -- CLOCK_MONOTONIC
  local now = tonumber(clock.s) * 1000 + tonumber(clock.ns) / 1e6
  due = (due or now) + 1000 / rate
  return math.max(0, due - now)
end

function response(status, headers)
  counts[status] = (counts[status] or 0) + 1
  if status == 503 and not headers["Retry-After"] and not headers["retry-after"] then without_retry_after = without_retry_after + 1 end
end
"""

DONE = """
function done(summary, latency)
  local statuses, without_retry_after = {}, 0
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("counts")) do statuses[status] = (statuses[status] or 0) + count end
    without_retry_after = without_retry_after + thread:get("without_retry_after")
  end
  local counted = {}
  for status, count in pairs(statuses) do table.insert(counted, string.format('"%%d": %%d', status, count)) end
  local errors = summary.errors
  io.write(string.format(
    '\\n%(prefix)s{"requests": %%d, "seconds": %%f, "p50": %%f, "p95": %%f, "p99": %%f, "max": %%f, "failed": %%d, "timeouts": %%d, ' ..
    '"broken": %%d, "statuses": {%%s}, "without_retry_after": %%d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(95) / 1e3,
    latency:percentile(99) / 1e3, latency.max / 1e3, errors.status, errors.timeout, errors.connect + errors.read + errors.write,
    table.concat(counted, ", "), without_retry_after))
end
"""


class LoadError(Exception):
    """An error for a load that failed or had unexpected responses."""


@dataclass(frozen=True)
class Load:
    """The result of a load, with times in milliseconds. Only an open load counts `statuses`."""

    requests: int
    seconds: float
    p50: float
    p95: float
    p99: float
    max: float
    failed: int
    timeouts: int
    broken: int
    statuses: dict[str, int]
    without_retry_after: int

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds

    @classmethod
    def read(cls, output: str) -> "Load":
        """Parse the JSON of the script in the output of wrk. Raise LoadError if there is none."""
        for line in output.splitlines():
            if line.startswith(RESULT_PREFIX):
                return cls(**json.loads(line.removeprefix(RESULT_PREFIX)))
        raise LoadError(f"wrk printed no result: {output.strip()[-500:]}")


def lua_string(text: str) -> str:
    """Return a Lua string. JSON has the same escapes, except for non-ASCII characters, which are not escaped here."""
    return json.dumps(text, ensure_ascii=False)


def script(case: Case, *, rate: float | None = None) -> str:
    """Return the Lua script of a case. A `rate`, in requests per second and thread, makes the load open."""
    values = {
        "method": lua_string(case.method),
        "paths": "{" + ", ".join(map(lua_string, case.paths)) + "}",
        "body": "nil" if case.body is None else lua_string(case.body),
        "unique": lua_string(UNIQUE),
        "stamp": lua_string(f"{time.time_ns():x}"),
        "rate": "nil" if rate is None else f"{rate:.3f}",
        "random_rows": case.random_rows or "nil",
    }
    return SCRIPT % values + (OPEN_LOOP if rate else "") + DONE % {"prefix": RESULT_PREFIX}


def check_installed() -> None:
    if not shutil.which("wrk"):
        raise LoadError("The benchmark needs wrk: install the package of that name.")


def run(
    address: str,
    case: Case,
    token: str,
    *,
    seconds: int,
    connections: int = CONNECTIONS,
    rate: float | None = None,
    timeout: int = 10,
) -> Load:
    """Load a case for `seconds` over keep-alive connections. Raise LoadError if wrk fails.

    Each connection sends the next request after a response. With a `rate`, all connections together send `rate` per second.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "case.lua"
        path.write_text(script(case, rate=rate / min(THREADS, connections) if rate else None))
        threads = min(THREADS, connections)
        command = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", f"--timeout={timeout}s", "-s", str(path)]
        for name, value in case.headers(token).items():
            command += ["-H", f"{name}: {value}"]
        try:
            process = subprocess.run(
                [*command, address], capture_output=True, text=True, check=True, timeout=seconds + timeout + 30
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise LoadError(f"{case.name}: wrk failed: {error}: {error.stderr or error.stdout}") from error
    return Load.read(process.stdout)


def succeed(
    address: str, case: Case, token: str, *, seconds: int, connections: int = CONNECTIONS, min_requests: int = 1
) -> Load:
    """Load a case as `run` does. Raise LoadError if a response is an error or if there are fewer than `min_requests`."""
    load = run(address, case, token, seconds=seconds, connections=connections)
    if load.failed or load.timeouts or load.broken or load.requests < min_requests:
        raise LoadError(
            f"{case.name} at {address}: of {load.requests} requests {load.failed} failed; "
            f"{load.timeouts} timed out, {load.broken} connections broke"
        )
    return load


def warm_up(address: str, case: Case, token: str) -> None:
    """Load a case for a second. The first response of a new process is slow: it imports modules and hashes a password."""
    succeed(address, case, token, seconds=1, min_requests=0)
