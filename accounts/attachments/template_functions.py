from collections.abc import Mapping
from math import ceil
from typing import Any

from django.utils.translation import gettext

from accounts.attachments.models import path_of
from accounts.attachments.reading import MAX_BYTES
from core.pages.formatting import number_text
from core.pages.templates import template_filter, template_function


@template_function
def max_file_bytes() -> int:
    return MAX_BYTES


@template_filter
def file_path(file: Mapping[str, Any]) -> str:
    return path_of(file["id"], file["name"])


@template_filter
def file_size(size: int) -> str:
    """Return a number of bytes for people."""
    if size < 1_000_000:
        return gettext("%(n)s kB") % {"n": number_text(ceil(size / 1000))}
    return gettext("%(n)s MB") % {"n": number_text(size / 1_000_000, 1)}
