from django.db import migrations

from core.db.tenancy import CREATE_COUNTERS

# Until the end of the transaction, no account is created and no id is taken. ALTER SEQUENCE changes nothing here. It waits for the
# transactions that took ids, and locks the sequence before its value is read.
COPY_SEQUENCES = """
LOCK TABLE accounts_account IN SHARE ROW EXCLUSIVE MODE;

DO $$
DECLARE
    account bigint;
    sequence text;
BEGIN
    FOR account IN SELECT id FROM accounts_account ORDER BY id LOOP
        sequence := 'account_ids.a' || account;
        EXECUTE format('ALTER SEQUENCE %s CACHE 1', sequence);
        INSERT INTO account_ids.counter VALUES (account, coalesce(pg_sequence_last_value(sequence::regclass), 0));
        EXECUTE format('DROP SEQUENCE %s', sequence);
    END LOOP;
END $$;

ANALYZE account_ids.counter;
"""

RESTORE_SEQUENCES = """
LOCK TABLE accounts_account IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE account_ids.counter IN EXCLUSIVE MODE;

DO $$
DECLARE
    account bigint;
    highest bigint;
BEGIN
    FOR account, highest IN SELECT account_id, max(last) FROM account_ids.counter GROUP BY account_id LOOP
        EXECUTE format('CREATE SEQUENCE account_ids.%I', 'a' || account);
        PERFORM setval('account_ids.a' || account, greatest(highest, 1), highest > 0);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION account_ids.open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE SEQUENCE account_ids.%I', 'a' || NEW.id);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION account_ids.close() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('DROP SEQUENCE IF EXISTS account_ids.%I', 'a' || OLD.id);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION account_ids.take() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := nextval('account_ids.a' || NEW.account_id);
    RETURN NEW;
END $$;

DROP FUNCTION account_ids.advance;
DROP FUNCTION account_ids.reserve;
DROP TABLE account_ids.counter;
"""


class Migration(migrations.Migration):
    """Replace the sequence of each account by rows of one table."""

    dependencies = [("accounts", "0031_group_changes")]

    operations = [
        migrations.RunSQL(CREATE_COUNTERS, RESTORE_SEQUENCES),
        migrations.RunSQL(COPY_SEQUENCES, migrations.RunSQL.noop),
    ]
