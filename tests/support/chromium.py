"""The Chromium of this machine, which finds the service's hosts on one port of it, and nothing else anywhere."""

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Request, Response, sync_playwright

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# How long things may take where the machine is busy with something else: a fault, too, is told only then.
PATIENCE_MS = 30_000
ORIGIN = "http://acme.example.test"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # What browsers allow by https alone, such as the clipboard.
    f"--unsafely-treat-insecure-origin-as-secure={ORIGIN}",
)


@contextlib.contextmanager
def running(port: int, *, domain: str = "example.test") -> Iterator[Browser]:
    rules = f"--host-resolver-rules=MAP {domain} 127.0.0.1:{port}, MAP *.{domain} 127.0.0.1:{port}, MAP * ~NOTFOUND"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=[*FLAGS, rules])
        try:
            yield browser
        finally:
            browser.close()


class Faults(list[str]):
    """What went wrong in a browser's pages: errors of scripts, what the policy refused, requests to elsewhere."""

    def watch(self, context: BrowserContext) -> None:
        context.on("console", self.on_console)
        context.on("weberror", lambda error: self.append(f"script: {error.error}"))
        context.on("request", self.on_request)
        context.on("response", self.on_response)

    # What a browser and htmx say of a status that is not a success, which is no fault of the page (`on_response` sees those
    # that are), and htmx of a request in whose place came another one.
    SAID = ("Failed to load resource", "Response Status Error Code 4", "htmx:afterRequest", "htmx:sendAbort")

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(self.SAID):
            self.append(f"console: {message.text}")

    def on_request(self, request: Request) -> None:
        if not request.url.startswith((f"{ORIGIN}/", "data:", "blob:")):
            self.append(f"request to elsewhere: {request.url}")

    def on_response(self, response: Response) -> None:
        is_part = response.request.resource_type not in ("document", "fetch", "xhr")
        if response.status >= 500 or (response.status >= 400 and is_part):
            self.append(f"{response.status}: {response.url}")
