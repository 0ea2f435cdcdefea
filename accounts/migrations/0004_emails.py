"""Compare the e-mails of users and of invitations in NFC, and with the domain in ASCII.

Few rows change: those with blanks at the ends of the e-mail, or with letters outside of ASCII in its domain. Each of them is one short
transaction. A row keeps its former key if another row has the new one.
"""

# ruff: noqa: S608

import contextlib
import unicodedata

import idna
from django.db import migrations

BATCH_SIZE = 1000
# Texts that need no change: ASCII without blanks at the ends.
PLAIN = "^[!-~]([ -~]*[!-~])?$"


def trim(text):
    start, end = 0, len(text)
    while start < end and is_trimmed(text[start]):
        start += 1
    while start < end and is_trimmed(text[end - 1]):
        end -= 1
    return text[start:end]


def is_trimmed(char):
    # Not the visible format characters of Arabic and other scripts, and not those that end the emoji of a flag.
    visible = {0x06DD, 0x070F, 0x08E2, 0x110BD, 0x110CD, *range(0x0600, 0x0606), *range(0x0890, 0x0892)}
    is_format = unicodedata.category(char) == "Cf" and ord(char) not in visible
    return char.isspace() or (is_format and ord(char) not in range(0xE0020, 0xE0080))


def fold(text):
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def fold_email(email):
    name, at, domain = unicodedata.normalize("NFC", trim(email)).rpartition("@")
    if not domain.isascii():
        with contextlib.suppress(idna.IDNAError):
            domain = idna.encode(domain, uts46=True).decode()
    return fold(name) + at + fold(domain)


def rows_to_change(cursor, table, columns, condition):
    """Yield the rows in batches, in the order of their keys."""
    after = (0, 0)
    while True:
        cursor.execute(
            f"SELECT account_id, id, {columns} FROM {table} WHERE (account_id, id) > (%s, %s) AND {condition}"
            f" ORDER BY account_id, id LIMIT {BATCH_SIZE}",
            after,
        )
        rows = cursor.fetchall()
        yield from rows
        if len(rows) < BATCH_SIZE:
            return
        after = rows[-1][:2]


def change_emails(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        for table in ("accounts_user", "accounts_invitation"):
            for account_id, id, email, key in rows_to_change(cursor, table, "email, email_key", f"email !~ '{PLAIN}'"):
                new_key = fold_email(email)
                if (trim(email), new_key) != (email, key):
                    cursor.execute(
                        f"UPDATE {table} SET email = %s, email_key = %s WHERE account_id = %s AND id = %s AND email = %s"
                        f" AND NOT EXISTS (SELECT FROM {table} AS other WHERE other.account_id = %s AND other.email_key = %s"
                        " AND other.id <> %s)",
                        [trim(email), new_key, account_id, id, email, account_id, new_key, id],
                    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0003_guests")]

    operations = [
        migrations.RunPython(change_emails, migrations.RunPython.noop),
    ]
