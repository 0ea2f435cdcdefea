"""The extractor of the texts of the OpenAPI document for `pybabel extract`, which `babel.cfg` names."""

import os
from collections.abc import Collection, Iterator, Mapping
from typing import IO, TYPE_CHECKING

import django
from babel.messages.extract import extract_python
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from babel.messages.extract import _Keyword, _PyOptions


def extract_document(
    file: IO[bytes], keywords: "Mapping[str, _Keyword]", comment_tags: Collection[str], options: "_PyOptions"
) -> Iterator[tuple[object, ...]]:
    """Yield the messages of the module of the OpenAPI document, and the texts of the document, which the code of all rooms makes."""
    yield from extract_python(file, keywords, comment_tags, options)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # The settings need these variables. Nothing connects to the database.
    for name, value in {
        "SECRET_KEY": "-" * 60,
        "BASE_DOMAIN": "localhost",
        "DATABASE_URL": "postgresql://-",
        "FILES_DIR": "-",
    }.items():
        os.environ.setdefault(name, value)
    django.setup()
    # Its module reads the settings.
    for text in import_string("core.openapi.document.document_texts")():
        yield 0, "gettext", text, []
