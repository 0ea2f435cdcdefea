"""`make screenshots`: take the screenshots in docs/images again, from the service with the demo data."""

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from tests.support.chromium import PROGRAM, running
from tests.support.service import READY, Service

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
# The maximum size of a picture in bytes.
MAX_BYTES = 150_000


@dataclass(frozen=True)
class Picture:
    name: str
    path: str
    theme: str = "light"
    # The height of the picture in pixels.
    height: int = 760
    # The element to click first.
    click: str = ""


PICTURES = [
    Picture("forum", "/"),
    # A post with an official response and comments.
    Picture("post", "/app/roadmap", click="a:has-text('A dark theme')"),
    Picture("api", "/app/account/api/clients", theme="dark"),
    Picture("settings", "/app/account"),
    Picture("board", "/app/deals/board", height=620),
    Picture("clients", "/app/clients", height=680),
    Picture("client", "/app/clients?q=Northlight", click=".records a:has-text('Northlight')"),
    Picture("report", "/app/reports/results"),
]


def main() -> int:
    if PROGRAM is None:
        print("make screenshots needs Chromium, which is not installed", file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rostrum-screenshots-") as directory:
        service = Service(Path(directory) / "data", WORKERS="1", LOG_LEVEL="ERROR", DEMO="")
        try:
            service.wait_for_output(READY, 120)
            service.wait_for_output("Try it:", 10)
            faults = take(service)
        finally:
            service.process.terminate()
            service.process.wait(20)
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


def take(service: Service) -> list[str]:
    """Take the pictures. Return the failures with their reasons."""
    values = dict(line.split("=", 1) for line in (service.data / "demo.env").read_text().splitlines())
    with running(service.port, domain="localhost") as browser:
        context = browser.new_context(
            base_url="http://demo.localhost",
            viewport={"width": 1200, "height": 760},
            locale="en",
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.goto("/app/sign-in?password=1")
        page.locator("#id_login").fill("demo")
        page.locator("#id_password").fill(values["PASSWORD"])
        page.locator("#sign-in button").click()
        return [f"{picture.name}: {fault}" for picture in PICTURES if (fault := write(picture, page))]


def write(picture: Picture, page: Page) -> str:
    page.emulate_media(color_scheme=picture.theme)
    page.set_viewport_size({"width": 1200, "height": picture.height})
    response = page.goto(picture.path)
    if picture.click:
        with page.expect_response(lambda response: response.request.resource_type == "document") as expected:
            page.locator(picture.click).first.click()
        response = expected.value
    if response.status != 200:
        return f"{response.url} has the status {response.status}"
    # The team's tools are loaded after the page.
    page.wait_for_load_state("networkidle")
    content = page.screenshot(animations="disabled")
    if len(content) > MAX_BYTES:
        return f"the picture has {len(content)} bytes, more than {MAX_BYTES}"
    (IMAGES / f"{picture.name}.png").write_bytes(content)
    print(f"docs/images/{picture.name}.png: {len(content)} bytes")
    return ""


if __name__ == "__main__":
    sys.exit(main())
