"""Trim the e-mails and the external ids of clients, contacts and deals, and compare e-mails with the domain in ASCII.

Few rows change: those with blanks at the ends of the e-mail, or with letters outside of ASCII in its domain. Each of them is one short
transaction, and the change feed reports it.
"""

# ruff: noqa: S608

import contextlib
import unicodedata

import idna
from django.db import migrations, transaction

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
        for table in ("crm_client", "crm_contact"):
            for account_id, id, email, key in rows_to_change(cursor, table, "email, email_key", f"email !~ '{PLAIN}'"):
                if (trim(email), fold_email(email)) != (email, key):
                    cursor.execute(
                        f"UPDATE {table} SET email = %s, email_key = %s WHERE account_id = %s AND id = %s AND email = %s",
                        [trim(email), fold_email(email), account_id, id, email],
                    )


def trim_external_ids(apps, schema_editor):
    """Trim the values that requests look up. A value stays as it is if another row has the trimmed one."""
    with schema_editor.connection.cursor() as cursor:
        for kind in ("client", "contact", "deal"):
            cursor.execute(
                f"SELECT account_id, holder_id, key, value FROM crm_{kind}externalid WHERE value !~ '{PLAIN}'"
            )
            for account_id, id, key, value in cursor.fetchall():
                if trim(value) in (value, ""):
                    continue
                with transaction.atomic():
                    cursor.execute(
                        f"SELECT FROM crm_{kind} WHERE account_id = %s AND id = %s AND external_ids ->> %s = %s"
                        " FOR NO KEY UPDATE",
                        [account_id, id, key, value],
                    )
                    if not cursor.fetchall():
                        continue
                    cursor.execute(
                        f"INSERT INTO crm_{kind}externalid (account_id, key, value, holder_id) VALUES (%s, %s, %s, %s)"
                        " ON CONFLICT DO NOTHING RETURNING true",
                        [account_id, key, trim(value), id],
                    )
                    if cursor.fetchall():
                        cursor.execute(
                            f"DELETE FROM crm_{kind}externalid WHERE account_id = %s AND key = %s AND value = %s",
                            [account_id, key, value],
                        )
                        cursor.execute(
                            f"UPDATE crm_{kind} SET external_ids = external_ids || jsonb_build_object(%s::text, %s::text)"
                            " WHERE account_id = %s AND id = %s",
                            [key, trim(value), account_id, id],
                        )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("crm", "0001_initial"),
    ]

    operations = [
        migrations.RunPython(change_emails, migrations.RunPython.noop),
        migrations.RunPython(trim_external_ids, migrations.RunPython.noop),
    ]
