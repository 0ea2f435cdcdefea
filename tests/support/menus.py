"""Clicks on the parts of an open menu that are no links or buttons: labels, headings, other text and padding.

Browsers move the focus on such a click to the nearest element that can have it, for example to <main>.
"""

from collections.abc import Iterator

from playwright.sync_api import Page

MENUS = "details.menu > summary"
# Return the text of each menu, and nothing for one that is not visible.
TEXTS = "(menus) => menus.map((summary) => summary.checkVisibility() ? summary.parentElement.textContent : '')"
# Open the menu and find its parts. Return their names.
FIND_PARTS = """(summary) => {
  const menu = summary.parentElement, items = menu.querySelector(".items");
  menu.open = true;
  const texts = [...items.querySelectorAll("label, legend, h1, h2, h3, p, span, dt, dd")]
    .filter((element) => element.textContent.trim() && !element.closest("a, button") && element.checkVisibility());
  window.partsOfMenu = { menu, items, texts };
  const names = [...texts.map((element) => element.textContent.trim()), "top left", "top right", "bottom left", "bottom right"];
  return names.map((name) => `${name} of the menu ${summary.textContent.trim()}`);
}"""
# Return the point of a part: the middle of a text, or a corner of the menu's padding. Null if it is not inside of the menu's box.
POINT_OF_PART = """(number) => {
  const { items, texts } = window.partsOfMenu, text = texts[number];
  const range = document.createRange();
  let box = items.getBoundingClientRect(), [x, y] = [0, 0];
  if (text) {
    text.scrollIntoView({ block: "center" });
    const words = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    while (words.nextNode() && !words.currentNode.data.trim());
    range.selectNodeContents(words.currentNode);
    box = [...range.getClientRects()].findLast((each) => each.width > 1);
    if (!box) return null;
    [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  } else {
    const corner = number - texts.length;
    [x, y] = [corner % 2 ? box.right - 4 : box.left + 4, corner < 2 ? box.top + 4 : box.bottom - 4];
  }
  const found = document.elementFromPoint(x, y);
  if (!found || !items.contains(found) || found.closest("a, button")) return null;
  const control = found.closest("label")?.control;
  window.partsOfMenu.control = control;
  window.partsOfMenu.checked = control?.checked;
  return { x, y };
}"""
# Return what is wrong after the click.
FAULT_OF_PART = """(number) => {
  const { menu, texts, control, checked } = window.partsOfMenu;
  if (!menu.open) return "closes the menu";
  if (!control) return "";
  if (["checkbox", "radio"].includes(control.type)) {
    return control.type === "checkbox" ? (control.checked === checked ? "does not tick the box" : "")
      : (control.checked ? "" : "does not choose the option");
  }
  return document.activeElement === control ? "" : "does not focus the field";
}"""


def faults_of_menus(page: Page, checked: set[str]) -> Iterator[str]:
    """Click each label, heading and padding of each menu of the page. Yield those that close the menu or have no effect.

    `checked` has the texts of the menus and the names of the parts that were clicked before. A menu of the same text is skipped, and a
    part of the same name in a menu of the same name.
    """
    for number, text in enumerate(page.locator(MENUS).evaluate_all(TEXTS)):
        if not text or text in checked:
            continue
        summary = page.locator(MENUS).nth(number)
        known = set(checked)
        checked.add(text)
        for part, name in enumerate(summary.evaluate(FIND_PARTS)):
            if name in known or (point := page.evaluate(POINT_OF_PART, part)) is None:
                continue
            checked.add(name)
            page.mouse.click(point["x"], point["y"])
            if fault := page.evaluate(FAULT_OF_PART, part):
                yield f"{name}: a click {fault}"
                summary.evaluate("(summary) => { summary.parentElement.open = true; }")
        summary.evaluate("(summary) => { summary.parentElement.open = false; }")
