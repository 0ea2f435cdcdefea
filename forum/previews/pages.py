"""The pictures that messengers and social networks show for a link to a suggestion (`og:image`).

A picture shows only what every visitor may read: the title, the number of votes, the status and the name of the forum. Drawing takes
about 30 ms, so each process caches the pictures that it has drawn, by their content.
"""

import hashlib
import io
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from django.http import Http404, HttpResponse, HttpResponseNotModified
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import get_language, ngettext
from PIL import Image, ImageDraw, ImageFont

from accounts.brand.models import Branding
from accounts.statuses.models import status_name
from core.http import throttling
from core.pages.base import base_url
from forum.forums.models import Forum
from forum.forums.pages.base import ForumPage
from forum.forums.requests import ForumRequest
from forum.lists.queries import Visibility

if TYPE_CHECKING:
    from forum.posts.models import Post

# The size that Facebook and X recommend.
WIDTH, HEIGHT = 1200, 630
MARGIN = 80
MAX_TITLE_LINES = 4
# A title is cut to this number of characters before it is measured. More do not fit into the lines.
MAX_TITLE_LENGTH = 160
MAX_NAME_LENGTH = 60
# The number of pictures in the cache, of about 20 kB each.
MAX_CACHED = 100
# Change this if pictures are drawn differently, so that their addresses change.
DESIGN = 1
# Pillow's own font has Latin letters only. DejaVu, which the container image has, also has Greek, Cyrillic, Arabic and others.
FONT_FILES = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")
BACKGROUND, TEXT, SOFT, LINE = "#ffffff", "#1c1c22", "#5b5b66", "#e3e3ea"
ACCENT = "#4f46e5"
# The number of colours of a picture. With few colours, the file is small.
COLORS = 64

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


class Preview(NamedTuple):
    """The content of a picture, in one language."""

    title: str
    votes: int
    status: str
    color: str
    forum: str
    language: str
    accent: str

    @property
    def digest(self) -> str:
        """The digest of the content, for the address and the ETag."""
        return hashlib.sha256(repr((DESIGN, *self)).encode("utf-8", "backslashreplace")).hexdigest()[:20]


def preview_of(forum: Forum, post: "Post") -> Preview:
    status, language = post.status, get_language() or ""
    branding = Branding.loaded(forum.account)
    accent = branding.light.accent if branding.style_key else ACCENT
    return Preview(post.title, post.votes_cache, status_name(status), status.color or "", forum.name, language, accent)


def image_url(request: ForumRequest, post: "Post") -> str | None:
    """Return the URL of the picture of a post, or None if visitors may not read the post."""
    if post.visibility != Visibility.OPEN or not request.forum.may_be_read_by(None):
        return None
    query = {"v": preview_of(request.forum, post).digest}
    return base_url(request) + reverse("forum-post-image", args=[post.id], query=query)


class PostImagePage(ForumPage):
    """The picture of a suggestion that every visitor may read. Other suggestions have no picture, not even for the team."""

    http_method_names = ["get", "head"]

    def get(self, request: ForumRequest, id: int) -> HttpResponse:
        if not request.forum.may_be_read_by(None):
            raise Http404
        posts = request.account.posts.of_forum(request.forum.id).open().select_related("status")
        preview = preview_of(request.forum, get_object_or_404(posts.only("title", "votes_cache", "status"), id=id))
        # The address of a picture contains its digest, so a changed suggestion has another address.
        headers = {"ETag": f'"{preview.digest}"', "Cache-Control": "public, max-age=3600"}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return HttpResponseNotModified(headers=headers)
        throttling.count_picture(request)
        return HttpResponse(draw(preview), content_type="image/png", headers=headers)


@cache
def load_font(size: int, *, bold: bool = False) -> Font:
    """Return DejaVu Sans, or Pillow's own font if it is not installed."""
    try:
        return ImageFont.truetype(FONT_FILES[bold], size)
    except OSError:
        return ImageFont.load_default(size)


