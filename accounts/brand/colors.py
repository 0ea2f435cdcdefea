"""The colours that a page derives from the accent colour of an account, readable by WCAG 2.2 (1.4.3, level AA)."""

import colorsys
import re
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from core.errors import FieldError

ACCENT_PATTERN = re.compile(r"#[0-9a-f]{6}\Z")
MIN_CONTRAST = 4.5
# The lightest and the darkest surfaces of the two themes (`rostrum.css`), and the text on a button.
LIGHT_SURFACES, ON_LIGHT = ("#ffffff", "#f7f7f9", "#f1f1f5"), "#ffffff"
DARK_SURFACES, ON_DARK = ("#1a1a22", "#111117", "#24242f"), "#111117"
# The part of the accent in the tint behind selected and official things.
LIGHT_TINT, DARK_TINT = 0.08, 0.16


@dataclass(frozen=True)
class Palette:
    """The colours of one theme. `strong` is the accent under the pointer."""

    accent: str
    strong: str
    on_accent: str
    tint: str
    surface: str

    @property
    def contrast(self) -> float:
        """The contrast of the text on a button."""
        return contrast(self.accent, self.on_accent)

    @property
    def is_readable(self) -> bool:
        surfaces = LIGHT_SURFACES if self.on_accent == ON_LIGHT else DARK_SURFACES
        return all(contrast(self.accent, other) >= MIN_CONTRAST for other in (*surfaces, self.tint, self.on_accent))


def luminance(color: str) -> float:
    """Return the relative luminance of a colour `#rrggbb` (WCAG 2.2)."""
    channels = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def mix(color: str, other: str, part: float) -> str:
    """Return the colour that has this part of `color`, and the rest of `other`."""
    pairs = ((int(color[start : start + 2], 16), int(other[start : start + 2], 16)) for start in (1, 3, 5))
    return "#" + "".join(f"{round(one * part + two * (1 - part)):02x}" for one, two in pairs)


def check_accent(color: str) -> str:
    """Return the colour in lower case. Raise FieldError if it is no colour, or no shade of it can be read."""
    color = color.strip().lower()
    if not ACCENT_PATTERN.match(color):
        raise FieldError("accent", _("is not a colour such as #5f55e8"))
    if not (light_palette(color).is_readable and dark_palette(color).is_readable):
        raise FieldError("accent", _("has no shade that can be read on light and on dark backgrounds"), "contrast")
    return color


def light_palette(color: str) -> Palette:
    """Return the colours of the light theme: the accent itself, or the first darker shade that can be read."""
    shades = (_palette(mix(color, "#000000", 1 - step / 100), is_dark=False) for step in range(101))
    return next((shade for shade in shades if shade.is_readable), _palette(color, is_dark=False))


def dark_palette(color: str) -> Palette:
    """Return the colours of the dark theme: the accent itself, or the first lighter shade that can be read."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)))
    shades = (
        _palette(_from_hls(hue, lightness + (1 - lightness) * step / 100, saturation), is_dark=True)
        for step in range(101)
    )
    return next((shade for shade in shades if shade.is_readable), _palette(color, is_dark=True))


def _from_hls(hue: float, lightness: float, saturation: float) -> str:
    return "#" + "".join(f"{round(part * 255):02x}" for part in colorsys.hls_to_rgb(hue, lightness, saturation))


def _palette(accent: str, *, is_dark: bool) -> Palette:
    if is_dark:
        surface = DARK_SURFACES[0]
        return Palette(accent, mix(accent, "#ffffff", 0.7), ON_DARK, mix(accent, surface, DARK_TINT), surface)
    surface = LIGHT_SURFACES[0]
    return Palette(accent, mix(accent, "#000000", 0.8), ON_LIGHT, mix(accent, surface, LIGHT_TINT), surface)


def stylesheet(color: str) -> str:
    """Return the CSS with the colours that replace those of `rostrum.css`."""
    light, dark = (
        f":root{{--accent:{each.accent};--accent-strong:{each.strong};--on-accent:{each.on_accent};--tint:{each.tint}}}"
        for each in (light_palette(color), dark_palette(color))
    )
    return f"{light}\n@media (prefers-color-scheme:dark){{{dark}}}\n"
