"""The extractor of the texts of the OpenAPI document for `pybabel extract`, which `babel.cfg` names."""

import os
from collections.abc import Iterator
from typing import Any

import django
from babel.messages.extract import extract_python
from django.utils.module_loading import import_string


def extract_document(file: Any, keywords: Any, comment_tags: Any, options: Any) -> Iterator[Any]:
    """Yield the messages of the module of the OpenAPI document, and the texts of the document, which the code of all rooms makes."""
    yield from extract_python(file, keywords, comment_tags, options)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # The settings need these variables. Nothing connects to the database.
    for name, value in {"SECRET_KEY": "-" * 60, "BASE_DOMAIN": "localhost", "DATABASE_URL": "postgresql://-"}.items():
        os.environ.setdefault(name, value)
    django.setup()
    # Its module reads the settings.
    for text in import_string("core.openapi.document.document_texts")():
        yield 0, "gettext", text, []
