"""Run the installed Chromium, with the service's hosts mapped to a local port and every other host unresolvable."""

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Request, Response, sync_playwright

# The browser without a window takes less than half of the CPU time of the others.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PROGRAM = next(filter(None, map(shutil.which, PROGRAMS)), None)
# Long enough for a busy machine. A failing test also waits this long.
TIMEOUT_MS = 30_000
ORIGIN = "http://acme.example.test"
# The host at which visitors create accounts.
FRONT_ORIGIN = "http://example.test"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Allow the features that browsers reserve for https, such as the clipboard.
    f"--unsafely-treat-insecure-origin-as-secure={ORIGIN},{FRONT_ORIGIN}",
)


@contextlib.contextmanager
def running(port: int, *, domain: str = "example.test") -> Iterator[Browser]:
    # Browsers have passkeys on https, and at hosts of localhost.
    hosts = [domain, f"*.{domain}", "*.localhost"]
    rules = "--host-resolver-rules=" + ", ".join(
        [*(f"MAP {host} 127.0.0.1:{port}" for host in hosts), "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1"]
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=[*FLAGS, rules])
        try:
            yield browser
        finally:
            browser.close()


class Faults(list[str]):
    """Faults seen in a browser's pages: script errors, content blocked by the policy, requests to other hosts."""

    def watch(self, context: BrowserContext) -> None:
        context.on("console", self.on_console)
        context.on("weberror", lambda error: self.append(f"script: {error.error}"))
        context.on("request", self.on_request)
        context.on("response", self.on_response)

    # The browser and htmx report error statuses, which `on_response` checks. htmx also reports a request that a later one
    # replaced.
    IGNORED_MESSAGES = (
        "Failed to load resource",
        "Response Status Error Code 4",
        "htmx:afterRequest",
        "htmx:sendAbort",
    )

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(self.IGNORED_MESSAGES):
            self.append(f"console: {message.text}")

    def on_request(self, request: Request) -> None:
        if not request.url.startswith((f"{ORIGIN}/", f"{FRONT_ORIGIN}/", "data:", "blob:")):
            self.append(f"request to another host: {request.url}")

    def on_response(self, response: Response) -> None:
        is_subresource = response.request.resource_type not in ("document", "fetch", "xhr")
        if response.status >= 500 or (response.status >= 400 and is_subresource):
            self.append(f"{response.status}: {response.url}")
