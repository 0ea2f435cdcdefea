"""Stories in a browser: with or without JavaScript, with the mouse or by keyboard alone, and so on."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from accounts.users.models import User

# Every element of a page can be reached with this number of Tab keys.
MAX_TABS = 200
MAX_CHOICES = 30
OVERFLOWING = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@dataclass(frozen=True)
class Combination:
    javascript: bool = True
    keyboard: bool = False
    width: int = 1280
    theme: str = "light"
    language: str = "en"

    @classmethod
    def parse(cls, text: str) -> "Combination":
        """Read a combination such as "plain keyboard 390 dark pl". "plain" is a browser without JavaScript."""
        javascript, device, width, theme, language = text.split()
        return cls(javascript == "js", device == "keyboard", int(width), theme, language)


def in_combination(text: str) -> pytest.MarkDecorator:
    """Run a test with this combination, which it gets as `combination`."""
    return pytest.mark.parametrize("combination", [pytest.param(Combination.parse(text), id=text.replace(" ", "-"))])


def is_focused(element: Locator) -> bool:
    return element.evaluate("(element) => element === document.activeElement")


def tab_to(element: Locator) -> None:
    """Move the focus to the element with the Tab key alone."""
    expect(element).to_be_visible()
    for _ in range(MAX_TABS):
        element.page.keyboard.press("Tab")
        if is_focused(element):
            return
    raise AssertionError(f"Tab does not reach {element}")


class Operator:
    """A user at a page, who uses the mouse or the keyboard alone."""

    def __init__(self, browse: Callable[..., Page], user: User, combination: Combination):
        self.combination = combination
        self.page = browse(
            user,
            javascript=combination.javascript,
            width=combination.width,
            theme=combination.theme,
            language=combination.language,
        )

    def open(self, path: str) -> None:
        self.page.goto(path)
        self.check()

    def check(self) -> None:
        """Assert that the page is in the expected language, and no wider than the window. Wait until its scripts have run."""
        expect(self.page.locator("html")).to_have_attribute("lang", self.combination.language)
        self.page.wait_for_load_state()
        assert not self.page.evaluate(OVERFLOWING), f"{self.page.url} is wider than the window"

    def press(self, element: Locator) -> None:
        """Follow a link, press a button or open a menu."""
        if not self.combination.keyboard:
            element.click()
            return
        self.focus(element)
        self.page.keyboard.press("Enter")

    def focus(self, element: Locator) -> None:
        expect(element).to_be_visible()
        if not is_focused(element):
            tab_to(element)

    def fill(self, field: Locator, text: str) -> None:
        """Replace the text of a field."""
        if not self.combination.keyboard:
            field.fill(text)
            return
        self.focus(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def check_box(self, box: Locator) -> None:
        if not self.combination.keyboard:
            box.check()
            return
        self.focus(box)
        self.page.keyboard.press("Space")
        expect(box).to_be_checked()

    def choose(self, radio: Locator) -> None:
        """Choose a radio button, which may be hidden behind its label."""
        if not self.combination.keyboard:
            radio.locator("xpath=ancestor::label | following-sibling::label[1]").first.click()
        elif not radio.is_checked():
            # Tab stops once at each group of radio buttons.
            in_group = (
                "(radio) => document.activeElement.name === radio.name && document.activeElement.type === 'radio'"
            )
            self.repeat("Tab", lambda: radio.evaluate(in_group), MAX_TABS)
            if is_focused(radio):
                self.page.keyboard.press("Space")
            self.repeat("ArrowDown", radio.is_checked, MAX_CHOICES)
        expect(radio).to_be_checked()

    def select(self, field: Locator, label: str) -> None:
        """Select the option with this label."""
        if not self.combination.keyboard:
            field.select_option(label=label)
            return
        self.focus(field)
        self.page.keyboard.press("Home")
        selected = "(field) => field.selectedOptions[0].label.trim()"
        self.repeat("ArrowDown", lambda: field.evaluate(selected) == label, MAX_CHOICES)

    def repeat(self, key: str, condition: Callable[[], object], most: int) -> None:
        """Press a key until the condition is true."""
        for _ in range(most):
            if condition():
                return
            self.page.keyboard.press(key)
        assert condition(), f"{key} does not lead there"