@lru_cache(maxsize=2000)
def has_glyph(character: str) -> bool:
    """Return whether the font has the character. A font draws the same box for each character that it lacks."""
    font = load_font(20)
    missing, mask = font.getmask("\ufdd0"), font.getmask(character)
    return (mask.size, bytes(mask)) != (missing.size, bytes(missing))


def drawable(text: str, max_length: int) -> str:
    """Return the text in one line, shortened, and without characters that the font lacks."""
    shortened = re.sub(r"\s+", " ", text[: max_length + 1]).strip()
    kept = "".join(character for character in shortened if character == " " or has_glyph(character)).strip()
    # A text without most of its characters is unreadable.
    if len(kept) < len(shortened) / 2:
        return ""
    return kept if len(text) <= max_length else kept[:max_length].rstrip() + "…"


def wrap(text: str, font: Font, width: int, max_lines: int) -> list[str]:
    """Break a text into lines of at most this width in pixels. The last line ends with an ellipsis if the text is too long."""
    lines: list[str] = []
    rest = text
    while rest and len(lines) < max_lines:
        end = len(rest)
        while font.getlength(rest[:end]) > width:
            # Estimate the end from the width first, since a measurement takes time.
            end = min(end - 1, max(1, int(end * width / font.getlength(rest[:end]))))
        if end < len(rest):
            space = rest.rfind(" ", 0, end + 1)
            # A word that is longer than half of a line is broken.
            end = space if space > end // 2 else end
        lines.append(rest[:end].strip())
        rest = rest[end:].strip()
    if rest:
        last = lines[-1]
        while last and font.getlength(last + "…") > width:
            last = last[:-1].rstrip()
        lines[-1] = last.rstrip(".…") + "…"
    return lines


@lru_cache(maxsize=MAX_CACHED)
def draw(preview: Preview) -> bytes:
    """Return the picture as a PNG. The active language has to be that of the preview."""
    image = Image.new("RGB", (WIDTH, HEIGHT), BACKGROUND)
    canvas = ImageDraw.Draw(image)
    canvas.rectangle((0, 0, WIDTH, 16), fill=preview.accent)
    canvas.text((MARGIN, 68), drawable(preview.forum, MAX_NAME_LENGTH), font=load_font(34), fill=SOFT)
    title = drawable(preview.title, MAX_TITLE_LENGTH) or drawable(preview.forum, MAX_NAME_LENGTH)
    size = 66 if len(title) <= 60 else 54
    font = load_font(size, bold=True)
    for number, line in enumerate(wrap(title, font, WIDTH - 2 * MARGIN, MAX_TITLE_LINES)):
        canvas.text((MARGIN, 140 + number * int(size * 1.3)), line, font=font, fill=TEXT)
    baseline = HEIGHT - 70
    canvas.line((MARGIN, HEIGHT - 160, WIDTH - MARGIN, HEIGHT - 160), fill=LINE, width=3)
    votes = ngettext("%(n)d vote", "%(n)d votes", preview.votes) % {"n": preview.votes}
    bold = load_font(42, bold=True)
    canvas.text(
        (MARGIN, baseline), f"▲ {votes}" if has_glyph("▲") else votes, font=bold, fill=preview.accent, anchor="ls"
    )
    status = drawable(preview.status, MAX_NAME_LENGTH)
    plain = load_font(38)
    [status] = wrap(status, plain, WIDTH // 2, 1) or [""]
    left = int(WIDTH - MARGIN - plain.getlength(status))
    canvas.text((left, baseline), status, font=plain, fill=TEXT, anchor="ls")
    color = preview.color if re.fullmatch(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", preview.color) else SOFT
    canvas.ellipse((left - 44, baseline - 28, left - 16, baseline), fill=color)
    output = io.BytesIO()
    image.quantize(COLORS, method=Image.Quantize.FASTOCTREE).save(output, "PNG", compress_level=9)
    return output.getvalue()
