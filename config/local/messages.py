"""`make messages`: update the Polish catalogue from the messages in code and templates, and compile it.

This replaces `makemessages` and `compilemessages`, without GNU gettext. The catalogue depends only on the code: it has no dates and no
line numbers, and its messages are sorted.
"""

import gettext
import os
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import django
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.module_loading import import_string
from django.utils.translation.template import templatize

BASE_DIR = Path(__file__).resolve().parents[2]
ROOMS = ("accounts", "config", "core", "crm", "forum", "webhooks", "workspace")
PO = BASE_DIR / "locale" / "pl" / "LC_MESSAGES" / "django.po"
MO = PO.with_suffix(".mo")

# The arguments of each function that are messages; "c" marks the context.
FUNCTIONS = {
    name + suffix: arguments
    for name, arguments in {
        "gettext": (1,),
        "ngettext": (1, 2),
        "pgettext": ((1, "c"), 2),
        "npgettext": ((1, "c"), 2, 3),
    }.items()
    for suffix in ("", "_lazy")
} | {"_": (1,), "gettext_noop": (1,)}


def plural_forms() -> str:
    """Return the plural forms of Django's own Polish catalogue: Django merges only catalogues with the same plural forms."""
    path = Path(django.__file__).parent / "conf" / "locale" / "pl" / "LC_MESSAGES" / "django.mo"
    with path.open("rb") as file:
        return gettext.GNUTranslations(file).info()["plural-forms"]


class Polish(Catalog):
    """A Polish catalogue with a fixed header, without the date and the version of Babel."""

    def __init__(self, comment: str):
        super().__init__(locale="pl", header_comment=comment, fuzzy=False)
        # This call also sets the number of plural forms.
        self._set_mime_headers([("Plural-Forms", plural_forms())])

    @property
    def mime_headers(self) -> list[tuple[str, str]]:
        return [
            ("Language", "pl"),
            ("MIME-Version", "1.0"),
            ("Content-Type", "text/plain; charset=UTF-8"),
            ("Content-Transfer-Encoding", "8bit"),
            ("Plural-Forms", plural_forms() + "\n"),
        ]


def as_python(template: str, origin: str) -> str:
    """Return a template as Python code that calls gettext, without indentation, which would be a syntax error."""
    return "\n".join(line.lstrip() for line in templatize(template, origin).splitlines())


def sources(base: Path = BASE_DIR) -> list[Path]:
    """Return the code and templates that may contain messages."""
    code = (path for room in ROOMS for path in (base / room).rglob("*.py"))
    return sorted([*code, *templates(base)])


def templates(base: Path = BASE_DIR) -> list[Path]:
    """Return the templates of Django and of Jinja2. Those of Jinja2 contain no messages, and tests check that they contain no text."""
    folders = (base / room / name for room in ROOMS for name in ("templates", "jinja2"))
    paths = (path for folder in folders for path in folder.rglob("*"))
    return sorted(path for path in paths if path.suffix in {".html", ".txt", ".xml"})


def collect(base: Path = BASE_DIR) -> Catalog:
    """Return a catalogue of all messages in code and templates, without translations."""
    catalog = Catalog()
    for path in sources(base):
        name, source = path.relative_to(base).as_posix(), path.read_text("utf-8")
        code = BytesIO((source if path.suffix == ".py" else as_python(source, name)).encode())
        messages = extract("python", code, FUNCTIONS, ["Translators:"], {"encoding": "utf-8"})
        for _line, message, comments, context in messages:
            catalog.add(message, locations=[(name, 0)], auto_comments=comments, context=context)
    if base == BASE_DIR:
        # This module is imported late, because it needs the settings.
        for text in import_string("core.openapi.texts.document_texts")():
            catalog.add(text, locations=[("core/openapi/document.py", 0)])
    return catalog


def merge(collected: Catalog, translations: Catalog) -> Polish:
    """Return the collected messages with their translations. No translation is taken from a similar message."""
    merged = Polish(translations.header_comment)
    for message in collected:
        if not message.id:
            continue
        translated = translations.get(message.id, message.context)
        if translated is None or translated.id != message.id:
            translated = Message(message.id, context=message.context)
        merged.add(
            message.id,
            translated.string,
            locations=message.locations,
            flags=translated.flags,
            auto_comments=message.auto_comments,
            user_comments=translated.user_comments,
            context=message.context,
        )
    return merged


def untranslated(catalog: Catalog) -> list[str]:
    """Return a line for each message that is fuzzy or not translated."""
    lines = []
    for message in catalog:
        forms: Any = message.string if message.pluralizable else [message.string]
        number_of_forms = catalog.num_plurals if message.pluralizable else 1
        if message.fuzzy:
            lines.append(f"fuzzy: {message.id!r}")
        elif len(forms) != number_of_forms or not all(forms):
            lines.append(f"not translated: {message.id!r}")
    return lines


def parse(po: bytes) -> Catalog:
    """Return the catalogue in a PO file. Raise PoFileError if it is invalid."""
    return read_po(BytesIO(po), locale="pl", abort_invalid=True)


def po_bytes(catalog: Polish) -> bytes:
    file = BytesIO()
    write_po(file, catalog, width=0, sort_output=True, include_lineno=False)
    return file.getvalue().rstrip(b"\n") + b"\n"


def mo_bytes(catalog: Catalog) -> bytes:
    file = BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def set_up_django() -> None:
    """Load the apps, which register the texts of the OpenAPI document. The settings need no database or other service."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    for name, value in {"SECRET_KEY": "-" * 60, "BASE_DOMAIN": "localhost", "DATABASE_URL": "postgresql://-"}.items():
        os.environ.setdefault(name, value)
    django.setup()


def main() -> int:
    set_up_django()
    catalog = merge(collect(), parse(PO.read_bytes()))
    PO.write_bytes(po_bytes(catalog))
    MO.write_bytes(mo_bytes(catalog))
    problems = untranslated(catalog)
    for line in problems:
        print(line, file=sys.stderr)
    print(f"{PO.relative_to(BASE_DIR)}: {len(catalog)} messages, {len(problems)} of them not translated")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
