"""What holds of every page: no faults that axe finds, room on small screens and for large letters, and the keyboard is enough."""

import json
from pathlib import Path

import axe_playwright_python
import pytest

from tests.browser.pages import PAGES, page_routes, routes_listed

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDE, NARROW = 1200, 320

pytestmark = pytest.mark.django_db
every_page = pytest.mark.parametrize("shown", PAGES, ids=str)


def test_every_page_is_in_the_list():
    missing = page_routes() - set(routes_listed())
    assert missing == set(), "add these to PAGES in tests/browser/pages.py"
    assert set(routes_listed()) - page_routes() == set(), "these are no pages any more"


@pytest.fixture
def opened(world, browse, shown):
    page = browse(secret=world.sessions.get(shown.who, ""))
    response = page.goto(shown.address(world))
    assert response.status == shown.status
    if shown.prepare:
        shown.prepare(page)
    return page


# What another theme or width may change. All rules are for the first look alone, as they take a while.
CHANGING = [
    "aria-hidden-focus",
    "button-name",
    "color-contrast",
    "link-name",
    "scrollable-region-focusable",
    "summary-name",
    "target-size",
]


@every_page
def test_axe_finds_nothing(opened):
    opened.evaluate(AXE)
    found = []
    only = {"type": "tag", "values": RULES}
    for width in (WIDE, NARROW):
        opened.set_viewport_size({"width": width, "height": 800})
        for theme in ("light", "dark"):
            opened.emulate_media(color_scheme=theme)
            report = opened.evaluate(
                f"axe.run(document, {json.dumps({'runOnly': only, 'resultTypes': ['violations']})})"
            )
            only = {"type": "rule", "values": CHANGING}
            found += [
                f"{width} px, {theme}: {fault['id']}: {node['failureSummary']}\n{node['html']}"
                for fault in report["violations"]
                for node in fault["nodes"]
            ]
    assert found == [], "\n\n".join(found)


# Elements that stick out of the page, to say which they are.
STICKING_OUT = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > width + 1)
    .map((one) => one.outerHTML.slice(0, 120));
}"""


@every_page
def test_it_needs_no_scrolling_sideways(opened):
    opened.set_viewport_size({"width": NARROW, "height": 800})
    assert opened.evaluate(STICKING_OUT) == []
    for width in (WIDE, 2 * NARROW):
        opened.set_viewport_size({"width": width, "height": 800})
        opened.evaluate("document.documentElement.style.fontSize = '200%'")
        assert opened.evaluate(STICKING_OUT) == []


OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
# What is to be reached, each with a number to know it by. Of a group of radio buttons Tab reaches one.
REACHABLE = """() => {
  const groups = new Set();
  return [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && one.tabIndex >= 0)
    .filter((one) => one.type !== "radio" || !groups.has(one.name) && groups.add(one.name))
    .map((one, number) => {
      one.dataset.number = number;
      if (one.type === "radio") document.getElementsByName(one.name).forEach((each) => { each.dataset.number = number; });
      return one.outerHTML.slice(0, 120);
    });
}"""
FOCUSED = """() => {
  const one = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  const seen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && box.width > 0 && box.bottom > 0 && box.top < innerHeight;
  return { number: one.dataset.number ?? null, seen, html: one.outerHTML.slice(0, 120) };
}"""


@every_page
def test_the_keyboard_reaches_everything(opened):
    opened.evaluate(OPEN_ALL)
    wanted = opened.evaluate(REACHABLE)
    reached, unseen = set(), []
    # Once around, wherever it begins; the document itself is a stop too.
    for _ in range(len(wanted) + 3):
        opened.keyboard.press("Tab")
        focused = opened.evaluate(FOCUSED)
        if focused["number"] is not None:
            reached.add(int(focused["number"]))
            if not focused["seen"]:
                unseen.append(focused["html"])
    assert [html for number, html in enumerate(wanted) if number not in reached] == []
    assert unseen == [], "the focus is not to be seen on these"


@every_page
def test_it_is_light(opened):
    """Over the wire, with its styles and scripts, as whoever comes for the first time gets it."""
    client = opened.context.new_cdp_session(opened)
    client.send("Network.enable")
    client.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sizes: dict[str, float] = {}
    client.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    opened.reload(wait_until="networkidle")
    assert sizes
    assert sum(sizes.values()) < 60_000, sizes
