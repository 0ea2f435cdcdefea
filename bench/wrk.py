"""Run wrk (https://github.com/wg/wrk) with a Lua script that sends the requests and prints the results as JSON."""

import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.cases import UNIQUE, Case

# The defaults of a load: concurrent connections, and threads of wrk.
CONNECTIONS = 16
THREADS = 2
# The timeout of a request, in seconds.
TIMEOUT = 10
# The line with the result begins with this.
RESULT_PREFIX = "bench "

SCRIPT = """
wrk.method = %(method)s
local paths, body, unique, stamp = %(paths)s, %(body)s, %(unique)s, %(stamp)s
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

-- Each thread begins at another path.
function init()
  requests, at, counter = {}, number * 37, 0
  for n, path in ipairs(paths) do requests[n] = body or wrk.format(nil, path) end
end

-- Send the requests in turn. The time of the run, the number of the thread and a counter replace the placeholder in the body.
function request()
  at = at + 1
  local n = at %% #requests + 1
  if not body then return requests[n] end
  counter = counter + 1
  local text = body:gsub(unique, stamp .. "-" .. number .. "-" .. counter)
  return wrk.format(nil, paths[n], nil, text)
end
"""

DONE = """
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\\n%(prefix)s{"requests": %%d, "seconds": %%f, "p50": %%f, "p95": %%f, "p99": %%f, "failed": %%d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(95) / 1e3,
    latency:percentile(99) / 1e3, errors.status + errors.timeout + errors.connect + errors.read + errors.write))
end
"""


class LoadError(Exception):
    """The reason why a case cannot be measured: an unexpected response, or a server or program that does not run."""


@dataclass(frozen=True)
class Load:
    """The result of a load, with times in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p95: float
    p99: float
    failed: int

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


def script(case: Case) -> str:
    """Return the Lua script of a case."""
    values = {
        "method": lua_string(case.method),
        "paths": "{" + ", ".join(map(lua_string, case.paths)) + "}",
        "body": "nil" if case.body is None else lua_string(case.body),
        "unique": lua_string(UNIQUE),
        "stamp": lua_string(f"{time.time_ns():x}"),
    }
    return SCRIPT % values + DONE % {"prefix": RESULT_PREFIX}


def run(address: str, case: Case, token: str, *, seconds: int, connections: int = CONNECTIONS) -> Load:
    """Load a case for `seconds` over keep-alive connections, of which each sends the next request after a response.

    Raise LoadError if wrk fails.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "case.lua"
        path.write_text(script(case))
        threads = min(THREADS, connections)
        command = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", f"--timeout={TIMEOUT}s", "-s", str(path)]
        for name, value in case.headers(token).items():
            command += ["-H", f"{name}: {value}"]
        try:
            process = subprocess.run(
                [*command, address], capture_output=True, text=True, check=True, timeout=seconds + TIMEOUT + 30
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise LoadError(f"{case.name}: wrk failed: {error}: {error.stderr or error.stdout}") from error
    return Load.read(process.stdout)


def succeed(
    address: str, case: Case, token: str, *, seconds: int, connections: int = CONNECTIONS, min_requests: int = 1
) -> Load:
    """Load a case as `run` does. Raise LoadError if a response is an error or if there are fewer than `min_requests`."""
    load = run(address, case, token, seconds=seconds, connections=connections)
    if load.failed or load.requests < min_requests:
        raise LoadError(f"{case.name} at {address}: of {load.requests} requests {load.failed} failed")
    return load
