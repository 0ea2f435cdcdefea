"""Extractors for `pybabel extract`, which `babel.cfg` names: for Django's templates, and for the texts of the OpenAPI document."""

import os
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

import django
from babel.messages.extract import extract_python
from django.utils.module_loading import import_string
from django.utils.translation.template import templatize


def extract_template(file: Any, keywords: Any, comment_tags: Any, options: Any) -> Iterable[Any]:
    """Return the messages of a Django template."""
    code = templatize(file.read().decode(), origin=getattr(file, "name", None))
    # Python would refuse the indentation of the template.
    lines = "\n".join(line.lstrip() for line in code.splitlines())
    return extract_python(BytesIO(lines.encode()), keywords, comment_tags, options | {"encoding": "utf-8"})


def extract_document(file: Any, keywords: Any, comment_tags: Any, options: Any) -> Iterator[Any]:
    """Yield the messages of the module of the OpenAPI document, and the texts of the document, which the code of all rooms makes."""
    yield from extract_python(file, keywords, comment_tags, options)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # The settings need these variables. Nothing connects to the database.
    for name, value in {"SECRET_KEY": "-" * 60, "BASE_DOMAIN": "localhost", "DATABASE_URL": "postgresql://-"}.items():
        os.environ.setdefault(name, value)
    django.setup()
    # Its module reads the settings.
    for text in import_string("core.openapi.texts.document_texts")():
        yield 0, "gettext", text, []
